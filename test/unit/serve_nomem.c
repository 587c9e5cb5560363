/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What does memory that runs out in the middle of a call leave behind (FC67)? Each call that makes something
 * is made again and again while its first allocation fails, its second, and so on until none does: it says
 * ENOMEM, gives back what it had taken, and holds nothing that it was made on. The calls of this program and
 * of the stack in it go through the wrappers here, for which it is linked.
 */
#include <sys/mman.h>

#include "serve_verbs.h"

#define STEPS_MAX 200u

/* Of this thread: the allocation that fails next, counted from 1, or 0. */
static __thread unsigned int failing;
/* Of all threads, what is not given back: a core takes and gives back on whichever thread drives it then. */
static int held;

static void
hold(int change)
{
	__atomic_fetch_add(&held, change, __ATOMIC_RELAXED);
}

static bool
fails(void)
{
	if (!failing || --failing)
		return false;
	errno = ENOMEM;
	return true;
}

static void *
counted(void *p)
{
	hold(p != NULL);
	return p;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__real_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
int __real_munmap(void *addr, size_t len);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
int __wrap_munmap(void *addr, size_t len);
void __wrap_free(void *p);

void *
__wrap_malloc(size_t size)
{
	return fails() ? NULL : counted(__real_malloc(size));
}

void *
__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : counted(__real_calloc(n, size));
}

void *
__wrap_realloc(void *p, size_t size)
{
	if (fails())
		return NULL;
	return p ? __real_realloc(p, size) : counted(__real_malloc(size));
}

void *
__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return fails() ? NULL : counted(__real_aligned_alloc(alignment, size));
}

void *
__wrap_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	void *at = fails() ? MAP_FAILED : __real_mmap64(addr, len, prot, flags, fd, offset);

	hold(at != MAP_FAILED);
	return at;
}

int
__wrap_munmap(void *addr, size_t len)
{
	hold(-1);
	return __real_munmap(addr, len);
}

void
__wrap_free(void *p)
{
	hold(-(p != NULL));
	__real_free(p);
}

static struct ibv_dm *dm;
static struct ibv_xrcd *xrcd;
static struct ibv_td *td;
static struct ibv_qp *ud;

#define MAKES(name, type, call, undo) \
	static void * \
	make_##name(void) \
	{ \
		return call; \
	} \
	static int \
	unmake_##name(void *made) \
	{ \
		type *o = made; \
		return undo; \
	}

static struct ibv_cq_init_attr_ex cq_ex = { .cqe = 8 };
static struct ibv_srq_init_attr srq = { .attr = { 8, 1, 0 } };
static struct ibv_alloc_dm_attr dm_attr = { .length = 4096 };
static struct ibv_td_init_attr td_attr;
static struct ibv_parent_domain_init_attr parent;
static struct ibv_xrcd_init_attr xrcd_attr = {
	.fd = -1, .oflags = O_CREAT, .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS };
static struct ibv_qp_init_attr_ex built = {
	.qp_type = IBV_QPT_RC, .cap = { 8, 8, 1, 1, 0 }, .send_ops_flags = IBV_QP_EX_WITH_SEND,
	.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS };
static struct ibv_qp_init_attr_ex target = { .qp_type = IBV_QPT_XRC_RECV,
					     .comp_mask = IBV_QP_INIT_ATTR_XRCD };
static struct ibv_srq_init_attr_ex xrc_srq = {
	.srq_type = IBV_SRQT_XRC, .attr = { 8, 1, 0 },
	.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
		     IBV_SRQ_INIT_ATTR_CQ };
static struct ibv_ah_attr way = { .is_global = 1, .port_num = 1, .grh = { .sgid_index = 1 } };
static const union ibv_gid group = { .raw = { [10] = 0xff, [11] = 0xff, [12] = 239, [15] = 1 } };

/* A change of what is there: not NULL when it was made. */
static void *
changed(int err)
{
	errno = err;
	return err ? NULL : &v;
}

static struct ibv_context *
another_context(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = list ? ibv_open_device(list[0]) : NULL;

	ibv_free_device_list(list);
	return ctx;
}

MAKES(context, struct ibv_context, another_context(), ibv_close_device(o))
MAKES(pd, struct ibv_pd, ibv_alloc_pd(v.ctx), ibv_dealloc_pd(o))
MAKES(td, struct ibv_td, ibv_alloc_td(v.ctx, &td_attr), ibv_dealloc_td(o))
MAKES(parent, struct ibv_pd, ibv_alloc_parent_domain(v.ctx, &parent), ibv_dealloc_pd(o))
MAKES(mr, struct ibv_mr, ibv_reg_mr(v.pd, v.buf, 4096, 0), ibv_dereg_mr(o))
MAKES(null_mr, struct ibv_mr, ibv_alloc_null_mr(v.pd), ibv_dereg_mr(o))
MAKES(dm, struct ibv_dm, ibv_alloc_dm(v.ctx, &dm_attr), ibv_free_dm(o))
MAKES(dm_mr, struct ibv_mr, ibv_reg_dm_mr(v.pd, dm, 0, 64, IBV_ACCESS_ZERO_BASED), ibv_dereg_mr(o))
MAKES(mw, struct ibv_mw, ibv_alloc_mw(v.pd, IBV_MW_TYPE_2), ibv_dealloc_mw(o))
MAKES(channel, struct ibv_comp_channel, ibv_create_comp_channel(v.ctx), ibv_destroy_comp_channel(o))
MAKES(cq, struct ibv_cq, ibv_create_cq(v.ctx, 8, NULL, v.ch, 0), ibv_destroy_cq(o))
MAKES(cq_ex, struct ibv_cq_ex, ibv_create_cq_ex(v.ctx, &cq_ex), ibv_destroy_cq(ibv_cq_ex_to_cq(o)))
MAKES(srq, struct ibv_srq, ibv_create_srq(v.pd, &srq), ibv_destroy_srq(o))
MAKES(xrcd, struct ibv_xrcd, ibv_open_xrcd(v.ctx, &xrcd_attr), ibv_close_xrcd(o))
MAKES(xrc_srq, struct ibv_srq, ibv_create_srq_ex(v.ctx, &xrc_srq), ibv_destroy_srq(o))
MAKES(qp, struct ibv_qp, new_qp(v.cq, 8, 0), ibv_destroy_qp(o))
MAKES(qp_ex, struct ibv_qp, ibv_create_qp_ex(v.ctx, &built), ibv_destroy_qp(o))
MAKES(target, struct ibv_qp, ibv_create_qp_ex(v.ctx, &target), ibv_destroy_qp(o))
MAKES(ah, struct ibv_ah, ibv_create_ah(v.pd, &way), ibv_destroy_ah(o))
MAKES(attach, void, changed(ibv_attach_mcast(ud, &group, 0)), o ? ibv_detach_mcast(ud, &group, 0) : 0)
MAKES(resize, void, changed(ibv_resize_cq(v.cq, 500)), o ? ibv_resize_cq(v.cq, 8) : 0)

#define KINDS(X) \
	X(context) X(pd) X(td) X(parent) X(mr) X(null_mr) X(dm) X(dm_mr) X(mw) X(channel) X(cq) X(cq_ex) \
	X(srq) X(xrcd) X(xrc_srq) X(qp) X(qp_ex) X(target) X(ah) X(attach) X(resize)

static const struct kind {
	const char *name;
	void *(*make)(void);
	int (*unmake)(void *made);
} kinds[] = {
#define KIND(name) { #name, make_##name, unmake_##name },
	KINDS(KIND)
#undef KIND
};

/* `settled`: what grows once and stays has grown. How many steps failed. */
static unsigned int
each_step_fails(const struct kind *k, bool settled)
{
	unsigned int step;

	for (step = 1; step < STEPS_MAX; step++) {
		int before = __atomic_load_n(&held, __ATOMIC_RELAXED), kept;
		bool failed;
		void *made;

		errno = 0;
		failing = step;
		made = k->make();
		failed = !failing;
		failing = 0;
		kept = __atomic_load_n(&held, __ATOMIC_RELAXED) - before;
		if (!made && (errno != ENOMEM || !failed || (settled && kept))) {
			printf("%s: allocation %u fails: errno %d, %d held\n", k->name, step, errno, kept);
			exit(1);
		}
		MUST(!made || k->unmake(made) == 0);
		if (!failed)
			break;
	}
	MUST(step < STEPS_MAX);
	return step - 1;
}

static void
open_all(void)
{
	struct ibv_qp_init_attr init = { .send_cq = NULL, .qp_type = IBV_QPT_UD, .cap = { 1, 1, 1, 1, 0 } };

	setenv("POLLUX_LOG", "error", 1);	/* it warns of each queue */
	open_verbs("inline", 8, 8);
	dm = ibv_alloc_dm(v.ctx, &dm_attr);
	xrcd = ibv_open_xrcd(v.ctx, &xrcd_attr);
	td = ibv_alloc_td(v.ctx, &td_attr);
	init.send_cq = init.recv_cq = v.cq;
	ud = ibv_create_qp(v.pd, &init);
	MUST(dm && xrcd && td && ud);
	parent.pd = built.pd = xrc_srq.pd = v.pd;
	parent.td = td;
	built.send_cq = built.recv_cq = xrc_srq.cq = v.cq;
	target.xrcd = xrc_srq.xrcd = xrcd;
	way.grh.dgid = v.gid;
}

/* What a failure still holds of these could not be ended. */
static void
close_all(void)
{
	CHECK_EQ(ibv_destroy_qp(ud), 0);
	CHECK_EQ(ibv_dealloc_td(td), 0);
	CHECK_EQ(ibv_close_xrcd(xrcd), 0);
	CHECK_EQ(ibv_free_dm(dm), 0);
	CHECK_EQ(close_verbs(), 0);
}

static void
create__each_allocation_fails(void)
{
	open_all();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		each_step_fails(&kinds[i], false);
		CHECK(each_step_fails(&kinds[i], true) > 0);
	}
	close_all();
}

static const struct check_case cases[] = {
	CHECK_CASE(create__each_allocation_fails),
};
CHECK_MAIN(cases)
