/* SPDX-License-Identifier: BSD-3-Clause */
/* What number is this text? A descent by precedence. Called for every number in a script. */
#include "expr.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

const uint64_t expr_rnr_ns[32] = {
	655360000, 10000, 20000, 30000, 40000, 60000, 80000, 120000, 160000, 240000, 320000, 480000,
	640000, 960000, 1280000, 1920000, 2560000, 3840000, 5120000, 7680000, 10240000, 15360000,
	20480000, 30720000, 40960000, 61440000, 81920000, 122880000, 163840000, 245760000, 327680000,
	491520000,
};

struct in {
	const char *at;
	const struct expr_names *names;
	bool bad;
};

static uint64_t level(struct in *in, unsigned int lvl);

static bool
eat(struct in *in, const char *what)
{
	size_t n = strlen(what);

	if (strncmp(in->at, what, n))
		return false;
	in->at += n;
	return true;
}

/* Nanoseconds of a unit that stands here, 0 without one. */
static uint64_t
unit(struct in *in)
{
	if (eat(in, "ns"))
		return 1;
	if (eat(in, "us"))
		return 1000;
	if (eat(in, "ms"))
		return 1000000;
	if (eat(in, "s"))
		return 1000000000;
	return 0;
}

static uint64_t
hex(struct in *in)
{
	uint64_t v = 0;

	in->bad |= !isxdigit((unsigned char)*in->at);
	for (; isxdigit((unsigned char)*in->at); in->at++)
		v = v << 4 | (uint64_t)(isdigit((unsigned char)*in->at) ? *in->at - '0' :
								(*in->at | 32) - 'a' + 10);
	return v;
}

static uint64_t
number(struct in *in)
{
	uint64_t v = 0, frac = 0, scale = 1, u;

	if (eat(in, "0x"))
		return hex(in);
	for (; isdigit((unsigned char)*in->at); in->at++)
		v = v * 10 + (uint64_t)(*in->at - '0');
	if (in->at[0] == '.' && isdigit((unsigned char)in->at[1])) {
		for (in->at++; isdigit((unsigned char)*in->at); in->at++) {
			frac = frac * 10 + (uint64_t)(*in->at - '0');
			scale *= 10;
		}
	}
	u = unit(in);
	if (scale == 1)
		return u ? v * u : v;
	in->bad |= u == 0 || frac * u % scale;	/* a fraction only of a time, and a whole one in ns */
	return u ? v * u + frac * u / scale : 0;
}

static uint64_t
name(struct in *in)
{
	char id[32];
	size_t n = 0;
	uint64_t arg, v = 0;

	while ((isalnum((unsigned char)*in->at) || *in->at == '_') && n < sizeof(id) - 1)
		id[n++] = *in->at++;
	id[n] = 0;
	if (!eat(in, "(")) {
		in->bad |= !in->names || !in->names->value(in->names->ctx, id, NULL, &v);
		return v;
	}
	arg = level(in, 0);
	in->bad |= !eat(in, ")");
	in->bad |= !in->names || !in->names->value(in->names->ctx, id, &arg, &v);
	return v;
}

static uint64_t
primary(struct in *in)
{
	uint64_t v;

	if (eat(in, "-"))
		return -primary(in);
	if (eat(in, "~"))
		return ~primary(in);
	if (eat(in, "(")) {
		v = level(in, 0);
		in->bad |= !eat(in, ")");
		return v;
	}
	if (isdigit((unsigned char)*in->at))
		return number(in);
	if (isalpha((unsigned char)*in->at))
		return name(in);
	in->bad = true;
	return 0;
}

static uint64_t
apply(struct in *in, int op, uint64_t a, uint64_t b)
{
	switch (op) {
	case '|': return a | b;
	case '^': return a ^ b;
	case '&': return a & b;
	case '<': return b < 64 ? a << b : 0;
	case '>': return b < 64 ? a >> b : 0;
	case '+': return a + b;
	case '-': return a - b;
	case '*': return a * b;
	default:
		in->bad |= b == 0;
		return b == 0 ? 0 : op == '/' ? a / b : a % b;
	}
}

static const char *const levels[][4] = {
	{ "|" }, { "^" }, { "&" }, { "<<", ">>" }, { "+", "-" }, { "*", "/", "%" },
};
#define LEVELS (sizeof(levels) / sizeof(levels[0]))

static uint64_t
level(struct in *in, unsigned int lvl)
{
	uint64_t v;

	if (lvl == LEVELS)
		return primary(in);
	v = level(in, lvl + 1);
	for (int i = 0; i < 4 && levels[lvl][i] && !in->bad; i++) {
		if (!eat(in, levels[lvl][i]))
			continue;
		v = apply(in, levels[lvl][i][0], v, level(in, lvl + 1));
		i = -1;
	}
	return v;
}

bool
expr_eval(const char *text, const struct expr_names *names, uint64_t *out)
{
	struct in in = { text, names, false };

	*out = level(&in, 0);
	return !in.bad && !*in.at;
}
