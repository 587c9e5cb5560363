/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines for people: `pollux: text` on stderr, or to a sink. Any thread; never on the data path,
 * which counts and leaves trace records instead.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

enum log_level {
	PLX_LOG_ERR,
	PLX_LOG_WARN,
	PLX_LOG_INFO,
	PLX_LOG_DBG,
};

/* Longest text of a line, without prefix and newline; what is longer is cut. */
#define LOG_TEXT_MAX 480

/* One line, without a newline in fmt. Lines above the level are not formatted. Keeps errno. */
void log_line(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same, the first time only that *said is false; the caller owns the flag, one per cause. */
void log_once(bool *said, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Lines up to `level` are shown; PLX_LOG_INFO at start. */
void log_set_level(enum log_level level);

/*
 * Lines go to sink(arg, level, text) instead of stderr; text has neither prefix nor newline. NULL
 * puts stderr back. Sinks are called one at a time and must not log.
 */
void log_set_sink(void (*sink)(void *arg, enum log_level level, const char *text), void *arg);

#endif
