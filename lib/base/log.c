/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How does a line reach the person who runs the program? Called by control code on any thread.
 */
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum log_level shown = PLX_LOG_INFO;	/* atomic */
static void (*sink_fn)(void *arg, enum log_level level, const char *text);	/* under lock */
static void *sink_arg;				/* under lock */

/* One write(2) for a line: two processes on one terminal do not mix within it. */
static void
to_stderr(const char *text)
{
	char line[LOG_TEXT_MAX + 16];
	int n = snprintf(line, sizeof(line), "pollux: %s\n", text);
	ssize_t done = write(STDERR_FILENO, line, (size_t)n);

	(void)done;	/* there is nobody left to tell */
}

static void
emit(enum log_level level, const char *fmt, va_list ap)
{
	char text[LOG_TEXT_MAX + 1];
	int saved = errno;

	vsnprintf(text, sizeof(text), fmt, ap);
	pthread_mutex_lock(&lock);
	if (sink_fn)
		sink_fn(sink_arg, level, text);
	else
		to_stderr(text);
	pthread_mutex_unlock(&lock);
	errno = saved;
}

static bool
is_shown(enum log_level level)
{
	return level <= __atomic_load_n(&shown, __ATOMIC_RELAXED);
}

void
log_line(enum log_level level, const char *fmt, ...)
{
	va_list ap;

	if (!is_shown(level))
		return;
	va_start(ap, fmt);
	emit(level, fmt, ap);
	va_end(ap);
}

void
log_once(bool *said, enum log_level level, const char *fmt, ...)
{
	va_list ap;

	if (!is_shown(level) || __atomic_exchange_n(said, true, __ATOMIC_RELAXED))
		return;
	va_start(ap, fmt);
	emit(level, fmt, ap);
	va_end(ap);
}

void
log_set_level(enum log_level level)
{
	__atomic_store_n(&shown, level, __ATOMIC_RELAXED);
}

void
log_set_sink(void (*sink)(void *arg, enum log_level level, const char *text), void *arg)
{
	pthread_mutex_lock(&lock);
	sink_fn = sink;
	sink_arg = arg;
	pthread_mutex_unlock(&lock);
}
