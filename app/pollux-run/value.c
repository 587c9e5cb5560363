/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers: is this text a well-formed MTU, MAC, VLAN, CPU list or number? Called by the checks in
 * check.c while nothing has been started yet, on the launcher's only thread.
 */
#include "value.h"

#include <stdio.h>
#include <string.h>

#include "port/spec.h"

int
value_mtu(const char *text, unsigned int *out, struct why *w)
{
	struct kv_err err;
	uint64_t v;

	if (kv_u64(text, PORT_MTU_MIN, PORT_MTU_MAX, &v, &err))
		return why(w, "give the IP MTU in bytes, %u to %u", PORT_MTU_MIN, PORT_MTU_MAX);
	*out = (unsigned int)v;
	return 0;
}

int
value_mac(const char *text, uint8_t out[6], struct why *w)
{
	struct kv_err err;

	if (kv_mac(text, out, &err))
		return why(w, "give the address of one station, as in 02:00:00:00:00:01 "
			   "(first byte even, not all zero)");
	return 0;
}

int
value_vlan(const char *text, uint16_t *out, struct why *w)
{
	size_t len = strcspn(text, ":");
	uint64_t id, pcp = 0;
	struct kv_err err;
	char word[8];

	snprintf(word, sizeof(word), "%.*s", (int)len, text);
	if (len >= sizeof(word) || kv_u64(word, 1, 4094, &id, &err) ||
	    (text[len] && kv_u64(text + len + 1, 0, 7, &pcp, &err)))
		return why(w, "give ID or ID:PCP, ID 1 to 4094, PCP 0 to 7");
	*out = (uint16_t)(pcp << 13 | id);
	return 0;
}

int
value_cores(const char *text, uint32_t limit, struct value_cores *out, struct why *w)
{
	struct kv_err err;
	int n = 0;

	if (strcmp(text, "inline"))
		n = kv_cpus(text, limit, out->cpu, VALUE_MAX_CORES, &err);
	if (n < 0)
		return why(w, "%s; give `inline`, or CPUs as in taskset (0 to %u are here)",
			   err.text, limit - 1);
	out->n = (size_t)n;
	return 0;
}

int
value_id(const char *text, uint32_t *out, struct why *w)
{
	struct kv_err err;
	uint64_t v;

	if (kv_u64(text, 0, UINT32_MAX, &v, &err))
		return why(w, "give a number from 0 to 0x%x", UINT32_MAX);
	*out = (uint32_t)v;
	return 0;
}
