/* SPDX-License-Identifier: BSD-3-Clause */
/* How do two programs learn of each other's queue pairs? By TCP, before they have a connection of RDMA. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pingpong.h"

#define ADDRESS_TEXT sizeof("0000:000000:000000:00000000000000000000000000000000")

static int
try_connect(const struct addrinfo *a)
{
	int fd = socket(a->ai_family, a->ai_socktype, a->ai_protocol);

	if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int
pp_connect(const struct pp_options *o)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list;
	char port[12];
	int err, fd = -1;

	snprintf(port, sizeof(port), "%u", o->tcp_port);
	err = getaddrinfo(o->server, port, &hints, &list);
	if (err) {
		fprintf(stderr, "%s for %s:%s\n", gai_strerror(err), o->server, port);
		return -1;
	}
	for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next)
		fd = try_connect(a);
	freeaddrinfo(list);
	if (fd < 0)
		fprintf(stderr, "Couldn't connect to %s:%s\n", o->server, port);
	return fd;
}

/* IPv6 takes IPv4's callers too, where there is IPv6. */
int
pp_listen(const struct pp_options *o)
{
	in_port_t port = htons((uint16_t)o->tcp_port);
	const struct sockaddr_in6 any6 = { .sin6_family = AF_INET6, .sin6_port = port };
	const struct sockaddr_in any4 = { .sin_family = AF_INET, .sin_port = port };
	int fd = socket(AF_INET6, SOCK_STREAM, 0), on = 1;
	bool ip6 = fd >= 0;

	if (!ip6)
		fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	    bind(fd, ip6 ? (const struct sockaddr *)&any6 : (const struct sockaddr *)&any4,
		 ip6 ? sizeof(any6) : sizeof(any4)) == 0 && listen(fd, (int)o->clients) == 0)
		return fd;
	fprintf(stderr, "Couldn't listen to port %u\n", o->tcp_port);
	if (fd >= 0)
		close(fd);
	return -1;
}

int
pp_accept(int listener)
{
	int fd;

	do
		fd = accept(listener, NULL, NULL);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		perror("accept");
	return fd;
}

bool
pp_call(struct pp *pp)
{
	int listener;

	if (pp->opt.server) {
		pp->fd = pp_connect(&pp->opt);
		return pp->fd >= 0;
	}
	listener = pp_listen(&pp->opt);
	if (listener < 0)
		return false;
	pp->fd = pp_accept(listener);
	close(listener);
	return pp->fd >= 0;
}

bool
pp_write(int fd, const void *data, size_t len)
{
	ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

	if (n == (ssize_t)len)
		return true;
	fprintf(stderr, "Couldn't tell the peer: %s\n", n < 0 ? strerror(errno) : "cut off");
	return false;
}

bool
pp_read(int fd, void *data, size_t len)
{
	ssize_t n = recv(fd, data, len, MSG_WAITALL);

	if (n == (ssize_t)len)
		return true;
	fprintf(stderr, "%zd/%zu: Couldn't read remote address\n", n, len);
	return false;
}

void
pp_gid_text(const union ibv_gid *gid, char text[PP_GID_TEXT])
{
	for (unsigned int i = 0; i < sizeof(gid->raw); i++)
		sprintf(text + 2 * i, "%02x", gid->raw[i]);
}

bool
pp_gid_read(const char text[PP_GID_TEXT], union ibv_gid *gid)
{
	for (unsigned int i = 0; i < sizeof(gid->raw); i++)
		if (sscanf(text + 2 * i, "%2hhx", &gid->raw[i]) != 1)
			return false;
	return true;
}

bool
pp_tell(int fd, const struct pp_address *a)
{
	char text[ADDRESS_TEXT], gid[PP_GID_TEXT];

	pp_gid_text(&a->gid, gid);
	snprintf(text, sizeof(text), "%04x:%06x:%06x:%s", a->lid & 0xffff, a->qpn & 0xffffff,
		 a->psn & 0xffffff, gid);
	return pp_write(fd, text, sizeof(text));
}

bool
pp_hear(int fd, struct pp_address *a)
{
	char text[ADDRESS_TEXT], gid[PP_GID_TEXT];

	if (!pp_read(fd, text, sizeof(text)))
		return false;
	text[sizeof(text) - 1] = 0;
	if (sscanf(text, "%x:%x:%x:%32s", &a->lid, &a->qpn, &a->psn, gid) == 4 && pp_gid_read(gid, &a->gid))
		return true;
	fprintf(stderr, "The peer speaks otherwise: %s\n", text);
	return false;
}

bool
pp_tell_done(int fd)
{
	return pp_write(fd, "done", sizeof("done"));
}

bool
pp_hear_done(int fd)
{
	char text[sizeof("done")];

	return pp_read(fd, text, sizeof(text));
}

/* What was sent last may not have arrived yet, and its acknowledgement may be on its way. The programs of
 * rdma-core have closed already. */
void
pp_part(struct pp *pp)
{
	char byte;

	shutdown(pp->fd, SHUT_WR);
	while (recv(pp->fd, &byte, 1, 0) > 0)
		;
	close(pp->fd);
	pp->fd = -1;
}

void
pp_print(const char *whose, const struct pp_address *a)
{
	char gid[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, &a->gid, gid, sizeof(gid));
	printf("  %-15s LID 0x%04x, QPN 0x%06x, PSN 0x%06x, GID %s\n", whose, a->lid, a->qpn, a->psn, gid);
}

unsigned int
pp_psn(void)
{
	unsigned int psn;

	if (getrandom(&psn, sizeof(psn), 0) != sizeof(psn))
		psn = (unsigned int)getpid();
	return psn & 0xffffff;
}
