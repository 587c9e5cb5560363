/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the stack writes into the socket pair of a completion channel and of a context's async fd:
 * one record an event. The fd that the application sees is the other end, so that readability is
 * exactly "an event waits".
 */
#ifndef POLLUX_ABI_EVENT_H
#define POLLUX_ABI_EVENT_H

#include <stdint.h>

struct plx_cq_event {
	uint32_t cq;		/* CQ handle */
	uint32_t cq_gen;
};

enum plx_event_subject {
	PLX_EVENT_DEVICE = 0,
	PLX_EVENT_PORT = 1,
	PLX_EVENT_CQ = 2,
	PLX_EVENT_QP = 3,
	PLX_EVENT_SRQ = 4,
};

struct plx_async_event {
	uint32_t type;		/* value of enum ibv_event_type */
	uint32_t subject;	/* enum plx_event_subject */
	uint32_t handle;	/* of the CQ, QP or SRQ; the port number; 0 for the device */
	uint32_t gen;
};

#endif
