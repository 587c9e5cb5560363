/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When is something sent again, and when is it given up? Called by the completer for NAKs and by
 * qp_timer(); on the owning core. retry_cnt 7 is seven; only rnr_retry 7 has no end (N1).
 */
#include "transport/retry.h"

#include "transport/req.h"

#define RNR_FOR_EVER 7

void
retry_init(struct qp *qp)
{
	qp->retry = (struct retry){
		.ack_at = QP_NEVER,
		.rnr_at = QP_NEVER,
		.left = qp->attr.retry_cnt,
		.rnr_left = qp->attr.rnr_retry,
	};
}

void
retry_progress(struct qp *qp)
{
	retry_init(qp);
}

void
retry_restart(struct qp *qp)
{
	qp->retry.ack_at = QP_NEVER;
}

/* One of the two is 0: who is not acknowledged has no such attribute. */
static uint8_t
timeout_of(const struct qp *qp)
{
	return qp->attr.timeout | qp->kind->patience;
}

/* Without a path nothing is outstanding, but a dead neighbour must end like a dead peer. */
static bool
timer_runs(const struct qp *qp)
{
	if (!qp_sends(qp) || !timeout_of(qp) || qp->retry.rnr_at != QP_NEVER)
		return false;
	if (!psn_eq(qp->req.una, qp->req.max))
		return true;
	return !qp->attr.path.ready && qp->req.cur != qp->sq.tail && qp->state == QPS_RTS;
}

void
retry_arm(struct qp *qp, const struct xport *x)
{
	if (!timer_runs(qp))
		qp->retry.ack_at = QP_NEVER;
	else if (qp->retry.ack_at == QP_NEVER)
		qp->retry.ack_at = x->now + ack_timeout_ns(timeout_of(qp));
}

/* One retry less, or the end. */
static bool
use_retry(struct qp *qp, struct xport *x, enum fault end)
{
	if (qp->retry.left) {
		qp->retry.left--;
		return true;
	}
	cnt_add(x->cnt, CNT_RETRY_EXC, 1);
	status_fail_send(qp, x, end, 0);
	return false;
}

void
retry_nak(struct qp *qp, struct xport *x, bool moved)
{
	if (qp->retry.went_back || qp->retry.rnr_at != QP_NEVER)
		return;		/* B14, N16 */
	if (!moved && !use_retry(qp, x, FAULT_ASKED_AGAIN))
		return;
	req_go_back(qp);
	qp->retry.went_back = true;
	qp->retry.ack_at = QP_NEVER;
	qp_kick(qp, x);
}

void
retry_rnr(struct qp *qp, struct xport *x, uint8_t code)
{
	if (qp->retry.rnr_at != QP_NEVER)
		return;
	if (qp->attr.rnr_retry != RNR_FOR_EVER) {
		if (!qp->retry.rnr_left) {
			status_fail_send(qp, x, FAULT_RNR_RETRY_EXC, aeth_rnr(code));
			return;
		}
		qp->retry.rnr_left--;
	}
	req_go_back(qp);
	/* It arrived, so it is not lost: a sequence NAK that follows it, of a responder that sends one for
	 * the next packet too (N16), may come after the wait, and must not use up the retries. */
	qp->retry.left = qp->attr.retry_cnt;
	qp->retry.ack_at = QP_NEVER;
	qp->retry.rnr_at = x->now + rnr_timer_ns[code & AETH_VALUE_MASK];	/* B18 */
	xport_trace(x, TRACE_RNR_WAIT, qp, qp->req.una, rnr_timer_ns[code & AETH_VALUE_MASK]);
}

uint64_t
retry_wake_at(const struct qp *qp)
{
	return qp->retry.ack_at < qp->retry.rnr_at ? qp->retry.ack_at : qp->retry.rnr_at;
}

static void
timed_out(struct qp *qp, struct xport *x)
{
	cnt_add(x->cnt, CNT_TIMEOUTS, 1);
	xport_trace(x, TRACE_TIMEOUT, qp, qp->req.una, qp->retry.left);
	qp->retry.ack_at = QP_NEVER;
	if (!use_retry(qp, x, qp->attr.path.ready ? FAULT_RETRY_EXC : FAULT_NO_NEIGHBOUR))
		return;
	req_go_back(qp);
	qp->retry.went_back = false;
	qp_kick(qp, x);
}

void
retry_expire(struct qp *qp, struct xport *x)
{
	if (qp->retry.rnr_at <= x->now) {
		qp->retry.rnr_at = QP_NEVER;
		qp->retry.went_back = false;
		qp_kick(qp, x);
	}
	if (qp->retry.ack_at <= x->now)
		timed_out(qp, x);
}
