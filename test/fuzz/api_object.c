/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that make, change and end objects, but for queue pairs. */
#include <fcntl.h>

#include "api.h"

#define NEED(x) \
	do { \
		if (!(x)) \
			return SKIP; \
	} while (0)
#define ROOM(kind) NEED(api.num[kind] < MAX_LIVE)

int
call_alloc_pd(void)
{
	ROOM(PD);
	return made(PD, plx_alloc_pd(api.ctx));
}

int
call_dealloc_pd(void)
{
	struct ibv_pd *pd = pick_any(PD);

	NEED(pd);
	return ended(PD, pd, plx_dealloc_pd(pd));
}

int
call_alloc_td(void)
{
	struct ibv_td_init_attr attr = { .comp_mask = one_in(4) ? rnd_word() : 0 };

	ROOM(TD);
	api.wrong = attr.comp_mask != 0;
	return made(TD, plx_alloc_td(api.ctx, &attr));
}

int
call_dealloc_td(void)
{
	struct ibv_td *td = pick(TD);

	NEED(td);
	return ended(TD, td, plx_dealloc_td(td));
}

/* Gives memory, or leaves it to the library, or has none. */
static void *
allocator(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment, uint64_t type)
{
	(void)pd;
	(void)pd_context;
	(void)type;
	if (one_in(3))
		return one_in(2) ? NULL : IBV_ALLOCATOR_USE_DEFAULT;
	return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void
allocator_free(struct ibv_pd *pd, void *pd_context, void *ptr, uint64_t type)
{
	(void)pd;
	(void)pd_context;
	(void)type;
	free(ptr);
}

/* Made of a living PD: the stack, which would know a wrong handle, is not asked. */
int
call_alloc_parent_domain(void)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = one_in(8) ? other_object(PD) : pick(PD), .td = one_in(3) ? NULL : pick(TD),
		.comp_mask = one_in(4) ? rnd_word() : below(4),
		.alloc = one_in(8) ? NULL : allocator, .free = one_in(8) ? NULL : allocator_free,
	};

	ROOM(PD);
	api.wrong = !attr.pd || attr.pd->context != api.ctx;
	return made(PD, plx_alloc_parent_domain(api.ctx, &attr));
}

/* A region beyond the buffer is one of memory that others use: it goes, so that no work request names it. */
static int
region(struct ibv_mr *mr)
{
	if (mr && ((uint8_t *)mr->addr < api.buf || mr->length > API_BUF_LEN))
		return plx_dereg_mr(mr);
	return made(MR, mr);
}

int
call_reg_mr(void)
{
	struct ibv_pd *pd = pick_any(PD);

	ROOM(MR);
	NEED(pd);
	return region(plx_reg_mr(pd, any_addr(), any_len(), (int)any_access()));
}

int
call_reg_mr_iova(void)
{
	struct ibv_pd *pd = pick_any(PD);

	ROOM(MR);
	NEED(pd);
	return region(plx_reg_mr_iova(pd, any_addr(), any_len(), rnd64() >> below(64), (int)any_access()));
}

int
call_reg_mr_iova2(void)
{
	struct ibv_pd *pd = pick_any(PD);

	ROOM(MR);
	NEED(pd);
	return region(plx_reg_mr_iova2(pd, any_addr(), any_len(), rnd64() >> below(64), any_access()));
}

/* It says in its own numbers how far it got; errno says why. */
int
call_rereg_mr(void)
{
	struct ibv_mr *mr = pick_any(MR);
	int rc;

	NEED(mr);
	rc = plx_rereg_mr(mr, (int)(one_in(4) ? rnd_word() : below(8)), pick_use(PD), any_addr(), any_len(),
			  (int)any_access());
	api.wrong = false;	/* what the flags do not name is not looked at */
	if (rc)
		return errno ? errno : NO_ERRNO;
	if ((uint8_t *)mr->addr < api.buf || mr->length > API_BUF_LEN)
		return ended(MR, mr, plx_dereg_mr(mr));
	return 0;
}

int
call_dereg_mr(void)
{
	struct ibv_mr *mr = pick_any(MR);

	NEED(mr);
	return ended(MR, mr, plx_dereg_mr(mr));
}

int
call_open_xrcd(void)
{
	struct ibv_xrcd_init_attr attr = { .comp_mask = one_in(4) ? rnd_word() : 3,
					   .fd = one_in(3) ? (int)rnd_word() : -1,
					   .oflags = one_in(3) ? (int)rnd_word() : O_CREAT };

	ROOM(XRCD);
	return made(XRCD, plx_open_xrcd(api.ctx, &attr));
}

int
call_close_xrcd(void)
{
	struct ibv_xrcd *xrcd = pick_any(XRCD);

	NEED(xrcd);
	return ended(XRCD, xrcd, plx_close_xrcd(xrcd));
}

int
call_create_comp_channel(void)
{
	struct ibv_comp_channel *ch;

	ROOM(CHANNEL);
	ch = plx_create_comp_channel(api.ctx);
	if (ch)
		fcntl(ch->fd, F_SETFL, fcntl(ch->fd, F_GETFL) | O_NONBLOCK);
	return made(CHANNEL, ch);
}

int
call_destroy_comp_channel(void)
{
	struct ibv_comp_channel *ch = pick_any(CHANNEL);

	NEED(ch);
	return ended(CHANNEL, ch, plx_destroy_comp_channel(ch));
}

int
call_create_cq(void)
{
	struct ibv_comp_channel *ch = one_in(2) ? pick_use(CHANNEL) : NULL;

	ROOM(CQ);
	if (!ch)
		api.wrong = false;	/* it needs none */
	return made(CQ, plx_create_cq(api.ctx, one_in(4) ? (int)rnd_word() : 1 + (int)below(200), &api, ch,
				      one_in(8) ? (int)rnd_word() : 0));
}

int
call_create_cq_ex(void)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = one_in(4) ? rnd_word() : 1 + below(200), .cq_context = &api,
		.channel = one_in(2) ? pick_use(CHANNEL) : NULL,
		.comp_vector = one_in(8) ? rnd_word() : 0,
		.wc_flags = one_in(8) ? rnd64() : below(128), .comp_mask = one_in(8) ? rnd_word() : below(4),
		.flags = one_in(8) ? rnd_word() : below(4),
	};
	bool wrong = attr.channel && api.wrong;
	struct ibv_cq_ex *cq;

	ROOM(CQ);
	api.wrong = false;
	attr.parent_domain = pick_use(PD);
	if (!(attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_PD))
		api.wrong = false;
	api.wrong |= wrong;
	cq = plx_create_cq_ex(api.ctx, &attr);
	return made(CQ, cq);
}

int
call_resize_cq(void)
{
	struct ibv_cq *cq = pick_any(CQ);

	NEED(cq);
	return plx_resize_cq(cq, one_in(4) ? (int)rnd_word() : 1 + (int)below(200));
}

int
call_modify_cq(void)
{
	struct ibv_modify_cq_attr attr = { .attr_mask = one_in(4) ? rnd_word() : 1,
					   .moderate = { (uint16_t)rnd_word(), (uint16_t)rnd_word() } };
	struct ibv_cq *cq = pick_any(CQ);

	NEED(cq);
	if (!attr.attr_mask)
		api.wrong = false;	/* it is asked nothing */
	return plx_modify_cq(cq, &attr);
}

int
call_destroy_cq(void)
{
	struct ibv_cq *cq = pick_any(CQ);

	NEED(cq);
	return ended(CQ, cq, plx_destroy_cq(cq));
}

static struct ibv_srq_attr
rnd_srq_attr(void)
{
	return (struct ibv_srq_attr){
		.max_wr = one_in(4) ? rnd_word() : 1 + below(64),
		.max_sge = one_in(4) ? rnd_word() : below(4),
		.srq_limit = one_in(4) ? rnd_word() : below(8),
	};
}

int
call_create_srq(void)
{
	struct ibv_srq_init_attr init = { .srq_context = &api, .attr = rnd_srq_attr() };
	struct ibv_pd *pd = pick_any(PD);

	ROOM(SRQ);
	NEED(pd);
	return made(SRQ, plx_create_srq(pd, &init));
}

int
call_create_srq_ex(void)
{
	bool xrc = one_in(2);
	struct ibv_srq_init_attr_ex init = {
		.attr = rnd_srq_attr(),
		.comp_mask = one_in(4) ? rnd_word() : xrc ? 15 : 3,
		.srq_type = one_in(8) ? (enum ibv_srq_type)rnd_word() : xrc ? IBV_SRQT_XRC : IBV_SRQT_BASIC,
		.pd = pick_use(PD), .xrcd = pick_use(XRCD), .cq = pick_use(CQ),
	};

	ROOM(SRQ);
	if (init.srq_type != IBV_SRQT_XRC || !(init.comp_mask & IBV_SRQ_INIT_ATTR_TYPE))
		api.wrong = false;	/* domain and CQ do not count */
	return made(SRQ, plx_create_srq_ex(api.ctx, &init));
}

/* The library knows it itself. */
int
call_get_srq_num(void)
{
	struct ibv_srq *srq = pick_any(SRQ);
	uint32_t number;

	NEED(srq);
	api.wrong = false;
	return plx_get_srq_num(srq, &number);
}

int
call_modify_srq(void)
{
	struct ibv_srq_attr attr = rnd_srq_attr();
	struct ibv_srq *srq = pick_any(SRQ);

	NEED(srq);
	return plx_modify_srq(srq, &attr, (int)(one_in(4) ? rnd_word() : 1 + below(3)));
}

int
call_query_srq(void)
{
	struct ibv_srq *srq = pick_any(SRQ);
	struct ibv_srq_attr attr;

	NEED(srq);
	return plx_query_srq(srq, &attr);
}

int
call_destroy_srq(void)
{
	struct ibv_srq *srq = pick_any(SRQ);

	NEED(srq);
	return ended(SRQ, srq, plx_destroy_srq(srq));
}

/* To this port itself or a group; or to nobody. Never to a neighbour that would be waited for. */
void
rnd_ah_attr(struct ibv_ah_attr *attr)
{
	static const uint8_t group[16] = { [10] = 0xff, [11] = 0xff, 239, 1, 2, 3 };
	bool all_random = one_in(8);

	rnd_bytes(attr, sizeof(*attr));
	attr->is_global = one_in(16) ? (uint8_t)rnd_word() : 1;
	attr->port_num = one_in(16) ? (uint8_t)rnd_word() : 1;
	attr->grh.sgid_index = one_in(16) ? (uint8_t)rnd_word() : 1;
	if (all_random)
		attr->grh.dgid.raw[0] = 0x20;
	else
		memcpy(attr->grh.dgid.raw, one_in(4) ? group : api.gid.raw, 16);
}

int
call_create_ah(void)
{
	struct ibv_pd *pd = pick_any(PD);
	struct ibv_ah_attr attr;

	ROOM(AH);
	NEED(pd);
	rnd_ah_attr(&attr);
	return made(AH, plx_create_ah(pd, &attr));
}

int
call_create_ah_from_wc(void)
{
	struct ibv_pd *pd = pick_any(PD);
	struct ibv_grh grh;
	struct ibv_wc wc;

	ROOM(AH);
	NEED(pd);
	rnd_area(&grh, &wc);
	return made(AH, plx_create_ah_from_wc(pd, &wc, &grh, (uint8_t)below(3)));
}

int
call_destroy_ah(void)
{
	struct ibv_ah *ah = pick_any(AH);

	NEED(ah);
	return ended(AH, ah, plx_destroy_ah(ah));
}
