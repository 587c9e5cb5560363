/* SPDX-License-Identifier: BSD-3-Clause */
/* The other context: its program does nothing wrong, and nothing of what the fuzzer does is seen in it. */
#include "serve_verbs.h"

enum kind { PD, MR, DM, CHANNEL, CQ, SRQ, QP, AH, XRCD, TD };	/* api.h */

int other_begin(const char *cores);
int other_still_works(void);
int other_end(void);
void *other_object(enum kind kind);

int
other_begin(const char *cores)
{
	open_verbs(cores, 64, 16);
	return other_still_works();
}

int
other_still_works(void)
{
	static uint64_t wr_id;
	uint64_t word = ++wr_id;
	struct ibv_wc wc = { 0 };

	memcpy(v.buf, &word, 8);
	if (post_write(v.a, word) || !poll_one(v.cq, &wc))
		return 1;
	return wc.status != IBV_WC_SUCCESS || wc.wr_id != word || memcmp(v.buf + BUF_LEN / 2, &word, 8);
}

int
other_end(void)
{
	return close_verbs();
}

void *
other_object(enum kind kind)
{
	switch (kind) {
	case PD:
		return v.pd;
	case MR:
		return v.mr;
	case CHANNEL:
		return v.ch;
	case CQ:
		return v.cq;
	case QP:
		return v.a;
	default:
		return NULL;
	}
}
