/* SPDX-License-Identifier: BSD-3-Clause */
/* What does rdma-core's ABI call names and rates? Adapters; pure, any thread. */
#include "adapt.h"

ADAPT(const char *, ibv_wc_status_str(enum ibv_wc_status v), plx_wc_status_str(v))
ADAPT(const char *, ibv_node_type_str(enum ibv_node_type v), plx_node_type_str(v))
ADAPT(const char *, ibv_port_state_str(enum ibv_port_state v), plx_port_state_str(v))
ADAPT(const char *, ibv_event_type_str(enum ibv_event_type v), plx_event_type_str(v))

ADAPT(int, ibv_rate_to_mult(enum ibv_rate rate), plx_rate_to_mult(rate))
ADAPT(enum ibv_rate, mult_to_ibv_rate(int mult), plx_mult_to_rate(mult))
ADAPT(int, ibv_rate_to_mbps(enum ibv_rate rate), plx_rate_to_mbps(rate))
ADAPT(enum ibv_rate, mbps_to_ibv_rate(int mbps), plx_mbps_to_rate(mbps))
