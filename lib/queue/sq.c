/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What has the application put into its send queue? Asked by the requester when a doorbell rang and
 * when it starts or repeats a WQE. Owning core only; nothing in the ring is believed.
 */
#include <errno.h>
#include <string.h>

#include "queue/sq.h"

void
sq_init(struct sq *sq, const struct wq_conf *conf)
{
	sq->c = *conf;
	sq->tail = 0;
}

bool
sq_refresh(struct sq *sq, uint32_t head)
{
	uint32_t known = sq->tail - head;
	uint32_t now;

	__atomic_store_n(&sq->c.ctl->bell, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	now = __atomic_load_n(&sq->c.ctl->tail, __ATOMIC_ACQUIRE) - head;
	if (now > sq->c.max_wr)
		now = sq->c.max_wr;
	if (now <= known)
		return false;
	sq->tail = head + now;
	return true;
}

static const uint8_t *
slot_of(const struct sq *sq, uint32_t index)
{
	uint32_t mask = (1u << sq->c.log2_size) - 1;

	return sq->c.slots + (size_t)(index & mask) * sq->c.stride;
}

int
sq_copy(const struct sq *sq, uint32_t index, struct sq_wqe *out)
{
	const uint8_t *slot = slot_of(sq, index);
	uint32_t room = sq->c.stride - (uint32_t)sizeof(out->w);

	memcpy(&out->w, slot, sizeof(out->w));
	/* one read: from here on only the copy is looked at (FC65) */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (out->w.flags & PLX_WQE_INLINE) {
		if (out->w.length > PLX_MAX_INLINE || out->w.length > room)
			return -EINVAL;
		out->w.num_sge = 0;
		memcpy(out->data, slot + sizeof(out->w), out->w.length);
	} else {
		if (out->w.num_sge > PLX_MAX_SGE || out->w.num_sge > sq->c.max_sge ||
		    out->w.num_sge * sizeof(struct plx_sge) > room)
			return -EINVAL;
		memcpy(out->sge, slot + sizeof(out->w), out->w.num_sge * sizeof(struct plx_sge));
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return 0;
}

void
sq_set_head(struct sq *sq, uint32_t head)
{
	__atomic_store_n(&sq->c.ctl->head, head, __ATOMIC_RELAXED);
}
