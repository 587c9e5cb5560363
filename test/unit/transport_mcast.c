/* SPDX-License-Identifier: BSD-3-Clause */
/* Unit tests of lib/transport/mcast.c: the table of groups, and who gets a packet. */
#include "transport/mcast.h"

#include <errno.h>
#include <stdlib.h>

#include "check.h"
#include "sim/pair.h"

#define MANY 1000u

static struct qp *
fake(uintptr_t n)
{
	return (struct qp *)(n * 64);
}

static void
group(uint32_t i, uint8_t gid[16])
{
	const uint8_t made[16] = { [10] = 0xff, [11] = 0xff, [12] = 239, [14] = (uint8_t)(i >> 8),
				   [15] = (uint8_t)i };

	memcpy(gid, made, 16);
}

/* Attaching twice is attaching once; a group is there while it has a QP or a mark. */
static void
mcast_attach__once(void)
{
	struct mcast *m = mcast_new();
	uint8_t a[16], b[16];

	group(1, a);
	group(2, b);
	CHECK(!mcast_any(m));
	CHECK(mcast_detach(m, a, fake(1)) == -ENOENT);
	CHECK_EQ(mcast_attach(m, a, fake(1)), 0);
	CHECK(mcast_attach(m, a, fake(1)) == -EEXIST);
	CHECK_EQ(mcast_attached(m, a), 1);
	CHECK_EQ(mcast_attach(m, a, fake(2)), 0);
	CHECK_EQ(mcast_attach(m, b, fake(1)), 0);
	CHECK_EQ(mcast_attached(m, a), 2);
	CHECK_EQ(mcast_mark(m, a, 5), 0);
	CHECK_EQ(mcast_marked(m, a), 5);
	CHECK_EQ(mcast_marked(m, b), 0);
	CHECK_EQ(mcast_detach(m, a, fake(1)), 0);
	CHECK(mcast_detach(m, a, fake(1)) == -ENOENT);
	CHECK_EQ(mcast_detach(m, a, fake(2)), 0);
	CHECK_EQ(mcast_marked(m, a), 5);
	CHECK_EQ(mcast_detach(m, b, fake(1)), 0);
	CHECK(mcast_any(m));
	CHECK_EQ(mcast_mark(m, a, 0), 0);
	CHECK(!mcast_any(m));
	mcast_free(m);
}

/* Many groups, and many QPs of one; detaching from the middle leaves the others. */
static void
mcast_attach__many(void)
{
	struct mcast *m = mcast_new();
	uint8_t gid[16];

	for (uint32_t i = 0; i < MANY; i++) {
		group(i, gid);
		CHECK_EQ(mcast_attach(m, gid, fake(1)), 0);
		CHECK_EQ(mcast_mark(m, gid, i + 1), 0);
		group(7, gid);
		CHECK(mcast_attach(m, gid, fake(i + 2)) == 0);
	}
	for (uint32_t i = 0; i < MANY; i++) {
		group(i, gid);
		CHECK_EQ(mcast_marked(m, gid), i + 1);
		CHECK_EQ(mcast_mark(m, gid, 0), 0);
		CHECK_EQ(mcast_detach(m, gid, fake(1)), 0);
		group(7, gid);
		CHECK_EQ(mcast_detach(m, gid, fake((uintptr_t)(i * 7 % MANY) + 2)), 0);
	}
	CHECK(!mcast_any(m));
	mcast_free(m);
}

static void
count_takers(void *arg, struct qp *qp)
{
	(void)qp;
	++*(unsigned int *)arg;
}

/* A18: only to DestQP 0xffffff, only of UD, only to a group that is there. A QP of another type that stood
 * in the list would not get it either. */
static void
mcast_rx__a18(void)
{
	static const uint8_t classes[] = { 0x00, 0x20, 0x40, 0x60, 0x80, 0xa0, 0xc0, 0xe0 };
	struct pair *p = pair_new(&(struct pair_conf){ .psn = { 1, 2 } });
	struct mcast *m = mcast_new();
	struct wire_pkt pkt = { .info = &wire_op_info[0x64], .opcode = 0x64, .pkey = 0xffff,
				.dest_qpn = MCAST_QPN };
	struct cnt_block cnt = { 0 };
	unsigned int took = 0;

	group(1, pkt.dst_gid);
	CHECK_EQ(mcast_rx(m, &pkt, &cnt, count_takers, &took), DROP_DST_GID);
	CHECK_EQ(mcast_attach(m, pkt.dst_gid, p->side[0].q->qp), 0);
	CHECK_EQ(mcast_rx(m, &pkt, &cnt, count_takers, &took), DROP_NONE);
	CHECK_EQ(cnt.drop[DROP_QP_TYPE], 1);
	for (uint32_t i = 0; i < sizeof(classes); i++) {
		pkt.opcode = classes[i] | 4;
		CHECK_EQ(mcast_rx(m, &pkt, &cnt, count_takers, &took),
			 classes[i] == 0x60 ? DROP_NONE : DROP_QP_TYPE);
	}
	pkt.opcode = 0x64;
	for (uint32_t bit = 0; bit < 24; bit++) {
		pkt.dest_qpn = MCAST_QPN ^ 1u << bit;
		CHECK_EQ(mcast_rx(m, &pkt, &cnt, count_takers, &took), DROP_QPN);
	}
	pkt.dest_qpn = qp_num(p->side[0].q->qp);
	CHECK_EQ(mcast_rx(m, &pkt, &cnt, count_takers, &took), DROP_QPN);
	CHECK_EQ(took, 0);
	mcast_free(m);
	pair_free(p);
}

static const struct check_case cases[] = {
	CHECK_CASE(mcast_attach__once),
	CHECK_CASE(mcast_attach__many),
	CHECK_CASE(mcast_rx__a18),
};
CHECK_MAIN(cases)
