/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers that a stranger cannot guess: QPNs, memory keys, first PSNs (threats.md 3.2). From
 * getrandom(2), never rand(). Any thread; a system call each, so not for the data path.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

void random_bytes(void *buf, size_t len);
uint32_t random_u32(void);
uint64_t random_u64(void);

/*
 * A keyed permutation of the numbers of `bits` bits, 2 to 32: index in, unguessable number out, no
 * number twice. A Feistel network whose round function is SipHash's. Some 50 ns a call: for
 * creating objects; a lookup per packet should use a table of the permuted numbers.
 */
struct perm {
	uint64_t key[2];
	unsigned int bits;
};

void perm_init(struct perm *p, unsigned int bits);		/* with a new random key */

/* x below 2^bits; so is the result. Pure. */
uint32_t perm_apply(const struct perm *p, uint32_t x);
uint32_t perm_invert(const struct perm *p, uint32_t y);

#endif
