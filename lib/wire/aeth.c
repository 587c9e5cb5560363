/* SPDX-License-Identifier: BSD-3-Clause */
/* How long is an RNR timer code? Read by transport on the owning core; constant. */
#include "wire/aeth.h"

#define US(whole) UINT64_C(whole) * 1000

/* Code 25 is 61440 us: a well-known software stack has a slip of the pen there (N9). */
const uint64_t rnr_timer_ns[32] = {
	US(655360), US(10), US(20), US(30), US(40), US(60), US(80), US(120),
	US(160), US(240), US(320), US(480), US(640), US(960), US(1280), US(1920),
	US(2560), US(3840), US(5120), US(7680), US(10240), US(15360), US(20480), US(30720),
	US(40960), US(61440), US(81920), US(122880), US(163840), US(245760), US(327680), US(491520),
};
