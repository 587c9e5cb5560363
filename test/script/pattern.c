/* SPDX-License-Identifier: BSD-3-Clause */
/* Which bytes does a region start with? Called by the host and for the data of scripts. */
#include "data.h"

#include <string.h>

uint8_t
data_pattern(const char *name, size_t i)
{
	uint64_t v = 0xcbf29ce484222325u;

	if (!strcmp(name, "zero"))
		return 0;
	for (; *name; name++)
		v = (v ^ (uint8_t)*name) * 0x100000001b3u;
	v = (v ^ i) * 0x9e3779b97f4a7c15u;
	return (uint8_t)(v >> 56 ^ v >> 32);
}
