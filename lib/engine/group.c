/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames to multicast groups: who gets a copy? Attaching and detaching is for control threads; the rest is
 * called by the loop, with the lock.
 *
 * Each core knows its own QPs of a group, and a word for it that says on which cores there are any. A
 * received frame is looked at by all of those, who share its buffer. A frame that is sent to a group
 * goes to the wire, and a copy of it to the cores of the word, the sender's own QPs among them: as from
 * Linux and its IP multicast, a sender that is attached hears itself.
 */
#include "engine/core.h"

#include <errno.h>

#include "transport/mcast.h"
#include "wire/group.h"
#include "wire/icrc.h"

#define ETH_TYPE_VLAN 0x8100u
#define ETH_TYPE_IP4 0x0800u
#define ETH_TYPE_IP6 0x86ddu

static uint16_t
be16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

/* The group that a frame's two destinations name. False: none, or not the same. */
static bool
group_of(const uint8_t *frame, uint32_t len, uint8_t gid[16])
{
	static const uint8_t ip4[12] = { [10] = 0xff, [11] = 0xff };
	uint32_t l3 = len >= 18 && be16(frame + 12) == ETH_TYPE_VLAN ? 18 : 14;
	uint16_t type = len >= l3 + 40 ? be16(frame + l3 - 2) : 0;
	uint8_t mac[6];

	if (type == ETH_TYPE_IP4) {
		memcpy(gid, ip4, 12);
		memcpy(gid + 12, frame + l3 + 16, 4);
	} else if (type == ETH_TYPE_IP6) {
		memcpy(gid, frame + l3 + 24, 16);
	} else {
		return false;
	}
	wire_group_mac(gid, mac);
	return wire_gid_is_group(gid) && memcmp(frame, mac, 6) == 0;
}

/* On which cores QPs are attached to the group that the frame is for. */
static uint64_t
where(const struct core *c, const struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	uint8_t gid[16];

	if (!mcast_any(c->mcast) || !group_of(frame, m->data_len, gid))
		return 0;
	return mcast_marked(c->mcast, gid);
}

void
core_group_spread(struct core *c, struct rte_mbuf *m)
{
	uint64_t others = where(c, m) & ~(UINT64_C(1) << c->index);

	for (uint32_t i = 0; others; i++, others >>= 1) {
		if (!(others & 1))
			continue;
		rte_mbuf_refcnt_update(m, 1);
		if (handoff_give(c, i, m))
			continue;
		rte_mbuf_refcnt_update(m, -1);
		cnt_drop(&c->cnt, DROP_COPY);
	}
}

/* A copy of the bytes: what stands between here and the wire may change those that are sent. */
void
core_group_loop(struct core *c, const struct rte_mbuf *m)
{
	struct rte_mbuf *copy;

	if (!where(c, m))
		return;
	copy = rte_pktmbuf_copy(m, c->port->pool, 0, UINT32_MAX);
	if (copy)
		c->loopq[c->loop_tail++ & (CORE_LOOP - 1)] = copy;
	else
		cnt_drop(&c->cnt, DROP_COPY);
}

/* While a packet is given to the QPs that it is for. */
struct giving {
	struct core *c;
	const struct wire_pkt *pkt;
};

static void
take(void *arg, struct qp *qp)
{
	const struct giving *g = arg;

	qp_rx(qp, &g->c->x, g->pkt);
	core_touch(g->c, qp_owner(qp));
}

enum drop_reason
core_group_rx(struct core *c, const uint8_t *frame, uint32_t len)
{
	struct wire_pkt pkt;
	struct giving g = { .c = c, .pkt = &pkt };
	enum drop_reason why;
	uint8_t gid[16];

	if (!mcast_any(c->mcast) || !group_of(frame, len, gid) || !mcast_marked(c->mcast, gid))
		return DROP_DST_MAC;
	why = wire_parse(frame, len, &pkt);
	if (why != DROP_NONE)
		return why;
	if (!wire_icrc_ok(&pkt))
		return DROP_ICRC;
	return mcast_rx(c->mcast, &pkt, &c->cnt, take, &g);
}

/* A QP and a group, on their way to the cores. */
struct member {
	struct eng_qp *q;
	const uint8_t *gid;
	uint64_t mark;
};

static int
join(struct core *c, void *arg)
{
	const struct member *m = arg;
	int rc = group_join(c->net, m->gid, c->x.now);

	core_net_touch(c);
	return rc == -ENOSPC ? -ENOMEM : rc;
}

static int
leave(struct core *c, void *arg)
{
	const struct member *m = arg;
	int rc = group_leave(c->net, m->gid, c->x.now);

	core_net_touch(c);
	return rc;
}

/* Both leave in m->mark where there are QPs from now on. */
static int
attach(struct core *c, void *arg)
{
	struct member *m = arg;

	m->mark = mcast_marked(c->mcast, m->gid) | UINT64_C(1) << c->index;
	return mcast_attach(c->mcast, m->gid, m->q->qp);
}

static int
detach(struct core *c, void *arg)
{
	struct member *m = arg;
	int rc = mcast_detach(c->mcast, m->gid, m->q->qp);

	m->mark = mcast_marked(c->mcast, m->gid);
	if (!mcast_attached(c->mcast, m->gid))
		m->mark &= ~(UINT64_C(1) << c->index);
	return rc;
}

static int
mark(struct core *c, void *arg)
{
	const struct member *m = arg;

	/* nothing to note and nothing noted: what makes an entry may fail */
	if (!m->mark && !mcast_marked(c->mcast, m->gid))
		return 0;
	return mcast_mark(c->mcast, m->gid, m->mark);
}

/* -ENOMEM where a core that has none of the group's QPs cannot note it. */
static int
mark_all(struct engine *e, struct member *m)
{
	int rc = 0;

	for (uint32_t i = 0; i < e->num_cores && rc == 0; i++)
		rc = eng_call(e->core[i], mark, m);
	return rc;
}

int
eng_group_attach(struct eng_qp *q, const uint8_t gid[16])
{
	struct engine *e = q->core->engine;
	struct member m = { .q = q, .gid = gid };
	int rc = eng_call(eng_port_core(e), join, &m);

	if (rc < 0)
		return rc;
	rc = eng_call(q->core, attach, &m);
	if (rc < 0) {
		eng_call(eng_port_core(e), leave, &m);
		return rc;
	}
	rc = mark_all(e, &m);
	if (rc < 0)
		eng_group_detach(q, gid);
	return rc;
}

void
eng_group_detach(struct eng_qp *q, const uint8_t gid[16])
{
	struct engine *e = q->core->engine;
	struct member m = { .q = q, .gid = gid };

	if (eng_call(q->core, detach, &m) < 0)
		return;
	mark_all(e, &m);
	eng_call(eng_port_core(e), leave, &m);
}
