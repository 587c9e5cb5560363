/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line. */
#ifndef PLX_PERF_OPTIONS_H
#define PLX_PERF_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "test.h"

#define OPTIONS_TCP_PORT 18525

struct options {
	struct test test;
	uint64_t tcp_port;
	uint64_t gid_index;		/* TEST_AUTO: the first IPv4 address, else GID 0 */
	uint64_t stall_s;		/* give up when nothing happens for so long */
	uint64_t self;			/* 1: both ends in this process */
	uint64_t json;
	uint64_t target_sleeps;		/* a target that takes no part sleeps instead of polling */
	uint64_t all_sizes;
	const char *device;		/* NULL: the first */
	const char *host;		/* NULL: be the server */
};

/*
 * Reads the command line. 0; 1 when --help or --version was answered and there is nothing to do;
 * -1 after a line on stderr.
 */
int options_read(struct options *o, int argc, char **argv);

#endif
