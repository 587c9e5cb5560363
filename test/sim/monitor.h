/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A judge on the wire: one direction of one queue pair (requests one way, answers the other), told of
 * every frame when it is sent and when it arrives. From that alone it knows what requester and
 * responder may say, and keeps the first thing that they may not. It shares no code with the
 * transport.
 */
#ifndef SIM_MONITOR_H
#define SIM_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/parse.h"

#define MON_SLOTS 2048u		/* PSNs remembered; more than ever are outstanding and may come late */
#define MON_FENCES 65536u	/* PSNs ahead that an application may have posted */

/* Frames that the monitor counted, for comparison with the stack's own counters. */
#define MON_COUNTS(X) \
	X(tx_requests) X(tx_retrans) X(tx_acks) X(tx_nak_seq) X(tx_nak_rnr) \
	X(rx_requests) X(rx_duplicates) X(rx_ahead) \
	X(rx_acks) X(rx_nak_seq) X(rx_nak_rnr) X(rx_responses) X(rx_stale)

struct mon_counts {
#define MON_COUNT(name) uint64_t name;
	MON_COUNTS(MON_COUNT)
#undef MON_COUNT
};

struct mon_slot {
	struct psn first, end;	/* of the request that holds this PSN */
	bool rd, atomic, empty;	/* rd: answered by a response; empty: by one without payload */
	bool answered;		/* rd: the answer was sent at least once */
	uint8_t opcode;
	uint32_t hash;		/* of all that must be the same when it is sent again (B23) */
	uint64_t va, orig;
};

struct monitor {
	uint32_t mtu, window, max_rd;
	/* the requester */
	struct psn next;	/* never sent so far */
	struct psn una;		/* oldest whose acknowledgement has not arrived */
	/* the responder */
	struct psn epsn;
	uint32_t msn;
	uint32_t recvs;		/* receive WQEs that wait */
	bool rnr_owed;
	bool any_ahead;
	struct psn ahead;	/* the furthest that came ahead of epsn */
	struct psn answered_to;	/* all READs and atomics before it were answered */
	struct psn ack;		/* last one named by an ACK */
	bool any_nak;
	struct psn nak;		/* last one named by a sequence NAK */
	struct psn train;	/* where a train of READ responses goes on */
	struct mon_counts n;
	char why[160];		/* empty: all is well */
	struct mon_slot slot[MON_SLOTS];
	uint8_t fence[MON_FENCES / 8];
};

/* window and max_rd: what the requester may have outstanding. */
void mon_init(struct monitor *m, struct psn start, uint32_t mtu, uint32_t window, uint32_t max_rd);

/* A message that will take these PSNs was posted, with a fence or without. */
void mon_posted(struct monitor *m, struct psn first, uint32_t npsn, bool fence);

void mon_request_sent(struct monitor *m, const struct wire_pkt *pkt);
void mon_request_came(struct monitor *m, const struct wire_pkt *pkt);
void mon_response_sent(struct monitor *m, const struct wire_pkt *pkt);
void mon_response_came(struct monitor *m, const struct wire_pkt *pkt);

/* Keeps the first complaint, printf-like. */
void mon_complain(struct monitor *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
