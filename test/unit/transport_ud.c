/* SPDX-License-Identifier: BSD-3-Clause */
/* Datagrams over a bad wire: each comes whole or not at all, and every send completes. */
#include <string.h>

#include "check.h"
#include "sim/pair.h"
#include "transport/numbers.h"
#include "wire/hdr.h"

#define SECOND 1000000000ull
#define NUM 400u
#define GRH 40u
#define SLOT 2048u		/* of the receiver's memory */

static uint8_t
byte_of(uint32_t n, uint32_t at)
{
	return (uint8_t)(n * 31 + at * 7 + (at >> 8));
}

static uint32_t
length_of(uint32_t n)
{
	return n * 37 % 1021;
}

static void
send_one(struct pair *p, uint32_t n)
{
	struct pair_side *s = &p->side[0];
	struct plx_sq_wqe w = { .wr_id = n, .opcode = WR_SEND_IMM, .flags = PLX_WQE_SIGNALED, .num_sge = 1,
				.imm = n,
				.ud = { .ah = PAIR_AH, .ah_gen = 1, .qkey = PAIR_QKEY,
					.qpn = qp_num(p->side[1].q->qp) } };
	struct plx_sge sge = pair_sge(s, n % 64 * SLOT, length_of(n));

	for (uint32_t i = 0; i < length_of(n); i++)
		s->mem[n % 64 * SLOT + i] = byte_of(n, i);
	pair_post_send(s, &w, &sge);
}

static void
post(struct pair *p, uint32_t slot)
{
	struct plx_sge sge = pair_sge(&p->side[1], slot * SLOT, SLOT);

	memset(p->side[1].mem + slot * SLOT, 0xee, SLOT);
	pair_post_recv(&p->side[1], slot, &sge, 1);
}

/* Is what lies there datagram c->imm, whole, and nothing else? */
static bool
is_whole(struct pair *p, const struct plx_cqe *c)
{
	const uint8_t *at = p->side[1].mem + c->wr_id * SLOT;
	uint32_t n = c->imm, len = length_of(n);

	if (n >= NUM || c->status || c->byte_len != GRH + len || at[GRH + len] != 0xee ||
	    c->wc_flags != (WC_GRH | WC_WITH_IMM) || c->src_qp != qp_num(p->side[0].q->qp))
		return false;
	if (p->conf.ip6 ? at[0] >> 4 != 6 : at[0] || at[20] != 0x45)
		return false;
	for (uint32_t i = 0; i < len; i++)
		if (at[GRH + i] != byte_of(n, i))
			return false;
	return true;
}

/* NUM of them; how many came, those that came twice counted twice. UINT32_MAX: something was wrong. */
static uint32_t
run(struct pair_conf c)
{
	struct plx_cqe e;
	struct pair *p;
	uint32_t came = 0, done = 0, wrong = 0;

	c.type = QPT_UD;
	p = pair_new(&c);
	for (uint32_t i = 0; i < 64; i++)
		post(p, i);
	for (uint32_t n = 0; n < NUM; n++) {
		send_one(p, n);
		pair_run(p, p->now + SECOND / 1000);
		while (pair_poll(&p->side[0], 0, &e))
			done += e.status == WC_SUCCESS;
		for (; pair_poll(&p->side[1], 1, &e); came++) {
			wrong += !is_whole(p, &e);
			post(p, (uint32_t)e.wr_id);
		}
	}
	wrong += done != NUM || !pair_red_zones_ok(p) || qp_state(p->side[0].q->qp) != QPS_RTS ||
		 qp_state(p->side[1].q->qp) != QPS_RTS;
	pair_free(p);
	return wrong ? UINT32_MAX : came;
}

static void
ud_wire__good_brings_all(void)
{
	CHECK_EQ(run((struct pair_conf){ .seed = 1, .psn = { 0xffffff, 5 } }), NUM);
	CHECK_EQ(run((struct pair_conf){ .seed = 2, .ip6 = true }), NUM);
}

static void
ud_wire__bad_brings_whole_ones(void)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		uint32_t came = run((struct pair_conf){ .seed = seed, .loss = 50000, .reorder = 50000,
							.corrupt = 50000, .ip6 = seed & 1 });

		CHECK(came > NUM / 2 && came < NUM);
	}
}

static void
ud_wire__doubled(void)
{
	uint32_t came = run((struct pair_conf){ .seed = 3, .dup = 200000 });

	CHECK(came > NUM && came < 2 * NUM);
}

/* A handle that another core made, whose time is ahead: its neighbour is waited for all the same. */
static void
ud_neighbour__asked_for_just_now(void)
{
	struct pair *p = pair_new(&(struct pair_conf){ .type = QPT_UD });
	struct ah *ah = &p->side[0].ah;
	struct qp_path path, none = { .ready = false };
	struct plx_cqe e;

	seqcell_get(&ah->path, &path);
	seqcell_set(&ah->path, &none);
	ah->asked_at = p->now + 1000;
	post(p, 0);
	send_one(p, 5);
	pair_run(p, p->now + SECOND / 2);
	CHECK_EQ(p->frames, 0);
	seqcell_set(&ah->path, &path);
	pair_run(p, p->now + SECOND);
	CHECK_EQ(p->frames, 1);
	CHECK(pair_poll(&p->side[1], 1, &e) && is_whole(p, &e));
	pair_free(p);
}

static const struct check_case cases[] = {
	CHECK_CASE(ud_neighbour__asked_for_just_now),
	CHECK_CASE(ud_wire__good_brings_all),
	CHECK_CASE(ud_wire__bad_brings_whole_ones),
	CHECK_CASE(ud_wire__doubled),
};
CHECK_MAIN(cases)
