/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stack as a DPDK program starts it: <pollux/stack.h>. Any thread of the program.
 */
#include <pollux/stack.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "serve/object.h"
#include "serve/stack.h"

struct numbers {
	char mtu[16], vendor_id[16], vendor_part_id[16];
};

static const char *
text_of(char buf[16], uint32_t n)
{
	if (!n)
		return NULL;
	snprintf(buf, 16, "%u", n);
	return buf;
}

static void
to_text(struct setting_text *t, struct numbers *n, const struct plx_stack_config *c)
{
	*t = (struct setting_text){
		.port = c->port,
		.ip = c->ip,
		.gw = c->gw,
		.mtu = text_of(n->mtu, c->mtu),
		.mac = c->mac,
		.vlan = c->vlan,
		.cores = c->cores,
		.impair = c->impair,
		.record = c->record,
		.counters = c->counters,
		.socket = c->socket,
		.zero_copy = c->zero_copy,
		.explain = c->explain,
		.dm_size = c->dm_size,
		.vendor_id = text_of(n->vendor_id, c->vendor_id),
		.vendor_part_id = text_of(n->vendor_part_id, c->vendor_part_id),
	};
}

int
plx_stack_start(const struct plx_stack_config *config, char *why, size_t why_len)
{
	struct plx_stack_config known = { 0 };
	struct setting_text text;
	struct numbers n;

	/* a program of an older version has fewer members, one of a newer version more */
	memcpy(&known, config, config->size < sizeof(known) ? config->size : sizeof(known));
	to_text(&text, &n, &known);
	return stack_start(&text, known.eal_running != 0, known.mem_mb, why, why_len);
}

int
plx_stack_stop(void)
{
	return stack_stop();
}

int
plx_core_poll(uint32_t core)
{
	struct stack *s = stack_running();
	struct core *c = s ? eng_core(s->eng, core) : NULL;

	if (!c)
		return -ENODEV;
	if (s->forked)
		return -EIO;
	eng_drives(core);
	core_drive_poll(c);
	return 0;
}
