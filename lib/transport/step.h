/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Step machines. A machine is a list LIST(X) of X(STEP, function), in the specification's order, and
 * its ends LIST_ENDS(X) of X(END). Each function does one thing and returns the next step; the loop
 * only dispatches. A reason to wait is an end of its own, not a flag beside the state.
 *
 *	STEP_ENUM(req_step, REQ_STEPS, REQ_ENDS);
 *	static enum req_step gate(struct req_job *job) { … }
 *	enum req_step at = REQ_GATE;
 *	STEP_LOOP(REQ_STEPS, REQ_END_SENT);
 */
#ifndef TRANSPORT_STEP_H
#define TRANSPORT_STEP_H

#include <assert.h>

#define STEP_ENUM_ROW(step, fn) step,
#define STEP_ENUM_END(step) step,
#define STEP_ENUM(name, list, ends) enum name { list(STEP_ENUM_ROW) ends(STEP_ENUM_END) }

/* No machine here passes a step twice for one packet, so a longer walk is a fault of ours. */
#define STEP_MAX 32u

#define STEP_CASE(step, fn) \
	case step: \
		at = fn(job); \
		break;

/* Walks from `start` until an end is reached; the value is in `at`, the job in `job`. */
#define STEP_LOOP(list, first_end) \
	do { \
		unsigned int walked = 0; \
		while (at < (first_end)) { \
			assert(walked++ < STEP_MAX); \
			switch (at) { \
				list(STEP_CASE) \
			default: \
				break; \
			} \
		} \
	} while (0)

#endif
