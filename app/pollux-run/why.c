/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers: what is the one line that a refused start prints? Any check, the only thread. */
#include "why.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int
why(struct why *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->text, sizeof(w->text), fmt, ap);
	va_end(ap);
	return -EINVAL;
}
