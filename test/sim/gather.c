/* SPDX-License-Identifier: BSD-3-Clause */
/* A port that gathers, and keeps. See gather.h. */
#include "gather.h"

#include <string.h>

#include "wire/icrc.h"

static uint32_t
sum_of(const struct out_ext *ext)
{
	return wire_icrc_update(0, ext->data, ext->len);
}

void
gather_lend(struct gather *g, uint32_t side, struct outbox *ob, uint32_t min)
{
	ob->ext = g->ext[side];
	ob->ext_min = min ? min : UINT32_MAX;
	ob->ext_room = min ? GATHER_REFS - g->num : 0;
}

const uint8_t *
gather_frame(const struct outbox *ob, uint32_t i, uint8_t *room)
{
	const struct out_slot *slot = &ob->slot[i];
	const struct out_ext *ext = &ob->ext[i];

	if (!slot->ext)
		return slot->data;
	memcpy(room, slot->data, ext->at);
	memcpy(room + ext->at, ext->data, ext->len);
	memcpy(room + ext->at + ext->len, slot->data + ext->at, slot->len - ext->at - ext->len);
	return room;
}

void
gather_sent(struct gather *g, struct xport *x, uint32_t i)
{
	const struct out_ext *ext = &x->out->ext[i];

	if (!x->out->slot[i].ext)
		return;
	g->ref[g->num++] = (struct gather_ref){ x, sum_of(ext), *ext };
	if (!g->keeps)
		gather_back(g, g->num - 1);
}

bool
gather_back(struct gather *g, uint32_t index)
{
	struct gather_ref ref = g->ref[index];
	bool same = sum_of(&ref.ext) == ref.sum;

	g->num--;
	memmove(g->ref + index, g->ref + index + 1, (g->num - index) * sizeof(ref));
	qp_ext_back(ref.ext.qp, ref.x, ref.ext.wr);
	return same;
}
