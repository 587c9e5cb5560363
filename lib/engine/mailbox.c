/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How does the control side, or another core, reach what belongs to a core? Senders are control threads
 * and whoever drives another core; the receiver is whoever drives this one.
 */
#include "engine/mailbox.h"

#include <stddef.h>
#include <time.h>

#include "engine/core.h"

void
mailbox_put(struct mailbox *b, struct mail *m)
{
	m->done = 0;
	m->next = __atomic_load_n(&b->newest, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&b->newest, &m->next, m, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
}

/* The list as it is taken has the newest first. */
static struct mail *
oldest_first(struct mail *m)
{
	struct mail *first = NULL;

	while (m) {
		struct mail *next = m->next;

		m->next = first;
		first = m;
		m = next;
	}
	return first;
}

unsigned int
mailbox_run(struct mailbox *b, struct core *c)
{
	bool settled = false;
	struct mail *m;
	unsigned int n = 0;

	m = oldest_first(__atomic_exchange_n(&b->newest, NULL, __ATOMIC_ACQUIRE));
	for (; m; n++) {
		struct mail *next = m->next;	/* once done, the sender may be gone */

		if (m->note) {
			m->fn(c, m->arg);
		} else {
			if (!settled)
				core_settle(c);
			settled = true;
			m->rc = m->fn(c, m->arg);
			__atomic_store_n(&m->done, 1, __ATOMIC_RELEASE);
		}
		m = next;
	}
	return n;
}

void
core_post(struct core *to, struct mail *note)
{
	note->note = true;
	mailbox_put(&to->mail, note);
	core_wake(to);
}

/* While another thread drives: it answers within a round, unless it was preempted. */
static void
wait_a_little(unsigned int *turns)
{
	const struct timespec ts = { .tv_nsec = 20000 };

	if (++*turns < 200)
		rte_pause();
	else
		nanosleep(&ts, NULL);
}

int
eng_call(struct core *c, int (*fn)(struct core *c, void *arg), void *arg)
{
	struct mail m = { .fn = fn, .arg = arg };
	unsigned int turns = 0;

	mailbox_put(&c->mail, &m);
	while (!mail_done(&m)) {
		if (core_try(c, false)) {
			do {
				core_round(c, CORE_ROUND_POST);
				idle_hurry(c);
			} while (core_leave(c));
		} else {
			wait_a_little(&turns);
		}
	}
	return m.rc;
}

static int
nothing(struct core *c, void *arg)
{
	(void)c;
	(void)arg;
	return 0;
}

void
eng_flush(struct core *c)
{
	eng_call(c, nothing, NULL);
}

void
eng_quiet(struct engine *e)
{
	for (uint32_t i = 0; i < e->num_cores; i++)
		eng_flush(e->core[i]);
}
