/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers: is this text a well-formed MTU, MAC, VLAN, CPU list or number? Called by the checks in
 * option.c while nothing has been started yet, on the launcher's only thread.
 */
#include "value.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
why(struct why *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->text, sizeof(w->text), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* Reads digits of `base` from *s, which moves behind them. No sign, no space, no overflow. */
static int
read_digits(const char **s, int base, uint64_t max, uint64_t *out)
{
	const char *digits = "0123456789abcdef";
	const char *start = *s;
	uint64_t v = 0;

	for (; **s; (*s)++) {
		const char *at = strchr(digits, **s | (**s >= 'A' && **s <= 'F' ? 0x20 : 0));
		uint64_t digit = at ? (uint64_t)(at - digits) : UINT64_MAX;

		if (digit >= (uint64_t)base)
			break;
		if (digit > max || v > (max - digit) / (uint64_t)base)
			return -ERANGE;
		v = v * (uint64_t)base + digit;
	}
	*out = v;
	return *s == start ? -EINVAL : 0;
}

int
value_number(const char *text, uint64_t max, uint64_t *out, struct why *w)
{
	const char *s = text;
	int base = 10;

	if (!strncmp(s, "0x", 2)) {
		s += 2;
		base = 16;
	}
	if (read_digits(&s, base, max, out) || *s)
		return why(w, "give a number from 0 to 0x%llx", (unsigned long long)max);
	return 0;
}

int
value_mtu(const char *text, unsigned int *out, struct why *w)
{
	const char *s = text;
	uint64_t v;

	if (read_digits(&s, 10, VALUE_MTU_MAX, &v) || *s || v < VALUE_MTU_MIN)
		return why(w, "give the IP MTU in bytes, %u to %u", VALUE_MTU_MIN, VALUE_MTU_MAX);
	*out = (unsigned int)v;
	return 0;
}

int
value_mac(const char *text, uint8_t out[6], struct why *w)
{
	const char *s = text;
	uint8_t any = 0;

	for (int i = 0; i < 6; i++) {
		const char *start = s;
		uint64_t v;

		if (read_digits(&s, 16, 0xff, &v) || s - start != 2 || *s != (i < 5 ? ':' : 0))
			return why(w, "give six bytes, as in 02:00:00:00:00:01");
		if (i < 5)
			s++;
		out[i] = (uint8_t)v;
		any |= out[i];
	}
	if (!any)
		return why(w, "the zero address is no station's; give another, "
			   "as in 02:00:00:00:00:01");
	if (out[0] & 1)
		return why(w, "this is a group address; give a unicast one (first byte even)");
	return 0;
}

int
value_vlan(const char *text, uint16_t *out, struct why *w)
{
	const char *s = text;
	uint64_t id, pcp = 0;

	if (read_digits(&s, 10, 4094, &id) || id < 1 || (*s && *s != ':'))
		return why(w, "give ID or ID:PCP, ID 1 to 4094");
	if (*s == ':') {
		s++;
		if (read_digits(&s, 10, 7, &pcp) || *s)
			return why(w, "give ID:PCP with PCP 0 to 7");
	}
	*out = (uint16_t)(pcp << 13 | id);
	return 0;
}

/* One item of a CPU list: N, N-M or N-M:STEP. */
static int
read_cpu_range(const char **s, cpu_set_t *out)
{
	uint64_t first, last, step = 1;

	if (read_digits(s, 10, CPU_SETSIZE - 1, &first))
		return -EINVAL;
	last = first;
	if (**s == '-') {
		(*s)++;
		if (read_digits(s, 10, CPU_SETSIZE - 1, &last) || last < first)
			return -EINVAL;
		if (**s == ':') {
			(*s)++;
			if (read_digits(s, 10, CPU_SETSIZE - 1, &step) || !step)
				return -EINVAL;
		}
	}
	for (; first <= last; first += step)
		CPU_SET(first, out);
	return 0;
}

int
value_cores(const char *text, cpu_set_t *out, struct why *w)
{
	const char *s = text;

	CPU_ZERO(out);
	if (!strcmp(text, "inline"))
		return 0;
	do {
		if (read_cpu_range(&s, out) || (*s && *s != ','))
			return why(w, "give `inline`, or a CPU list as in taskset: 1 or 0,2-3");
	} while (*s++ == ',');
	return 0;
}
