/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * May the requester send this request now, and what will the responder make of it? The half of the
 * monitor that watches requests; answers are in monitor_answer.c. Called for each frame of a simulation.
 */
#include "monitor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "monitor_slot.h"
#include "wire/icrc.h"

void
mon_complain(struct monitor *m, const char *fmt, ...)
{
	va_list ap;

	if (m->why[0])
		return;
	va_start(ap, fmt);
	vsnprintf(m->why, sizeof(m->why), fmt, ap);
	va_end(ap);
}

void
mon_init(struct monitor *m, struct psn start, uint32_t mtu, uint32_t window, uint32_t max_rd)
{
	memset(m, 0, sizeof(*m));
	m->mtu = mtu;
	m->window = window;
	m->max_rd = max_rd;
	m->next = m->una = m->epsn = m->answered_to = start;
	m->ack = psn_sub(start, 1);
}

void
mon_posted(struct monitor *m, struct psn first, uint32_t npsn, bool fence)
{
	for (uint32_t i = 0; i < npsn; i++) {
		uint32_t bit = (first.v + i) % MON_FENCES;

		m->fence[bit / 8] &= (uint8_t)~(1u << bit % 8);
	}
	if (fence)
		m->fence[first.v % MON_FENCES / 8] |= (uint8_t)(1u << first.v % 8);
}

static bool
fenced(const struct monitor *m, struct psn psn)
{
	return m->fence[psn.v % MON_FENCES / 8] >> psn.v % 8 & 1;
}

/* Everything from the PSN to the pad; FECN, BECN and AckReq may differ. */
static uint32_t
hash(const struct wire_pkt *pkt)
{
	const uint8_t *from = pkt->bth + 9;

	return wire_icrc_update(pkt->opcode, from, (size_t)(pkt->icrc - from));
}

static uint32_t
psns(const struct monitor *m, const struct wire_pkt *pkt)
{
	uint32_t n;

	if (!(pkt->info->traits & WIRE_READ))
		return 1;
	n = (pkt->reth.len + m->mtu - 1) / m->mtu;
	return n ? n : 1;
}

/* READs, atomics and the like in [una, psn). */
static uint32_t
rd_before(struct monitor *m, struct psn psn)
{
	uint32_t n = 0;

	for (struct psn p = m->una; psn_diff(p, psn) < 0;) {
		const struct mon_slot *s = slot_at(m, p);

		n += s->rd;
		p = s->end;
	}
	return n;
}

static void
new_request(struct monitor *m, const struct wire_pkt *pkt)
{
	uint32_t n = psns(m, pkt), out = dist(m->una, m->next);
	struct mon_slot s = {
		.first = pkt->psn, .end = psn_add(pkt->psn, n), .opcode = pkt->opcode,
		.rd = pkt->info->traits & WIRE_ANSWERED,
		.atomic = pkt->info->traits & WIRE_ATOMIC,
		.empty = pkt->info->traits & (WIRE_IS_FLUSH | WIRE_IS_ATOMIC_WRITE), .hash = hash(pkt),
		.va = pkt->info->traits & WIRE_READ ? pkt->reth.va : 0,
	};

	m->n.tx_requests++;
	if (out && out + n > m->window)
		mon_complain(m, "B6: PSN %06x sent with %u PSNs unacknowledged", pkt->psn.v, out);
	if (n >= MON_SLOTS)
		mon_complain(m, "a READ of %u packets", n);
	for (uint32_t i = 0; i < n && i < MON_SLOTS; i++)
		*slot_at(m, psn_add(pkt->psn, i)) = s;
	m->next = s.end;
}

static void
same_request(struct monitor *m, const struct wire_pkt *pkt)
{
	const struct mon_slot *s = slot_at(m, pkt->psn);
	uint32_t k = dist(s->first, pkt->psn);

	m->n.tx_retrans++;
	if (psn_diff(pkt->psn, m->una) < 0) {
		mon_complain(m, "B24: PSN %06x sent again, but %06x is the oldest not acknowledged",
			     pkt->psn.v, m->una.v);
		return;
	}
	if (pkt->opcode != s->opcode)
		mon_complain(m, "B23: PSN %06x was %s and is %s", pkt->psn.v, wire_op_info[s->opcode].name,
			     pkt->info->name);
	else if (pkt->info->traits & WIRE_READ) {
		if (!psn_eq(psn_add(pkt->psn, psns(m, pkt)), s->end) ||
		    pkt->reth.va != s->va + (uint64_t)k * m->mtu)
			mon_complain(m, "B13: PSN %06x asks for another part of its READ", pkt->psn.v);
	} else if (hash(pkt) != s->hash) {
		mon_complain(m, "B23: PSN %06x (%s) has changed", pkt->psn.v, pkt->info->name);
	}
}

void
mon_request_sent(struct monitor *m, const struct wire_pkt *pkt)
{
	int32_t ahead = psn_diff(pkt->psn, m->next);

	if (ahead > 0) {
		mon_complain(m, "B1: PSN %06x sent, %06x comes first", pkt->psn.v, m->next.v);
		return;
	}
	if (ahead == 0)
		new_request(m, pkt);
	else
		same_request(m, pkt);
	if ((pkt->info->traits & WIRE_ANSWERED) && rd_before(m, pkt->psn) >= m->max_rd)
		mon_complain(m, "B7: PSN %06x is one READ or atomic too many", pkt->psn.v);
	if (fenced(m, pkt->psn) && rd_before(m, pkt->psn))
		mon_complain(m, "B8: PSN %06x passed its fence", pkt->psn.v);
}

static void
executed(struct monitor *m, const struct wire_pkt *pkt)
{
	uint32_t traits = pkt->info->traits;

	m->n.rx_requests++;
	m->rnr_owed = false;
	if (traits & (WIRE_LAST | WIRE_ANSWERED))
		m->msn = (m->msn + 1) & PSN_MASK;
	m->epsn = psn_add(m->epsn, psns(m, pkt));
}

/* A request with a good ICRC, for this QP, before the responder sees it. */
void
mon_request_came(struct monitor *m, const struct wire_pkt *pkt)
{
	int32_t ahead = psn_diff(pkt->psn, m->epsn);

	if (ahead > 0) {
		m->n.rx_ahead++;
		if (!m->any_ahead || psn_diff(pkt->psn, m->ahead) > 0)
			m->ahead = pkt->psn;
		m->any_ahead = true;
		return;
	}
	if (ahead < 0) {
		m->n.rx_duplicates++;
		return;
	}
	if (pkt->info->traits & WIRE_TAKES_WQE) {
		if (!m->recvs) {
			m->rnr_owed = true;	/* C19 */
			return;
		}
		m->recvs--;
	}
	executed(m, pkt);
}
