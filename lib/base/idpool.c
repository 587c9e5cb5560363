/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which number does a new object get? Called by the control side when objects are made and
 * destroyed; one thread for each pool.
 */
#include "base/idpool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitset.h"

int
idpool_init(struct idpool *p, uint32_t first, uint32_t count, uint32_t min_rest, uint64_t min_ns)
{
	if (!count || min_rest >= count || count - 1 > UINT32_MAX - first)
		return -EINVAL;
	memset(p, 0, sizeof(*p));
	p->first = first;
	p->count = count;
	p->min_rest = min_rest;
	p->min_ns = min_ns;
	p->ring = calloc(count, sizeof(*p->ring));
	p->since = calloc(count, sizeof(*p->since));
	p->out = calloc(BITSET_WORDS(count), sizeof(*p->out));
	if (p->ring && p->since && p->out)
		return 0;
	idpool_fini(p);
	return -ENOMEM;
}

void
idpool_fini(struct idpool *p)
{
	free(p->ring);
	free(p->since);
	free(p->out);
	memset(p, 0, sizeof(*p));
}

static bool
oldest_has_rested(const struct idpool *p, uint64_t now)
{
	return p->resting > p->min_rest && now - p->since[p->head] >= p->min_ns;
}

int
idpool_get(struct idpool *p, uint64_t now, uint32_t *id)
{
	uint32_t n;

	if (p->fresh < p->count) {
		n = p->fresh++;
	} else if (oldest_has_rested(p, now)) {
		n = p->ring[p->head];
		p->head = (p->head + 1) % p->count;
		p->resting--;
	} else {
		return -ENOSPC;
	}
	bitset_set(p->out, n);
	*id = p->first + n;
	return 0;
}

int
idpool_put(struct idpool *p, uint64_t now, uint32_t id)
{
	uint32_t n = id - p->first;
	uint64_t tail;

	if (!idpool_is_out(p, id))
		return -EINVAL;
	bitset_clear(p->out, n);
	tail = ((uint64_t)p->head + p->resting++) % p->count;
	p->ring[tail] = n;
	p->since[tail] = now;
	return 0;
}

bool
idpool_is_out(const struct idpool *p, uint32_t id)
{
	return id >= p->first && id - p->first < p->count && bitset_test(p->out, id - p->first);
}
