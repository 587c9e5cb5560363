/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast through a whole stack: attach and detach, their limits, who gets a copy on which port and
 * cores, and what is left of a client that goes.
 */
#include "engine/core.h"
#include "serve_fixture.h"
#include "transport/mcast.h"

#define QKEY 0x11111111u
#define GRH 40u
#define MSG_LEN 100u
#define ROOM 4096u		/* of a receive */

static const uint8_t group4[16] = { [10] = 0xff, [11] = 0xff, 239, 1, 2, 3 };
static const uint8_t group6[16] = { 0xff, 0x15, [15] = 0x77 };

static int
new_ud(struct end *e, uint32_t qkey)
{
	int rc;

	memset(e, 0, sizeof(*e));
	e->m = (struct ctl_create_qp){ .pd = w.pd, .type = QPT_UD, .send_cq = w.cq.cq, .recv_cq = w.cq.cq,
				       .cap = { 16, 16, 1, 1, 0 } };
	rc = call(CTL_CREATE_QP, &e->m);
	if (rc == 0)
		rc = modify(e, QPM_STATE | QPM_PKEY_INDEX | QPM_PORT | QPM_QKEY,
			    (struct ctl_qp_attr){ .qp_state = QPS_INIT, .port_num = 1, .qkey = qkey });
	if (rc == 0)
		rc = modify(e, QPM_STATE, (struct ctl_qp_attr){ .qp_state = QPS_RTR });
	return rc ? rc : modify(e, QPM_STATE | QPM_SQ_PSN, (struct ctl_qp_attr){ .qp_state = QPS_RTS });
}

static int
mcast(const struct end *e, enum ctl_msg_type type, const uint8_t gid[16])
{
	struct ctl_mcast m = { .qp = e->m.qp };

	memcpy(m.gid, gid, 16);
	return call(type, &m);
}

static int
attach(const struct end *e, const uint8_t gid[16])
{
	return mcast(e, CTL_ATTACH_MCAST, gid);
}

static int
detach(const struct end *e, const uint8_t gid[16])
{
	return mcast(e, CTL_DETACH_MCAST, gid);
}

static int
destroy(const struct end *e)
{
	struct ctl_destroy_qp m = { .qp = e->m.qp };

	return call(CTL_DESTROY_QP, &m);
}

static int
new_ah(const uint8_t gid[16], struct ctl_create_ah *m)
{
	*m = (struct ctl_create_ah){ .pd = w.pd, .attr = { .is_global = 1, .port_num = 1,
		.sgid_index = gid[0] == 0xff ? 0 : 1, .hop_limit = 1 } };
	memcpy(m->attr.dgid, gid, 16);
	return call(CTL_CREATE_AH, m);
}

/* MSG_LEN bytes from the buffer's beginning. */
static void
send_to(struct end *e, const struct ctl_create_ah *ah, uint32_t qpn, uint32_t qkey)
{
	uint32_t slot = e->sq_tail & ((1u << e->m.sq.log2_size) - 1);
	struct plx_sq_wqe *q = (void *)((char *)at(&e->m.sq.slots) + (size_t)slot * e->m.sq.stride);
	struct plx_sge *sge = (void *)(q + 1);

	*q = (struct plx_sq_wqe){ .wr_id = 1, .opcode = WR_SEND, .flags = PLX_WQE_SIGNALED, .num_sge = 1,
		.length = MSG_LEN, .ud = { .ah = ah->ah, .ah_gen = ah->ah_gen, .qpn = qpn, .qkey = qkey } };
	*sge = (struct plx_sge){ (uintptr_t)w.buf, MSG_LEN, w.mr.lkey };
	ring(e, at(&e->m.sq.ctl), ++e->sq_tail, PLX_BELL_SQ);
}

/* What is destroyed later than its groups. */
static void
no_more(struct end *e, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		destroy(&e[i]);
}

static struct core *
core_of(uint32_t i)
{
	return eng_core(stack_running()->eng, i);
}

static int
any_group(struct core *c, void *arg)
{
	(void)arg;
	return mcast_any(c->mcast);
}

/* Nobody knows any group. */
static bool
no_groups(void)
{
	uint32_t n = eng_num_cores(stack_running()->eng);

	for (uint32_t i = 0; i < n; i++)
		if (eng_call(core_of(i), any_group, NULL))
			return false;
	return stack_running()->num_mgroups == 0 && list_empty(&stack_running()->mgroups);
}

/* man ibv_attach_mcast, F10, FC17: only UD, only groups, one detach, EBUSY. */
static void
serve_attach_mcast__refusals(void)
{
	static const uint8_t bad[][16] = {
		{ 0 }, { [10] = 0xff, [11] = 0xff, 10, 0, 0, 1 }, { [10] = 0xff, [11] = 0xff, 240, 0, 0, 1 },
		{ 0xfe, 0x80, [15] = 1 }, { [12] = 239, 1, 2, 3 },
	};
	struct ctl_mcast m = { .qp = 12345 };
	struct end ud;

	CHECK_EQ(start_world("inline"), 0);
	CHECK_EQ(new_ud(&ud, QKEY), 0);
	CHECK(attach(&w.a, group4) == -EINVAL);
	CHECK(detach(&w.a, group4) == -EINVAL);
	memcpy(m.gid, group4, 16);
	CHECK(call(CTL_ATTACH_MCAST, &m) == -EINVAL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK(attach(&ud, bad[i]) == -EINVAL);
		CHECK(detach(&ud, bad[i]) == -EINVAL);
	}
	CHECK(no_groups());
	CHECK(detach(&ud, group4) == -EINVAL);
	CHECK_EQ(attach(&ud, group4), 0);
	CHECK_EQ(attach(&ud, group4), 0);
	CHECK_EQ(attach(&ud, group6), 0);
	CHECK(destroy(&ud) == -EBUSY);
	CHECK_EQ(detach(&ud, group4), 0);
	CHECK(detach(&ud, group4) == -EINVAL);
	CHECK(destroy(&ud) == -EBUSY);
	CHECK_EQ(detach(&ud, group6), 0);
	CHECK(no_groups());
	CHECK_EQ(destroy(&ud), 0);
	CHECK_EQ(end_world(), 0);
}

/* As many as the device says, and no more; what was given back is there again. */
static void
serve_attach_mcast__limits(void)
{
	static struct end many[MAX_MCAST_QP + 1];
	struct ctl_query_device d;
	uint8_t gid[16];

	CHECK_EQ(start_world("inline"), 0);
	CHECK_EQ(call(CTL_QUERY_DEVICE, &d), 0);
	CHECK_EQ(d.max_mcast_grp, 1024);
	CHECK_EQ(d.max_mcast_qp_attach, MAX_MCAST_QP);
	CHECK_EQ(d.max_total_mcast_qp_attach, d.max_mcast_grp * d.max_mcast_qp_attach);
	memcpy(gid, group4, 16);
	CHECK_EQ(new_ud(&many[0], QKEY), 0);
	for (uint32_t i = 0; i <= d.max_mcast_grp; i++) {
		gid[13] = (uint8_t)(i >> 8);
		gid[14] = (uint8_t)i;
		CHECK(attach(&many[0], gid) == (i < d.max_mcast_grp ? 0 : -ENOMEM));
	}
	gid[13] = gid[14] = 1;
	CHECK_EQ(detach(&many[0], gid), 0);
	CHECK_EQ(attach(&many[0], group6), 0);
	for (uint32_t i = 1; i <= MAX_MCAST_QP; i++) {
		CHECK_EQ(new_ud(&many[i], QKEY), 0);
		CHECK(attach(&many[i], group6) == (i < MAX_MCAST_QP ? 0 : -ENOMEM));
	}
	CHECK_EQ(detach(&many[7], group6), 0);
	CHECK_EQ(attach(&many[MAX_MCAST_QP], group6), 0);
	local->close(&w.cl);
	CHECK(no_groups());
	close(w.ch.fd);
	free(w.buf);
	CHECK_EQ(stack_stop(), 0);
}

enum { OTHER_KEY, NO_RECEIVE, SENDER, TWICE, OUTSIDE, PLAIN, NUM_ENDS };

/* What came to each of the ends within the time; -1: something that may not. */
static void
collect(const struct end *e, uint32_t wanted, uint32_t came[NUM_ENDS], bool *right)
{
	struct plx_cqe c;

	*right = true;
	for (uint32_t total = 0; total < wanted && poll(&c); ) {
		if (c.queue == PLX_CQE_SQ) {
			*right = *right && c.status == 0;
			continue;
		}
		for (uint32_t i = 0; i < NUM_ENDS; i++) {
			if (e[i].m.qp_num != c.qp_num)
				continue;
			came[i]++;
			total++;
		}
		*right = *right && c.status == 0 && c.byte_len == GRH + MSG_LEN &&
			 c.src_qp == e[SENDER].m.qp_num &&
			 memcmp(w.buf + c.wr_id * ROOM + GRH, w.buf, MSG_LEN) == 0;
	}
}

/* Nothing more comes for a while. */
static bool
silent(void)
{
	struct plx_cqe c;

	for (uint64_t end = now_ms() + 20; now_ms() < end; drive(CTL_DRIVE_POLL))
		if (peek(&c) && c.queue == PLX_CQE_RQ)
			return false;
	return true;
}

static int
make_ends(struct end *e, const uint8_t gid[16])
{
	int rc = 0;

	for (uint32_t i = 0; i < NUM_ENDS && rc == 0; i++) {
		rc = new_ud(&e[i], i == OTHER_KEY ? QKEY + 1 : QKEY);
		if (rc == 0 && i != OUTSIDE)
			rc = attach(&e[i], gid);
	}
	return rc ? rc : attach(&e[TWICE], gid);
}

/* F10, FC17: one copy for each that is attached and has the key; the others' failures stop nothing. */
static void
fan_out(const uint8_t gid[16])
{
	struct end e[NUM_ENDS];
	struct ctl_create_ah ah;
	bool right;

	CHECK_EQ(make_ends(e, gid), 0);
	CHECK_EQ(new_ah(gid, &ah), 0);
	for (uint32_t i = 0; i < MSG_LEN; i++)
		w.buf[i] = (uint8_t)(i * 7 + gid[0]);
	for (uint32_t round = 0; round < 3; round++) {
		uint32_t came[NUM_ENDS] = { 0 };

		for (uint32_t i = 0; i < NUM_ENDS; i++)
			if (i != NO_RECEIVE)
				post_recv(&e[i], (i + 1) * ROOM, ROOM, i + 1);
		send_to(&e[SENDER], &ah, 0xffffff, QKEY);
		collect(e, 3, came, &right);
		CHECK(right && silent());
		CHECK(came[SENDER] == 1 && came[TWICE] == 1 && came[PLAIN] == 1);
		/* A18: no other DestQP, though it is that of a QP which is attached */
		send_to(&e[SENDER], &ah, e[PLAIN].m.qp_num, QKEY);
		CHECK(silent());
	}
	for (uint32_t i = 0; i < NUM_ENDS; i++)
		detach(&e[i], gid);
	send_to(&e[SENDER], &ah, 0xffffff, QKEY);
	CHECK(silent());
	CHECK(no_groups());
	no_more(e, NUM_ENDS);
}

/* A port that brings nothing back: all that comes went round it. On one core, and on two. */
static void
mcast__round_the_port(void)
{
	static const char *const cores[] = { "inline", "0,1" };

	for (size_t i = 0; i < sizeof(cores) / sizeof(cores[0]); i++) {
		const struct setting_text t = { .port = "vdev:net_null0,no-rx=1", .ip = "10.11.0.1/24",
						.cores = cores[i] };
		char why[256] = "";
		int rc = stack_start(&t, false, 0, why, sizeof(why));

		if (rc < 0)
			printf("start: %d %s\n", rc, why);
		CHECK_EQ(rc, 0);
		CHECK_EQ(open_client(), 0);
		fan_out(group4);
		fan_out(group6);
		CHECK_EQ(end_world(), 0);
	}
}

static void
mcast__fan_out(void)
{
	static const char *const cores[] = { "inline", "0", "0,1" };

	for (size_t i = 0; i < sizeof(cores) / sizeof(cores[0]); i++) {
		CHECK_EQ(start_stack(cores[i]), 0);
		CHECK_EQ(open_client(), 0);
		fan_out(group4);
		fan_out(group6);
		CHECK_EQ(end_world(), 0);
	}
}

static const struct check_case cases[] = {
	CHECK_CASE(serve_attach_mcast__refusals),
	CHECK_CASE(serve_attach_mcast__limits),
	CHECK_CASE(mcast__fan_out),
	CHECK_CASE(mcast__round_the_port),
};
CHECK_MAIN(cases)
