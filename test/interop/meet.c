/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A TCP line between the two ends of a verbs program, by which they tell each other who they are and wait
 * for each other. For peer.c and group.c; one thread.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "meet.h"

#define PORT 18515

static int line;

void
die(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

void
meet(const char *host)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int one = 1, s = socket(AF_INET, SOCK_STREAM, 0);

	if (host) {
		if (inet_pton(AF_INET, host, &a.sin_addr) != 1 ||
		    connect(s, (struct sockaddr *)&a, sizeof(a)))
			die("connect");
		line = s;
		return;
	}
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(s, (struct sockaddr *)&a, sizeof(a)) || listen(s, 1))
		die("listen");
	line = accept(s, NULL, NULL);
	close(s);
}

void
swap_words(const void *out, void *in, size_t n)
{
	if (write(line, out, n) != (ssize_t)n || recv(line, in, n, MSG_WAITALL) != (ssize_t)n)
		die("the other end");
}

void
together(void)
{
	char a = 'x', b;

	swap_words(&a, &b, 1);
}

uint8_t
pattern(size_t i)
{
	return (uint8_t)(i * 2654435761u >> 13);
}
