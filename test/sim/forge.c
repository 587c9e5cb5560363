/* SPDX-License-Identifier: BSD-3-Clause */
/* Which bits of a frame may be turned, and by whom? See forge.h. */
#include "forge.h"

#include <stdbool.h>

#include "wire/build.h"
#include "wire/hdr.h"
#include "wire/icrc.h"

/* A field as bits of up to 16 bytes: `skip` bits at its front stay as they are. */
struct field {
	uint8_t at;		/* bytes behind the start of its header */
	uint8_t skip, bits;
};

static const struct field ip4_fields[] = {
	{ IP4_VER_IHL, 0, 8 },
	{ IP4_LEN, 0, 16 },
	{ IP4_FRAG, 2, 14 },		/* MF and the offset (A8) */
	{ IP4_PROTO, 0, 8 },
	{ IP4_SRC, 0, 32 },		/* C32, B29 */
	{ IP4_DST, 0, 32 },
};

static const struct field ip6_fields[] = {
	{ IP6_VER_TC_FL, 0, 4 },
	{ IP6_LEN, 0, 16 },
	{ IP6_NEXT, 0, 8 },		/* A9 */
	{ IP6_SRC, 0, 128 },
	{ IP6_DST, 0, 128 },
};

/* From the UDP header on. */
static const struct field ib_fields[] = {
	{ UDP_DPORT, 0, 16 },
	{ UDP_LEN, 0, 16 },
	{ UDP_HDR_LEN + BTH_OPCODE, 1, 2 },	/* class UC or RD (A20); one bit makes a CNP */
	{ UDP_HDR_LEN + BTH_FLAGS, 4, 4 },	/* TVer (A10) */
	{ UDP_HDR_LEN + BTH_PKEY, 1, 15 },	/* A16 */
	{ UDP_HDR_LEN + BTH_QPN, 0, 24 },	/* A18 */
};

#define COUNT(a) ((uint32_t)(sizeof(a) / sizeof((a)[0])))

static void
turn(uint8_t *at, uint64_t bit)
{
	at[bit / 8] ^= (uint8_t)(0x80u >> bit % 8);
}

void
forge_flip(uint8_t *frame, uint32_t len, uint64_t number)
{
	turn(frame + ETH_HDR_LEN, number % ((uint64_t)(len - ETH_HDR_LEN) * 8));
}

void
forge_header(uint8_t *frame, uint32_t len, uint64_t number)
{
	uint8_t *l3 = frame + ETH_HDR_LEN;
	bool ip6 = be16_load(frame + ETH_TYPE) == ETH_TYPE_IP6;
	const struct field *l3_fields = ip6 ? ip6_fields : ip4_fields;
	uint32_t num_l3 = ip6 ? COUNT(ip6_fields) : COUNT(ip4_fields);
	uint32_t which = (uint32_t)(number % (num_l3 + COUNT(ib_fields)));
	const struct field *f = which < num_l3 ? &l3_fields[which] : &ib_fields[which - num_l3];

	if (which >= num_l3)
		l3 += ip6 ? IP6_HDR_LEN : IP4_HDR_LEN;
	turn(l3 + f->at, f->skip + number / 64 % f->bits);
	wire_icrc_seal(frame + ETH_HDR_LEN, ip6, len - ETH_HDR_LEN - WIRE_ICRC_LEN);
}
