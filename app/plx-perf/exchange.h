/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The out-of-band channel between the two ends: a TCP connection, or a socket pair when both are in
 * one process. It carries numbered messages of 64-bit words in network order.
 */
#ifndef PLX_PERF_EXCHANGE_H
#define PLX_PERF_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(id, what it tells) */
#define MSG_LIST(X) \
	X(MSG_TEST, "client to server: the test") \
	X(MSG_ENDPOINT, "addresses and keys; two words for each QP at the end") \
	X(MSG_READY, "this end can take traffic of the next size") \
	X(MSG_DONE, "this end has sent its last message: how many, and whether the run ends here") \
	X(MSG_BYE, "this end has sent and received everything: its figures") \
	X(MSG_STOP, "this end was asked to stop: send no more") \
	X(MSG_FAIL, "this end has failed and has said why")

enum msg_kind {
	MSG_NONE,
#define MSG_ID(id, text) id,
	MSG_LIST(MSG_ID)
#undef MSG_ID
	MSG_KINDS
};

#define MSG_WORDS_MAX 40000u		/* two for each of 16,384 QPs, and the rest */

struct msg {
	enum msg_kind kind;
	uint32_t n;			/* words */
	uint64_t word[MSG_WORDS_MAX];
};

struct link {
	int fd;
	char peer[128];			/* for messages to the user */
	bool closed;			/* the peer closed it, or died */
	size_t have;			/* bytes in `in` */
	uint8_t *in;
};

/* Listens on a TCP port of all addresses. A descriptor, or -1 after a line. */
int link_listen(uint16_t port);

/* Waits for one client; gives up when *stop becomes non-zero. 0, or -1 (after a line, unless stopped). */
int link_accept(struct link *l, int listener, const volatile int *stop);

/*
 * Connects to the server; a server that does not listen yet is waited for during `wait_ms`.
 * 0, or -1 after a line.
 */
int link_connect(struct link *l, const char *host, uint16_t port, int wait_ms);

/* Two links to one another. 0, or -1 after a line. */
int link_pair(struct link *a, struct link *b);

/* 0, or -1 when the peer is gone (l->closed is set). */
int link_send(struct link *l, enum msg_kind kind, const uint64_t *word, uint32_t n);

/*
 * Takes the next message into *m, waiting up to wait_ms. Returns 1; 0 when there is none; -1 when
 * the peer is gone (l->closed is set) or does not speak this protocol.
 */
int link_take(struct link *l, struct msg *m, int wait_ms);

/* Whether `rc` and *m, which link_take() gave, are the message that must come next. 0, or -1 after a
 * line. */
int link_check(const struct link *l, int rc, const struct msg *m, enum msg_kind kind, uint32_t words,
	       int wait_ms);

/* As link_take for a message that must come next. 0, or -1 after a line. */
int link_expect(struct link *l, struct msg *m, enum msg_kind kind, uint32_t words, int wait_ms);

void link_close(struct link *l);

#endif
