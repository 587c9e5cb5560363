/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is the invariant CRC of a packet (A23-A27)? Called for each packet sent and received, on the
 * owning core, and by tests; pure.
 *
 * A CRC state here is the value ISA-L takes and gives: the register inverted, so that the state at
 * the end is the number to store, and an empty start is 0. After the eight 0xff bytes it is
 * ~0xdebb20e3 (A24).
 */
#include "wire/icrc.h"

#include <isa-l/crc.h>
#include <string.h>

#include "wire/build.h"
#include "wire/hdr.h"

#define LRH_LEN 8u		/* RoCEv2 has none; eight masked bytes stand for it (A23) */
#define COPY_CHUNK 4096u	/* what was copied is still in L1 when it is summed */

static uint32_t
crc32(uint32_t crc, const void *data, size_t len)
{
	return crc32_gzip_refl(crc, data, len);
}

/* Fields that routers and switches change read as ones (A25). */

static void
mask_ip4(uint8_t *ip)
{
	ip[IP4_TOS] = 0xff;
	ip[IP4_TTL] = 0xff;
	memset(ip + IP4_CSUM, 0xff, 2);
}

static void
mask_ip6(uint8_t *ip)
{
	ip[0] |= 0x0f;
	memset(ip + 1, 0xff, 3);
	ip[IP6_HOPS] = 0xff;
}

uint32_t
wire_icrc_start(const uint8_t *l3, bool ip6)
{
	uint8_t masked[LRH_LEN + IP6_HDR_LEN + UDP_HDR_LEN + WIRE_BTH_LEN];
	uint8_t *ip = masked + LRH_LEN, *udp;

	/* One copy and one call: a call on a dozen bytes costs as much as one on a hundred. */
	memset(masked, 0xff, LRH_LEN);
	if (ip6) {
		memcpy(ip, l3, IP6_HDR_LEN + UDP_HDR_LEN + WIRE_BTH_LEN);
		mask_ip6(ip);
		udp = ip + IP6_HDR_LEN;
	} else {
		memcpy(ip, l3, IP4_HDR_LEN + UDP_HDR_LEN + WIRE_BTH_LEN);
		mask_ip4(ip);
		udp = ip + IP4_HDR_LEN;
	}
	memset(udp + UDP_CSUM, 0xff, 2);
	udp[UDP_HDR_LEN + BTH_ECN] = 0xff;
	return crc32(0, masked, (size_t)(udp - masked) + UDP_HDR_LEN + WIRE_BTH_LEN);
}

uint32_t
wire_icrc_update(uint32_t crc, const void *data, size_t len)
{
	return len ? crc32(crc, data, len) : crc;
}

uint32_t
wire_icrc_copy(uint32_t crc, void *dst, const void *src, size_t len)
{
	const uint8_t *from = src;
	uint8_t *to = dst;

	/* The sum is taken of the copy: what is sent is what was summed, even when the program
	 * writes to its buffer at this moment. */
	while (len) {
		size_t n = len < COPY_CHUNK ? len : COPY_CHUNK;

		memcpy(to, from, n);
		crc = crc32(crc, to, n);
		to += n;
		from += n;
		len -= n;
	}
	return crc;
}

size_t
wire_icrc_masked_len(bool ip6)
{
	return (ip6 ? IP6_HDR_LEN : IP4_HDR_LEN) + UDP_HDR_LEN + WIRE_BTH_LEN;
}

bool
wire_icrc_ok(const struct wire_pkt *pkt)
{
	const uint8_t *after_bth = pkt->bth + WIRE_BTH_LEN;
	uint32_t crc = wire_icrc_start(pkt->l3, pkt->ip6);
	uint8_t want[WIRE_ICRC_LEN];

	crc = wire_icrc_update(crc, after_bth, (size_t)(pkt->icrc - after_bth));
	wire_icrc_store(want, crc);
	return memcmp(want, pkt->icrc, WIRE_ICRC_LEN) == 0;
}

void
wire_icrc_seal(uint8_t *l3, bool ip6, size_t len)
{
	size_t headers = wire_icrc_masked_len(ip6);
	uint32_t crc = wire_icrc_start(l3, ip6);

	wire_icrc_store(l3 + len, wire_icrc_update(crc, l3 + headers, len - headers));
}
