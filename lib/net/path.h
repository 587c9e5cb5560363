/* SPDX-License-Identifier: BSD-3-Clause */
/* What neighbours tell their paths. Owning core. */
#ifndef NET_PATH_H
#define NET_PATH_H

#include "net/net.h"

/* The next hop has this MAC (now): makes the template and marks the path ready. */
void path_set_mac(struct path *p, const uint8_t mac[6]);

#endif
