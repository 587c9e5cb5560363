/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who gets what comes to QP 1? One owner a port, on the core that serves it; connection management is to be
 * that owner. Opened and closed by control threads, called by the loop with the lock.
 */
#include "engine/core.h"

#include <errno.h>

#include "transport/gsi.h"
#include "wire/mtu.h"

/* On the port's core. */
static int
set(struct core *c, void *arg)
{
	const struct eng_gsi *g = arg;

	if (g->rx && c->gsi.rx)
		return -EBUSY;
	c->gsi = *g;
	return 0;
}

int
eng_gsi_open(struct engine *e, void (*rx)(void *arg, struct core *c, const struct wire_pkt *pkt), void *arg)
{
	struct eng_gsi g = { .rx = rx, .arg = arg };

	return eng_call(eng_port_core(e), set, &g);
}

void
eng_gsi_close(struct engine *e)
{
	struct eng_gsi none = { .rx = NULL };

	eng_call(eng_port_core(e), set, &none);
}

int
core_gsi_send(struct core *c, const struct eng_ah *a, uint32_t dest_qpn, const void *data, uint32_t len)
{
	uint32_t mtu = mtu_bytes(mtu_enum_for_port(c->port->ip_mtu));
	struct qp_path path;

	seqcell_get(&a->ah.path, &path);
	return gsi_send(&c->x, &path, dest_qpn, mtu, data, len, &c->gsi.psn);
}

enum drop_reason
core_gsi_rx(struct core *c, const struct wire_pkt *pkt)
{
	enum drop_reason why = c->gsi.rx ? gsi_admits(pkt) : DROP_QPN;

	if (why == DROP_NONE)
		c->gsi.rx(c->gsi.arg, c, pkt);
	return why;
}
