/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames that wait, first in, first out. Owning core. */
#ifndef IMPAIR_FIFO_H
#define IMPAIR_FIFO_H

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <rte_mbuf.h>

/* A frame that waits. */
struct waiting {
	struct rte_mbuf *m;
	uint64_t due;		/* TSC */
	uint64_t passed;	/* of the held: goes on when so many have passed */
	bool dup, reorder;
};

/* Free-running indices; `size` is a power of two, `limit` at most that. */
struct fifo {
	struct waiting *e;
	uint32_t head, tail, size, limit;
};

static inline int
fifo_init(struct fifo *q, uint32_t size, uint32_t limit)
{
	q->e = calloc(size, sizeof(*q->e));
	q->head = q->tail = 0;
	q->size = size;
	q->limit = limit;
	return q->e ? 0 : -ENOMEM;
}

static inline uint32_t
fifo_len(const struct fifo *q)
{
	return q->tail - q->head;
}

static inline struct waiting *
fifo_first(struct fifo *q)
{
	return fifo_len(q) ? &q->e[q->head & (q->size - 1)] : NULL;
}

static inline void
fifo_push(struct fifo *q, const struct waiting *w)
{
	assert(fifo_len(q) < q->limit);
	q->e[q->tail++ & (q->size - 1)] = *w;
}

/* Not from an empty one. */
static inline struct waiting
fifo_pop(struct fifo *q)
{
	return q->e[q->head++ & (q->size - 1)];
}

static inline void
fifo_fini(struct fifo *q)
{
	while (q->e && fifo_len(q))
		rte_pktmbuf_free(fifo_pop(q).m);
	free(q->e);
	q->e = NULL;
}

#endif
