/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What does a port SPEC say? Splits it and checks its grammar, before anything is opened. Called by
 * whoever reads a configuration, and by drivers; any thread.
 */
#include "port/spec.h"

#include <ctype.h>
#include <errno.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "port/port.h"

#define FORM_MEMIF "write memif:SOCKET,server or memif:SOCKET,client, with ,zc for zero-copy"

int
port_memif_parse(const char *args, struct port_memif *out, char *why, size_t why_len)
{
	const char *role = strchr(args, ',');
	size_t len = role ? (size_t)(role - args) : 0;
	const char *name = args;

	memset(out, 0, sizeof(*out));
	if (args[0] == '@') {
		out->abstract = true;
		name++;
		len -= len > 0;
	}
	if (len == 0) {
		snprintf(why, why_len, "memif: " FORM_MEMIF "; SOCKET is a path or @name");
		return -EINVAL;
	}
	if (len >= sizeof(out->socket)) {
		snprintf(why, why_len, "memif: a socket name has at most %zu characters",
			 sizeof(out->socket) - 1);
		return -EINVAL;
	}
	memcpy(out->socket, name, len);
	role++;
	out->server = strncmp(role, "server", 6) == 0;
	if (!out->server && strncmp(role, "client", 6) != 0) {
		snprintf(why, why_len, "memif: " FORM_MEMIF ", not \"%s\"", role);
		return -EINVAL;
	}
	role += 6;
	out->zero_copy = strcmp(role, ",zc") == 0;
	if (*role && !out->zero_copy) {
		snprintf(why, why_len, "memif: " FORM_MEMIF ", not \"%s\" at the end", role);
		return -EINVAL;
	}
	if (out->zero_copy && out->server) {
		snprintf(why, why_len, "memif: zero-copy (,zc) is the client's: leave it out here");
		return -EINVAL;
	}
	return 0;
}

static int
check_loop(const char *args, char *why, size_t why_len)
{
	if (!args[0])
		return 0;
	snprintf(why, why_len, "loop: takes nothing behind it, not \":%s\"", args);
	return -EINVAL;
}

static int
check_memif(const char *args, char *why, size_t why_len)
{
	struct port_memif m;

	return port_memif_parse(args, &m, why, why_len);
}

static int
check_iface(const char *args, char *why, size_t why_len)
{
	if (args[0] && strlen(args) < IFNAMSIZ && !strpbrk(args, "/, \t\n"))
		return 0;
	snprintf(why, why_len, "write af_packet:IFACE or af_xdp:IFACE with an interface as in `ip link`");
	return -EINVAL;
}

static int
check_vdev(const char *args, char *why, size_t why_len)
{
	if (args[0] && args[0] != ',' && !strpbrk(args, " \t\n"))
		return 0;
	snprintf(why, why_len, "vdev: write vdev:NAME,KEY=VALUE,… as DPDK's --vdev takes it");
	return -EINVAL;
}

static int
is_socket(const char *args)
{
	return args[0] == '/' && strlen(args) < PORT_SOCKET_LEN && !strpbrk(args, ", \t\n");
}

static int
check_vhost(const char *args, char *why, size_t why_len)
{
	if (is_socket(args))
		return 0;
	snprintf(why, why_len, "vhost: write vhost:SOCKET with the path, from / on, of a socket to make");
	return -EINVAL;
}

static int
check_virtio(const char *args, char *why, size_t why_len)
{
	if (is_socket(args))
		return 0;
	snprintf(why, why_len, "virtio: write virtio:SOCKET with the path, from / on, of the other end's"
		 " vhost:SOCKET");
	return -EINVAL;
}

/* Is each character the pattern's, an x standing for any hexadecimal digit? */
static bool
looks_like(const char *s, const char *pattern)
{
	for (; *s && *pattern; s++, pattern++)
		if (*pattern == 'x' ? !isxdigit((unsigned char)*s) : *s != *pattern)
			return false;
	return !*s && !*pattern;
}

/* [DOMAIN:]BUS:DEVICE.FUNCTION, in hexadecimal */
static int
check_pci(const char *args, char *why, size_t why_len)
{
	if (looks_like(args, "xxxx:xx:xx.x") || looks_like(args, "xx:xx.x"))
		return 0;
	snprintf(why, why_len, "pci: write pci:DOMAIN:BUS:DEVICE.FUNCTION as `lspci -D` does, 0000:01:00.0");
	return -EINVAL;
}

static const struct kind {
	const char *name;
	int (*check)(const char *args, char *why, size_t why_len);
} kinds[] = {
	{ "loop", check_loop },	      { "memif", check_memif }, { "af_packet", check_iface },
	{ "af_xdp", check_iface },    { "vhost", check_vhost }, { "virtio", check_virtio },
	{ "vdev", check_vdev },	      { "pci", check_pci },
};
#define KINDS "loop, memif, af_packet, af_xdp, vhost, virtio, vdev, pci"

static const struct kind *
kind_find(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strlen(kinds[i].name) == len && memcmp(kinds[i].name, name, len) == 0)
			return &kinds[i];
	return NULL;
}

int
port_conf_parse(const char *spec, char *buf, size_t buf_len, struct port_conf *out, char *why,
		size_t why_len)
{
	size_t len = strlen(spec), kind_len = strcspn(spec, ":");
	const struct kind *kind = kind_find(spec, kind_len);
	char *split = buf + len + 1;
	int ret;

	if (!kind) {
		snprintf(why, why_len,
			 "no such kind of port: \"%.*s\" (there are " KINDS ")",
			 (int)kind_len, spec);
		return -EINVAL;
	}
	ret = kind->check(spec[kind_len] ? spec + kind_len + 1 : "", why, why_len);
	if (ret != 0)
		return ret;
	if (buf_len < 2 * (len + 1)) {
		snprintf(why, why_len, "port SPEC is longer than %zu characters", buf_len / 2);
		return -EINVAL;
	}
	memcpy(buf, spec, len + 1);
	memcpy(split, spec, len + 1);
	split[kind_len] = '\0';
	out->spec = buf;
	out->driver = split;
	out->args = kind_len < len ? split + kind_len + 1 : split + len;
	return 0;
}
