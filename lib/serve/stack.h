/* SPDX-License-Identifier: BSD-3-Clause */
/* The stack of this process: one at a time. Control threads. */
#ifndef SERVE_STACK_H
#define SERVE_STACK_H

#include "ctl/backend.h"
#include "serve/conf.h"

struct stack;

/* Starts the stack and registers it with libpollux. 0, or -errno with one line in `why`; then
 * nothing is left behind. -EBUSY when one runs already. */
int stack_start(const struct setting_text *text, bool eal_running, uint32_t mem_mb, char *why,
		size_t why_len);
/* 0, -EBUSY while a client has a context open, -ESRCH when none runs, -EIO in a forked child. */
int stack_stop(void);

/* The stack that runs, or NULL. */
struct stack *stack_running(void);

/* local.c: the table for clients in this process. */
extern const struct ctl_backend serve_local;

/* tally.c: the file for what was counted, when one is asked for. 0, or -errno with one line in `why`. */
int tally_open(struct stack *s, char *why, size_t why_len);
void tally_close(struct stack *s);
/* Writes it; struct eng_conf.ended of a struct stack. */
void tally_write(void *stack, struct engine *e);

/* device.c */
void serve_describe(const struct stack *s, struct ctl_device *out);

#endif
