/* SPDX-License-Identifier: BSD-3-Clause */
/* Which bytes does this text name? Called for payloads and for memory. */
#include "data.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

struct bytes {
	struct run *r;
	uint8_t *at;
	uint32_t len, cap;
};

static void
add(struct bytes *b, uint8_t byte)
{
	if (b->len == b->cap) {
		uint8_t *more = run_alloc(b->r, b->cap * 2);

		memcpy(more, b->at, b->len);
		b->at = more;
		b->cap *= 2;
	}
	b->at[b->len++] = byte;
}

static void
add_text(struct bytes *b, const char *part)
{
	for (part++; *part && *part != '"'; part++)
		add(b, (uint8_t)*part);
}

static void
add_hex(struct bytes *b, const char *part)
{
	for (; isxdigit((unsigned char)part[0]) && isxdigit((unsigned char)part[1]); part += 2) {
		char two[3] = { part[0], part[1], 0 };

		add(b, (uint8_t)strtoul(two, NULL, 16));
	}
	if (*part)
		run_fail(b->r, "bad hex: %s", part);
}

static void
add_u64(struct bytes *b, const char *part)
{
	uint64_t v = run_number(b->r, part);
	uint8_t bytes[8];

	memcpy(bytes, &v, 8);
	for (int i = 0; i < 8; i++)
		add(b, bytes[i]);
}

static uint8_t
byte_of(const struct run *r, const struct run_place *at, uint64_t offset)
{
	if (at->mr)
		return at->mr->shadow[offset];
	return strcmp(at->name, "grh") ? data_pattern(at->name, offset) : r->area[offset];
}

/* NAME[+EXPR]:EXPR */
static void
add_named(struct bytes *b, char *part)
{
	char *colon = strchr(part, ':');
	struct run_place at;
	uint64_t n;

	if (!colon)
		run_fail(b->r, "data is \"text\", hex:.., u64:.. or NAME[+OFFSET]:LENGTH, not %s", part);
	*colon = 0;
	at = run_place(b->r, part);
	n = run_number(b->r, colon + 1);
	if (at.mr && at.offset + n > at.mr->len)
		run_fail(b->r, "region %s has %zu bytes", at.mr->name, at.mr->len);
	if (!at.mr && !strcmp(at.name, "grh") && at.offset + n > sizeof(b->r->area))
		run_fail(b->r, "grh has %zu bytes", sizeof(b->r->area));
	for (uint64_t i = 0; i < n; i++)
		add(b, byte_of(b->r, &at, at.offset + i));
}

const uint8_t *
data_parse(struct run *r, const char *text, uint32_t *len)
{
	struct bytes b = { r, run_alloc(r, 64), 0, 64 };
	char *copy = run_strdup(r, text), *part;

	while ((part = strsep(&copy, ","))) {
		if (*part == '"')
			add_text(&b, part);
		else if (!strncmp(part, "hex:", 4))
			add_hex(&b, part + 4);
		else if (!strncmp(part, "u64:", 4))
			add_u64(&b, part + 4);
		else
			add_named(&b, part);
	}
	*len = b.len;
	return b.at;
}
