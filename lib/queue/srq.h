/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The core's half of a shared receive queue. WQEs are handed out in posting order (F11), to QPs of any
 * core: who takes one holds the queue's lock while it copies the WQE out. That frees the slot; posters
 * read ctl->head, which nothing else ever does.
 */
#ifndef QUEUE_SRQ_H
#define QUEUE_SRQ_H

#include "queue/rq.h"

enum srq_event {
	SRQ_LIMIT_REACHED,	/* fewer WQEs wait than the limit that was armed; it is 0 now (F12) */
	SRQ_BROKEN,		/* the ring's tail lies: nothing is taken any more. Raised once */
};

struct srq {
	uint32_t lock;		/* all below it but what srq_init() is given */
	uint32_t tail;		/* published, as last seen */
	uint32_t head;		/* taken */
	uint32_t limit;		/* armed; 0: not */
	bool broken;
	struct wq_conf c;
	uint32_t pd;		/* to which the SGEs of its WQEs belong */
	/* Called without the lock, by whoever takes or arms: any core's thread, or a control thread. */
	void (*raise)(struct srq *srq, enum srq_event event);
};

/* Before any QP has it. The ring's words are zero. */
void srq_init(struct srq *srq, const struct wq_conf *conf, uint32_t pd,
	      void (*raise)(struct srq *srq, enum srq_event event));

/* Any core. Takes the next WQE. 1 taken, 0 none there, -EINVAL taken but malformed (wr_id is set). */
int srq_take(struct srq *srq, struct rq_wqe *out);

/*
 * Control threads. Arms the limit, or disarms it with 0. Below it already: the event is raised at once,
 * for it would never come otherwise. 0, or -EINVAL above max_wr.
 */
int srq_arm(struct srq *srq, uint32_t limit);
/* Control threads. The limit that is armed. */
uint32_t srq_limit(struct srq *srq);

/*
 * Control threads, while nobody posts. Moves the WQEs that wait, in order, into the ring of `conf`,
 * which has the same stride, and takes from there; the old ring is the caller's again. `limit` is armed
 * with it, as by srq_arm(); NULL: the one that is armed stays. 0, or -EINVAL and nothing has changed: more
 * WQEs wait, or the limit is higher, than `asked` (of conf->max_wr at most), which is what the application
 * wants; or it is broken.
 */
int srq_resize(struct srq *srq, const struct wq_conf *conf, uint32_t asked, const uint32_t *limit);

#endif
