/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames to groups, on one core and on several: which pass the filter, and that each core with attached QPs
 * sees each of them once, received or sent here. The QPs are of RC: each tells by DROP_QP_TYPE, counted on
 * its core, that the packet came as far as to it.
 */
#include "engine/core.h"

#include "serve_fixture.h"
#include "transport/mcast.h"
#include "wire/group.h"
#include "wire_frame.h"

#define FRAMES 40u

static const uint8_t group4[16] = { [10] = 0xff, [11] = 0xff, 239, 1, 2, 3 };
static const uint8_t group6[16] = { 0xff, 0x15, [12] = 0x80, [15] = 0x77 };

struct bring {
	struct frame f;
	bool send;	/* as sent from here; else as received from the port */
};

static struct frame
frame_to(const uint8_t gid[16], uint32_t dest_qpn, uint16_t vlan_tci)
{
	struct wire_tmpl_conf conf = frame_conf(gid[0] == 0xff);
	const struct wire_bth bth = { .opcode = 0x64, .pkey = 0xffff, .dest_qpn = dest_qpn };
	static const uint8_t body[12];
	struct frame f;

	memcpy(conf.dst_gid, gid, 16);
	wire_group_mac(gid, conf.dst_mac);
	conf.vlan_tci = vlan_tci;
	frame_make_conf(&f, &conf, &bth, body, sizeof(body));
	return f;
}

static int
bring_on(struct core *c, void *arg)
{
	const struct bring *b = arg;
	struct rte_mbuf *m = rte_pktmbuf_alloc(c->port->pool);

	if (!m)
		return -ENOMEM;
	memcpy(rte_pktmbuf_append(m, (uint16_t)b->f.len), b->f.bytes, b->f.len);
	if (b->send) {
		core_group_loop(c, m);
		rte_pktmbuf_free(m);
		return 0;
	}
	return port_tx(c->port, 0, &m, 1) == 1 ? 0 : -EBUSY;
}

static struct core *
core_of(uint32_t i)
{
	return eng_core(stack_running()->eng, i);
}

static uint64_t
drops_on(uint32_t core, enum drop_reason why)
{
	return cnt_read(&core_counters(core_of(core))->drop[why]);
}

/* Until that core counted so many; the caller looks whether they are more. */
static bool
await(uint32_t core, enum drop_reason why, uint64_t n)
{
	for (uint64_t end = now_ms() + 10000; drops_on(core, why) < n; drive(CTL_DRIVE_POLL))
		if (now_ms() > end)
			return false;
	return true;
}

static bool
bring(const struct frame *f)
{
	struct bring b = { .f = *f };

	return eng_call(core_of(0), bring_on, &b) == 0;
}

static struct eng_qp *
eng_qp_of(const struct end *e)
{
	return &qp_get(w.cl.handle, e->m.qp)->e;
}

/* The frame is dropped for this reason, and for no other; the loop brings our own reports back, too. */
static bool
dropped(const struct frame *f, enum drop_reason why)
{
	uint64_t before[DROP_COUNT];

	for (int i = 0; i < DROP_COUNT; i++)
		before[i] = drops_on(0, i);
	if (!bring(f) || !await(0, why, before[why] + 1))
		return false;
	for (int i = 0; i < DROP_COUNT; i++)
		if (i != DROP_NOT_ROCE && drops_on(0, i) != before[i] + (i == (int)why))
			return false;
	return true;
}

/* A18, F9: the MAC, the address and the QPN must be the group's, and the group one that is there. */
static void
core_group_rx__filter(void)
{
	static const uint8_t same_mac[16] = { [10] = 0xff, [11] = 0xff, 239, 129, 2, 3 };
	const struct frame other = frame_to(same_mac, 0xffffff, 0);

	CHECK_EQ(start_world("inline"), 0);
	for (int i = 0; i < 2; i++) {
		const uint8_t *gid = i ? group6 : group4;
		struct frame f = frame_to(gid, 0xffffff, 0), bad;

		CHECK(dropped(&f, DROP_DST_MAC));
		CHECK_EQ(eng_group_attach(eng_qp_of(&w.a), gid), 0);
		CHECK_EQ(eng_group_attach(eng_qp_of(&w.a), gid), -EEXIST);
		CHECK(dropped(&f, DROP_QP_TYPE));	/* came to the QP */
		bad = frame_to(gid, 0xffffff, 5);
		CHECK(dropped(&bad, DROP_QP_TYPE));
		bad = frame_to(gid, 0x123456, 0);
		CHECK(dropped(&bad, DROP_QPN));
		for (int bit = 0; bit < 48; bit++) {
			bad = f;
			bad.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
			CHECK(dropped(&bad, DROP_DST_MAC));
		}
		bad = f;
		memcpy(bad.bytes, core_of(0)->port->mac, 6);	/* to us alone, but for a group */
		CHECK(dropped(&bad, DROP_DST_GID));
		bad = f;
		bad.bytes[bad.len - 1] ^= 1;
		CHECK(dropped(&bad, DROP_ICRC));
		eng_group_detach(eng_qp_of(&w.a), gid);
		CHECK(dropped(&f, DROP_DST_MAC));
	}
	CHECK_EQ(eng_group_attach(eng_qp_of(&w.a), group4), 0);
	CHECK(dropped(&other, DROP_DST_MAC));
	eng_group_detach(eng_qp_of(&w.a), group4);
	CHECK_EQ(end_world(), 0);
}

/* Every truncation and every single byte changed: nothing is read that is not there (ASan watches the
 * frame's buffer), nothing answers. */
static void
core_group_rx__hostile(void)
{
	CHECK_EQ(start_world("inline"), 0);
	CHECK_EQ(eng_group_attach(eng_qp_of(&w.a), group4), 0);
	CHECK_EQ(eng_group_attach(eng_qp_of(&w.a), group6), 0);
	for (int i = 0; i < 2; i++) {
		struct frame f = frame_to(i ? group6 : group4, 0xffffff, 0), bad;

		for (size_t at = 0; at < f.len; at++) {
			bad = f;
			bad.bytes[at] ^= 0xff;
			CHECK(bring(&bad));
			bad = f;
			bad.len = at < 14 ? 14 : at;
			CHECK(bring(&bad));
			drive(CTL_DRIVE_POLL);
		}
		CHECK(dropped(&f, DROP_QP_TYPE));
	}
	eng_group_detach(eng_qp_of(&w.a), group4);
	eng_group_detach(eng_qp_of(&w.a), group6);
	CHECK_EQ(end_world(), 0);
}

/* What was received and what is sent here, by either core: each core with QPs sees it once, another one
 * never; and all buffers come back. */
static void
spread(bool both)
{
	struct bring b = { .f = frame_to(group4, 0xffffff, 0) };
	unsigned int before;
	uint64_t n = 0;

	CHECK_EQ(start_world("0,1"), 0);
	CHECK(w.a.m.core != w.b.m.core);
	CHECK_EQ(eng_group_attach(eng_qp_of(&w.a), group4), 0);
	if (both)
		CHECK_EQ(eng_group_attach(eng_qp_of(&w.b), group4), 0);
	eng_quiet(stack_running()->eng);
	before = rte_mempool_avail_count(core_of(0)->port->pool);
	for (uint32_t from = 0; from < 2; from++) {
		for (uint32_t i = 0; i < FRAMES; i++) {
			b.send = from || i & 1;
			CHECK_EQ(eng_call(core_of(from), bring_on, &b), 0);
			core_wake(core_of(from));	/* it does not know of what it did not do */
			core_wake(core_of(0));
			n++;
			CHECK(await(w.a.m.core, DROP_QP_TYPE, n));
			CHECK(!both || await(w.b.m.core, DROP_QP_TYPE, n));
			/* all have let go of the buffer, as the thread sanitizer can see: it does not see
			 * into DPDK's pools */
			eng_quiet(stack_running()->eng);
		}
	}
	eng_quiet(stack_running()->eng);
	CHECK_EQ(drops_on(w.a.m.core, DROP_QP_TYPE), n);
	CHECK_EQ(drops_on(w.b.m.core, DROP_QP_TYPE), both ? n : 0);
	for (uint32_t i = 0; i < 2; i++)
		CHECK_EQ(drops_on(i, DROP_COPY) + drops_on(i, DROP_DST_MAC), 0);
	/* a report may be under way */
	CHECK(rte_mempool_avail_count(core_of(0)->port->pool) + 4 >= before);
	eng_group_detach(eng_qp_of(&w.a), group4);
	eng_group_detach(eng_qp_of(&w.b), group4);
	CHECK_EQ(end_world(), 0);
}

static void
core_group_spread__both_cores(void)
{
	spread(true);
}

static void
core_group_spread__one_core(void)
{
	spread(false);
}

static const struct check_case cases[] = {
	CHECK_CASE(core_group_rx__filter),
	CHECK_CASE(core_group_rx__hostile),
	CHECK_CASE(core_group_spread__both_cores),
	CHECK_CASE(core_group_spread__one_core),
};
CHECK_MAIN(cases)
