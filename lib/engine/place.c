/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which core does a QP belong to? Decided by the control thread that makes it, and told by its QPN to
 * whoever receives a packet for it.
 */
#include "engine/core.h"

/* Of this thread: index + 1; 0: it drives none by itself. */
static _Thread_local uint32_t driven;

uint32_t
eng_qpn_bits(uint32_t num_cores)
{
	return num_cores == 1 ? 0 : 32u - (uint32_t)__builtin_clz(num_cores - 1);
}

uint32_t
eng_qpn_core(const struct engine *e, uint32_t qpn)
{
	return qpn & ((1u << eng_qpn_bits(e->num_cores)) - 1);
}

void
eng_drives(uint32_t index)
{
	driven = index + 1;
}

static uint32_t
load(const struct engine *e, uint32_t index)
{
	return __atomic_load_n(&e->core[index]->num_qps, __ATOMIC_RELAXED);
}

uint32_t
eng_place(struct engine *e, uint32_t vector, uint32_t home)
{
	uint32_t best = home < e->num_cores ? home : 0;

	if (vector && vector < e->num_cores)
		return vector;
	if (driven && driven <= e->num_cores)
		return driven - 1;
	for (uint32_t i = 0; i < e->num_cores; i++)
		if (load(e, i) < load(e, best))
			best = i;
	return best;
}
