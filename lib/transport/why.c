/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What shall a person read of a queue pair that failed? Facts are taken on the owning core when it ends;
 * the sentence is made by a control thread from a copy of them.
 */
#include "transport/why.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "transport/qp_priv.h"

static void
copy(const struct qp *qp, struct qp_why *out)
{
	*out = (struct qp_why){
		.end = qp->end,
		.qpn = qp->conf.qpn,
		.dest_qpn = qp->attr.dest_qpn,
		.type = qp->conf.type,
		.state = qp->state,
		.timeout = qp->attr.timeout,
		.retry_cnt = qp->attr.retry_cnt,
		.rnr_retry = qp->attr.rnr_retry,
	};
	memcpy(out->src_gid, qp->attr.path.src_gid, 16);
	memcpy(out->dst_gid, qp->attr.path.dst_gid, 16);
}

static void
ended(struct qp *qp, struct xport *x, const struct qp_end *end)
{
	struct why_box *box = x->whys;
	uint8_t nak = qp->end.nak;
	struct psn nak_psn = qp->end.nak_psn;

	qp->end = *end;
	qp->end.nak = nak;
	qp->end.nak_psn = nak_psn;
	qp->end.retries = (uint8_t)(qp->attr.retry_cnt - qp->retry.left);
	qp->end.rnr_retries = (uint8_t)(qp->attr.rnr_retry - qp->retry.rnr_left);
	if (!box)
		return;
	if (box->num == WHY_BOX) {
		box->lost++;
		return;
	}
	copy(qp, &box->why[box->num]);
	__atomic_store_n(&box->num, box->num + 1, __ATOMIC_RELAXED);
}

void
qp_end_send(struct qp *qp, struct xport *x, uint32_t fault, uint8_t syndrome)
{
	const struct req_wr *wr = req_wr_at(qp, qp->req.head);

	ended(qp, x, &(struct qp_end){
		.fault = (uint8_t)fault, .syndrome = syndrome, .psn = qp->req.una,
		.has_send = true, .opcode = wr->opcode, .wr_id = wr->wr_id,
	});
}

void
qp_end_recv(struct qp *qp, struct xport *x, uint32_t fault)
{
	const struct resp *r = &qp->resp;

	ended(qp, x, &(struct qp_end){
		.fault = (uint8_t)fault, .syndrome = fault_info[fault].syndrome, .psn = r->epsn,
		.has_recv = r->wqe_used, .wr_id = r->wqe_used ? r->wqe.wr_id : 0, .ours = true,
	});
}

void
qp_end_other(struct qp *qp, struct xport *x, uint32_t fault)
{
	ended(qp, x, &(struct qp_end){ .fault = (uint8_t)fault, .psn = qp->req.una });
}

int
qp_why(const struct qp *qp, struct qp_why *out)
{
	if (qp->state != QPS_ERR && qp->state != QPS_SQE)
		return -ENODATA;
	copy(qp, out);
	return 0;
}

uint32_t
qp_why_vendor_err(const struct qp_why *w)
{
	return fault_vendor_err((enum fault)w->end.fault, w->end.syndrome);
}

struct text {
	char *at;
	size_t len, used;
};

static void __attribute__((format(printf, 2, 3)))
add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->at + t->used, t->len - t->used, fmt, ap);
	va_end(ap);
	t->used += (size_t)n < t->len - t->used ? (size_t)n : t->len - t->used - 1;
}

static void
add_gid(struct text *t, const char *before, const uint8_t gid[16])
{
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };
	char name[INET6_ADDRSTRLEN];
	bool is_v4 = memcmp(gid, v4, sizeof(v4)) == 0;

	inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? gid + 12 : gid, name, sizeof(name));
	add(t, "%s%s", before, name);
}

static void
add_who(struct text *t, const struct qp_why *w)
{
	static const uint8_t none[16];
	static const char *const types[QPT_COUNT] = {
		[QPT_GSI] = "GSI ", [QPT_RC] = "RC ", [QPT_UC] = "UC ", [QPT_UD] = "UD ",
		[QPT_RAW] = "raw ", [QPT_XRC_INI] = "XRC ", [QPT_XRC_TGT] = "XRC ",
	};

	add(t, "%sQP 0x%06x", w->type < QPT_COUNT && types[w->type] ? types[w->type] : "", w->qpn);
	if (memcmp(w->dst_gid, none, 16) == 0)
		return;
	add_gid(t, " of ", w->src_gid);
	add(t, " to QP 0x%06x", w->dest_qpn);
	add_gid(t, " of ", w->dst_gid);
}

static void
add_wr(struct text *t, const struct qp_end *e)
{
	static const char *const ops[WR_OPCODES] = {
		[WR_RDMA_WRITE] = "RDMA WRITE", [WR_RDMA_WRITE_IMM] = "RDMA WRITE with immediate",
		[WR_SEND] = "SEND", [WR_SEND_IMM] = "SEND with immediate", [WR_RDMA_READ] = "RDMA READ",
		[WR_CMP_SWAP] = "CMP_SWAP", [WR_FETCH_ADD] = "FETCH_ADD",
		[WR_LOCAL_INV] = "LOCAL_INV", [WR_BIND_MW] = "BIND_MW",
		[WR_SEND_INV] = "SEND with invalidate", [WR_FLUSH] = "FLUSH",
		[WR_ATOMIC_WRITE] = "ATOMIC_WRITE",
	};

	if (e->has_recv)
		add(t, "; receive wr_id 0x%llx", (unsigned long long)e->wr_id);
	if (e->has_send)
		add(t, "; %s wr_id 0x%llx", e->opcode < WR_OPCODES && ops[e->opcode] ? ops[e->opcode] :
		    "send", (unsigned long long)e->wr_id);
	if (e->has_send || e->ours)
		add(t, ", PSN %u", e->psn.v);
}

/* What the retries were used for, and how much patience was asked for. */
static void
add_retries(struct text *t, const struct qp_why *w)
{
	const struct qp_end *e = &w->end;
	uint64_t ns = ack_timeout_ns(w->timeout);
	/* the last chance was not a retry that was counted */
	bool out = e->fault == FAULT_RETRY_EXC || e->fault == FAULT_NO_NEIGHBOUR;

	if (e->retries || out || e->fault == FAULT_ASKED_AGAIN)
		add(t, "; %u of %u retries used", e->retries, w->retry_cnt);
	if (out)
		add(t, ", timeout %u (%llu.%03llu ms each)", w->timeout,
		    (unsigned long long)(ns / 1000000), (unsigned long long)(ns / 1000 % 1000));
	if (e->rnr_retries || e->fault == FAULT_RNR_RETRY_EXC)
		add(t, "; %u of %u RNR retries used", e->rnr_retries, w->rnr_retry);
}

static void
add_naks(struct text *t, const struct qp_end *e)
{
	static const char *const kinds[] = { "sequence error", "invalid request", "remote access error",
					     "remote operational error" };
	uint8_t nak = e->syndrome ? e->syndrome : e->nak;
	uint8_t kind = aeth_value(nak);
	const char *name = aeth_kind(nak) == AETH_RNR ? "receiver not ready" :
			   kind < sizeof(kinds) / sizeof(kinds[0]) ? kinds[kind] : "unknown";

	if (e->syndrome)
		add(t, "; NAK 0x%02x (%s) %s", nak, name, e->ours ? "sent" : "received");
	else if (e->nak)
		add(t, "; last NAK received 0x%02x (%s), PSN %u", nak, name, e->nak_psn.v);
	else if (e->fault == FAULT_RETRY_EXC || e->fault == FAULT_ASKED_AGAIN)
		add(t, "; no NAK received");
}

void
qp_why_text(const struct qp_why *w, char *out, size_t len)
{
	struct text the_text = { .at = out, .len = len }, *t = &the_text;
	const struct fault_info *f = &fault_info[w->end.fault < FAULT_COUNT ? w->end.fault : FAULT_NONE];

	if (!len)
		return;
	add_who(t, w);
	add(t, ": %s", f->text);
	add_wr(t, &w->end);
	add_retries(t, w);
	add_naks(t, &w->end);
	add(t, " [status %u, code 0x%02x]", f->status, w->end.fault);
}
