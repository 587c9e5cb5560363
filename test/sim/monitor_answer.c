/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * May the responder say this now, and what does the requester know once it has arrived? The half of
 * the monitor that watches answers. Called for each frame of a simulation.
 */
#include "monitor.h"

#include "monitor_slot.h"
#include "wire/aeth.h"

/* No ACK of what did not come (C3), none before the answers of earlier READs and atomics (C24). */
static void
acknowledges(struct monitor *m, const struct wire_pkt *pkt, struct psn upto)
{
	if (psn_diff(upto, m->epsn) > 0)
		mon_complain(m, "C3: PSN %06x acknowledged, %06x has not come", pkt->psn.v, m->epsn.v);
	while (!psn_eq(m->answered_to, m->epsn) &&
	       (!slot_at(m, m->answered_to)->rd || slot_at(m, m->answered_to)->answered))
		m->answered_to = psn_add(m->answered_to, 1);
	if (psn_diff(upto, m->answered_to) > 0)
		mon_complain(m, "C24: PSN %06x acknowledged, %06x is not answered", pkt->psn.v,
			     m->answered_to.v);
}

static void
ack(struct monitor *m, const struct wire_pkt *pkt)
{
	m->n.tx_acks++;
	acknowledges(m, pkt, psn_add(pkt->psn, 1));
	if (psn_diff(pkt->psn, m->ack) < 0)
		mon_complain(m, "C3: ACK %06x after ACK %06x", pkt->psn.v, m->ack.v);
	m->ack = pkt->psn;
}

static void
sequence_nak(struct monitor *m, const struct wire_pkt *pkt)
{
	m->n.tx_nak_seq++;
	acknowledges(m, pkt, pkt->psn);
	if (!psn_eq(pkt->psn, m->epsn))
		mon_complain(m, "C3: NAK %06x, %06x is expected", pkt->psn.v, m->epsn.v);
	if (!m->any_ahead || psn_diff(m->ahead, m->epsn) < 0)
		mon_complain(m, "C2: NAK %06x without a gap", pkt->psn.v);
	if (m->any_nak && psn_diff(pkt->psn, m->nak) <= 0)
		mon_complain(m, "C2: a second NAK for the gap at %06x", pkt->psn.v);
	m->any_nak = true;
	m->nak = pkt->psn;
}

static void
rnr_nak(struct monitor *m, const struct wire_pkt *pkt)
{
	m->n.tx_nak_rnr++;
	acknowledges(m, pkt, pkt->psn);
	if (!m->rnr_owed || !psn_eq(pkt->psn, m->epsn))
		mon_complain(m, "C19: RNR NAK %06x that no request asked for", pkt->psn.v);
	m->rnr_owed = false;
}

static void
acknowledge(struct monitor *m, const struct wire_pkt *pkt)
{
	switch (aeth_kind(pkt->aeth.syndrome)) {
	case AETH_ACK:
		ack(m, pkt);
		return;
	case AETH_RNR:
		rnr_nak(m, pkt);
		return;
	case AETH_NAK:
		if (pkt->aeth.syndrome == AETH_NAK_SEQ) {
			sequence_nak(m, pkt);
			return;
		}
		/* fall through */
	default:
		mon_complain(m, "1.G: syndrome %02x for PSN %06x", pkt->aeth.syndrome, pkt->psn.v);
	}
}

static void
read_response(struct monitor *m, const struct wire_pkt *pkt, const struct mon_slot *s)
{
	bool last = psn_eq(psn_add(pkt->psn, 1), s->end);
	uint32_t traits = pkt->info->traits;

	if (s->atomic || !(traits & WIRE_LAST) == last)
		mon_complain(m, "C23: %s for PSN %06x", pkt->info->name, pkt->psn.v);
	if ((!last && pkt->payload_len != m->mtu) || (s->empty && pkt->payload_len))
		mon_complain(m, "C23: %u bytes for PSN %06x", pkt->payload_len, pkt->psn.v);
	if (!(traits & WIRE_FIRST) && !psn_eq(pkt->psn, m->train))
		mon_complain(m, "C23: %s %06x, the train was at %06x", pkt->info->name, pkt->psn.v,
			     m->train.v);
	m->train = psn_add(pkt->psn, 1);
}

static void
atomic_response(struct monitor *m, const struct wire_pkt *pkt, struct mon_slot *s)
{
	if (!s->atomic)
		mon_complain(m, "%s for PSN %06x", pkt->info->name, pkt->psn.v);
	if (s->answered && s->orig != pkt->atomic_orig)
		mon_complain(m, "C7: the atomic at %06x was answered by another value before", pkt->psn.v);
	s->orig = pkt->atomic_orig;
}

void
mon_response_sent(struct monitor *m, const struct wire_pkt *pkt)
{
	struct mon_slot *s = slot_at(m, pkt->psn);
	bool aeth = pkt->info->ext & WIRE_EXT_AETH;

	if (aeth && aeth_kind(pkt->aeth.syndrome) == AETH_ACK &&
	    aeth_value(pkt->aeth.syndrome) != AETH_NO_CREDIT_LIMIT)
		mon_complain(m, "N3: credits %02x", pkt->aeth.syndrome);
	if (aeth && pkt->aeth.msn != m->msn)
		mon_complain(m, "C22: MSN %06x for PSN %06x, %06x messages are done", pkt->aeth.msn,
			     pkt->psn.v, m->msn);
	if (pkt->info->traits & WIRE_ACK) {
		acknowledge(m, pkt);
		return;
	}
	if (psn_diff(pkt->psn, m->epsn) >= 0 || !s->rd) {
		mon_complain(m, "%s for PSN %06x, which asked for none", pkt->info->name, pkt->psn.v);
		return;
	}
	if (pkt->info->traits & WIRE_ATOMIC)
		atomic_response(m, pkt, s);
	else
		read_response(m, pkt, s);
	s->answered = true;
}

/* Everything before `upto` is acknowledged, as far as no READ or atomic stands in the way (B11). */
static void
settle(struct monitor *m, struct psn upto)
{
	while (!psn_eq(m->una, upto) && !slot_at(m, m->una)->rd)
		m->una = psn_add(m->una, 1);
}

static void
acknowledge_came(struct monitor *m, const struct wire_pkt *pkt)
{
	switch (aeth_kind(pkt->aeth.syndrome)) {
	case AETH_ACK:
		m->n.rx_acks++;
		settle(m, psn_add(pkt->psn, 1));
		return;
	case AETH_RNR:
		m->n.rx_nak_rnr++;
		settle(m, pkt->psn);
		return;
	default:
		m->n.rx_nak_seq++;
		settle(m, pkt->psn);
	}
}

/* An answer with a good ICRC, for this QP, before the requester sees it. */
void
mon_response_came(struct monitor *m, const struct wire_pkt *pkt)
{
	bool ack_only = pkt->info->traits & WIRE_ACK;

	if (dist(m->una, pkt->psn) >= dist(m->una, m->next)) {
		if (!ack_only || !psn_eq(psn_add(pkt->psn, 1), m->una))
			m->n.rx_stale++;	/* B15 */
		return;
	}
	if (ack_only) {
		acknowledge_came(m, pkt);
		return;
	}
	m->n.rx_responses++;
	settle(m, pkt->psn);
	if (psn_eq(m->una, pkt->psn))
		m->una = psn_add(m->una, 1);
}
