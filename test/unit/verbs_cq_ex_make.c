/* SPDX-License-Identifier: BSD-3-Clause */
/* What an extended CQ may be, where it lies, and the device's clock: lib/verbs/cq_ex.c and clock.c. */
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "verbs_cq_ex.h"

/* Every flag of the header is granted, or refused as the verbs say. */
static void
create_cq_ex__flags(void)
{
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	for (unsigned int bit = 0; bit < 64; bit++) {
		struct ibv_cq_init_attr_ex init = { .cqe = 1, .wc_flags = 1ull << bit };
		struct ibv_cq_ex *cq;

		errno = 0;
		cq = ibv_create_cq_ex(w.ctx, &init);
		CHECK_EQ(cq != NULL, (ALL_FLAGS & init.wc_flags) != 0);
		if (cq)
			free_cq(cq);
		else
			CHECK_EQ(errno, EOPNOTSUPP);
	}
	for (unsigned int bit = 0; bit < 32; bit++) {
		struct ibv_cq_init_attr_ex init = { .cqe = 1, .flags = 1u << bit };
		struct ibv_cq_ex *cq;

		cq = ibv_create_cq_ex(w.ctx, &init);	/* comp_mask says that flags do not count */
		CHECK(cq);
		free_cq(cq);
		init.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
		cq = ibv_create_cq_ex(w.ctx, &init);
		CHECK_EQ(cq != NULL, bit < 2);
		if (cq)
			free_cq(cq);
		else
			CHECK_EQ(errno, EOPNOTSUPP);
	}
	world_close(&w);
}

static int
refused(struct world *w, struct ibv_cq_init_attr_ex init)
{
	errno = 0;
	return ibv_create_cq_ex(w->ctx, &init) ? 0 : errno;
}

static void
create_cq_ex__refuses(void)
{
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	CHECK_EQ(refused(&w, (struct ibv_cq_init_attr_ex){ .cqe = 0 }), EINVAL);
	CHECK_EQ(refused(&w, (struct ibv_cq_init_attr_ex){ .cqe = 4194304 }), EINVAL);
	CHECK_EQ(refused(&w, (struct ibv_cq_init_attr_ex){ .cqe = 1, .comp_vector = 1 }), EINVAL);
	CHECK_EQ(refused(&w, (struct ibv_cq_init_attr_ex){ .cqe = 1, .comp_mask = 4 }), EOPNOTSUPP);
	CHECK_EQ(refused(&w, (struct ibv_cq_init_attr_ex){ .cqe = 1, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD }),
		 EINVAL);
	/* a PD that is no parent domain */
	CHECK_EQ(refused(&w, (struct ibv_cq_init_attr_ex){ .cqe = 1, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
							   .parent_domain = w.pd }), EINVAL);
	mock.fail_type = CTL_CREATE_CQ;
	mock.fail_err = -ENOMEM;
	CHECK_EQ(refused(&w, (struct ibv_cq_init_attr_ex){ .cqe = 1 }), ENOMEM);
	world_close(&w);
}

static unsigned int allocs, frees;
static void *allocated;
static bool use_default;

static void *
take_memory(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment, uint64_t type)
{
	if (!pd || pd_context != &allocs || type != PLX_RESOURCE_CQ)
		abort();
	allocs++;
	allocated = use_default ? IBV_ALLOCATOR_USE_DEFAULT : aligned_alloc(alignment, size);
	return allocated;
}

static void
give_memory(struct ibv_pd *pd, void *pd_context, void *ptr, uint64_t type)
{
	CHECK(pd && pd_context == &allocs && ptr == allocated && type == PLX_RESOURCE_CQ);
	frees++;
	free(ptr);
}

static void
create_cq_ex__parent_domain(void)
{
	struct ibv_parent_domain_init_attr attr = {
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.alloc = take_memory, .free = give_memory, .pd_context = &allocs,
	};
	struct ibv_td_init_attr td_attr = { 0 };
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	attr.pd = w.pd;
	allocs = frees = 0;
	for (unsigned int round = 0; round < 2; round++) {
		struct ibv_cq_init_attr_ex init = { .cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD };
		struct ibv_td *td = round ? ibv_alloc_td(w.ctx, &td_attr) : NULL;
		struct ibv_cq_ex *cq;

		use_default = round == 1;
		attr.td = td;
		init.parent_domain = ibv_alloc_parent_domain(w.ctx, &attr);
		cq = ibv_create_cq_ex(w.ctx, &init);
		CHECK(cq && allocs == round + 1);
		CHECK(use_default || cq == allocated);
		/* who has a thread domain has one thread */
		CHECK_EQ(__plx_cq_of(ibv_cq_ex_to_cq(cq))->single, round);
		CHECK_EQ(ibv_dealloc_pd(init.parent_domain), EBUSY);
		free_cq(cq);
		CHECK_EQ(frees, 1);
		mock.fail_type = CTL_CREATE_CQ;
		mock.fail_err = -ENOMEM;
		CHECK(!ibv_create_cq_ex(w.ctx, &init) && errno == ENOMEM);
		allocs = frees = 1;
		CHECK_EQ(ibv_dealloc_pd(init.parent_domain), 0);
		CHECK(!td || ibv_dealloc_td(td) == 0);
	}
	world_close(&w);
}

static uint64_t
realtime_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void
query_rt_values__ask(void)
{
	struct ibv_values_ex v = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK << 1 };
	struct ibv_values_ex a = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK }, b = a;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	CHECK_EQ(ibv_query_rt_values_ex(w.ctx, &v), EINVAL);
	v.comp_mask = 0;
	v.raw_clock.tv_nsec = 77;
	CHECK_EQ(ibv_query_rt_values_ex(w.ctx, &v), 0);
	CHECK_EQ(v.raw_clock.tv_nsec, 77);
	CHECK_EQ(ibv_query_rt_values_ex(w.ctx, &a), 0);
	CHECK_EQ(ibv_query_rt_values_ex(w.ctx, &b), 0);
	CHECK_EQ(a.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
	CHECK(a.raw_clock.tv_sec == 0 && a.raw_clock.tv_nsec != 0);
	CHECK(b.raw_clock.tv_nsec != a.raw_clock.tv_nsec);
	/* the table, as a program has it that knows nothing of the inline layer */
	CHECK(verbs_get_ctx_op(w.ctx, query_rt_values)->query_rt_values == plx_query_rt_values_ex);
	CHECK(verbs_get_ctx_op(w.ctx, create_cq_ex)->create_cq_ex == plx_create_cq_ex);
	world_close(&w);
}

/* A completion of now is not in the future. */
static void
wallclock__of_now(void)
{
	struct ibv_values_ex now = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_cq_ex *cq;
	uint64_t ns;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	cq = new_cq(&w, 4, 0);
	CHECK_EQ(ibv_query_rt_values_ex(w.ctx, &now), 0);
	mock_push(cq->handle, &(struct plx_cqe){ .timestamp = (uint64_t)now.raw_clock.tv_nsec });
	CHECK_EQ(ibv_start_poll(cq, &none), 0);
	CHECK_EQ(ibv_wc_read_completion_ts(cq), now.raw_clock.tv_nsec);
	ns = ibv_wc_read_completion_wallclock_ns(cq);
	CHECK(ns <= realtime_ns());
	CHECK(cq->read_completion_wallclock_ns(cq) <= realtime_ns());
	ibv_end_poll(cq);
	free_cq(cq);
	world_close(&w);
}

static void
start_poll__forked_child(void)
{
	struct ibv_values_ex v = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_cq_init_attr_ex init = { .cqe = 1 };
	struct ibv_cq_ex *cq;
	struct world w;
	int status;
	pid_t pid;

	world_open(&w, (struct world_conf){ 0 });
	cq = new_cq(&w, 4, 0);
	mock_complete(cq->handle, 0, PLX_CQE_SQ, 1, 0);
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(!(ibv_start_poll(cq, &none) == EIO && ibv_query_rt_values_ex(w.ctx, &v) == EIO &&
			!ibv_create_cq_ex(w.ctx, &init) && errno == EIO &&
			ibv_destroy_cq(ibv_cq_ex_to_cq(cq)) == EIO));
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK_EQ(ibv_start_poll(cq, &none), 0);
	ibv_end_poll(cq);
	free_cq(cq);
	world_close(&w);
}

static const struct check_case cases[] = {
	CHECK_CASE(create_cq_ex__flags),
	CHECK_CASE(create_cq_ex__refuses),
	CHECK_CASE(create_cq_ex__parent_domain),
	CHECK_CASE(query_rt_values__ask),
	CHECK_CASE(wallclock__of_now),
	CHECK_CASE(start_poll__forked_child),
};
CHECK_MAIN(cases)
