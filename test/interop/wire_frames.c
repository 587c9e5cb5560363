/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes a capture with one frame of each RC opcode over IPv4, then each over IPv6, as lib/wire builds
 * them, for others to judge (wire_judges.py). Every field's value follows from the opcode, so that
 * the judge can know it without us.
 *
 *     wire_frames FILE
 */
#include <stdio.h>
#include <stdlib.h>

#include "wire/build.h"
#include "wire/hdr.h"
#include "wire/icrc.h"

#define MTU 256u
#define FRAME_ROOM (WIRE_MAX_HEADERS + MTU + 8)

static const uint8_t gids[2][2][16] = {
	{ { [10] = 0xff, 0xff, 192, 0, 2, 1 }, { [10] = 0xff, 0xff, 192, 0, 2, 2 } },
	{ { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 }, { 0x20, 0x01, 0x0d, 0xb8, [15] = 2 } },
};

static void
template_of(struct wire_tmpl *t, int ip6)
{
	struct wire_tmpl_conf conf = {
		.dst_mac = { 2, 0, 0, 0, 0, 2 }, .src_mac = { 2, 0, 0, 0, 0, 1 },
		.udp_sport = 0xc0de, .hop_limit = 63, .traffic_class = 0x6a, .flow_label = 0x12345,
	};

	memcpy(conf.src_gid, gids[ip6][0], 16);
	memcpy(conf.dst_gid, gids[ip6][1], 16);
	wire_tmpl_make(t, &conf);
}

static uint8_t *
put_ext(uint8_t *at, uint8_t op, unsigned int ext)
{
	uint64_t va = UINT64_C(0x1122334455667700) + op;

	if (ext & WIRE_EXT_FETH)
		at = wire_put_feth(at, FETH_GLOBAL | FETH_PERSISTENT, FETH_REGION);
	if (ext & WIRE_EXT_RETH)
		at = wire_put_reth(at, va, 0xdead0000u + op, 0x01020300u + op);
	if (ext & WIRE_EXT_ATOMICETH)
		at = wire_put_atomic(at, va, 0xdead0000u + op, UINT64_C(0xa0a1a2a3a4a5a600) + op,
				     UINT64_C(0xb0b1b2b3b4b5b600) + op);
	if (ext & WIRE_EXT_AETH)
		at = wire_put_aeth(at, 0x1f, 0xabcd00u + op);
	if (ext & WIRE_EXT_ATOMICACKETH)
		at = wire_put_atomic_ack(at, UINT64_C(0xc0c1c2c3c4c5c600) + op);
	if (ext & WIRE_EXT_IMM)
		at = wire_put_imm(at, htobe32(0x11223300u + op));
	if (ext & WIRE_EXT_IETH)
		at = wire_put_ieth(at, 0xbeef0000u + op);
	return at;
}

/* Whole packets where the message goes on, else as many bytes as make each pad count occur. */
static uint32_t
payload_len(uint8_t op)
{
	unsigned int traits = wire_op_info[op].traits;

	if (!(traits & WIRE_PAYLOAD))
		return 0;
	if (traits & WIRE_IS_ATOMIC_WRITE)
		return 8;
	return traits & WIRE_LAST ? op + 1u : MTU;
}

static size_t
build(uint8_t *frame, const struct wire_tmpl *t, uint8_t op)
{
	const struct wire_op_info *info = &wire_op_info[op];
	uint32_t len = payload_len(op), pad = -len & 3;
	struct wire_bth bth = {
		.opcode = op, .se = op & 1, .mig_req = true, .ack_req = op & 2, .pad = (uint8_t)pad,
		.pkey = 0xffff, .dest_qpn = 0x654300u + op, .psn = psn_make(0xffff00u + op),
	};
	uint8_t *at = wire_put_tmpl(frame, t, WIRE_BTH_LEN + info->ext_len + len + pad);

	at = put_ext(wire_put_bth(at, &bth), op, info->ext);
	for (uint32_t i = 0; i < len; i++)
		*at++ = (uint8_t)(op + i);
	memset(at, 0, pad);
	at += pad;
	wire_icrc_seal(frame + t->l3, t->ip6, (size_t)(at - frame) - t->l3);
	return (size_t)(at - frame) + WIRE_ICRC_LEN;
}

/* pcap 2.4, microseconds, Ethernet, in this machine's byte order. */
static int
write_header(FILE *f)
{
	struct {
		uint32_t magic;
		uint16_t major, minor;
		uint32_t zone, accuracy, snap, link;
	} h = { 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1 };

	return fwrite(&h, sizeof(h), 1, f) == 1 ? 0 : -1;
}

static int
write_frame(FILE *f, const uint8_t *frame, size_t len)
{
	uint32_t h[4] = { 0, 0, (uint32_t)len, (uint32_t)len };

	return fwrite(h, sizeof(h), 1, f) == 1 && fwrite(frame, len, 1, f) == 1 ? 0 : -1;
}

static int
write_all(FILE *f)
{
	int rc = write_header(f);

	for (int ip6 = 0; ip6 < 2; ip6++) {
		struct wire_tmpl t;

		template_of(&t, ip6);
		for (unsigned int op = 0; op < 32 && !rc; op++) {
			uint8_t frame[FRAME_ROOM];

			if (wire_op_info[op].name)
				rc = write_frame(f, frame, build(frame, &t, (uint8_t)op));
		}
	}
	return rc;
}

int
main(int argc, char **argv)
{
	FILE *f = argc == 2 ? fopen(argv[1], "wb") : NULL;
	int rc;

	if (!f) {
		fprintf(stderr, "usage: wire_frames FILE\n");
		return 2;
	}
	rc = write_all(f);
	return fclose(f) || rc ? 1 : 0;
}
