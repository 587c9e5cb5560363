/* SPDX-License-Identifier: BSD-3-Clause */
/* What belongs to the host as a whole: start, end, notes. Called by the script's run. */
#include "host.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_MAX 64u

bool host_external;

static struct mr_table *mrs;
static struct demux *demux;
static uint8_t slot_room[SLOTS_MAX][PKT_MAX];

static const struct ah *
ah_of(void *arg, uint32_t handle)
{
	const struct host *h = arg;

	return handle < HOST_AHS && h->ah_there[handle] ? &h->ah[handle] : NULL;
}

void
host_init(struct host *h)
{
	memset(h, 0, sizeof(*h));
	h->slots = SLOTS_MAX;
	h->quantum = 65536;
	h->slot = calloc(SLOTS_MAX, sizeof(*h->slot));
	/* to free them is long work, and each run leaves them empty */
	if (!mrs)
		mrs = mr_table_new(64);
	if (!demux)
		demux = demux_new();
	h->mrs = mrs;
	h->demux = demux;
	h->mcast = mcast_new();
	if (!h->slot || !h->mrs || !h->demux || !h->mcast || trace_init(&h->trace, 64))
		abort();
	for (uint32_t i = 0; i < SLOTS_MAX; i++)
		h->slot[i].data = slot_room[i];
	h->ext = calloc(SLOTS_MAX, sizeof(*h->ext));
	if (!h->ext)
		abort();
	h->external = host_external;
	h->xrc = host_xrc;
	h->out.slot = h->slot;
	h->out.ext = h->ext;
	h->out.ext_min = 1;
	h->frames_end = &h->frames;
	for (int i = 0; i < 2; i++)
		h->cqes_end[i] = &h->cqes[i];
	xport_init(&h->x, &h->out, h->mrs, &h->cnt, &h->trace);
	h->x.now = 1000000000;
	h->x.ah_of = ah_of;
	h->x.ah_arg = h;
}

void
host_forget(struct host *h)
{
	h->x.num_events = 0;
	h->notified[0] = h->notified[1] = 0;
	while (h->frames) {
		struct host_frame *f = h->frames;

		h->frames = f->next;
		free(f);
	}
	for (int i = 0; i < 2; i++) {
		while (h->cqes[i]) {
			struct host_cqe *c = h->cqes[i];

			h->cqes[i] = c->next;
			free(c);
		}
		h->cqes_end[i] = &h->cqes[i];
	}
	h->frames_end = &h->frames;
}

void
host_fini(struct host *h)
{
	for (unsigned int i = 0; i < h->num_qps; i++)
		host_qp_free(h, h->qp[i]);
	for (unsigned int i = 0; i < h->num_srqs; i++)
		host_srq_free(h->srq[i]);
	for (unsigned int i = 0; i < h->num_mws; i++)
		host_mw_dealloc(h, &h->mw[i]);
	for (unsigned int i = 0; i < h->num_mrs; i++) {
		host_mr_dereg(h, &h->mr[i]);
		free(h->mr[i].room);
		free(h->mr[i].shadow);
	}
	host_forget(h);
	trace_fini(&h->trace);
	mcast_free(h->mcast);
	free(h->ext);
	free(h->slot);
}

void
host_note(struct host *h, const char *fmt, ...)
{
	char text[1024];
	int n = snprintf(text, sizeof(text), "%14.6f ms  ", (double)(h->x.now - 1000000000) / 1e6);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
	va_end(ap);
	if (h->saw)
		h->saw(h->saw_arg, text);
}

void
host_broke(struct host *h, const char *fmt, ...)
{
	va_list ap;

	if (h->broken[0])
		return;
	va_start(ap, fmt);
	vsnprintf(h->broken, sizeof(h->broken), fmt, ap);
	va_end(ap);
}
