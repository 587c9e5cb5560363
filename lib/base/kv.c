/* SPDX-License-Identifier: BSD-3-Clause */
/* What did the person mean who wrote this value? Called by the control side, on any thread. */
#include "base/kv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int __attribute__((format(printf, 2, 3)))
fail(struct kv_err *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int
hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int
kv_next(const char **at, struct kv_pair *pair, struct kv_err *err)
{
	const char *s = *at, *value;
	size_t len = strcspn(s, ","), key_len;

	if (!*s)
		return 0;
	value = memchr(s, '=', len);
	key_len = value ? (size_t)(value - s) : len;
	if (!key_len)
		return fail(err, "a name is missing before '%.40s'", s);
	if (s[len] == ',' && !s[len + 1])
		return fail(err, "nothing follows the last comma of '%.40s'", s);
	value = value ? value + 1 : s + len;
	if (key_len >= sizeof(pair->key) || (size_t)(s + len - value) >= sizeof(pair->value))
		return fail(err, "'%.40s' is too long", s);

	memcpy(pair->key, s, key_len);
	pair->key[key_len] = '\0';
	memcpy(pair->value, value, (size_t)(s + len - value));
	pair->value[s + len - value] = '\0';
	pair->has_value = key_len < len;
	*at = s + len + (s[len] == ',');
	return 1;
}

/* Digits at s; *end after them. strtoull alone would take blanks, signs and wrapped values. */
static int
digits(const char *s, const char **end, uint64_t *out)
{
	bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
	char *stop;

	if (!is_digit(s[0]) || (hex && hex_digit(s[2]) < 0))
		return -EINVAL;
	errno = 0;
	*out = strtoull(s, &stop, hex ? 16 : 10);
	*end = stop;
	return errno ? -ERANGE : 0;
}

static int
in_range(const char *s, uint64_t v, uint64_t min, uint64_t max, uint64_t *out, struct kv_err *err)
{
	if (v < min || v > max)
		return fail(err, "'%.40s' is not in %llu..%llu", s, (unsigned long long)min,
			    (unsigned long long)max);
	*out = v;
	return 0;
}

int
kv_u64(const char *s, uint64_t min, uint64_t max, uint64_t *out, struct kv_err *err)
{
	const char *end = s;
	uint64_t v = 0;
	int rc = digits(s, &end, &v);

	if (rc == -EINVAL || *end)
		return fail(err, "'%.40s' is not a number", s);
	if (rc)
		return fail(err, "'%.40s' is too large", s);
	return in_range(s, v, min, max, out, err);
}

static unsigned int
size_shift(char unit)
{
	static const char units[] = "KMG";
	const char *at = unit ? strchr(units, unit & ~0x20) : NULL;

	return at ? 10 * (unsigned int)(at - units + 1) : 0;
}

int
kv_size(const char *s, uint64_t min, uint64_t max, uint64_t *out, struct kv_err *err)
{
	const char *end = s;
	uint64_t v = 0;
	int rc = digits(s, &end, &v);
	unsigned int shift = size_shift(*end);

	if (rc == -EINVAL || end[shift ? 1 : 0])
		return fail(err, "'%.40s' is not a size (a number, with K, M or G if you like)", s);
	if (rc || v > UINT64_MAX >> shift)
		return fail(err, "'%.40s' is too large", s);
	return in_range(s, v << shift, min, max, out, err);
}

static int
add_cpu(uint32_t cpu, uint32_t *cpus, size_t max, size_t *n)
{
	for (size_t i = 0; i < *n; i++)
		if (cpus[i] == cpu)
			return 0;
	if (*n == max)
		return -ENOSPC;
	cpus[(*n)++] = cpu;
	return 0;
}

/* One of `4`, `2-4`, `8-14:2`. */
struct cpu_range {
	uint64_t first, last, step;
};

static const char *
cpu_range(const char *s, struct cpu_range *r)
{
	if (digits(s, &s, &r->first))
		return NULL;
	r->last = r->first;
	r->step = 1;
	if (*s != '-')
		return s;
	if (digits(s + 1, &s, &r->last))
		return NULL;
	if (*s == ':' && digits(s + 1, &s, &r->step))
		return NULL;
	return r->step && r->first <= r->last ? s : NULL;
}

int
kv_cpus(const char *s, uint32_t limit, uint32_t *cpus, size_t max, struct kv_err *err)
{
	const char *at = s;
	struct cpu_range r;
	size_t n = 0;

	for (;;) {
		at = cpu_range(at, &r);
		if (!at || (*at && *at != ','))
			return fail(err, "'%.40s' is not a list of CPUs such as 0,2-4", s);
		if (r.last >= limit)
			return fail(err, "'%.40s' names CPU %llu; there are %u", s,
				    (unsigned long long)r.last, limit);
		for (uint64_t cpu = r.first; cpu <= r.last; cpu += r.step)
			if (add_cpu((uint32_t)cpu, cpus, max, &n))
				return fail(err, "'%.40s' names more than %zu CPUs", s, max);
		if (!*at)
			return (int)n;
		at++;
	}
}

static bool
read_addr(const char *text, struct kv_ip *ip)
{
	memset(ip, 0, sizeof(*ip));
	if (inet_pton(AF_INET, text, ip->gid + 12) == 1) {
		memset(ip->gid + 10, 0xff, 2);
		ip->ip4 = true;
		return true;
	}
	if (inet_pton(AF_INET6, text, ip->gid) != 1)
		return false;
	ip->ip4 = !memcmp(ip->gid, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
	return true;
}

int
kv_ip(const char *s, struct kv_ip *out, struct kv_err *err)
{
	size_t len = strcspn(s, "/");
	char text[INET6_ADDRSTRLEN];
	uint64_t prefix, bits;
	struct kv_ip ip;

	if (len >= sizeof(text))
		return fail(err, "'%.60s' is not an IP address", s);
	memcpy(text, s, len);
	text[len] = '\0';
	if (!read_addr(text, &ip))
		return fail(err, "'%s' is not an IPv4 or IPv6 address", text);
	bits = prefix = ip.ip4 ? 32 : 128;
	if (s[len]) {
		if (kv_u64(s + len + 1, 0, bits, &prefix, err))
			return fail(err, "the prefix length of '%.60s' is not in 0..%u", s,
				    (unsigned int)bits);
		ip.has_prefix = true;
	}
	ip.prefix = (uint8_t)prefix;
	*out = ip;
	return 0;
}

int
kv_mac(const char *s, uint8_t mac[6], struct kv_err *err)
{
	static const uint8_t zero[6];
	uint8_t m[6];

	if (strlen(s) != 17)
		return fail(err, "'%.40s' is not a MAC address such as 02:00:00:00:00:01", s);
	for (int i = 0; i < 6; i++) {
		int hi = hex_digit(s[3 * i]), lo = hex_digit(s[3 * i + 1]);

		if (hi < 0 || lo < 0 || s[3 * i + 2] != (i < 5 ? ':' : '\0'))
			return fail(err, "'%s' is not a MAC address such as 02:00:00:00:00:01", s);
		m[i] = (uint8_t)(hi << 4 | lo);
	}
	if (m[0] & 1 || !memcmp(m, zero, 6))
		return fail(err, "'%s' is not the address of one station", s);
	memcpy(mac, m, 6);
	return 0;
}
