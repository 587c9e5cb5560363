/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers: which port does a SPEC name? Called by the check of --port in option.c, on the
 * launcher's only thread. Whether the machine has that port is asked in host.c.
 */
#include "value.h"

#include <net/if.h>
#include <stdio.h>
#include <string.h>

/* sun_path is 108 bytes with its NUL; of an abstract name the leading NUL takes one more */
#define SOCKET_PATH_MAX 107u
#define SOCKET_NAME_MAX 106u

static int
parse_loop(const char *rest, struct value_port *out, struct why *w)
{
	(void)out;
	return rest ? why(w, "loop takes nothing behind it") : 0;
}

static int
parse_memif(const char *rest, struct value_port *out, struct why *w)
{
	static const char form[] = "give memif:SOCKET,server or memif:SOCKET,client, "
				   "with ,zc behind for zero-copy; SOCKET is a path or @name";
	const char *comma = rest ? strchr(rest, ',') : NULL;
	size_t len = comma ? (size_t)(comma - rest) : 0;
	size_t max = rest && rest[0] == '@' ? SOCKET_NAME_MAX + 1 : SOCKET_PATH_MAX;

	if (!len || (rest[0] == '@' && len == 1))
		return why(w, "%s", form);
	if (len > max)
		return why(w, "the socket's name is %zu bytes long, %zu fit: use a shorter path "
			   "or @name", len, max);
	memcpy(out->name, rest, len);
	out->server = !strncmp(comma, ",server", 7);
	if (!out->server && strncmp(comma, ",client", 7))
		return why(w, "%s", form);
	comma += 7;
	out->zero_copy = !strcmp(comma, ",zc");
	return *comma && !out->zero_copy ? why(w, "%s", form) : 0;
}

static int
parse_af_packet(const char *rest, struct value_port *out, struct why *w)
{
	if (!rest || !*rest)
		return why(w, "give af_packet:IFACE; `ip link` lists the interfaces");
	if (strlen(rest) >= IFNAMSIZ || strpbrk(rest, ",/ "))
		return why(w, "%s is no interface name; `ip link` lists them", rest);
	strcpy(out->name, rest);
	return 0;
}

static int
parse_vdev(const char *rest, struct value_port *out, struct why *w)
{
	(void)out;
	if (!rest || strncmp(rest, "net_", 4) || !rest[4])
		return why(w, "give vdev:DPDK-DEVARGS of a net device, as in vdev:net_ring0");
	return 0;
}

static int
parse_absent(const char *rest, struct value_port *out, struct why *w)
{
	(void)rest;
	(void)out;
	return why(w, "not in this version; there are loop, memif:, af_packet: and vdev:");
}

static const struct port_word {
	const char *word;
	enum value_port_kind kind;
	/* `rest` is what stands behind the colon, or NULL */
	int (*parse)(const char *rest, struct value_port *out, struct why *w);
} port_words[] = {
	{ "loop", VALUE_PORT_LOOP, parse_loop },
	{ "memif", VALUE_PORT_MEMIF, parse_memif },
	{ "af_packet", VALUE_PORT_AF_PACKET, parse_af_packet },
	{ "vdev", VALUE_PORT_VDEV, parse_vdev },
	{ "af_xdp", VALUE_PORT_LOOP, parse_absent },
	{ "vhost", VALUE_PORT_LOOP, parse_absent },
	{ "virtio", VALUE_PORT_LOOP, parse_absent },
	{ "pci", VALUE_PORT_LOOP, parse_absent },
};

int
value_port(const char *text, struct value_port *out, struct why *w)
{
	size_t len = strcspn(text, ":");

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < sizeof(port_words) / sizeof(port_words[0]); i++) {
		const struct port_word *p = &port_words[i];

		if (strlen(p->word) != len || strncmp(p->word, text, len))
			continue;
		out->kind = p->kind;
		return p->parse(text[len] ? text + len + 1 : NULL, out, w);
	}
	return why(w, "give loop, memif:SOCKET,server|client[,zc], af_packet:IFACE or "
		   "vdev:DPDK-DEVARGS");
}
