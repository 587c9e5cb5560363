/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Are there as many objects as the device says? Of each kind all of them are made at once: the last is, one
 * more is not (ENOMEM), and when all are gone another round finds the same.
 */
#include "serve_verbs.h"

static void **objects;
static struct ibv_device_attr dev;

static void
begin(uint32_t max)
{
	open_verbs("inline", 8, 8);
	MUST(ibv_query_device(v.ctx, &dev) == 0);
	objects = calloc(max, sizeof(*objects));
	MUST(objects);
}

static void
end(void)
{
	free(objects);
	CHECK_EQ(close_verbs(), 0);
}

static void *
make_pd(void)
{
	return ibv_alloc_pd(v.ctx);
}

static int
free_pd(void *pd)
{
	return ibv_dealloc_pd(pd);
}

static void *
make_cq(void)
{
	return ibv_create_cq(v.ctx, 1, NULL, NULL, 0);
}

static int
free_cq(void *cq)
{
	return ibv_destroy_cq(cq);
}

static void *
make_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 1, .max_sge = 1 } };

	return ibv_create_srq(v.pd, &init);
}

static int
free_srq(void *srq)
{
	return ibv_destroy_srq(srq);
}

static void *
make_qp(void)
{
	struct ibv_qp_init_attr init = { .send_cq = v.cq, .recv_cq = v.cq, .qp_type = IBV_QPT_RC,
					 .cap = { 1, 1, 1, 1, 0 } };

	return ibv_create_qp(v.pd, &init);
}

static int
free_qp(void *qp)
{
	return ibv_destroy_qp(qp);
}

static void *
make_mr(void)
{
	return ibv_reg_mr(v.pd, v.buf, 1, 0);
}

static int
free_mr(void *mr)
{
	return ibv_dereg_mr(mr);
}

static void *
make_mw(void)
{
	return ibv_alloc_mw(v.pd, IBV_MW_TYPE_2);
}

static int
free_mw(void *mw)
{
	return ibv_dealloc_mw(mw);
}

/* `there`: what open_verbs() made of them. */
static void
play(uint32_t max, uint32_t there, void *(*make)(void), int (*unmake)(void *))
{
	uint32_t n = 0;

	while (n < max && (objects[n] = make()))
		n++;
	CHECK_EQ(n + there, max);
	errno = 0;
	CHECK(!make() && errno == ENOMEM);
	CHECK_EQ(unmake(objects[n - 1]), 0);
	objects[n - 1] = make();
	CHECK(objects[n - 1]);
	while (n)
		CHECK_EQ(unmake(objects[--n]), 0);
}

static void
limits__pd(void)
{
	begin(32768);
	CHECK_EQ(dev.max_pd, 32768);
	play(32768, 1, make_pd, free_pd);
	end();
}

static void
limits__cq(void)
{
	begin(65536);
	CHECK_EQ(dev.max_cq, 65536);
	play(65536, 1, make_cq, free_cq);
	end();
}

static void
limits__srq(void)
{
	begin(65536);
	CHECK_EQ(dev.max_srq, 65536);
	play(65536, 0, make_srq, free_srq);
	end();
}

static void
limits__qp(void)
{
	begin(65536);
	CHECK_EQ(dev.max_qp, 65536);
	play(65536, 2, make_qp, free_qp);
	end();
}

static void
limits__mr(void)
{
	begin(1048576);
	CHECK_EQ(dev.max_mr, 1048576);
	play(1048576, 1, make_mr, free_mr);
	end();
}

static void
limits__mw(void)
{
	begin(1048576);
	CHECK_EQ(dev.max_mw, 1048576);
	play(1048576, 0, make_mw, free_mw);
	end();
}

static const struct check_case cases[] = {
	CHECK_CASE(limits__pd),
	CHECK_CASE(limits__cq),
	CHECK_CASE(limits__srq),
	CHECK_CASE(limits__qp),
	CHECK_CASE(limits__mr),
	CHECK_CASE(limits__mw),
};
CHECK_MAIN(cases)
