/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers: is this text an IP address that an interface can have, and does one lie in another's
 * network? Called by the checks in option.c, on the launcher's only thread.
 */
#include "value.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

int
value_addr(const char *text, struct value_addr *out, struct why *w)
{
	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, text, out->bytes) == 1) {
		out->family = AF_INET;
		out->prefix = 32;
		return 0;
	}
	if (inet_pton(AF_INET6, text, out->bytes) == 1) {
		out->family = AF_INET6;
		out->prefix = 128;
		return 0;
	}
	return why(w, "give an IPv4 or IPv6 address, as in 10.0.0.1 or fd00::1");
}

/* What nobody can be reached at, or what no interface is configured with by hand. */
static const char *
unusable(const struct value_addr *a)
{
	struct in6_addr v6;

	if (a->family == AF_INET) {
		if (a->bytes[0] == 0)
			return "an address of the network 0.0.0.0/8";
		if (a->bytes[0] == 127)
			return "a loopback address";
		if (a->bytes[0] >= 224)
			return "a multicast, reserved or broadcast address";
		return NULL;
	}
	memcpy(&v6, a->bytes, sizeof(v6));
	if (IN6_IS_ADDR_UNSPECIFIED(&v6))
		return "the unspecified address";
	if (IN6_IS_ADDR_LOOPBACK(&v6))
		return "a loopback address";
	if (IN6_IS_ADDR_MULTICAST(&v6))
		return "a multicast address";
	if (IN6_IS_ADDR_V4MAPPED(&v6))
		return "an IPv4 address in IPv6 clothes (write it as IPv4)";
	return NULL;
}

int
value_addr_len(const char *text, struct value_addr *out, struct why *w)
{
	const char *slash = strchr(text, '/');
	char addr[INET6_ADDRSTRLEN];
	const char *bad;
	uint64_t len;

	if (!slash || (size_t)(slash - text) >= sizeof(addr))
		return why(w, "give ADDR/LEN, as in 10.0.0.1/24 or fd00::1/64");
	memcpy(addr, text, (size_t)(slash - text));
	addr[slash - text] = 0;
	if (value_addr(addr, out, w))
		return why(w, "give ADDR/LEN, as in 10.0.0.1/24 or fd00::1/64");
	if (slash[1] == '0' || value_number(slash + 1, out->prefix, &len, w))
		return why(w, "the prefix length is 1 to %u", out->prefix);
	bad = unusable(out);
	if (bad)
		return why(w, "this is %s; give an address of your own network", bad);
	out->prefix = (unsigned int)len;
	return 0;
}

int
value_addr_list(const char *text, struct value_addr *out, size_t *n, struct why *w)
{
	char item[INET6_ADDRSTRLEN + 8];
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
			if (out[i].family == out[*n].family &&
			    !memcmp(out[i].bytes, out[*n].bytes, sizeof(out[i].bytes)))
				return why(w, "%s stands there twice; name each address once",
					   item);
		(*n)++;
		if (!text[len])
			return 0;
		text += len + 1;
	}
}

int
value_addr_in(const struct value_addr *addr, const struct value_addr *net)
{
	unsigned int whole = net->prefix / 8, rest = net->prefix % 8;

	if (addr->family != net->family || memcmp(addr->bytes, net->bytes, whole))
		return 0;
	return !rest || (addr->bytes[whole] ^ net->bytes[whole]) >> (8 - rest) == 0;
}
