/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The blocks of a pcapng file that frames are recorded in (draft-ietf-opsawg-pcapng): one section in
 * the machine's own byte order with one Ethernet interface, whose time stamps count ns since 1970.
 * A block is a type, its length, a body, its length again; a multiple of four bytes. Pure.
 *
 * DPDK's own library for this asks for the number of a DPDK port, which a loop has not.
 */
#ifndef RECORD_PCAPNG_H
#define RECORD_PCAPNG_H

#include <stddef.h>
#include <stdint.h>

/* As the low bits of an enhanced packet block's flags have it. */
enum pcapng_direction {
	PCAPNG_IN = 1,
	PCAPNG_OUT = 2,
};

#define PCAPNG_HEAD_MAX 512u		/* bytes that pcapng_head() writes at most */
#define PCAPNG_LEAD 28u			/* bytes of a packet's block in front of the frame */
#define PCAPNG_BLOCK_MAX(len) (PCAPNG_LEAD + (len) + 3u + 16u)

/* Section and interface, of a program and an interface of these names: how many bytes. */
size_t pcapng_head(uint8_t *at, const char *program, const char *iface);

/*
 * A packet's block around a frame of `len` bytes: the caller puts the frame at at + PCAPNG_LEAD,
 * before or after. Returns the bytes of the whole block. `at` is aligned to 4.
 */
size_t pcapng_frame(uint8_t *at, uint64_t ns, uint32_t len, enum pcapng_direction direction);

/* Of `len` bytes that begin with a block: how many are whole blocks. */
size_t pcapng_whole(const uint8_t *at, size_t len);

#endif
