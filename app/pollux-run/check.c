/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers: can a stack be started from these settings on this machine? One check per setting, in
 * the order of the list. Called by main() before the program runs, on the launcher's only thread.
 */
#include "setting.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host.h"

static int
check_absent(struct plan *p, const char *text, struct why *w)
{
	(void)p;
	(void)text;
	return why(w, "not in this version");
}

static int
check_port(struct plan *p, const char *text, struct why *w)
{
	struct port_memif memif;
	struct port_iface iface;

	if (port_conf_parse(text, p->port_words, sizeof(p->port_words), &p->port, w->text,
			    sizeof(w->text)))
		return -EINVAL;
	if (!strcmp(p->port.driver, "af_packet")) {
		p->iface = p->port.args;
		return host_af_packet(p->iface, w);
	}
	if (!strcmp(p->port.driver, "af_xdp"))
		return port_iface_query(p->port.args, &iface, w->text, sizeof(w->text)) ? -EINVAL : 0;
	if (strcmp(p->port.driver, "memif"))
		return 0;
	if (port_memif_parse(p->port.args, &memif, w->text, sizeof(w->text)))
		return -EINVAL;
	return host_memif(&memif, w);
}

static int
check_ip(struct plan *p, const char *text, struct why *w)
{
	int rc = value_addr_list(text, p->addr, &p->num_addrs, w);

	for (size_t i = 0; !rc && p->iface && i < p->num_addrs; i++)
		rc = host_addr_free(&p->addr[i], w);
	return rc;
}

static int
is_link_local(const struct kv_ip *a)
{
	return !a->ip4 && a->gid[0] == 0xfe && (a->gid[1] & 0xc0) == 0x80;
}

/* A gateway is a neighbour, and not the port itself. */
static int
check_reachable(const struct plan *p, const struct kv_ip *gw, struct why *w)
{
	/* without --ip the address comes from the MAC, in 10.11.0.0/16, and the stack checks */
	if (!p->num_addrs || is_link_local(gw))
		return 0;
	for (size_t i = 0; i < p->num_addrs; i++) {
		if (!value_addr_in(gw, &p->addr[i]))
			continue;
		if (!memcmp(gw->gid, p->addr[i].gid, sizeof(gw->gid)))
			return why(w, "this is the port's own address; give the router's");
		return 0;
	}
	return why(w, "it is in no network of --ip, so it cannot be reached; give a neighbour");
}

static int
check_gw(struct plan *p, const char *text, struct why *w)
{
	struct kv_ip gw[2];
	size_t n;
	int rc = value_gateways(text, gw, &n, w);

	for (size_t i = 0; !rc && i < n; i++)
		rc = check_reachable(p, &gw[i], w);
	return rc;
}

static int
check_mtu(struct plan *p, const char *text, struct why *w)
{
	unsigned int mtu;
	int rc = value_mtu(text, &mtu, w);

	if (!rc && p->iface)
		rc = host_iface_mtu(p->iface, mtu, w);
	return rc;
}

static int
check_mac(struct plan *p, const char *text, struct why *w)
{
	uint8_t mac[6];

	(void)p;
	return value_mac(text, mac, w);
}

static int
check_vlan(struct plan *p, const char *text, struct why *w)
{
	uint16_t tci;

	(void)p;
	return value_vlan(text, &tci, w);
}

static int
check_cores(struct plan *p, const char *text, struct why *w)
{
	struct value_cores cores;
	int rc = value_cores(text, host_num_cores(), &cores, w);

	(void)p;
	if (!rc)
		rc = host_cores(&cores, w);
	return rc;
}

static int
check_impair(struct plan *p, const char *text, struct why *w)
{
	struct port_impair words;

	(void)p;
	return port_impair_parse(text, &words, w->text, sizeof(w->text));
}

/* The program may go to another directory before the stack starts. */
static int
make_absolute(struct plan *p, enum setting_id id, struct why *w)
{
	char dir[PATH_MAX], *joined;

	if (p->value[id][0] == '/')
		return 0;
	if (!getcwd(dir, sizeof(dir)))
		return why(w, "this directory has no name: %s; give a path that begins with /",
			   strerror(errno));
	if (asprintf(&joined, "%s/%s", dir, p->value[id]) < 0)
		return why(w, "out of memory");
	free(p->value[id]);
	p->value[id] = joined;
	return 0;
}

static int
check_record(struct plan *p, const char *text, struct why *w)
{
	int fd = port_record_create(text, w->text, sizeof(w->text));

	if (fd < 0)
		return -EINVAL;
	close(fd);
	return make_absolute(p, SETTING_RECORD, w);
}

static int
check_counters(struct plan *p, const char *text, struct why *w)
{
	int fd = open(text, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);

	if (fd < 0)
		return why(w, "it cannot be written: %s; choose another file", strerror(errno));
	close(fd);
	return make_absolute(p, SETTING_COUNTERS, w);
}

static int
check_switch(struct plan *p, const char *text, struct why *w)
{
	(void)p;
	return strcmp(text, "0") == 0 || strcmp(text, "1") == 0 ? 0 : why(w, "it is 0 or 1");
}

static int
check_id(struct plan *p, const char *text, struct why *w)
{
	uint32_t id;

	(void)p;
	return value_id(text, &id, w);
}

#define DM_SIZE_MAX (1u << 20)	/* MiB */

static int
check_dm_size(struct plan *p, const char *text, struct why *w)
{
	uint32_t mib;

	(void)p;
	if (value_id(text, &mib, w) == 0 && mib <= DM_SIZE_MAX)
		return 0;
	return why(w, "it is a number of MiB, at most %u", DM_SIZE_MAX);
}

static int (*const checks[SETTING_COUNT])(struct plan *, const char *, struct why *) = {
	[SETTING_SOCKET] = check_absent,
	[SETTING_PORT] = check_port,
	[SETTING_IP] = check_ip,
	[SETTING_GW] = check_gw,
	[SETTING_MTU] = check_mtu,
	[SETTING_MAC] = check_mac,
	[SETTING_VLAN] = check_vlan,
	[SETTING_CORES] = check_cores,
	[SETTING_IMPAIR] = check_impair,
	[SETTING_RECORD] = check_record,
	[SETTING_COUNTERS] = check_counters,
	[SETTING_ZERO_COPY] = check_switch,
	[SETTING_EXPLAIN] = check_switch,
	[SETTING_DM_SIZE] = check_dm_size,
	[SETTING_VENDOR_ID] = check_id,
	[SETTING_VENDOR_PART_ID] = check_id,
};

/* Puts the setting's name and value in front of the reason. */
static int
explain(const struct plan *p, int i, struct why *w)
{
	struct why reason = *w;
	const char *from = p->from[i];
	size_t len = strcspn(from, "=");

	return why(w, "%.*s%s%.150s: %.300s", (int)len, from, *p->value[i] ? " " : "",
		   p->value[i], reason.text);
}

int
plan_check(struct plan *p, struct why *w)
{
	for (int i = 0; i < SETTING_COUNT; i++)
		if (p->value[i] && checks[i](p, p->value[i], w))
			return explain(p, i, w);
	return 0;
}
