/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whose are packets to a group? Called by the engine for packets whose destination address is one, and
 * by control calls to attach and detach; on the owning core.
 *
 * Groups are named by those who attach, never by a packet: a packet looks into one list and makes
 * nothing.
 */
#include "transport/mcast.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transport/demux.h"
#include "transport/qp_priv.h"

#define BUCKETS 256u		/* power of two */

struct mcast_group {
	struct mcast_group *next;	/* in its bucket */
	uint8_t gid[16];
	uint64_t mark;
	uint32_t num, room;		/* QPs in order, and places for them */
	struct qp **qp;
};

struct mcast {
	uint32_t num;			/* groups */
	struct mcast_group *bucket[BUCKETS];
};

struct mcast *
mcast_new(void)
{
	return calloc(1, sizeof(struct mcast));
}

static void
group_free(struct mcast_group *g)
{
	free(g->qp);
	free(g);
}

void
mcast_free(struct mcast *m)
{
	for (uint32_t i = 0; m && i < BUCKETS; i++) {
		while (m->bucket[i]) {
			struct mcast_group *g = m->bucket[i];

			m->bucket[i] = g->next;
			group_free(g);
		}
	}
	free(m);
}

/* Groups that go together mostly differ in their last bytes. */
static uint32_t
bucket_of(const uint8_t gid[16])
{
	uint64_t a, b;

	memcpy(&a, gid, 8);
	memcpy(&b, gid + 8, 8);
	a = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(a >> 32 ^ a >> 56) & (BUCKETS - 1);
}

/* Where the pointer to the group stands, or the NULL at the end of its bucket. */
static struct mcast_group **
place_of(struct mcast *m, const uint8_t gid[16])
{
	struct mcast_group **at = &m->bucket[bucket_of(gid)];

	while (*at && memcmp((*at)->gid, gid, 16) != 0)
		at = &(*at)->next;
	return at;
}

static const struct mcast_group *
find(const struct mcast *m, const uint8_t gid[16])
{
	const struct mcast_group *g = m->bucket[bucket_of(gid)];

	while (g && memcmp(g->gid, gid, 16) != 0)
		g = g->next;
	return g;
}

/* Found or made; NULL without memory. */
static struct mcast_group *
get(struct mcast *m, const uint8_t gid[16])
{
	struct mcast_group **at = place_of(m, gid);

	if (*at)
		return *at;
	*at = calloc(1, sizeof(**at));
	if (!*at)
		return NULL;
	memcpy((*at)->gid, gid, 16);
	m->num++;
	return *at;
}

/* The group goes when there is nothing left of it. */
static void
settle(struct mcast *m, const uint8_t gid[16])
{
	struct mcast_group **at = place_of(m, gid), *g = *at;

	if (!g || g->num || g->mark)
		return;
	*at = g->next;
	group_free(g);
	m->num--;
}

static uint32_t
index_of(const struct mcast_group *g, const struct qp *qp)
{
	uint32_t i = 0;

	while (i < g->num && g->qp[i] != qp)
		i++;
	return i;
}

static int
add(struct mcast_group *g, struct qp *qp)
{
	if (index_of(g, qp) < g->num)
		return -EEXIST;
	if (g->num == g->room) {
		uint32_t room = g->room ? 2 * g->room : 4;
		struct qp **more = realloc(g->qp, room * sizeof(struct qp *));

		if (!more)
			return -ENOMEM;
		g->qp = more;
		g->room = room;
	}
	g->qp[g->num++] = qp;
	return 0;
}

int
mcast_attach(struct mcast *m, const uint8_t gid[16], struct qp *qp)
{
	struct mcast_group *g = get(m, gid);
	int rc = g ? add(g, qp) : -ENOMEM;

	settle(m, gid);
	return rc;
}

int
mcast_detach(struct mcast *m, const uint8_t gid[16], const struct qp *qp)
{
	struct mcast_group *g = *place_of(m, gid);
	uint32_t i = g ? index_of(g, qp) : 0;

	if (!g || i == g->num)
		return -ENOENT;
	g->num--;
	memmove(&g->qp[i], &g->qp[i + 1], (g->num - i) * sizeof(struct qp *));
	settle(m, gid);
	return 0;
}

int
mcast_mark(struct mcast *m, const uint8_t gid[16], uint64_t mark)
{
	struct mcast_group *g = get(m, gid);

	if (!g)
		return -ENOMEM;
	g->mark = mark;
	settle(m, gid);
	return 0;
}

uint64_t
mcast_marked(const struct mcast *m, const uint8_t gid[16])
{
	const struct mcast_group *g = find(m, gid);

	return g ? g->mark : 0;
}

uint32_t
mcast_attached(const struct mcast *m, const uint8_t gid[16])
{
	const struct mcast_group *g = find(m, gid);

	return g ? g->num : 0;
}

bool
mcast_any(const struct mcast *m)
{
	return m->num != 0;
}

enum drop_reason
mcast_rx(const struct mcast *m, const struct wire_pkt *pkt, struct cnt_block *cnt,
	 void (*take)(void *arg, struct qp *qp), void *arg)
{
	const struct mcast_group *g = find(m, pkt->dst_gid);

	if (!g)
		return DROP_DST_GID;
	if (pkt->dest_qpn != MCAST_QPN)
		return DROP_QPN;
	if (wire_opcode_class(pkt->opcode) != WIRE_UD)
		return DROP_QP_TYPE;
	for (uint32_t i = 0; i < g->num; i++) {
		enum drop_reason why = demux_admits(g->qp[i], pkt);

		if (why == DROP_NONE)
			take(arg, g->qp[i]);
		else
			cnt_drop(cnt, why);
	}
	return DROP_NONE;
}
