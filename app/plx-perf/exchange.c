/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers: how do the two ends tell each other what RDMA cannot, before and around the traffic?
 * Called between the sizes, and once a millisecond while traffic runs.
 */
#include "exchange.h"

#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "say.h"
#include "stats.h"

#define MAGIC 0x504c58u		/* "PLX" in the upper 24 bits of the first word, then kind and words */
#define V4_MAPPED "::ffff:"		/* how a socket of both families names IPv4 addresses */
#define IN_BYTES ((MSG_WORDS_MAX + 1) * 8)

static int
link_begin(struct link *l, int fd, const char *peer)
{
	int one = 1;

	memset(l, 0, sizeof(*l));
	l->fd = fd;
	snprintf(l->peer, sizeof(l->peer), "%s", peer);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	l->in = malloc(IN_BYTES);
	return l->in ? 0 : fail("out of memory");
}

int
link_listen(uint16_t port)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in any4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1, zero = 0, rc;

	if (fd >= 0) {
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		rc = bind(fd, (struct sockaddr *)&any, sizeof(any));
	} else {
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		rc = bind(fd, (struct sockaddr *)&any4, sizeof(any4));
	}
	if (!rc && !listen(fd, 1))
		return fd;
	fail("cannot listen on TCP port %u: %s; choose another with --port at both ends", port,
	     strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

int
link_accept(struct link *l, int listener, const volatile int *stop)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	char name[INET6_ADDRSTRLEN] = "the client";
	int fd;

	while (poll(&p, 1, 200) <= 0) {
		if (*stop)
			return -1;
	}
	fd = accept4(listener, (struct sockaddr *)&from, &len, SOCK_CLOEXEC);
	if (fd < 0)
		return fail("cannot accept the client: %s", strerror(errno));
	getnameinfo((struct sockaddr *)&from, len, name, sizeof(name), NULL, 0, NI_NUMERICHOST);
	return link_begin(l, fd, strncmp(name, V4_MAPPED, strlen(V4_MAPPED)) ? name :
			  name + strlen(V4_MAPPED));
}

static int
connect_any(const struct addrinfo *list)
{
	int fd = -1, err = ECONNREFUSED;

	for (const struct addrinfo *a = list; a; a = a->ai_next) {
		fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
		if (fd >= 0 && !connect(fd, a->ai_addr, a->ai_addrlen))
			return fd;
		err = errno;
		if (fd >= 0)
			close(fd);
	}
	errno = err;
	return -1;
}

int
link_connect(struct link *l, const char *host, uint16_t port, int wait_ms)
{
	struct addrinfo hint = { .ai_socktype = SOCK_STREAM }, *list;
	uint64_t until = now_ns() + (uint64_t)wait_ms * 1000000u;
	char service[8];
	int fd, rc;

	snprintf(service, sizeof(service), "%u", port);
	rc = getaddrinfo(host, service, &hint, &list);
	if (rc)
		return fail("cannot find the host %s: %s", host, gai_strerror(rc));
	while ((fd = connect_any(list)) < 0 && errno == ECONNREFUSED && now_ns() < until)
		poll(NULL, 0, 50);
	rc = errno;
	freeaddrinfo(list);
	if (fd < 0)
		return fail("cannot reach a plx-perf server on %s TCP port %u: %s; start `plx-perf` there "
			    "first", host, port, strerror(rc));
	return link_begin(l, fd, host);
}

int
link_pair(struct link *a, struct link *b)
{
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
		return fail("cannot make a socket pair: %s", strerror(errno));
	return link_begin(a, fd[0], "the other end") || link_begin(b, fd[1], "the other end") ? -1 : 0;
}

static int
send_all(struct link *l, const uint8_t *from, size_t len)
{
	while (len) {
		ssize_t n = send(l->fd, from, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			l->closed = true;
			return -1;
		}
		from += n;
		len -= (size_t)n;
	}
	return 0;
}

int
link_send(struct link *l, enum msg_kind kind, const uint64_t *word, uint32_t n)
{
	uint64_t *out = malloc((n + 1) * sizeof(*out));
	int rc;

	if (!out)
		return fail("out of memory");
	out[0] = htobe64((uint64_t)MAGIC << 40 | (uint64_t)kind << 32 | n);
	for (uint32_t i = 0; i < n; i++)
		out[i + 1] = htobe64(word[i]);
	rc = send_all(l, (const uint8_t *)out, (n + 1) * sizeof(*out));
	free(out);
	return rc;
}

/* Moves a whole message out of l->in. 1, 0 when it is not whole yet, -1 when it is no message. */
static int
unpack(struct link *l, struct msg *m)
{
	uint64_t head;
	size_t len;

	if (l->have < 8)
		return 0;
	memcpy(&head, l->in, 8);
	head = be64toh(head);
	m->kind = (enum msg_kind)(head >> 32 & 0xff);
	m->n = (uint32_t)head;
	if (head >> 40 != MAGIC || m->kind >= MSG_KINDS || m->n > MSG_WORDS_MAX) {
		l->closed = true;
		return fail("%s is not a plx-perf of this version", l->peer);
	}
	len = 8 * ((size_t)m->n + 1);
	if (l->have < len)
		return 0;
	memcpy(m->word, l->in + 8, len - 8);
	for (uint32_t i = 0; i < m->n; i++)
		m->word[i] = be64toh(m->word[i]);
	l->have -= len;
	memmove(l->in, l->in + len, l->have);
	return 1;
}

int
link_take(struct link *l, struct msg *m, int wait_ms)
{
	struct pollfd p = { .fd = l->fd, .events = POLLIN };
	ssize_t n;
	int rc;

	for (;;) {
		rc = unpack(l, m);
		if (rc)
			return rc;
		if (l->closed)
			return -1;
		n = recv(l->fd, l->in + l->have, IN_BYTES - l->have, MSG_DONTWAIT);
		if (n > 0) {
			l->have += (size_t)n;
		} else if (!n || (errno != EAGAIN && errno != EINTR)) {
			l->closed = true;
		} else if (!wait_ms || poll(&p, 1, wait_ms) <= 0) {
			return 0;
		}
	}
}

static const char *
msg_text(enum msg_kind kind)
{
	static const char *const text[MSG_KINDS] = {
		[MSG_NONE] = "nothing",
#define MSG_TEXT(id, what) [id] = what,
		MSG_LIST(MSG_TEXT)
#undef MSG_TEXT
	};

	return text[kind];
}

int
link_check(const struct link *l, int rc, const struct msg *m, enum msg_kind kind, uint32_t words,
	   int wait_ms)
{
	if (rc < 0)
		return fail("%s closed its connection before the test began; see what it says", l->peer);
	if (!rc)
		return fail("%s said nothing for %d s; is it another program, or stopped?", l->peer,
			    wait_ms / 1000);
	if (m->kind == MSG_FAIL)
		return fail("%s could not go on; see what it says", l->peer);
	if (m->kind != kind || m->n < words)
		return fail("%s is out of step (it sent: %s); run the same version at both ends", l->peer,
			    msg_text(m->kind));
	return 0;
}

int
link_expect(struct link *l, struct msg *m, enum msg_kind kind, uint32_t words, int wait_ms)
{
	int rc = link_take(l, m, wait_ms);

	return link_check(l, rc, m, kind, words, wait_ms);
}

void
link_close(struct link *l)
{
	if (l->fd >= 0 && l->in)
		close(l->fd);
	free(l->in);
	memset(l, 0, sizeof(*l));
	l->fd = -1;
}
