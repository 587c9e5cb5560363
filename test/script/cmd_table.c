/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The line "table": the state table of section 1.E, written down here a second time, against
 * qp_state_check(), for every pair of states, every type and every single-bit deviation (E1).
 */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

#include "table.h"

/* Types: R RC, C UC, D UD, G GSI, I XRC_INI, T XRC_TGT, * all. */
static const struct {
	const char *types, *from, *to, *required, *optional;
} rows[] = {
	{ "D", "RESET", "INIT", "PKEY PORT QKEY", "" },
	{ "RCIT", "RESET", "INIT", "PKEY PORT ACCESS", "" },
	{ "G", "RESET", "INIT", "PKEY QKEY", "" },
	{ "D", "INIT", "INIT", "", "PKEY PORT QKEY" },
	{ "RCIT", "INIT", "INIT", "", "PKEY PORT ACCESS" },
	{ "G", "INIT", "INIT", "", "PKEY QKEY" },
	{ "DG", "INIT", "RTR", "", "PKEY QKEY" },
	{ "CI", "INIT", "RTR", "AV MTU DQPN RQPSN", "ALT ACCESS PKEY" },
	{ "RT", "INIT", "RTR", "AV MTU DQPN RQPSN DRD RNRTIMER", "ALT ACCESS PKEY" },
	{ "DG", "RTR", "RTS", "SQPSN", "CUR QKEY" },
	{ "C", "RTR", "RTS", "SQPSN", "CUR ALT ACCESS MIG" },
	{ "I", "RTR", "RTS", "SQPSN TIMEOUT RETRY RNRRETRY RD", "CUR ALT ACCESS MIG" },
	{ "R", "RTR", "RTS", "SQPSN TIMEOUT RETRY RNRRETRY RD", "CUR ALT ACCESS MIG RNRTIMER" },
	{ "T", "RTR", "RTS", "SQPSN TIMEOUT", "CUR ALT ACCESS MIG RNRTIMER" },
	{ "DG", "RTS", "RTS", "", "CUR QKEY" },
	{ "CI", "RTS", "RTS", "", "CUR ACCESS ALT MIG" },
	{ "RT", "RTS", "RTS", "", "CUR ACCESS ALT MIG RNRTIMER" },
	{ "*", "RTS", "SQD", "", "NOTIFY" },
	{ "DG", "SQD", "RTS", "", "CUR QKEY" },
	{ "CI", "SQD", "RTS", "", "CUR ALT ACCESS MIG" },
	{ "RT", "SQD", "RTS", "", "CUR ALT ACCESS MIG RNRTIMER" },
	{ "DG", "SQD", "SQD", "", "PKEY QKEY" },
	{ "C", "SQD", "SQD", "", "AV ALT ACCESS PKEY MIG" },
	{ "R", "SQD", "SQD", "", "PORT AV TIMEOUT RETRY RNRRETRY RD DRD ALT ACCESS PKEY RNRTIMER MIG" },
	{ "I", "SQD", "SQD", "", "PORT AV TIMEOUT RETRY RNRRETRY RD ALT ACCESS PKEY MIG" },
	{ "T", "SQD", "SQD", "", "PORT AV TIMEOUT DRD ALT ACCESS PKEY RNRTIMER MIG" },
	{ "DG", "SQE", "RTS", "", "CUR QKEY" },
	{ "C", "SQE", "RTS", "", "CUR ACCESS" },
	{ "*", "*", "RESET", "", "" },
	{ "*", "INIT", "ERR", "", "" },
	{ "*", "RTR", "ERR", "", "" },
	{ "*", "RTS", "ERR", "", "" },
	{ "*", "SQD", "ERR", "", "" },
	{ "*", "SQE", "ERR", "", "" },
	{ "*", "ERR", "ERR", "", "" },
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

const char *const table_states[TABLE_STATES] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

static const struct {
	char letter;
	uint32_t type;
} types[] = {
	{ 'R', IBV_QPT_RC }, { 'C', IBV_QPT_UC }, { 'D', IBV_QPT_UD }, { 'G', 1 },
	{ 'I', IBV_QPT_XRC_SEND }, { 'T', IBV_QPT_XRC_RECV },
};
#define TYPES (sizeof(types) / sizeof(types[0]))

/* By the bit numbers of section 1.E; a name that is empty is a bit no transition takes. */
static const char *const bits[] = {
	"STATE", "CUR", "NOTIFY", "ACCESS", "PKEY", "PORT", "QKEY", "AV", "MTU", "TIMEOUT", "RETRY",
	"RNRRETRY", "RQPSN", "RD", "ALT", "RNRTIMER", "SQPSN", "DRD", "MIG", "CAP", "DQPN", "", "", "", "",
	"RATE",
};
#define BITS (sizeof(bits) / sizeof(bits[0]))
_Static_assert(BITS == TABLE_BITS, "as table.h says");

static uint32_t
mask_of(struct run *r, const char *text)
{
	char *copy = run_strdup(r, text), *word;
	uint32_t mask = 0;

	while ((word = strsep(&copy, " ")))
		for (uint32_t b = 0; b < BITS; b++)
			if (*word && !strcmp(word, bits[b]))
				mask |= 1u << b;
	return mask;
}

static bool
row_for(size_t i, size_t type, size_t from, size_t to)
{
	return (*rows[i].types == '*' || strchr(rows[i].types, types[type].letter)) &&
	       (*rows[i].from == '*' || !strcmp(rows[i].from, table_states[from])) &&
	       !strcmp(rows[i].to, table_states[to]);
}

/* RC and XRC never enter SQE, so what would lead out of it is not compared. */
static bool
reachable(size_t type, size_t from)
{
	return strcmp(table_states[from], "SQE") || strchr("DGC", types[type].letter);
}

static struct table_sets
sets_of(struct run *r, size_t type, size_t from, size_t to)
{
	struct table_sets s = { 0 };

	for (size_t i = 0; i < ROWS; i++) {
		if (!row_for(i, type, from, to))
			continue;
		s.valid = true;
		s.required = mask_of(r, rows[i].required);
		s.optional = mask_of(r, rows[i].optional);
		break;
	}
	return s;
}

struct table_sets
table_of(struct run *r, uint32_t type, size_t from, size_t to)
{
	size_t i = 0;

	while (types[i].type != type)
		i++;
	return sets_of(r, i, from, to);
}

static void
check(struct run *r, size_t type, size_t from, size_t to, uint32_t mask, bool ok)
{
	int rc = qp_state_check(types[type].type, (uint32_t)from, (uint32_t)to, mask);

	if ((rc == 0) != ok)
		run_fail(r, "type %c, %s to %s, mask 0x%x: %d", types[type].letter, table_states[from],
			 table_states[to], mask, rc);
}

/* A transition with exactly its required bits, and with each bit more or less. */
static unsigned int
check_pair(struct run *r, size_t type, size_t from, size_t to)
{
	struct table_sets s = sets_of(r, type, from, to);
	uint32_t base = s.required | IBV_QP_STATE;
	unsigned int n = 1;

	check(r, type, from, to, base, s.valid);
	for (uint32_t b = 1; b < BITS; b++, n++) {
		bool ok = s.valid && !(s.required >> b & 1) && (s.optional >> b & 1);

		check(r, type, from, to, base ^ 1u << b, ok);
	}
	return n;
}

/* table: how many cases there are is asserted by its argument. */
static void
cmd_table_(struct run *r, struct words *w)
{
	const char *want = words_next(w);
	unsigned int n = 0;

	for (size_t type = 0; type < TYPES; type++)
		for (size_t from = 0; from < 7; from++)
			for (size_t to = 0; to < 7; to++)
				if (reachable(type, from))
					n += check_pair(r, type, from, to);
	if (!want || run_number(r, want) != n)
		run_fail(r, "%u cases", n);
}

const struct cmd cmd_table[] = { { "table", cmd_table_ }, { NULL, NULL } };
