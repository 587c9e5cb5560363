/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How does a line for people leave the data path? Whoever drives the core keeps it here; the
 * background thread prints it.
 */
#include "engine/core.h"

#include <stdio.h>

#include "base/log.h"

void
core_say(void *core, const char *line)
{
	struct core *c = core;
	uint32_t n = c->num_lines;

	if (n == CORE_LINES)
		return;
	snprintf(c->line[n], CORE_LINE_LEN, "%s", line);
	__atomic_store_n(&c->num_lines, n + 1, __ATOMIC_RELAXED);
}

void
core_print(struct core *c)
{
	char line[CORE_LINES][CORE_LINE_LEN];
	uint32_t n;

	if (!__atomic_load_n(&c->num_lines, __ATOMIC_RELAXED) || !core_try(c, false))
		return;
	n = c->num_lines;
	memcpy(line, c->line, sizeof(line));
	__atomic_store_n(&c->num_lines, 0, __ATOMIC_RELAXED);
	while (core_leave(c))
		core_round(c, CORE_ROUND_POST);
	for (uint32_t i = 0; i < n; i++)
		log_line(PLX_LOG_WARN, "%s", line[i]);
}
