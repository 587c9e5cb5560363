/* SPDX-License-Identifier: BSD-3-Clause */
/* What is the ICRC of these bytes, by the letter of A23-A27? Called by encoder and decoder. */
#include "crc.h"

#include <string.h>

uint32_t
crc_run(uint32_t reg, const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		reg ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			reg = reg & 1 ? reg >> 1 ^ 0xedb88320u : reg >> 1;
	}
	return reg;
}

/* What routers may change reads as ones (A25). */
static void
mask_ip4(uint8_t *h)
{
	h[1] = 0xff;		/* TOS */
	h[8] = 0xff;		/* TTL */
	h[10] = h[11] = 0xff;	/* header checksum */
}

static void
mask_ip6(uint8_t *h)
{
	h[0] |= 0x0f;		/* traffic class, flow label */
	h[1] = h[2] = h[3] = 0xff;
	h[7] = 0xff;		/* hop limit */
}

uint32_t
crc_icrc(const uint8_t *l3, size_t len)
{
	uint8_t head[40 + 8 + 12];
	size_t ip = l3[0] >> 4 == 6 ? 40 : 20;
	size_t n = ip + 8 + 12 < len ? ip + 8 + 12 : len;
	uint8_t ones[8];
	uint32_t reg;

	memset(ones, 0xff, sizeof(ones));
	memset(head, 0, sizeof(head));
	memcpy(head, l3, n);
	if (ip == 40)
		mask_ip6(head);
	else
		mask_ip4(head);
	head[ip + 6] = head[ip + 7] = 0xff;	/* UDP checksum */
	head[ip + 8 + 4] = 0xff;		/* FECN, BECN and the reserved bits of the BTH */
	reg = crc_run(0xffffffffu, ones, sizeof(ones));
	reg = crc_run(reg, head, n);
	return ~crc_run(reg, l3 + n, len - n);
}
