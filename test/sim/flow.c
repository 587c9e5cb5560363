/* SPDX-License-Identifier: BSD-3-Clause */
/* What does a flow send? Called by a simulation between turns of the two hosts. */
#include <assert.h>
#include <string.h>

#include "bytes.h"
#include "flow.h"
#include "transport/ack.h"
#include "transport/numbers.h"

#define GAP 16u			/* poison at either end of a stretch, at least */
#define MAX_LEN 65537u
#define INLINE_MAX 128u

/* Addresses that applications see: the same in every run, unlike those of the memory. */
#define IOVA(index) (UINT64_C(0x7000000000) + (uint64_t)(index) * 0x1000000)
#define IOVA_WORDS 63u

static uint32_t
flow_index(const struct flow *f)
{
	return 2 * f->from->index + f->from->side->index;
}

static struct mr *
add_mr(struct pair_side *s, uint32_t offset, uint32_t length, uint64_t iova)
{
	struct mr d = { .pd = 1, .access = 15 | MEM_FLUSH_GLOBAL, .base = s->mem + offset, .length = length,
			.iova = iova };
	struct mr *mr;

	if (mr_add(s->mrs, &d, &mr))
		assert(!"no room for a region");
	return mr;
}

void
flow_init(struct flow *f, struct pair_qp *from, struct pair_qp *to, const struct pair_conf *conf,
	  uint64_t seed)
{
	uint32_t at;

	memset(f, 0, sizeof(*f));
	f->from = from;
	f->to = to;
	f->rng = f->seed = seed;
	f->mtu = 128u << conf->mtu;
	f->max_wr = conf->max_wr;
	f->max_inline = conf->max_inline;
	f->base = flow_index(f) * FLOW_SPAN + FLOW_CANARY;
	f->here = add_mr(from->side, f->base, FLOW_AREA, IOVA(flow_index(f)));
	f->there = add_mr(to->side, f->base, FLOW_AREA, IOVA(flow_index(f)));
	at = PAIR_MEM - FLOW_WORDS;
	f->words = add_mr(to->side, at, FLOW_WORDS, IOVA(IOVA_WORDS));
	f->slow = pair_random(&f->rng) % 4 == 0;
	f->psn = psn_make(conf->psn[from->side->index]);
	mon_init(&f->mon, f->psn, f->mtu, ack_window(from->side->x.max_inflight), conf->max_rd_atomic);
	bytes_poison(from->side->mem + f->base - FLOW_CANARY, FLOW_SPAN);
	bytes_poison(to->side->mem + f->base - FLOW_CANARY, FLOW_SPAN);
}

/* Sizes at which something changes, and any. */
static uint32_t
draw_len(struct flow *f)
{
	uint64_t r = pair_random(&f->rng);
	uint32_t k = 1 + (uint32_t)(r >> 32) % 6, near = k * f->mtu - 1 + (uint32_t)(r >> 40) % 3;

	switch (r % 16) {
	case 0:
	case 1:
		return 0;
	case 2:
		return 1;
	case 3:
	case 4:
		return f->mtu - 1 + (uint32_t)(r >> 32) % 3;
	case 5:
	case 6:
	case 7:
		return near;
	case 8:
		return MAX_LEN - (uint32_t)(r >> 32) % 3;
	case 9:
		return (uint32_t)(r >> 32) % (MAX_LEN + 1);
	case 10:
	case 11:
		return (uint32_t)(r >> 32) % (4 * f->mtu);
	default:
		return (uint32_t)(r >> 32) % 300;
	}
}

static bool
take_stretch(struct flow *f, struct flow_wr *w)
{
	uint32_t at, end = FLOW_AREA;

	w->room = (w->len + 2 * GAP + 16 + 7) & ~7u;
	if (f->oldest == f->posted)
		f->head = f->tail = 0;
	at = f->head;
	if (at >= f->tail && at + w->room > FLOW_AREA)
		at = 0;
	if (at < f->head || f->head < f->tail)
		end = f->tail ? f->tail - 1 : 0;	/* a full ring is not an empty one */
	if (at + w->room > end)
		return false;
	w->at = at;
	f->head = at + w->room;
	return true;
}

static const struct {
	uint8_t opcode;
	bool recv;
} kinds[] = {
	{ WR_SEND, true }, { WR_SEND_IMM, true }, { WR_RDMA_WRITE, false }, { WR_RDMA_WRITE, false },
	{ WR_RDMA_WRITE_IMM, true }, { WR_RDMA_READ, false }, { WR_CMP_SWAP, false },
	{ WR_FETCH_ADD, false }, { WR_ATOMIC_WRITE, false }, { WR_FLUSH, false },
};

static bool
draw_wr(struct flow *f, struct flow_wr *w)
{
	uint64_t r = pair_random(&f->rng);
	uint32_t kind = r % (sizeof(kinds) / sizeof(kinds[0]));
	uint8_t opcode = kinds[kind].opcode;
	bool word = opcode == WR_CMP_SWAP || opcode == WR_FETCH_ADD || opcode == WR_ATOMIC_WRITE;

	memset(w, 0, sizeof(*w));
	w->opcode = opcode;
	w->takes_recv = kinds[kind].recv;
	w->len = word ? 8 : opcode == WR_FLUSH ? 0 : draw_len(f);
	if (!take_stretch(f, w))
		return false;
	w->here = w->at + GAP + (r >> 8) % 8;
	w->there = w->at + GAP + (opcode == WR_ATOMIC_WRITE ? 0 : (r >> 16) % 8);
	w->imm = (uint32_t)(r >> 24);
	w->stream = f->seed + f->posted;
	w->signalled = (r >> 60) % 2;
	return true;
}

/* The newest READ whose bytes nobody has sent on yet: this WR sends them, behind a fence. */
static bool
borrow(struct flow *f, struct flow_wr *w)
{
	for (uint32_t n = f->posted; n-- != f->done;) {
		struct flow_wr *rd = flow_wr_at(f, n);

		if (rd->opcode != WR_RDMA_READ || rd->lent || rd->len > w->len)
			continue;
		rd->lent = true;
		w->borrows = true;
		w->lender = n;
		w->len = rd->len;
		w->stream = rd->stream;
		w->here = rd->here;
		return true;
	}
	return false;
}

static void
draw_atomic(struct flow *f, struct flow_shared *sh, struct flow_wr *w, struct plx_sq_wqe *q)
{
	uint64_t r = pair_random(&f->rng);
	bool shared = w->opcode == WR_FETCH_ADD && r % 2;

	q->rkey = f->words->key;
	q->remote_addr = f->words->iova + (uint64_t)((uint8_t *)flow_word(f, shared) - f->words->base);
	w->imm = shared;
	w->before = f->word;
	if (shared) {
		q->atomic.compare_add = 1;
		sh->adds[f->to->side->index]++;
	} else if (w->opcode == WR_FETCH_ADD) {
		q->atomic.compare_add = r;
		f->word += r;
	} else {
		q->atomic.compare_add = r >> 8 & 1 ? f->word : f->word + 1;
		q->atomic.swap = pair_random(&f->rng);
		if (q->atomic.compare_add == f->word)
			f->word = q->atomic.swap;
	}
}

/* Of all that there is of the flow, or of a part of it. */
static void
draw_flush(struct flow *f, struct flow_wr *w, struct plx_sq_wqe *q)
{
	q->rkey = f->there->key;
	q->remote_addr = f->there->iova + w->at;
	q->length = w->room;
	q->flush.type = PLX_FLUSH_GLOBAL;
	q->flush.level = pair_random(&f->rng) % 2 ? PLX_FLUSH_MR : PLX_FLUSH_RANGE;
}

/* The bytes as they lie, in up to four pieces; some of them empty. */
static uint16_t
cut(struct flow *f, struct plx_sge *sge, const struct mr *mr, uint32_t at, uint32_t len)
{
	uint32_t n = len ? 1 + pair_random(&f->rng) % 4 : pair_random(&f->rng) % 2, done = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t part = i + 1 == n ? len - done : pair_random(&f->rng) % (len - done + 1);

		sge[i] = (struct plx_sge){ mr->iova + at + done, part, mr->key };
		done += part;
	}
	return (uint16_t)n;
}

/* Its bytes where they are to come from. Inline ones stand in the WQE alone. */
static const void *
lay_out(struct flow *f, struct flow_wr *w, struct plx_sq_wqe *q, struct plx_sge *sge, uint8_t *data)
{
	bool sends = flow_sends(w);

	if (w->opcode == WR_FLUSH)
		return sge;
	if (w->opcode == WR_RDMA_READ)
		bytes_fill(f->to->side->mem + f->base + w->there, w->len, w->stream);
	if (sends && !w->borrows && w->len <= INLINE_MAX && pair_random(&f->rng) % 3 == 0) {
		q->flags |= PLX_WQE_INLINE;
		w->is_inline = true;
		q->length = w->len;
		bytes_fill(data, w->len, w->stream);
		return data;
	}
	if (sends && !w->borrows)
		bytes_fill(f->from->side->mem + f->base + w->here, w->len, w->stream);
	q->num_sge = cut(f, sge, f->here, w->here, w->len);
	return sge;
}

/* A queue, or a ring of stretches, full of WRs that never complete could not be emptied. */
static void
signal_often(struct flow *f, struct flow_wr *w)
{
	f->silent++;
	f->silent_room += w->room;
	w->signalled |= f->silent >= f->max_wr / 2 || f->silent_room > FLOW_AREA / 4 || w->borrows ||
			f->closing;
	if (w->signalled)
		f->silent = f->silent_room = 0;
}

static bool
post_one(struct flow *f, struct flow_shared *sh)
{
	struct flow_wr *w = flow_wr_at(f, f->posted);
	struct plx_sq_wqe q = { .wr_id = f->posted };
	uint8_t data[INLINE_MAX];
	struct plx_sge sge[4];
	uint32_t npsn;
	bool fence;

	if (!draw_wr(f, w))
		return false;
	fence = pair_random(&f->rng) % 8 == 0;
	if (w->opcode <= WR_SEND_IMM && pair_random(&f->rng) % 4 == 0)
		fence |= borrow(f, w);
	signal_often(f, w);
	q.opcode = w->opcode;
	q.flags = (uint8_t)((w->signalled ? PLX_WQE_SIGNALED : 0) | (fence ? PLX_WQE_FENCE : 0));
	q.imm = w->imm;
	q.rkey = w->len ? f->there->key : 0;	/* B4 */
	q.remote_addr = f->there->iova + w->there;
	if (w->opcode == WR_CMP_SWAP || w->opcode == WR_FETCH_ADD)
		draw_atomic(f, sh, w, &q);
	if (w->opcode == WR_FLUSH)
		draw_flush(f, w, &q);
	npsn = w->len ? (w->len + f->mtu - 1) / f->mtu : 1;
	mon_posted(&f->mon, f->psn, npsn, fence);
	f->psn = w->end = psn_add(f->psn, npsn);
	f->bytes += w->len;
	f->posted++;
	pair_qp_post_send(f->from, &q, lay_out(f, w, &q, sge, data));
	return true;
}

void
flow_post(struct flow *f, struct flow_shared *sh, uint32_t n)
{
	while (n-- && f->posted - f->done < f->max_wr && f->posted - f->oldest < FLOW_WRS - 1 &&
	       post_one(f, sh))
		;
}

bool
flow_close(struct flow *f, struct flow_shared *sh)
{
	f->closing = true;
	if (f->silent)
		flow_post(f, sh, 1);
	return !f->silent;
}

/* A buffer as long as the message or a little longer; for a WRITE some other bytes, which must stay
 * as they are (C28). */
static void
post_recv(struct flow *f, struct flow_wr *w)
{
	uint32_t more = (uint32_t)(pair_random(&f->rng) % 8);
	struct plx_sge sge[4];
	uint16_t n;

	if (w->opcode == WR_RDMA_WRITE_IMM)
		n = cut(f, sge, f->there, w->at, GAP);
	else
		n = cut(f, sge, f->there, w->there, w->len + more);
	pair_qp_post_recv(f->to, f->recv_next, sge, n);
	f->mon.recvs++;
	f->recvs_out++;
}

void
flow_post_recvs(struct flow *f, uint32_t n)
{
	for (; n && f->recv_next != f->posted && f->recvs_out < f->max_wr; f->recv_next++) {
		struct flow_wr *w = flow_wr_at(f, f->recv_next);

		if (!w->takes_recv)
			continue;
		post_recv(f, w);
		n--;
	}
}
