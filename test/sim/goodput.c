/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What does loss cost? WRITEs of 64 KiB over a wire of a million packets a second with a round trip of
 * 20 us, which loses packets both ways; for several ACK timeouts. Virtual time: the figures are exact,
 * and nothing is judged but that all arrives. One line of JSON for each timeout and window.
 *
 *	sim_goodput [MESSAGES]
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/pair.h"
#include "transport/numbers.h"

#define LENGTH 65536u
#define QUEUED 16u
#define STEP 20000u	/* ns between looks at the queue, which holds a ms */

static const uint32_t drops[] = { 1000, 10000, 50000 };
static const uint8_t timeouts[] = { 6, 8, 10, 14 };
/* Packets on their way: the wire's own 20 and a few more, or the default; a longer queue before the
 * wire is lost with each packet that is. */
static const uint32_t windows[] = { 32, 128 };

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void
post(struct pair *p, uint64_t wr_id)
{
	struct plx_sge sge = pair_sge(&p->side[0], 0, LENGTH);
	struct plx_sq_wqe w = {
		.wr_id = wr_id, .opcode = WR_RDMA_WRITE, .flags = PLX_WQE_SIGNALED, .num_sge = 1,
		.rkey = p->side[1].mr->key, .remote_addr = (uintptr_t)p->side[1].mem,
	};

	pair_post_send(&p->side[0], &w, &sge);
}

/* Bits in a ns; 0 when it did not get through. */
static double
goodput(uint32_t drop, uint8_t timeout, uint32_t window, uint64_t messages)
{
	struct pair *p = pair_new(&(struct pair_conf){
		.mtu = 3, .timeout = timeout, .retry_cnt = 7, .loss = drop, .seed = 1,
		.max_inflight = window, .delay_ns = 9000, .frame_ns = 1000, .byte_ps = 1,
	});
	uint64_t posted = 0, done = 0, begin;
	uint32_t status = 0;
	double bits;

	assert(p);
	begin = p->now;
	while (done < messages && !status) {
		uint64_t until = p->now + STEP;
		struct plx_cqe e;

		for (; pair_poll(&p->side[0], 0, &e); done++)
			status |= e.status;
		for (; posted < messages && posted - done < QUEUED; posted++)
			post(p, posted);
		pair_run(p, until);
		p->now = until;
	}
	bits = status ? 0 : 8.0 * LENGTH * (double)done / (double)(p->now - begin);
	pair_free(p);
	return bits;
}

static bool
row(uint8_t timeout, uint32_t window, uint64_t messages)
{
	double lossless = goodput(0, timeout, window, messages);
	bool ok = lossless > 0;

	printf("{\"timeout\": %u, \"window\": %u, \"lossless_gbps\": %.3f, \"relative\": {", timeout,
	       window, lossless);
	for (uint32_t d = 0; d < COUNT(drops) && ok; d++) {
		double g = goodput(drops[d], timeout, window, messages);

		ok = g > 0;
		printf("%s\"%g\": %.3f", d ? ", " : "", drops[d] / 1e6, g / lossless);
	}
	printf("}}\n");
	return ok;
}

int
main(int argc, char **argv)
{
	uint64_t messages = argc > 1 ? strtoull(argv[1], NULL, 0) : 2000;
	bool ok = true;

	for (uint32_t w = 0; w < COUNT(windows); w++)
		for (uint32_t t = 0; t < COUNT(timeouts); t++)
			ok &= row(timeouts[t], windows[w], messages);
	return ok ? 0 : 1;
}
