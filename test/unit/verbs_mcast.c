/* SPDX-License-Identifier: BSD-3-Clause */
/* lib/verbs/mcast.c: what reaches the stack, and what the program is told (man ibv_attach_mcast). */
#include "check.h"
#include "verbs_world.h"

static void
attach_mcast__reaches_the_stack(void)
{
	union ibv_gid gid = { .raw = { [10] = 0xff, [11] = 0xff, 239, 1, 2, 3 } };
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	w.qp->qp_type = IBV_QPT_UD;
	CHECK_EQ(ibv_attach_mcast(w.qp, &gid, 0xc001), 0);
	CHECK_EQ(mock.attaches, 1);
	CHECK_EQ(mock.last_mcast.qp, w.qp->handle);
	CHECK_MEM(mock.last_mcast.gid, gid.raw, 16);
	gid.raw[15] = 4;
	CHECK_EQ(ibv_detach_mcast(w.qp, &gid, 0), 0);
	CHECK_EQ(mock.detaches, 1);
	CHECK_EQ(mock.last_mcast.qp, w.qp->handle);
	CHECK_MEM(mock.last_mcast.gid, gid.raw, 16);
	world_close(&w);
}

/* Only UD may (F10); what the stack refuses is the value of errno. */
static void
attach_mcast__refused(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_RAW_PACKET,
						  IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV };
	static const int errors[] = { EINVAL, ENOMEM };
	union ibv_gid gid = { .raw = { 0xff, 0x0e, [15] = 1 } };
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		w.qp->qp_type = types[i];
		CHECK_EQ(ibv_attach_mcast(w.qp, &gid, 0), EINVAL);
		CHECK_EQ(ibv_detach_mcast(w.qp, &gid, 0), EINVAL);
	}
	CHECK_EQ(mock.attaches + mock.detaches, 0);
	w.qp->qp_type = IBV_QPT_UD;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		mock.fail_type = CTL_ATTACH_MCAST;
		mock.fail_err = -errors[i];
		CHECK_EQ(ibv_attach_mcast(w.qp, &gid, 0), errors[i]);
		mock.fail_type = CTL_DETACH_MCAST;
		mock.fail_err = -errors[i];
		CHECK_EQ(ibv_detach_mcast(w.qp, &gid, 0), errors[i]);
	}
	CHECK_EQ(mock.attaches + mock.detaches, 0);
	world_close(&w);
}

/* A QP that is attached stays when it is to be destroyed, and works. */
static void
destroy_qp__attached(void)
{
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	mock.fail_type = CTL_DESTROY_QP;
	mock.fail_err = -EBUSY;
	CHECK_EQ(ibv_destroy_qp(w.qp), EBUSY);
	world_state(&w, IBV_QPS_RTS);
	CHECK_EQ(mock.last_modify.qp, w.qp->handle);
	world_close(&w);
}

static const struct check_case cases[] = {
	CHECK_CASE(attach_mcast__reaches_the_stack),
	CHECK_CASE(attach_mcast__refused),
	CHECK_CASE(destroy_qp__attached),
};
CHECK_MAIN(cases)
