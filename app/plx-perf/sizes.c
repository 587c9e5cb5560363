/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers: which sizes does this text mean? Pure; called while options are read. */
#include "sizes.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The number at *text, which is moved behind it. */
static int
number_take(const char **text, uint64_t *value)
{
	static const char units[] = "KMG";
	const char *unit;
	unsigned int shift = 0;
	uint64_t v;
	char *end;

	if (!isdigit((unsigned char)**text))
		return -EINVAL;
	errno = 0;
	v = strtoull(*text, &end, 10);
	if (errno)
		return -EINVAL;
	unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (unit) {
		shift = 10u * (unsigned int)(unit - units + 1);
		end++;
	}
	if (v > UINT64_MAX >> shift)
		return -EINVAL;
	*value = v << shift;
	*text = end;
	return 0;
}

int
number_parse(const char *text, uint64_t *value)
{
	return number_take(&text, value) || *text ? -EINVAL : 0;
}

static int
append(struct sizes *s, uint64_t v)
{
	if (v > SIZE_LARGEST)
		return -ERANGE;
	if (s->n == SIZES_MAX)
		return -E2BIG;
	if (v < s->low)
		s->low = v;
	if (v > s->high)
		s->high = v;
	s->each[s->n++] = v;
	return 0;
}

/* low, each power of two strictly between, high */
static int
append_range(struct sizes *s, uint64_t low, uint64_t high)
{
	int rc = low > high ? -EINVAL : append(s, low);

	for (uint64_t v = 1; v < high && !rc; v <<= 1) {
		if (v > low)
			rc = append(s, v);
	}
	return rc || low == high ? rc : append(s, high);
}

static int
take_range(const char **text, uint64_t *low, uint64_t *high)
{
	if (number_take(text, low))
		return -EINVAL;
	*high = *low;
	if (**text != '-')
		return 0;
	(*text)++;
	return number_take(text, high);
}

static int
parse_random(const char *text, struct sizes *s)
{
	if (take_range(&text, &s->low, &s->high) || *text || s->low > s->high)
		return -EINVAL;
	s->random = 1;
	return s->high > SIZE_LARGEST ? -ERANGE : 0;
}

int
sizes_parse(const char *text, struct sizes *s)
{
	uint64_t low, high;
	int rc;

	memset(s, 0, sizeof(*s));
	if (!strncmp(text, "random:", 7))
		return parse_random(text + 7, s);
	for (s->low = UINT64_MAX;; text++) {
		if (take_range(&text, &low, &high))
			return -EINVAL;
		rc = append_range(s, low, high);
		if (rc)
			return rc;
		if (*text != ',')
			return *text ? -EINVAL : 0;
	}
}

bool
sizes_valid(const struct sizes *s)
{
	if (s->low > s->high || s->high > SIZE_LARGEST || s->random > 1)
		return false;
	if (s->n > SIZES_MAX || !s->n != !!s->random)
		return false;
	for (uint64_t i = 0; i < s->n; i++) {
		if (s->each[i] < s->low || s->each[i] > s->high)
			return false;
	}
	return true;
}
