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
#define SHORT_LEN 192u		/* of a packet: 64 bytes of payload and more */
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

size_t
wire_icrc_masked_len(bool ip6)
{
	return (ip6 ? IP6_HDR_LEN : IP4_HDR_LEN) + UDP_HDR_LEN + WIRE_BTH_LEN;
}

/* In front of a copy of the headers: what stands for the LRH, and the masks. */
static void
mask(uint8_t *masked, bool ip6)
{
	uint8_t *ip = masked + LRH_LEN, *udp = ip + (ip6 ? IP6_HDR_LEN : IP4_HDR_LEN);

	memset(masked, 0xff, LRH_LEN);
	if (ip6)
		mask_ip6(ip);
	else
		mask_ip4(ip);
	memset(udp + UDP_CSUM, 0xff, 2);
	udp[UDP_HDR_LEN + BTH_ECN] = 0xff;
}

uint32_t
wire_icrc_start(const uint8_t *l3, bool ip6)
{
	uint8_t masked[LRH_LEN + IP6_HDR_LEN + UDP_HDR_LEN + WIRE_BTH_LEN];

	if (ip6)
		memcpy(masked + LRH_LEN, l3, IP6_HDR_LEN + UDP_HDR_LEN + WIRE_BTH_LEN);
	else
		memcpy(masked + LRH_LEN, l3, IP4_HDR_LEN + UDP_HDR_LEN + WIRE_BTH_LEN);
	mask(masked, ip6);
	return crc32(0, masked, LRH_LEN + wire_icrc_masked_len(ip6));
}

/* Of a whole packet, `len` bytes from the IP header on. A short one is copied and summed by one call:
 * a call on a dozen bytes costs as much as one on a hundred. */
static uint32_t
sum(const uint8_t *l3, bool ip6, size_t len)
{
	uint8_t masked[LRH_LEN + SHORT_LEN];
	size_t headers = wire_icrc_masked_len(ip6);

	if (len > SHORT_LEN)
		return wire_icrc_update(wire_icrc_start(l3, ip6), l3 + headers, len - headers);
	memcpy(masked + LRH_LEN, l3, len);
	mask(masked, ip6);
	return crc32(0, masked, LRH_LEN + len);
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

bool
wire_icrc_ok(const struct wire_pkt *pkt)
{
	uint8_t want[WIRE_ICRC_LEN];

	wire_icrc_store(want, sum(pkt->l3, pkt->ip6, (size_t)(pkt->icrc - pkt->l3)));
	return memcmp(want, pkt->icrc, WIRE_ICRC_LEN) == 0;
}

void
wire_icrc_seal(uint8_t *l3, bool ip6, size_t len)
{
	wire_icrc_store(l3 + len, sum(l3, ip6, len));
}
