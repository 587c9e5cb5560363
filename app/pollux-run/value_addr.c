/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers: is this text an IP address that a port can have, and does one lie in another's network?
 * Called by the checks in check.c, on the launcher's only thread.
 */
#include "value.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

int
value_addr(const char *text, struct kv_ip *out, struct why *w)
{
	struct kv_err err;

	if (kv_ip(text, out, &err) || out->has_prefix)
		return why(w, "give an IPv4 or IPv6 address, as in 10.0.0.1 or fd00::1");
	return 0;
}

/* What nobody can be reached at; NULL for a usable address. */
static const char *
unusable(const struct kv_ip *a)
{
	struct in6_addr v6;

	if (a->ip4) {
		uint8_t first = a->gid[12];

		if (first == 0)
			return "an address of the network 0.0.0.0/8";
		if (first == 127)
			return "a loopback address";
		return first >= 224 ? "a multicast, reserved or broadcast address" : NULL;
	}
	memcpy(&v6, a->gid, sizeof(v6));
	if (IN6_IS_ADDR_UNSPECIFIED(&v6))
		return "the unspecified address";
	if (IN6_IS_ADDR_LOOPBACK(&v6))
		return "a loopback address";
	return IN6_IS_ADDR_MULTICAST(&v6) ? "a multicast address" : NULL;
}

int
value_addr_len(const char *text, struct kv_ip *out, struct why *w)
{
	struct kv_err err;
	const char *bad;

	if (kv_ip(text, out, &err))
		return why(w, "%s; give ADDR/LEN, as in 10.0.0.1/24 or fd00::1/64", err.text);
	if (!out->has_prefix || !out->prefix)
		return why(w, "give ADDR/LEN with LEN from 1, as in 10.0.0.1/24 or fd00::1/64");
	bad = unusable(out);
	if (bad)
		return why(w, "this is %s; give an address of your own network", bad);
	return 0;
}

int
value_addr_list(const char *text, struct kv_ip *out, size_t *n, struct why *w)
{
	char item[80];
	int rc;

	*n = 0;
	for (;;) {
		size_t len = strcspn(text, ",");

		if (*n == VALUE_MAX_ADDRS)
			return why(w, "at most %u addresses fit the GID table", VALUE_MAX_ADDRS);
		snprintf(item, sizeof(item), "%.*s", (int)len, text);
		rc = len < sizeof(item) ? value_addr_len(item, &out[*n], w) :
					  why(w, "no address is %zu characters long", len);
		if (rc)
			return rc;
		for (size_t i = 0; i < *n; i++)
			if (!memcmp(out[i].gid, out[*n].gid, sizeof(out[i].gid)))
				return why(w, "%s stands there twice; name each address once",
					   item);
		(*n)++;
		if (!text[len])
			return 0;
		text += len + 1;
	}
}

int
value_gateways(const char *text, struct kv_ip out[2], size_t *n, struct why *w)
{
	size_t len = strcspn(text, ",");
	char first[80];

	snprintf(first, sizeof(first), "%.*s", (int)len, text);
	*n = text[len] ? 2 : 1;
	if (len >= sizeof(first) || value_addr(first, &out[0], w) ||
	    (text[len] && value_addr(text + len + 1, &out[1], w)))
		return why(w, "give an address, as in 10.0.0.254 or fd00::1, or one of each "
			   "family with a comma between");
	if (*n == 2 && out[0].ip4 == out[1].ip4)
		return why(w, "both are of one family; give one gateway of each");
	return 0;
}

int
value_addr_in(const struct kv_ip *addr, const struct kv_ip *net)
{
	unsigned int bits = net->prefix + (net->ip4 ? 96u : 0u);
	unsigned int whole = bits / 8, rest = bits % 8;

	if (addr->ip4 != net->ip4 || memcmp(addr->gid, net->gid, whole))
		return 0;
	return !rest || (addr->gid[whole] ^ net->gid[whole]) >> (8 - rest) == 0;
}
