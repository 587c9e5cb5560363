/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers: what does this error completion mean for the user? Called when a test fails. */
#include <stdbool.h>
#include <stdio.h>

#include "conn.h"
#include "say.h"

#define ACK_UNIT_NS 4096ull

static const struct advice {
	enum ibv_wc_status status;
	const char *text;
} advices[] = {
	{ IBV_WC_RETRY_EXC_ERR, "the peer no longer answers: it was killed, its port is gone, or the "
	  "path loses everything" },
	{ IBV_WC_RNR_RETRY_EXC_ERR, "the peer has no receive buffer ready; give --rnr 7" },
	{ IBV_WC_REM_ACCESS_ERR, "the peer refused the access to its memory; this should not happen "
	  "here: report it" },
	{ IBV_WC_REM_INV_REQ_ERR, "the peer found the request invalid; is its receive buffer or "
	  "max_rd_atomic too small?" },
	{ IBV_WC_REM_OP_ERR, "the peer could not carry out the request" },
	{ IBV_WC_LOC_PROT_ERR, "a buffer is not inside its memory region; this should not happen here: "
	  "report it" },
	{ IBV_WC_LOC_LEN_ERR, "a message is longer than its buffer" },
	{ IBV_WC_WR_FLUSH_ERR, "the QP is in the error state since something before it failed" },
};

static const char *
advice_for(enum ibv_wc_status status)
{
	for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++) {
		if (advices[i].status == status)
			return advices[i].text;
	}
	return "this status has no usual cause here: report it";
}

uint64_t
conn_give_up_ns(const struct test *t)
{
	return t->timeout ? 4 * (ACK_UNIT_NS << t->timeout) * (t->retry + 1) : UINT64_MAX / 4;
}

/*
 * A flushed WR says nothing of what broke the QP; the completion that does is in the send CQ before
 * or behind it. Replaces *wc if it is found.
 */
static bool
find_cause(const struct conn *c, struct ibv_wc *wc)
{
	struct ibv_wc other;

	while (ibv_poll_cq(c->send_cq, 1, &other) > 0) {
		if (other.status == IBV_WC_SUCCESS || other.status == IBV_WC_WR_FLUSH_ERR)
			continue;
		*wc = other;
		return true;
	}
	return false;
}

static int
explain(const struct conn *c, const struct ibv_wc *wc, const char *what, const char *peer)
{
	double once = (double)(ACK_UNIT_NS << c->test->timeout) / 1e9;
	char times[96] = "";

	if (wc->status == IBV_WC_RETRY_EXC_ERR && c->test->timeout)
		snprintf(times, sizeof(times), " (timeout %llu, retry %llu: %.2f to %.2f s)",
			 (unsigned long long)c->test->timeout, (unsigned long long)c->test->retry,
			 once * (double)(c->test->retry + 1), (double)conn_give_up_ns(c->test) / 1e9);
	return fail("%s on QP 0x%06x to %s ended with \"%s\" (status %d, vendor 0x%x)%s: %s", what,
		    wc->qp_num, peer, ibv_wc_status_str(wc->status), wc->status, wc->vendor_err, times,
		    advice_for(wc->status));
}

int
conn_explain(const struct conn *c, const struct ibv_wc *wc, const char *what, const char *peer)
{
	struct ibv_wc cause = *wc;

	if (wc->status == IBV_WC_WR_FLUSH_ERR && find_cause(c, &cause))
		what = "a send";
	return explain(c, &cause, what, peer);
}
