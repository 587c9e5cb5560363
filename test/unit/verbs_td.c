/* SPDX-License-Identifier: BSD-3-Clause */
/* Thread domains, parent domains and their allocators: lib/verbs/pd.c. */
#include "check.h"
#include "verbs_world.h"

/* What an allocator was asked for, and how it answers. */
static struct {
	unsigned int allocs, frees;
	int answer;			/* 0: memory; 1: the default; 2: none; 3: off by some bytes */
	size_t size, alignment;
	uint64_t types;			/* bit n: a resource of type n was asked for */
	struct ibv_pd *pd;
	void *pd_context, *last;
} asked;

static void *
give(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment, uint64_t type)
{
	char *p;

	asked.allocs++;
	asked.size = size;
	asked.alignment = alignment;
	asked.types |= 1ull << type;
	asked.pd = pd;
	asked.pd_context = pd_context;
	if (asked.answer == 1)
		return IBV_ALLOCATOR_USE_DEFAULT;
	if (asked.answer == 2)
		return NULL;
	p = aligned_alloc(alignment, size + alignment);
	memset(p, 0xee, size);		/* more than the man page allows, and no harm */
	asked.last = p;
	return asked.answer == 3 ? p + 8 : p;
}

static void
take_back(struct ibv_pd *pd, void *pd_context, void *p, uint64_t type)
{
	asked.frees++;
	CHECK(pd == asked.pd && pd_context == asked.pd_context);
	CHECK(asked.types & 1ull << type);
	free(asked.answer == 3 ? (char *)p - 8 : p);
}

static struct ibv_pd *
parent_of(struct world *w, struct ibv_td *td, uint32_t comp_mask)
{
	struct ibv_parent_domain_init_attr attr = { .pd = w->pd, .td = td, .comp_mask = comp_mask,
						    .alloc = give, .free = take_back, .pd_context = &asked };

	return ibv_alloc_parent_domain(w->ctx, &attr);
}

#define WITH_ALLOCATOR (IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)

static struct ibv_qp *
qp_on(struct world *w, struct ibv_pd *pd)
{
	struct ibv_qp_init_attr init = { .send_cq = w->cq, .recv_cq = w->cq, .qp_type = IBV_QPT_RC,
					 .cap = { 4, 4, 1, 1, 0 } };

	return ibv_create_qp(pd, &init);
}

static struct ibv_srq *
srq_on(struct ibv_pd *pd)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };

	return ibv_create_srq(pd, &init);
}

static void
to_rts(struct ibv_qp *qp)
{
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		struct ibv_qp_attr a = { .qp_state = (enum ibv_qp_state)state };

		CHECK_EQ(ibv_modify_qp(qp, &a, IBV_QP_STATE), 0);
	}
}

/* Everything that takes a PD takes it, and knows the PD's own handle. */
static void
parent_domain__is_a_pd(void)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };
	static char buf[64];
	struct ibv_srq *srq;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	pd = parent_of(&w, NULL, 0);
	CHECK(pd && pd != w.pd && pd->context == w.ctx);
	CHECK_EQ(pd->handle, w.pd->handle);
	qp = qp_on(&w, pd);
	srq = srq_on(pd);
	mr = ibv_reg_mr(pd, buf, sizeof(buf), 0);
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	CHECK(mw && mw->pd == pd);
	ah = ibv_create_ah(pd, &attr);
	CHECK(qp && qp->pd == pd && srq && srq->pd == pd && mr && mr->pd == pd && ah && ah->pd == pd);
	CHECK_EQ(mock.qp[qp->handle].req.pd, 3);
	CHECK_EQ(mock.last_mr.pd, 3);
	CHECK_EQ(mock.last_ah.pd, 3);
	/* each keeps it */
	CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
	CHECK_EQ(ibv_destroy_srq(srq), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	world_close(&w);
}

static void
parent_domain__keeps_what_it_is_made_of(void)
{
	struct ibv_td_init_attr none = { 0 };
	struct ibv_parent_domain_init_attr attr;
	struct ibv_pd *pd, *second;
	struct ibv_td *td;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	td = ibv_alloc_td(w.ctx, &none);
	CHECK(td && td->context == w.ctx);
	pd = parent_of(&w, td, 0);
	attr = (struct ibv_parent_domain_init_attr){ .pd = pd };
	second = ibv_alloc_parent_domain(w.ctx, &attr);		/* a parent domain is a PD here too */
	CHECK(pd && second);
	CHECK_EQ(ibv_destroy_qp(w.qp), 0);
	CHECK_EQ(ibv_dealloc_pd(w.pd), EBUSY);
	CHECK_EQ(ibv_dealloc_td(td), EBUSY);
	CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
	CHECK_EQ(ibv_dealloc_pd(second), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_dealloc_td(td), 0);
	w.qp = qp_on(&w, w.pd);
	world_close(&w);
}

static void
parent_domain__refuses(void)
{
	struct ibv_td_init_attr odd = { .comp_mask = 1 };
	struct ibv_parent_domain_init_attr attr;
	struct ibv_context elsewhere = { 0 };
	struct ibv_pd other = { .context = &elsewhere };
	struct ibv_td other_td = { .context = &elsewhere };
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
#define REFUSED(...) \
	attr = (struct ibv_parent_domain_init_attr){ __VA_ARGS__ }; \
	errno = 0; \
	CHECK(!ibv_alloc_parent_domain(w.ctx, &attr)); \
	CHECK_EQ(errno, EINVAL)
	REFUSED(.pd = NULL);
	REFUSED(.pd = &other);
	REFUSED(.pd = w.pd, .td = &other_td);
	REFUSED(.pd = w.pd, .comp_mask = 4);
	REFUSED(.pd = w.pd, .comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS, .alloc = give);
	REFUSED(.pd = w.pd, .comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS, .free = take_back);
	errno = 0;
	CHECK(!ibv_alloc_td(w.ctx, &odd));
	CHECK_EQ(errno, EINVAL);
	world_close(&w);
}

static void
allocator__gives_and_gets_back(void)
{
	struct ibv_srq *srq;
	struct ibv_pd *pd;
	struct ibv_qp *qp;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	memset(&asked, 0, sizeof(asked));
	pd = parent_of(&w, NULL, WITH_ALLOCATOR);
	CHECK_EQ(asked.allocs, 0);
	qp = qp_on(&w, pd);
	CHECK(qp && (void *)qp == asked.last);
	CHECK(asked.pd == pd && asked.pd_context == &asked);
	CHECK_EQ(asked.types, 1u << PLX_RESOURCE_QP);
	CHECK(asked.size >= sizeof(struct plx_qp));
	CHECK(asked.alignment >= 64);
	srq = srq_on(pd);
	CHECK(srq && (void *)srq == asked.last);
	CHECK_EQ(asked.types, 1u << PLX_RESOURCE_QP | 1u << PLX_RESOURCE_SRQ);
	to_rts(qp);
	CHECK_EQ(ibv_destroy_srq(srq), 0);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	CHECK_EQ(asked.frees, 2);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	/* functions without the bit are none, and without its bit there is no context */
	pd = parent_of(&w, NULL, 0);
	CHECK_EQ(ibv_destroy_qp(qp_on(&w, pd)), 0);
	CHECK_EQ(asked.allocs, 2);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	pd = parent_of(&w, NULL, IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS);
	CHECK_EQ(ibv_destroy_qp(qp_on(&w, pd)), 0);
	CHECK(asked.allocs == 3 && asked.frees == 3 && !asked.pd_context);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	world_close(&w);
}

static void
allocator__leaves_it_to_us(void)
{
	struct ibv_srq *srq;
	struct ibv_pd *pd;
	struct ibv_qp *qp;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	memset(&asked, 0, sizeof(asked));
	asked.answer = 1;
	pd = parent_of(&w, NULL, WITH_ALLOCATOR);
	qp = qp_on(&w, pd);
	srq = srq_on(pd);
	CHECK(qp && srq);
	CHECK_EQ(asked.allocs, 2);
	to_rts(qp);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	CHECK_EQ(ibv_destroy_srq(srq), 0);
	CHECK_EQ(asked.frees, 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	world_close(&w);
}

static unsigned int
objects(void)
{
	unsigned int n = 0;

	for (uint32_t i = 0; i < MOCK_MAX; i++)
		n += mock.qp[i].used + mock.srq[i].used;
	return n;
}

/* FC67: nothing is left of what could not be made, in the stack or here (the sanitizer looks). */
static void
allocator__gives_none(void)
{
	struct ibv_pd *pd;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	for (int answer = 2; answer <= 3; answer++) {
		memset(&asked, 0, sizeof(asked));
		asked.answer = answer;
		pd = parent_of(&w, NULL, WITH_ALLOCATOR);
		errno = 0;
		CHECK(!qp_on(&w, pd));
		CHECK_EQ(errno, ENOMEM);
		errno = 0;
		CHECK(!srq_on(pd));
		CHECK_EQ(errno, ENOMEM);
		CHECK_EQ(objects(), 1);		/* the world's own */
		CHECK_EQ(asked.frees, answer == 3 ? 2 : 0);
		CHECK_EQ(ibv_dealloc_pd(pd), 0);
	}
	world_close(&w);
}

/* What the stack refuses goes back to the allocator. */
static void
allocator__gets_back_what_failed(void)
{
	static const int types[] = { CTL_CREATE_QP, CTL_CREATE_SRQ };
	struct ibv_pd *pd;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	memset(&asked, 0, sizeof(asked));
	pd = parent_of(&w, NULL, WITH_ALLOCATOR);
	for (unsigned int i = 0; i < 2; i++) {
		mock.fail_type = types[i];
		mock.fail_err = -ENOMEM;
		errno = 0;
		CHECK(i ? !srq_on(pd) : !qp_on(&w, pd));
		CHECK_EQ(errno, ENOMEM);
		CHECK_EQ(asked.allocs, i + 1);
		CHECK_EQ(asked.frees, i + 1);
	}
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	world_close(&w);
}

/* Its queues are posted to whoever holds their locks: nobody asks for them. */
static void
td__posts_without_the_lock(void)
{
	struct ibv_td_init_attr none = { 0 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_recv_wr rwr = { 0 }, *rbad;
	struct ibv_srq *srq;
	struct ibv_td *td;
	struct ibv_pd *pd;
	struct ibv_qp *qp;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	td = ibv_alloc_td(w.ctx, &none);
	pd = parent_of(&w, td, 0);
	qp = qp_on(&w, pd);
	srq = srq_on(pd);
	CHECK(qp && srq);
	to_rts(qp);
	__plx_qp_of(qp)->sq.lock = __plx_qp_of(qp)->rq.lock = __plx_srq_of(srq)->wq.lock = 1;
	CHECK_EQ(ibv_post_send(qp, &wr, &bad), 0);
	CHECK_EQ(ibv_post_recv(qp, &rwr, &rbad), 0);
	CHECK_EQ(ibv_post_srq_recv(srq, &rwr, &rbad), 0);
	CHECK_EQ(mock.qp[qp->handle].sq.ctl->tail, 1);
	CHECK_EQ(ibv_destroy_srq(srq), 0);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_dealloc_td(td), 0);
	world_close(&w);
}

/* The handle may be of the PD itself, or the other way round. */
static void
post_send__address_handle_of_the_other_form(void)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD, .cap = { 4, 4, 1, 1, 0 } };
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_pd *parent, *pds[2];
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	parent = parent_of(&w, NULL, 0);
	pds[0] = w.pd;
	pds[1] = parent;
	init.send_cq = init.recv_cq = w.cq;
	for (int i = 0; i < 2; i++) {
		struct ibv_qp *qp = ibv_create_qp(pds[i], &init);
		struct ibv_ah *ah = ibv_create_ah(pds[!i], &attr);

		CHECK(qp && ah);
		to_rts(qp);
		wr.wr.ud.ah = ah;
		CHECK_EQ(ibv_post_send(qp, &wr, &bad), 0);
		CHECK_EQ(ibv_destroy_ah(ah), 0);
		CHECK_EQ(ibv_destroy_qp(qp), 0);
	}
	CHECK_EQ(ibv_dealloc_pd(parent), 0);
	world_close(&w);
}

static const struct check_case cases[] = {
	CHECK_CASE(parent_domain__is_a_pd),
	CHECK_CASE(parent_domain__keeps_what_it_is_made_of),
	CHECK_CASE(parent_domain__refuses),
	CHECK_CASE(allocator__gives_and_gets_back),
	CHECK_CASE(allocator__leaves_it_to_us),
	CHECK_CASE(allocator__gives_none),
	CHECK_CASE(allocator__gets_back_what_failed),
	CHECK_CASE(td__posts_without_the_lock),
	CHECK_CASE(post_send__address_handle_of_the_other_form),
};
CHECK_MAIN(cases)
