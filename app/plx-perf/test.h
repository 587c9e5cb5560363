/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is measured: the operations, and the settings that both ends must have alike. The client
 * decides them and sends them to the server, which checks them as it would its own options.
 */
#ifndef PLX_PERF_TEST_H
#define PLX_PERF_TEST_H

#include <stdbool.h>
#include <stdint.h>

#include "sizes.h"

/* X(id, name, verbs opcode, properties) */
#define OP_LIST(X) \
	X(OP_SEND, "send", IBV_WR_SEND, OP_TAKES_RECV) \
	X(OP_SEND_IMM, "send_imm", IBV_WR_SEND_WITH_IMM, OP_TAKES_RECV) \
	X(OP_WRITE, "write", IBV_WR_RDMA_WRITE, OP_REMOTE) \
	X(OP_WRITE_IMM, "write_imm", IBV_WR_RDMA_WRITE_WITH_IMM, OP_REMOTE | OP_TAKES_RECV) \
	X(OP_READ, "read", IBV_WR_RDMA_READ, OP_REMOTE | OP_FETCHES) \
	X(OP_CMP_SWAP, "cmp_swap", IBV_WR_ATOMIC_CMP_AND_SWP, OP_REMOTE | OP_FETCHES | OP_ATOMIC) \
	X(OP_FETCH_ADD, "fetch_add", IBV_WR_ATOMIC_FETCH_AND_ADD, OP_REMOTE | OP_FETCHES | OP_ATOMIC)

enum op_id {
#define OP_ID(id, name, verb, props) id,
	OP_LIST(OP_ID)
#undef OP_ID
	OP_COUNT
};

enum op_property {
	OP_TAKES_RECV = 1 << 0,		/* each message completes a receive at the target */
	OP_REMOTE = 1 << 1,		/* names remote memory */
	OP_FETCHES = 1 << 2,		/* data comes back to the requester */
	OP_ATOMIC = 1 << 3,		/* always eight bytes */
};

struct op {
	const char *name;
	int verb;			/* value of enum ibv_wr_opcode */
	unsigned int props;		/* enum op_property */
};

extern const struct op ops[OP_COUNT];

enum mode {
	MODE_BW,
	MODE_LAT,
	MODE_RATE,
	MODE_COUNT
};

enum poll_where {
	POLL_CQ,			/* WRITE latency: the CQ is polled too, which drives the stack */
	POLL_MEMORY,			/* only the last byte in memory, as ib_write_lat does */
	POLL_COUNT
};

extern const char *const mode_names[MODE_COUNT];
extern const char *const poll_names[POLL_COUNT];

/*
 * X(field, lowest, highest, default): every setting is one unsigned word. TEST_AUTO as default
 * means that test_settle() chooses by mode.
 */
#define TEST_AUTO UINT64_MAX
#define TEST_FIELDS(X) \
	X(op, 0, OP_COUNT - 1, OP_WRITE) \
	X(mode, 0, MODE_COUNT - 1, MODE_BW) \
	X(qps, 1, 16384, 1) \
	X(depth, 1, 8192, TEST_AUTO)		/* messages in flight on a QP */ \
	X(post_list, 1, 1024, 1)		/* WRs in one ibv_post_send */ \
	X(cq_mod, 1, 8192, TEST_AUTO)		/* one signalled WR in so many */ \
	X(inline_max, 0, 4096, 0)		/* messages up to this size go inline */ \
	X(iters, 0, 1ull << 40, TEST_AUTO)	/* messages on each QP; 0: no limit */ \
	X(duration_ms, 0, 86400000, TEST_AUTO)	/* per size; 0: no limit */ \
	X(bytes, 0, 1ull << 50, 256ull << 20)	/* volume of a verified run, over all QPs */ \
	X(mtu, 0, 4096, 0)			/* path MTU; 0: the largest both ports carry */ \
	X(bidirectional, 0, 1, 0) \
	X(events, 0, 1, 0)			/* sleep until a completion event */ \
	X(poll, 0, POLL_COUNT - 1, POLL_CQ) \
	X(verify, 0, 1, 0) \
	X(seed, 0, UINT64_MAX - 1, 1) \
	X(sges, 1, 32, 1)			/* pieces of a verified message, at either end */ \
	X(timeout, 0, 31, 14)			/* code: 4.096 us * 2^timeout; 0: for ever */ \
	X(retry, 0, 7, 7) \
	X(rnr, 0, 7, 7)				/* 7: without end */

struct test {
#define TEST_FIELD(field, low, high, preset) uint64_t field;
	TEST_FIELDS(TEST_FIELD)
#undef TEST_FIELD
	struct sizes sizes;
};

#define TEST_WORD(field, low, high, preset) + 1u
/* Words of a test on the out-of-band channel. */
enum { TEST_WORDS = 4u + SIZES_MAX TEST_FIELDS(TEST_WORD) };
#undef TEST_WORD

void test_preset(struct test *t);

/*
 * Fills in what was left to the program and checks that the settings fit together. 0, or -1 after a
 * line that says what to change.
 */
int test_settle(struct test *t);

/* `word` has room for TEST_WORDS. */
void test_pack(const struct test *t, uint64_t *word);

/* Unpacks what a client sent and checks every field. 0, or -1 after a line. */
int test_unpack(struct test *t, const uint64_t *word, uint32_t n);

static inline const struct op *
test_op(const struct test *t)
{
	return &ops[t->op];
}

/* Whether a latency sample is a round trip of which half is reported, or a whole one. */
static inline bool
test_is_ping_pong(const struct test *t)
{
	return !(test_op(t)->props & OP_FETCHES);
}

#endif
