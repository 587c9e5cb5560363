/* SPDX-License-Identifier: BSD-3-Clause */
/* Which frame arrives next, and what became of it? See wire.h. */
#include "wire.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fate.h"
#include "forge.h"

#define HELD_NS 1000u		/* a held frame waits so long for each frame that is to pass it */

struct sim_fate {
	struct fate f;
	bool forge;
	uint64_t more;		/* a number for whatever else is to be chosen */
};

/* Another stream than those of fate_draw(): frame numbers stay far below. */
static uint64_t
mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static struct sim_fate
draw(const struct sim_wire_conf *conf, uint32_t from, uint64_t index)
{
	struct port_impair impair = conf->impair;
	struct sim_fate s;

	impair.seed = conf->impair.seed * 2 + from;
	s.f = fate_draw(&impair, index);
	s.more = mix(mix(impair.seed + UINT64_C(0x5851f42d4c957f2d)) + index);
	s.forge = conf->forge && !s.f.drop && !s.f.corrupt && s.more >> 32 < conf->forge;
	return s;
}

static bool
suffers(const struct sim_fate *s)
{
	return s->f.drop || s->f.dup || s->f.reorder || s->f.corrupt || s->forge;
}

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* A frame that is spared keeps its delay: that is the wire's, not a fault. */
static struct sim_fate
fate_of(struct sim_wire *w, uint32_t from, uint64_t index)
{
	struct sim_fate s = draw(&w->conf, from, index);
	uint64_t key = sim_wire_key(from, index);

	if (!suffers(&s))
		return s;
	if (w->conf.only && !bsearch(&key, w->conf.only, w->conf.num_only, sizeof(key), compare))
		return (struct sim_fate){ .f.delay_ns = s.f.delay_ns, .more = s.more };
	if (w->num_suffered == w->cap_suffered) {
		w->cap_suffered = w->cap_suffered ? w->cap_suffered * 2 : 256;
		w->suffered = realloc(w->suffered, w->cap_suffered * sizeof(*w->suffered));
		assert(w->suffered);
	}
	w->suffered[w->num_suffered++] = key;
	return s;
}

struct sim_wire *
sim_wire_new(const struct sim_wire_conf *conf)
{
	struct sim_wire *w = calloc(1, sizeof(*w));

	if (w)
		w->conf = *conf;
	return w;
}

void
sim_wire_free(struct sim_wire *w)
{
	struct sim_frame *f;

	while ((f = sim_wire_first(w)))
		sim_wire_done(w, sim_wire_take(w));
	while ((f = w->spare)) {
		w->spare = f->next;
		free(f);
	}
	free(w->heap);
	free(w->suffered);
	free(w);
}

/* A heap: the earliest at 0, the children of n at 2n + 1 and 2n + 2. */
static bool
earlier(const struct sim_frame *a, const struct sim_frame *b)
{
	return a->at < b->at || (a->at == b->at && a->seq < b->seq);
}

static void
heap_add(struct sim_wire *w, struct sim_frame *f)
{
	uint32_t n = w->flying++;

	if (w->flying > w->cap) {
		w->cap = w->cap ? w->cap * 2 : 64;
		w->heap = realloc(w->heap, w->cap * sizeof(struct sim_frame *));
		assert(w->heap);
	}
	for (; n && earlier(f, w->heap[(n - 1) / 2]); n = (n - 1) / 2)
		w->heap[n] = w->heap[(n - 1) / 2];
	w->heap[n] = f;
}

struct sim_frame *
sim_wire_take(struct sim_wire *w)
{
	struct sim_frame *first = w->heap[0], *last = w->heap[--w->flying];
	uint32_t n = 0, child;

	for (; (child = 2 * n + 1) < w->flying; n = child) {
		if (child + 1 < w->flying && earlier(w->heap[child + 1], w->heap[child]))
			child++;
		if (earlier(last, w->heap[child]))
			break;
		w->heap[n] = w->heap[child];
	}
	w->heap[n] = last;
	return first;
}

void
sim_wire_done(struct sim_wire *w, struct sim_frame *f)
{
	f->next = w->spare;
	w->spare = f;
}

static struct sim_frame *
new_frame(struct sim_wire *w)
{
	struct sim_frame *f = w->spare;

	if (f)
		w->spare = f->next;
	else
		f = malloc(sizeof(*f));
	assert(f);
	return f;
}

static void
put(struct sim_wire *w, uint32_t from, const uint8_t *data, uint32_t len, uint64_t at,
    const struct sim_fate *s)
{
	struct sim_frame *f = new_frame(w);

	assert(len <= SIM_FRAME_MAX);
	f->at = at;
	f->seq = w->seq++;
	f->from = from;
	f->len = len;
	f->corrupt = s->f.corrupt;
	f->forged = s->forge;
	memcpy(f->data, data, len);
	if (s->f.corrupt)
		forge_flip(f->data, len, s->f.bit);
	if (s->forge)
		forge_header(f->data, len, s->more);
	heap_add(w, f);
}

/* When the last bit of it has left. */
static uint64_t
leave(struct sim_wire *w, uint64_t now, uint32_t from, uint32_t len)
{
	uint64_t start = w->free_at[from] > now ? w->free_at[from] : now;

	w->free_at[from] = start + w->conf.frame_ns + (uint64_t)len * w->conf.byte_ps / 1000;
	return w->free_at[from];
}

void
sim_wire_lose(struct sim_wire *w, uint64_t now, uint32_t from, uint32_t len)
{
	leave(w, now, from, len);
	w->index[from]++;
	w->lost++;
}

void
sim_wire_send(struct sim_wire *w, uint64_t now, uint32_t from, const uint8_t *data, uint32_t len)
{
	uint64_t at = leave(w, now, from, len) + w->conf.delay_ns;
	struct sim_fate s = fate_of(w, from, w->index[from]++);
	uint32_t by = w->conf.impair.reorder_by ? w->conf.impair.reorder_by : PORT_REORDER_BY;

	at += s.f.delay_ns;
	if (s.f.drop) {
		w->lost++;
		return;
	}
	w->delayed += s.f.reorder;
	w->corrupted += s.f.corrupt;
	w->forged += s.forge;
	w->doubled += s.f.dup;
	if (s.f.reorder)
		at += 1 + s.more % (by * HELD_NS);
	put(w, from, data, len, at, &s);
	if (s.f.dup)
		put(w, from, data, len, at + s.more / 7 % (2 * by * HELD_NS), &s);
}

void
sim_wire_tell(const struct sim_wire_conf *conf, uint64_t key, char *text, uint32_t size)
{
	uint32_t from = (uint32_t)(key >> 63);
	uint64_t index = key & ~(UINT64_C(1) << 63);
	struct sim_fate s = draw(conf, from, index);

	snprintf(text, size, "%s %llu%s%s%s%s%s", from ? "b>a" : "a>b", (unsigned long long)index,
		 s.f.drop ? " drop" : "", s.f.dup ? " dup" : "", s.f.reorder ? " reorder" : "",
		 s.f.corrupt ? " corrupt" : "", s.forge ? " forge" : "");
}
