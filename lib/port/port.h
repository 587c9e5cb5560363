/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opening a port from a SPEC and moving bursts. What the engine sees of lib/port.
 */
#ifndef PORT_PORT_H
#define PORT_PORT_H

#include "port/port_driver.h"

/* Splits SPEC ("memif:/x,server") into spec, driver and args, which point into `buf` (twice as long
 * as SPEC), and checks its grammar; other members of *out stay as they are. 0, or -EINVAL /
 * -EOPNOTSUPP ("not in this version") with one line in `why`. Pure. */
int port_conf_parse(const char *spec, char *buf, size_t buf_len, struct port_conf *out, char *why,
		    size_t why_len);

/* Control thread, after EAL start. */
int port_open(struct port *p, const struct port_conf *conf, char *why, size_t why_len);
/* With all that it stands on. */
void port_close(struct port *p);

/*
 * Opens *upper, which stands on the open port `lower`: driver "impair" with the words that
 * port_impair_parse() reads, or "record" with a file's name. `lower` stays where it is, is used by
 * nobody else from then on, and is closed with upper. Control thread, before the first burst. 0, or
 * -EOPNOTSUPP (no such driver), -EINVAL, -ENOMEM or the file's -errno, with one line in `why`; then
 * lower is as it was.
 */
int port_stack(struct port *upper, const char *driver, struct port *lower, const char *args,
	       char *why, size_t why_len);

static inline uint16_t
port_rx(struct port *p, uint16_t queue, struct rte_mbuf **bufs, uint16_t n)
{
	return p->drv->rx(p, queue, bufs, n);
}

static inline uint16_t
port_tx(struct port *p, uint16_t queue, struct rte_mbuf **bufs, uint16_t n)
{
	return p->drv->tx(p, queue, bufs, n);
}

/* Asks the device for the mbufs that it sent and has not freed yet. */
static inline void
port_tx_clean(struct port *p, uint16_t queue)
{
	while (p->lower)
		p = p->lower;
	if (p->drv->tx_clean)
		p->drv->tx_clean(p, queue);
}

#endif
