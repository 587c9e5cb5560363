/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values that people write: options, variables, specifications. Each reader takes the whole string
 * or none of it, says in `err` what is wrong in words for the person who wrote it, and then returns
 * -EINVAL and leaves its out-parameters alone (kv_cpus does not). Pure; any thread.
 */
#ifndef BASE_KV_H
#define BASE_KV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kv_err {
	char text[200];
};

struct kv_pair {
	char key[64];
	char value[256];	/* "" when there is no '=' */
	bool has_value;
};

/*
 * The next of `key=value,key,key=value`: 1 and *pair, 0 at the end, -EINVAL for an empty key or
 * what is too long. *at starts as the string and moves on. A value may contain '=', not ','.
 */
int kv_next(const char **at, struct kv_pair *pair, struct kv_err *err);

/* A number in decimal, or in hex with 0x, from min to max. */
int kv_u64(const char *s, uint64_t min, uint64_t max, uint64_t *out, struct kv_err *err);

/* The same with K, M or G (times 1024) behind it. */
int kv_size(const char *s, uint64_t min, uint64_t max, uint64_t *out, struct kv_err *err);

/*
 * A list of CPUs as taskset takes it: `0,2-4,8-14:2`. Stores up to max numbers below `limit` in the
 * order written, each once; returns how many.
 */
int kv_cpus(const char *s, uint32_t limit, uint32_t *cpus, size_t max, struct kv_err *err);

struct kv_ip {
	uint8_t gid[16];	/* ::ffff:a.b.c.d for IPv4 */
	uint8_t prefix;		/* bits; of an IPv4 address 0..32 */
	bool ip4;
	bool has_prefix;	/* else prefix is that of one host */
};

/* ADDR or ADDR/LEN, IPv4 or IPv6. */
int kv_ip(const char *s, struct kv_ip *out, struct kv_err *err);

/* aa:bb:cc:dd:ee:ff, a unicast address that is not all zero. */
int kv_mac(const char *s, uint8_t mac[6], struct kv_err *err);

#endif
