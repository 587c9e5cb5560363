/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers: how does a failed check reach the user? Called by every file, on the only thread. */
#include "say.h"

#include <stdarg.h>
#include <stdio.h>

int
fail(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("plx-perf: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return -1;
}
