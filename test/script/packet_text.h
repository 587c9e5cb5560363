/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets as words: a name and options. What is not named has the value that the templates of the
 * current QP give it. PSNs are counted from the start PSN of their direction. One thread.
 */
#ifndef SCRIPT_PACKET_TEXT_H
#define SCRIPT_PACKET_TEXT_H

#include "run.h"

/* A packet to be sent or expected, and what of it does not matter. */
struct want {
	struct pkt p;
	bool any_ackreq, any_msn, any_psn;
	bool mid_ackreq;	/* packets of a message before its last may ask for an ACK too */
};

/* A whole message: the names of its first, middle and last packet, and of the only one. */
struct message {
	const char *name;
	const char *part[4];
};

/* The packet called `name`, its options taken from w. The script fails when there is none. */
void packet_read(struct run *r, struct words *w, const char *name, struct want *t, bool outgoing);

/* The PSN that the script calls 0 for this packet. */
uint32_t packet_base(const struct host_qp *q, uint8_t opcode, bool outgoing);

/* NULL: no message is called so. */
const struct message *message_find(const char *name);
/* Packet `i` of `n` of the message that `whole` describes. */
void message_part(const struct message *m, const struct want *whole, uint32_t i, uint32_t n,
		  uint32_t mtu, struct want *t);

#endif
