/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When are acknowledgements asked for, and when are they sent? Both ends of the policy, and nothing
 * else. Owning core only.
 */
#ifndef TRANSPORT_ACK_H
#define TRANSPORT_ACK_H

#include <stdbool.h>
#include <stdint.h>

#define ACK_WINDOW 128u			/* unacknowledged packets a QP, unless configured (B6) */
#define ACK_WINDOW_MAX (1u << 18)	/* far below half of the PSN space; a READ piece is below 2^31 */

static inline uint32_t
ack_window(uint32_t configured)
{
	if (!configured)
		return ACK_WINDOW;
	return configured < ACK_WINDOW_MAX ? configured : ACK_WINDOW_MAX;
}

/* Requester: the last packet of each message, and one at least in a quarter of the window, so that
 * a full window always has an answer on its way (B5). */
static inline bool
ack_ask(bool last_of_message, uint32_t since_asked, uint32_t window)
{
	return last_of_message || since_asked + 1 >= window / 4;
}

/* READ responses are not acknowledged, so a READ is asked for in pieces: two of them fill the window
 * and keep the pipe busy. */
static inline uint32_t
ack_read_chunk(uint32_t window)
{
	return window / 2 ? window / 2 : 1;
}

#endif
