/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How does what happens to a shared receive queue, on any core, reach its client's socket? It is counted
 * in one word, and whoever finds that word at 0 sends a note to the core that serves the port, which
 * tells. So no event is lost, however many are due, and there is no list that could be full.
 */
#include "engine/core.h"

#include <pollux/abi/event.h>

#define DUE_LIMIT 1u		/* each of them */
#define DUE_ERROR (1u << 31)	/* there is at most one */

enum ev {			/* values of enum ibv_event_type */
	EV_SRQ_ERR = 14,
	EV_SRQ_LIMIT_REACHED = 15,
};

/* The teller. */
static int
take_note(struct core *c, void *arg)
{
	struct eng_srq *s = arg;

	list_push(&c->srq_events, &s->event_node);
	return 0;
}

void
eng_srq_raise(struct srq *srq, enum srq_event event)
{
	struct eng_srq *s = container_of(srq, struct eng_srq, srq);
	uint32_t what = event == SRQ_BROKEN ? DUE_ERROR : DUE_LIMIT;

	/* the note is free: when the word went to 0 the teller had begun it long before */
	if (__atomic_fetch_add(&s->due, what, __ATOMIC_ACQ_REL) == 0)
		core_post(s->teller, &s->note);
}

unsigned int
core_srq_events(struct core *c)
{
	struct eng_srq *s = container_of(list_pop(&c->srq_events), struct eng_srq, event_node);
	bool error = __atomic_load_n(&s->due, __ATOMIC_ACQUIRE) & DUE_ERROR;
	uint32_t what = error ? DUE_ERROR : DUE_LIMIT;
	const struct plx_async_event ev = { .type = error ? EV_SRQ_ERR : EV_SRQ_LIMIT_REACHED,
					    .subject = PLX_EVENT_SRQ, .handle = s->handle, .gen = s->gen };
	bool told = core_tell(s->async_fd, &ev, sizeof(ev));

	/* the others may have another socket; once the word is 0 the node may be pushed by a note */
	if (!told || __atomic_sub_fetch(&s->due, what, __ATOMIC_ACQ_REL) != 0)
		list_push(&c->srq_events, &s->event_node);
	return told;
}

void
eng_srq_add(struct engine *e, struct eng_srq *s)
{
	s->teller = eng_port_core(e);
	s->due = 0;
	s->note.fn = take_note;
	s->note.arg = s;
	list_node_init(&s->event_node);
}

/* Notes that were sent before have run when the teller answers. */
static int
leave(struct core *c, void *arg)
{
	struct eng_srq *s = arg;

	(void)c;
	if (list_linked(&s->event_node))
		list_del(&s->event_node);
	return 0;
}

void
eng_srq_del(struct eng_srq *s)
{
	eng_call(s->teller, leave, s);
}
