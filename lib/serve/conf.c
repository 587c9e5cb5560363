/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What did the person who started this ask for? Control thread, before anything is opened.
 */
#include "serve/conf.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/kv.h"
#include "port/spec.h"

#define LIST_ITEM 64
#define DM_SIZE (UINT64_C(16) << 20)
#define DM_SIZE_MAX_MIB (UINT64_C(1) << 20)
/* An OUI that no vendor can have, as Soft-RoCE says too: there are programs that take 0 for a device that
 * could not be asked. */
#define NO_VENDOR 0xffffff

void
setting_from_env(struct setting_text *t)
{
#define SETTING_GET(member, variable, name) t->member = getenv(variable);
	SETTING_LIST(SETTING_GET)
#undef SETTING_GET
}

static int
absent(struct kv_err *err, const char *what)
{
	snprintf(err->text, sizeof(err->text), "%s: not in this version", what);
	return -EOPNOTSUPP;
}

/* Calls fn(arg, item) for each item of a comma separated list. */
static int
each(const char *list, int (*fn)(void *arg, const char *item, struct kv_err *err), void *arg,
     struct kv_err *err)
{
	while (*list) {
		char item[LIST_ITEM];
		size_t len = strcspn(list, ",");
		int rc;

		if (len >= sizeof(item)) {
			snprintf(err->text, sizeof(err->text), "\"%.40s...\" is no address", list);
			return -EINVAL;
		}
		memcpy(item, list, len);
		item[len] = 0;
		rc = fn(arg, item, err);
		if (rc < 0)
			return rc;
		list += len + (list[len] == ',');
	}
	return 0;
}

static int
add_ip(void *arg, const char *item, struct kv_err *err)
{
	struct net_conf *net = arg;
	struct net_addr *a = &net->addr[net->num_addrs];
	struct kv_ip ip;
	int rc = kv_ip(item, &ip, err);

	if (rc < 0)
		return rc;
	if (!ip.has_prefix || net->num_addrs == NET_MAX_GIDS - 1) {
		snprintf(err->text, sizeof(err->text), ip.has_prefix ?
			 "more than %u addresses" : "give ADDR/LEN, as in 10.11.0.1/24", NET_MAX_GIDS - 1);
		return -EINVAL;
	}
	memcpy(a->gid, ip.gid, 16);
	a->prefix_len = ip.prefix;
	net->num_addrs++;
	return 0;
}

static int
add_gw(void *arg, const char *item, struct kv_err *err)
{
	struct net_conf *net = arg;
	struct kv_ip ip;
	int rc = kv_ip(item, &ip, err);

	if (rc < 0)
		return rc;
	memcpy(ip.ip4 ? net->gw4 : net->gw6, ip.gid, 16);
	return 0;
}

static int
set_port(struct serve_conf *c, const char *s, struct kv_err *err)
{
	return port_conf_parse(s, c->port, sizeof(c->port), &c->eng.port, err->text,
			       sizeof(err->text));
}

static int
set_ip(struct serve_conf *c, const char *s, struct kv_err *err)
{
	return each(s, add_ip, &c->eng.net, err);
}

static int
set_gw(struct serve_conf *c, const char *s, struct kv_err *err)
{
	return each(s, add_gw, &c->eng.net, err);
}

static int
set_mtu(struct serve_conf *c, const char *s, struct kv_err *err)
{
	uint64_t n;
	int rc = kv_u64(s, PORT_MTU_MIN, PORT_MTU_MAX, &n, err);

	if (rc == 0)
		c->eng.port.ip_mtu = (uint32_t)n;
	return rc;
}

static int
set_mac(struct serve_conf *c, const char *s, struct kv_err *err)
{
	return kv_mac(s, c->eng.port.mac, err);
}

/* ID[:PCP] */
static int
set_vlan(struct serve_conf *c, const char *s, struct kv_err *err)
{
	const char *colon = strchr(s, ':');
	uint64_t id, pcp = 0;
	char text[8];
	int rc;

	snprintf(text, sizeof(text), "%.*s", colon ? (int)(colon - s) : (int)strlen(s), s);
	rc = kv_u64(text, 1, 4094, &id, err);
	if (rc == 0 && colon)
		rc = kv_u64(colon + 1, 0, 7, &pcp, err);
	if (rc == 0)
		c->eng.net.vlan_tci = (uint16_t)(pcp << 13 | id);
	return rc;
}

static int
set_cores(struct serve_conf *c, const char *s, struct kv_err *err)
{
	uint32_t cpu[ENG_MAX_CORES];
	int n;

	if (strcmp(s, "inline") == 0)
		return 0;
	n = kv_cpus(s, CPU_SETSIZE, cpu, ENG_MAX_CORES, err);
	if (n < 0)
		return n;
	c->eng.inline_mode = false;
	c->eng.num_cores = (uint32_t)n;
	for (int i = 0; i < n; i++)
		c->eng.cpu[i] = (int)cpu[i];
	return 0;
}

static int
set_impair(struct serve_conf *c, const char *s, struct kv_err *err)
{
	struct port_impair words;

	c->eng.impair = s;
	return port_impair_parse(s, &words, err->text, sizeof(err->text));
}

static int
set_record(struct serve_conf *c, const char *s, struct kv_err *err)
{
	(void)err;
	c->eng.record = s;
	return 0;
}

static int
set_counters(struct serve_conf *c, const char *s, struct kv_err *err)
{
	(void)err;
	c->counters = s;
	return 0;
}

static int
set_socket(struct serve_conf *c, const char *s, struct kv_err *err)
{
	(void)c;
	(void)s;
	return absent(err, "a stack in another process");
}

static int
set_zero_copy(struct serve_conf *c, const char *s, struct kv_err *err)
{
	uint64_t n;
	int rc = kv_u64(s, 0, 1, &n, err);

	if (rc == 0)
		c->eng.copies = !n;
	return rc;
}

static int
set_explain(struct serve_conf *c, const char *s, struct kv_err *err)
{
	uint64_t n;
	int rc = kv_u64(s, 0, 1, &n, err);

	if (rc == 0)
		c->eng.explain = n;
	return rc;
}

/* MiB */
static int
set_dm_size(struct serve_conf *c, const char *s, struct kv_err *err)
{
	uint64_t n;
	int rc = kv_u64(s, 0, DM_SIZE_MAX_MIB, &n, err);

	if (rc == 0)
		c->dm_size = n << 20;
	return rc;
}

static int
set_u32(uint32_t *out, const char *s, struct kv_err *err)
{
	uint64_t n;
	int rc = kv_u64(s, 0, UINT32_MAX, &n, err);

	if (rc == 0)
		*out = (uint32_t)n;
	return rc;
}

static int
set_vendor_id(struct serve_conf *c, const char *s, struct kv_err *err)
{
	return set_u32(&c->vendor_id, s, err);
}

static int
set_vendor_part_id(struct serve_conf *c, const char *s, struct kv_err *err)
{
	return set_u32(&c->vendor_part_id, s, err);
}

static int
set(struct serve_conf *c, int (*fn)(struct serve_conf *c, const char *s, struct kv_err *err),
    const char *name, const char *text, char *why, size_t why_len)
{
	struct kv_err err = { "" };
	int rc;

	if (!text || !*text)
		return 0;
	rc = fn(c, text, &err);
	if (rc < 0)
		snprintf(why, why_len, "%s \"%.100s\": %s", name, text, err.text);
	return rc;
}

int
conf_parse(struct serve_conf *c, const struct setting_text *t, char *why, size_t why_len)
{
	struct setting_text text = *t;
	int rc = 0;

	memset(c, 0, sizeof(*c));
	c->eng.inline_mode = true;
	c->eng.num_cores = 1;
	c->vendor_id = NO_VENDOR;
	c->dm_size = DM_SIZE;
	if (!text.port || !*text.port)
		text.port = "loop";
	/* the port first: it clears what the others put into its part */
#define SETTING_SET(member, variable, name) \
	if (rc == 0) \
		rc = set(c, set_##member, name, text.member, why, why_len);
	SETTING_LIST(SETTING_SET)
#undef SETTING_SET
	return rc;
}
