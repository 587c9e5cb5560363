/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages to a core: functions that the thread that drives it calls, in the order in which they were
 * put in. Many senders; each message lies with its sender until it is done.
 */
#ifndef ENGINE_MAILBOX_H
#define ENGINE_MAILBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;

struct mail {
	struct mail *next;
	int (*fn)(struct core *c, void *arg);
	void *arg;
	bool note;		/* nobody waits for it: it is its sender's again as soon as fn begins */
	int rc;			/* of fn; valid when done */
	uint32_t done;		/* set last, with release */
};

struct mailbox {
	struct mail *newest;	/* the others behind it */
};

/* Any thread. */
void mailbox_put(struct mailbox *b, struct mail *m);

/* Any thread. */
static inline int
mail_done(const struct mail *m)
{
	return (int)__atomic_load_n(&m->done, __ATOMIC_ACQUIRE);
}

/* Any thread. */
static inline bool
mailbox_waits(const struct mailbox *b)
{
	return __atomic_load_n(&b->newest, __ATOMIC_RELAXED) != NULL;
}

/* The thread that drives the core: runs what is there, the oldest first; how many. */
unsigned int mailbox_run(struct mailbox *b, struct core *c);

/* Any thread; from a core to another one, mostly. A note, which the sender keeps until fn begins:
 * puts it in and wakes the core. */
void core_post(struct core *to, struct mail *note);

#endif
