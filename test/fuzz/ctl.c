/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Can a client hurt the stack, or another client, with control messages? Messages of every type, of random
 * bytes, of likely words, or of a message that was taken with a few words changed, straight at the back end's
 * table. Each is answered 0 or by an errno of its list; what the client made is gone when it is; and another
 * client's queue pairs, whose handles the messages name as any others, still carry a message.
 *
 *     fuzz_ctl [--seed N] [--seeds N] [--long]
 */
#include "serve_fixture.h"

#include "fuzz.h"

#define STEPS 600
#define MAX_FDS 1024
#define NUM_KNOWN 4

enum kind { NONE, PD, AH, MR, DM, CHANNEL, XRCD, CQ, QP, SRQ, SRQ_OF_QP, MW, KINDS };

struct field {				/* of a message: a handle */
	enum kind kind;
	size_t at;
};

/* What it may answer beside 0, EINVAL and ENOMEM; what it makes; which handles it takes. */
static const struct row {
	const char *name;
	size_t size;
	int errs[4];
	struct field makes, takes[5];
} rows[] = {
#define ERRS(...) { __VA_ARGS__ }
#define MAKES(kind, structure, member) { kind, offsetof(struct structure, member) }
#define H(kind, structure, member) { kind, offsetof(struct structure, member) }
#define TAKES(...) { __VA_ARGS__ }
#define ROW(type, structure, ...) [CTL_##type] = { #type, sizeof(struct structure), __VA_ARGS__ }
#define NOTHING { NONE, 0 }
	ROW(QUERY_DEVICE, ctl_query_device, ERRS(0), NOTHING, TAKES(NOTHING)),
	ROW(QUERY_PORT, ctl_query_port, ERRS(0), NOTHING, TAKES(NOTHING)),
	ROW(QUERY_GID, ctl_query_gid, ERRS(ENODATA), NOTHING, TAKES(NOTHING)),
	ROW(ALLOC_PD, ctl_pd, ERRS(0), MAKES(PD, ctl_pd, pd), TAKES(NOTHING)),
	ROW(DEALLOC_PD, ctl_pd, ERRS(EBUSY), NOTHING, TAKES(H(PD, ctl_pd, pd))),
	ROW(CREATE_AH, ctl_create_ah, ERRS(ENETUNREACH), MAKES(AH, ctl_create_ah, ah),
	    TAKES(H(PD, ctl_create_ah, pd))),
	ROW(DESTROY_AH, ctl_destroy_ah, ERRS(0), NOTHING, TAKES(H(AH, ctl_destroy_ah, ah))),
	ROW(REG_MR, ctl_reg_mr, ERRS(EFAULT, EOPNOTSUPP), MAKES(MR, ctl_reg_mr, mr),
	    TAKES(H(PD, ctl_reg_mr, pd), H(DM, ctl_reg_mr, dm))),
	ROW(REREG_MR, ctl_rereg_mr, ERRS(EFAULT, EOPNOTSUPP), NOTHING,
	    TAKES(H(MR, ctl_rereg_mr, mr), H(PD, ctl_rereg_mr, pd))),
	ROW(ADVISE_MR, ctl_advise_mr, ERRS(EFAULT, ENOENT, EPERM), NOTHING, TAKES(H(PD, ctl_advise_mr, pd))),
	ROW(ALLOC_DM, ctl_alloc_dm, ERRS(0), MAKES(DM, ctl_alloc_dm, dm), TAKES(NOTHING)),
	ROW(FREE_DM, ctl_free_dm, ERRS(EBUSY), NOTHING, TAKES(H(DM, ctl_free_dm, dm))),
	ROW(DEREG_MR, ctl_dereg_mr, ERRS(0), NOTHING, TAKES(H(MR, ctl_dereg_mr, mr))),
	ROW(ALLOC_MW, ctl_mw, ERRS(0), MAKES(MW, ctl_mw, mw), TAKES(H(PD, ctl_mw, pd))),
	ROW(DEALLOC_MW, ctl_mw, ERRS(0), NOTHING, TAKES(H(MW, ctl_mw, mw))),
	ROW(OPEN_XRCD, ctl_xrcd, ERRS(EAGAIN, EBADF), MAKES(XRCD, ctl_xrcd, xrcd), TAKES(NOTHING)),
	ROW(CLOSE_XRCD, ctl_xrcd, ERRS(EBUSY), NOTHING, TAKES(H(XRCD, ctl_xrcd, xrcd))),
	ROW(CREATE_CHANNEL, ctl_channel, ERRS(0), MAKES(CHANNEL, ctl_channel, channel), TAKES(NOTHING)),
	ROW(DESTROY_CHANNEL, ctl_channel, ERRS(EBUSY), NOTHING, TAKES(H(CHANNEL, ctl_channel, channel))),
	ROW(CREATE_CQ, ctl_create_cq, ERRS(EOPNOTSUPP), MAKES(CQ, ctl_create_cq, cq),
	    TAKES(H(CHANNEL, ctl_create_cq, channel))),
	ROW(RESIZE_CQ, ctl_resize_cq, ERRS(0), NOTHING, TAKES(H(CQ, ctl_resize_cq, cq))),
	ROW(MODERATE_CQ, ctl_moderate_cq, ERRS(0), NOTHING, TAKES(H(CQ, ctl_moderate_cq, cq))),
	ROW(DESTROY_CQ, ctl_destroy_cq, ERRS(EBUSY), NOTHING, TAKES(H(CQ, ctl_destroy_cq, cq))),
	ROW(CREATE_QP, ctl_create_qp, ERRS(EOPNOTSUPP), MAKES(QP, ctl_create_qp, qp),
	    TAKES(H(PD, ctl_create_qp, pd), H(CQ, ctl_create_qp, send_cq), H(CQ, ctl_create_qp, recv_cq),
		  H(SRQ_OF_QP, ctl_create_qp, srq), H(XRCD, ctl_create_qp, xrcd))),
	ROW(OPEN_QP, ctl_open_qp, ERRS(0), MAKES(QP, ctl_open_qp, qp), TAKES(H(XRCD, ctl_open_qp, xrcd))),
	ROW(MODIFY_QP, ctl_modify_qp, ERRS(ENETUNREACH, EOPNOTSUPP), NOTHING,
	    TAKES(H(QP, ctl_modify_qp, qp))),
	ROW(QUERY_QP, ctl_query_qp, ERRS(0), NOTHING, TAKES(H(QP, ctl_query_qp, qp))),
	ROW(EXPLAIN_QP, ctl_explain_qp, ERRS(ENODATA), NOTHING, TAKES(H(QP, ctl_explain_qp, qp))),
	ROW(DESTROY_QP, ctl_destroy_qp, ERRS(EBUSY), NOTHING, TAKES(H(QP, ctl_destroy_qp, qp))),
	ROW(ATTACH_MCAST, ctl_mcast, ERRS(0), NOTHING, TAKES(H(QP, ctl_mcast, qp))),
	ROW(DETACH_MCAST, ctl_mcast, ERRS(0), NOTHING, TAKES(H(QP, ctl_mcast, qp))),
	ROW(CREATE_SRQ, ctl_create_srq, ERRS(EOPNOTSUPP), MAKES(SRQ, ctl_create_srq, srq),
	    TAKES(H(PD, ctl_create_srq, pd), H(XRCD, ctl_create_srq, xrcd), H(CQ, ctl_create_srq, cq))),
	ROW(MODIFY_SRQ, ctl_modify_srq, ERRS(0), NOTHING, TAKES(H(SRQ, ctl_modify_srq, srq))),
	ROW(QUERY_SRQ, ctl_query_srq, ERRS(0), NOTHING, TAKES(H(SRQ, ctl_query_srq, srq))),
	ROW(DESTROY_SRQ, ctl_destroy_srq, ERRS(EBUSY), NOTHING, TAKES(H(SRQ, ctl_destroy_srq, srq))),
};
_Static_assert(sizeof(rows) / sizeof(rows[0]) == CTL_MSG_COUNT, "every message has a row");

union any {
#define ANY_MEMBER(name, type, text) struct type name;
	CTL_MSG_LIST(ANY_MEMBER)
#undef ANY_MEMBER
	uint32_t word[256];
};

struct fuzz fz;

static struct ctl_client peer;		/* who sends them; `w` is the other */
static union any taken[CTL_MSG_COUNT];	/* the last one of each type that was answered 0 */
static uint32_t known[KINDS][NUM_KNOWN];	/* handles that were given out, perhaps gone since */
static unsigned int num_made;
static int fd[MAX_FDS];			/* of its channels */
static unsigned int num_fds;

static bool
allowed(unsigned int type, int rc)
{
	bool yes = rc == 0 || rc == -EINVAL || rc == -ENOMEM;

	if (type >= CTL_MSG_COUNT)
		return rc == -EOPNOTSUPP;
	for (size_t i = 0; !yes && i < sizeof(rows[0].errs) / sizeof(int); i++)
		yes = rows[type].errs[i] && rc == -rows[type].errs[i];
	return yes;
}

/* 0, or 1 when it was answered as it must not be. */
static int
send_one(unsigned int type, union any *m)
{
	union any before = *m;
	int rc = local->call(peer.handle, (enum ctl_msg_type)type, m);

	fz.doing = type < CTL_MSG_COUNT ? rows[type].name : "no type";
	if (!allowed(type, rc))
		return fuzz_fail("answers", rc);
	if (rc == 0)
		taken[type] = before;
	if (rc == 0 && rows[type].makes.kind)
		known[rows[type].makes.kind][num_made++ % NUM_KNOWN] = m->word[rows[type].makes.at / 4];
	if (rc == 0 && type == CTL_CREATE_CHANNEL && num_fds < MAX_FDS)
		fd[num_fds++] = m->CREATE_CHANNEL.fd;
	return 0;
}

/* Its handles become ones of the peer's own. */
static void
name_own(union any *m, unsigned int type)
{
	for (size_t i = 0; i < sizeof(rows[0].takes) / sizeof(rows[0].takes[0]); i++) {
		const struct field *f = &rows[type].takes[i];

		if (f->kind == SRQ_OF_QP)
			m->word[f->at / 4] = one_in(3) ? known[SRQ][below(NUM_KNOWN)] + 1 : 0;
		else if (f->kind)
			m->word[f->at / 4] = known[f->kind][below(NUM_KNOWN)];
	}
}

/* Ends that are worth changing: one of each kind, as far as the peer has none. */
static int
send_valid(void)
{
	static const uint32_t types[6] = { QPT_RC, QPT_UC, QPT_UD, QPT_UD, QPT_XRC_INI, QPT_XRC_TGT };
	struct ctl_qp_attr init = { .qp_state = QPS_INIT, .port_num = 1 };
	union any m[] = {
		{ .ALLOC_PD = { 0 } },
		{ .CREATE_CHANNEL = { 0 } },
		{ .CREATE_CQ = { .cqe = 16, .channel = 1 } },
		{ .CREATE_SRQ = { .max_wr = 8, .max_sge = 1 } },
		{ .REG_MR = { .access = ALL_ACCESS, .addr = (uintptr_t)w.buf, .length = BUF_LEN } },
		{ .ALLOC_MW = { .type = 1 + below(2) } },
		{ .ALLOC_DM = { .length = 4096 } },
		{ .REREG_MR = { .flags = 7, .access = ALL_ACCESS, .addr = (uintptr_t)w.buf, .length = 64 } },
		{ .OPEN_XRCD = { .fd = -1, .oflags = 0100 } },
		{ .CREATE_QP = { .type = types[below(6)], .cap = { 8, 8, 1, 1, 16 } } },
		{ .MODIFY_QP = { .mask = QPM_STATE | QPM_PKEY_INDEX | QPM_PORT | QPM_ACCESS_FLAGS,
				 .attr = init } },
		{ .CREATE_AH = { .attr = { .is_global = 1, .port_num = 1, .sgid_index = 1 } } },
		{ .ATTACH_MCAST = { .gid = { [10] = 0xff, [11] = 0xff, 239, 1, 2, 3 } } },
	};
	static const unsigned int type[] = {
		CTL_ALLOC_PD, CTL_CREATE_CHANNEL, CTL_CREATE_CQ, CTL_CREATE_SRQ, CTL_REG_MR, CTL_ALLOC_MW,
		CTL_ALLOC_DM, CTL_REREG_MR, CTL_OPEN_XRCD, CTL_CREATE_QP, CTL_MODIFY_QP, CTL_CREATE_AH,
		CTL_ATTACH_MCAST,
	};
	int bad = 0;

	memcpy(m[11].CREATE_AH.attr.dgid, w.gid, 16);
	for (size_t i = 0; i < sizeof(type) / sizeof(type[0]); i++) {
		name_own(&m[i], type[i]);
		taken[type[i]] = m[i];
		bad |= send_one(type[i], &m[i]);
	}
	taken[CTL_DETACH_MCAST] = taken[CTL_ATTACH_MCAST];
	return bad;
}

static void
compose(union any *m, unsigned int type)
{
	size_t words = type < CTL_MSG_COUNT ? rows[type].size / 4 : 8;

	memset(m, 0, sizeof(*m));
	if (one_in(8)) {
		rnd_bytes(m, sizeof(*m));
	} else if (one_in(8) || type >= CTL_MSG_COUNT) {
		for (size_t i = 0; i < words; i++)
			m->word[i] = rnd_word();
	} else {
		*m = taken[type];
		for (uint32_t n = below(4); n > 0; n--)
			m->word[below((uint32_t)words)] = rnd_word();
	}
	if (type < CTL_MSG_COUNT && !one_in(4))
		name_own(m, type);
}

/* The other client's QPs. */
static int
still_carries(void)
{
	static uint64_t wr_id;
	struct plx_cqe c = { 0 };
	uint64_t word = ++wr_id;

	memcpy(w.buf, &word, 8);
	post_send(&w.a, &(struct send){ .opcode = WR_RDMA_WRITE, .len = 8, .to = BUF_LEN / 2,
					.wr_id = word });
	fz.doing = "a message of the other client";
	if (!poll(&c) || c.status != 0 || c.wr_id != word)
		return fuzz_fail("does not arrive: status", c.status);
	return memcmp(w.buf + BUF_LEN / 2, &word, 8) ? fuzz_fail("arrives wrong", 0) : 0;
}

static uint32_t
objects(void)
{
	const struct stack *s = stack_running();

	return s->pds.num + s->ahs.num + s->regions.num + s->windows.num + s->dms.num + s->channels.num +
	       s->cqs.num + s->srqs.num + s->qps.num + s->xrcds.num + s->num_mgroups;
}

static int
run_seed(void)
{
	uint32_t before = objects();
	union any m;
	int bad;

	if (local->open(0, CTL_ABI_VERSION, &peer) < 0)
		return fuzz_fail("no client", 0);
	bad = send_valid();
	for (; !bad && fz.step < STEPS; fz.step++) {
		unsigned int type = below(CTL_MSG_COUNT + 1);

		if (type == CTL_MSG_COUNT)
			type += (unsigned int)rnd64() >> 8;
		compose(&m, type);
		bad = send_one(type, &m);
		if (!bad && fz.step % 100 == 50)
			bad = send_valid();
	}
	local->close(&peer);
	while (num_fds > 0)
		close(fd[--num_fds]);
	if (!bad && objects() != before)
		bad = fuzz_fail("objects stay, more or less by", (long)objects() - (long)before);
	return bad ? bad : still_carries();
}

/* On one way to run the stack. */
static int
run_on(const char *cores, unsigned int seeds)
{
	uint64_t first = fz.seed;
	int fds, bad;

	if (start_world(cores) != 0)
		return fuzz_fail("no stack", 0);
	bad = still_carries();
	fds = fuzz_fds();
	for (unsigned int i = 0; !bad && i < seeds; i++) {
		fuzz_seed(first + i);
		bad = run_seed();
	}
	if (!bad && fuzz_fds() != fds)
		bad = fuzz_fail("files stay open", fuzz_fds() - fds);
	if (end_world() != 0)
		bad = fuzz_fail("the stack does not stop", 0);
	fz.seed = first;
	return bad;
}

int
main(int argc, char **argv)
{
	int bad = fuzz_options(argc, argv, 60);

	if (bad)
		return bad;
	bad = run_on("inline", fz.seeds) || run_on("0,1", (fz.seeds + 3) / 4);
	printf("%d passed, %d failed\n", !bad, bad);
	return bad;
}
