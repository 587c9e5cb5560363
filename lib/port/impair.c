/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How bad shall the network be? Reads what people write for that. Called by whoever reads a
 * configuration, and by the driver; any thread. Pure.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/kv.h"
#include "port/spec.h"

#define DECIMALS 9u		/* of a fraction, at most */
#define BILLION UINT64_C(1000000000)

#define FORM_ALL "write drop=P,dup=P,reorder=P[:K],delay=US[:JITTER],corrupt=P,ecn=P,seed=N, or some of" \
	" these"
#define FORM_FRACTION "P is a fraction of the frames from 0 to 1, such as 0.01 for one in a hundred"

static int
complain(struct kv_err *err, const char *text)
{
	snprintf(err->text, sizeof(err->text), "%s", text);
	return -EINVAL;
}

/* "0.25", ".25", "1": strtod would read it as the program's locale has it. */
static int
read_fraction(const char *s, uint64_t *chance, struct kv_err *err)
{
	size_t whole = strspn(s, "0123456789"), part = 0;
	uint64_t v = 0, unit = BILLION;

	if (s[whole] == '.')
		part = strspn(s + whole + 1, "0123456789");
	if (whole + part == 0 || s[whole + (s[whole] == '.') + part] || whole > 9 || part > DECIMALS)
		return complain(err, FORM_FRACTION);
	for (size_t i = 0; i < whole; i++)
		v = 10 * v + (uint64_t)(s[i] - '0') * BILLION;
	for (size_t i = 0; i < part; i++) {
		unit /= 10;
		v += (uint64_t)(s[whole + 1 + i] - '0') * unit;
	}
	if (v > BILLION)
		return complain(err, FORM_FRACTION);
	*chance = (v * PORT_CHANCE_ONE + BILLION / 2) / BILLION;
	return 0;
}

/* Takes "A:B" apart, in place; B is NULL when there is none. */
static char *
split(char *value)
{
	char *colon = strchr(value, ':');

	if (colon)
		*colon++ = '\0';
	return colon;
}

static int
read_chance(char *value, struct port_impair *out, uint64_t *field, struct kv_err *err)
{
	(void)out;
	return read_fraction(value, field, err);
}

static int
read_reorder(char *value, struct port_impair *out, uint64_t *field, struct kv_err *err)
{
	const char *by = split(value);
	uint64_t n = PORT_REORDER_BY;

	if (by && kv_u64(by, 1, PORT_REORDER_MAX, &n, err) != 0)
		return complain(err, "K, how many later frames pass a held one, is a number from 1 to 64");
	out->reorder_by = (uint32_t)n;
	return read_fraction(value, field, err);
}

static int
read_delay(char *value, struct port_impair *out, uint64_t *field, struct kv_err *err)
{
	const char *jitter = split(value);
	uint64_t us, j = 0;

	(void)field;
	if (kv_u64(value, 0, PORT_DELAY_MAX_US, &us, err) != 0)
		return complain(err, "US is a number of microseconds up to 1000000");
	if (jitter && kv_u64(jitter, 0, us, &j, err) != 0)
		return complain(err, "JITTER is a number of microseconds, more or less than US: at most US");
	out->delay_us = (uint32_t)us;
	out->jitter_us = (uint32_t)j;
	return 0;
}

static int
read_seed(char *value, struct port_impair *out, uint64_t *field, struct kv_err *err)
{
	out->has_seed = true;
	if (kv_u64(value, 0, UINT64_MAX, field, err) == 0)
		return 0;
	return complain(err, "N is a number, which makes the same frames suffer again");
}

/* X(member of struct port_impair, reader) */
#define KEY_LIST(X) \
	X(drop, read_chance) \
	X(dup, read_chance) \
	X(reorder, read_reorder) \
	X(corrupt, read_chance) \
	X(ecn, read_chance) \
	X(seed, read_seed)

static const struct key {
	const char *name;
	int (*read)(char *value, struct port_impair *out, uint64_t *field, struct kv_err *err);
	size_t field;		/* where in struct port_impair, of those that have just one */
} keys[] = {
#define KEY_ROW(name, read) { #name, read, offsetof(struct port_impair, name) },
	KEY_LIST(KEY_ROW)
#undef KEY_ROW
	{ "delay", read_delay, 0 },
};
#define NUM_KEYS (sizeof(keys) / sizeof(keys[0]))

static size_t
key_find(const char *name)
{
	size_t i = 0;

	while (i < NUM_KEYS && strcmp(keys[i].name, name) != 0)
		i++;
	return i;
}

static int
read_pair(struct kv_pair *pair, struct port_impair *out, unsigned int *seen, struct kv_err *err)
{
	size_t i = key_find(pair->key);
	uint64_t *field;

	if (i == NUM_KEYS)
		return complain(err, FORM_ALL);
	if (!pair->has_value)
		return complain(err, "a value is missing; " FORM_ALL);
	if (*seen & 1u << i)
		return complain(err, "this is there twice; write it once");
	*seen |= 1u << i;
	field = (uint64_t *)(void *)((char *)out + keys[i].field);
	return keys[i].read(pair->value, out, field, err);
}

int
port_impair_parse(const char *args, struct port_impair *out, char *why, size_t why_len)
{
	struct kv_err err = { FORM_ALL };
	unsigned int seen = 0;
	struct kv_pair pair;
	const char *at = args, *from;
	int ret;

	memset(out, 0, sizeof(*out));
	out->reorder_by = PORT_REORDER_BY;
	if (!args[0]) {
		snprintf(why, why_len, "impair: " FORM_ALL);
		return -EINVAL;
	}
	for (from = at; (ret = kv_next(&at, &pair, &err)) == 1; from = at) {
		ret = read_pair(&pair, out, &seen, &err);
		if (ret != 0)
			break;
	}
	if (ret != 0)
		snprintf(why, why_len, "impair: %.*s: %s", (int)strcspn(from, ","), from, err.text);
	return ret;
}
