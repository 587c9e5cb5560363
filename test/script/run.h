/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One run of a script: one host, one value for each thing that varies. A line that does not hold
 * ends it by run_fail(), which does not return.
 */
#ifndef SCRIPT_RUN_H
#define SCRIPT_RUN_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#include "host.h"
#include "script.h"
#include "words.h"

#define RUN_VARS 16
#define RUN_TRACE 40

struct run_var {
	char name[16];
	char value[64];
};

struct run_arena {
	struct run_arena *next;
	uint8_t bytes[] __attribute__((aligned(16)));
};

struct run {
	struct host h;
	const struct script *script;
	int line;			/* index of the line that runs */
	char text[WORDS_LINE];		/* its text, variables replaced */
	struct words words;		/* and its words */
	struct run_var var[RUN_VARS];
	int num_vars;
	struct host_qp *qp;		/* the one that lines speak of */
	uint8_t area[40];		/* GRH area of what the peer sent last */
	bool burst;			/* what arrives or is posted waits for the end of the burst */
	struct run_arena *arena;
	char *trace[RUN_TRACE];
	unsigned int traced;
	jmp_buf failed;
	char why[4096];
};

/* Runs the script with these variables. NULL: it holds; else a text about the failure, to be freed. */
char *run_script(const struct script *s, const struct run_var *vars, int num_vars, uint32_t start_psn);

void run_fail(struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3), noreturn));

/* Memory that lives as long as the run; zeroed. */
void *run_alloc(struct run *r, size_t n);
char *run_strdup(struct run *r, const char *s);

/* Names in numbers: a region is its address; key(a), T(t) the ACK timeout, RNR(code). */
uint64_t run_number(struct run *r, const char *text);
/* The same, but a region is its key. */
uint32_t run_key(struct run *r, const char *text);
/* Number of option `key`, or `otherwise`. */
uint64_t run_opt(struct run *r, struct words *w, const char *key, uint64_t otherwise);

/* NAME[+EXPR]; mr is NULL for "peer" and "zero". */
struct run_place {
	struct host_mr *mr;
	const char *name;
	uint64_t offset;
};
struct run_place run_place(struct run *r, const char *text);

/* The current QP; made with defaults when there is none yet. */
struct host_qp *run_qp(struct run *r);
/* Nothing that the host did may be unclaimed at this point. */
void run_claimed(struct run *r);
/* Lets the host work, unless inside a burst. */
void run_settle(struct run *r);
/* Replaces variables and runs one line's command. */
void run_line(struct run *r, const char *line);

/* The commands, each in the file of its kind. */
struct cmd {
	const char *name;
	void (*run)(struct run *r, struct words *w);
};
/* cmd_group.c: "239.1.2.3" or "ff0e::1", as a GID. */
void group_parse(struct run *r, const char *text, uint8_t gid[16]);
/* The packet goes to a group: "239.1.2.3". */
void group_read(struct run *r, const char *text, struct pkt *p);

/* cmd_ud.c: address handle `n`, to the peer of the current QP. */
void ah_make(struct run *r, uint32_t n);
/* What of a WQE of a UD QP the words of a post line say. */
void ud_read(struct run *r, struct words *w, struct plx_sq_wqe *wqe);

/* cmd_setup.c: lw, rw, rr, ra, mw, zb or none, as enum ibv_access_flags. */
uint32_t run_right(struct run *r, const char *name);

/* cmd_mw.c: what a bind binds. */
void mw_read(struct run *r, struct words *w, struct plx_sq_wqe *wqe);

/* cmd_srq.c: the queue that srq= names, or NULL. */
struct srq *srq_read(struct run *r, struct words *w);

extern const struct cmd cmd_setup[], cmd_srq[], cmd_mw[], cmd_group[], cmd_ud[], cmd_post[], cmd_wire[],
	cmd_check[], cmd_modify[], cmd_table[], cmd_moves[], cmd_pair[], cmd_xrc[];

/* For `qp` and run_qp(): makes a QP from options. */
void setup_qp(struct run *r, struct words *w);

#endif
