/* SPDX-License-Identifier: BSD-3-Clause */
/* lib/wire/opcode: the 256 rows against the specification's table. */
#include "wire/opcode.h"

#include "check.h"
#include "wire/build.h"
#include "wire_table.h"

static void
wire_op_info__rows_and_header_bytes(void)
{
	for (unsigned int op = 0; op < 256; op++) {
		const struct wire_op_info *i = &wire_op_info[op];

		CHECK_EQ(i->name != NULL, table_hdr_bytes[op] != 0);
		if (i->name)
			CHECK_EQ(WIRE_BTH_LEN + i->ext_len, table_hdr_bytes[op]);
		else
			CHECK(!i->ext && !i->ext_len && !i->traits);
	}
}

static void
wire_op_info__names(void)
{
	CHECK(!strcmp(wire_op_info[0x00].name, "RC_SEND_FIRST"));
	CHECK(!strcmp(wire_op_info[0x2b].name, "UC_WRITE_ONLY_IMM"));
	CHECK(!strcmp(wire_op_info[0x64].name, "UD_SEND_ONLY"));
	CHECK(!strcmp(wire_op_info[0x81].name, "CNP"));
	CHECK(!strcmp(wire_op_info[0xb4].name, "XRC_FETCH_ADD"));
}

/* A request or a response, of one kind; that is what dispatch relies on. */
static void
wire_op_info__each_message_packet_has_one_direction_and_kind(void)
{
	unsigned int kinds = WIRE_SEND | WIRE_WRITE | WIRE_READ | WIRE_ATOMIC | WIRE_ACK | WIRE_IS_FLUSH |
			     WIRE_IS_ATOMIC_WRITE;

	for (unsigned int op = 0; op < 256; op++) {
		unsigned int t = wire_op_info[op].traits;

		if (!wire_op_info[op].name || op == 0x81)
			continue;
		CHECK_EQ(__builtin_popcount(t & (WIRE_REQUEST | WIRE_RESPONSE)), 1);
		CHECK_EQ(__builtin_popcount(t & kinds), 1);
	}
	CHECK_EQ(wire_op_info[0x81].traits, 0);
}

/* Sets of RC operations, by hand. */
static const struct {
	unsigned int trait;
	uint32_t ops;
} rc_sets[] = {
	{ WIRE_REQUEST, 0x30d81fff },
	{ WIRE_RESPONSE, 0x0007e000 },
	{ WIRE_SEND, 0x00c0003f },
	{ WIRE_WRITE, 0x00000fc0 },
	{ WIRE_READ, 0x0001f000 },
	{ WIRE_ATOMIC, 0x001c0000 },
	{ WIRE_ACK, 0x00020000 },
	{ WIRE_FIRST, 0x309f3c71 },
	{ WIRE_LAST, 0x30df9f3c },
	{ WIRE_PAYLOAD, 0x20c1efff },
	{ WIRE_TAKES_WQE, 0x00800a31 },
	{ WIRE_IS_FLUSH, 0x10000000 },
	{ WIRE_IS_ATOMIC_WRITE, 0x20000000 },
	{ WIRE_ANSWERED, 0x30181000 },
};

static void
wire_op_info__rc_traits(void)
{
	for (unsigned int s = 0; s < sizeof(rc_sets) / sizeof(rc_sets[0]); s++)
		for (unsigned int op = 0; op < 32; op++)
			CHECK_EQ((wire_op_info[op].traits & rc_sets[s].trait) != 0,
				 rc_sets[s].ops >> op & 1);
}

/* Sets of RC operations that have each extension header. */
static const struct {
	unsigned int ext;
	uint32_t ops;
} rc_exts[] = {
	{ WIRE_EXT_XRCETH, 0 },
	{ WIRE_EXT_DETH, 0 },
	{ WIRE_EXT_FETH, 0x10000000 },
	{ WIRE_EXT_RETH, 0x30001c40 },
	{ WIRE_EXT_ATOMICETH, 0x00180000 },
	{ WIRE_EXT_AETH, 0x0007a000 },
	{ WIRE_EXT_ATOMICACKETH, 0x00040000 },
	{ WIRE_EXT_IMM, 0x00000a28 },
	{ WIRE_EXT_IETH, 0x00c00000 },
};

static void
wire_op_info__rc_extension_headers(void)
{
	for (unsigned int s = 0; s < sizeof(rc_exts) / sizeof(rc_exts[0]); s++)
		for (unsigned int op = 0; op < 32; op++)
			CHECK_EQ((wire_op_info[op].ext & rc_exts[s].ext) != 0,
				 rc_exts[s].ops >> op & 1);
}

/* The other classes do what RC does, where they have the operation. */
static void
wire_op_info__classes_agree(void)
{
	for (unsigned int op = 0; op < 256; op++) {
		const struct wire_op_info *i = &wire_op_info[op], *rc = &wire_op_info[op & 0x1f];
		unsigned int more = wire_opcode_class(op) == WIRE_UD ? WIRE_EXT_DETH : 0;

		if (!i->name || op == 0x81)
			continue;
		if (wire_opcode_class(op) == WIRE_XRC && (i->traits & WIRE_REQUEST))
			more = WIRE_EXT_XRCETH;
		CHECK_EQ(i->traits, rc->traits);
		CHECK_EQ(i->ext, rc->ext | more);
		CHECK_EQ(wire_opcode(wire_opcode_class(op), wire_opcode_op(op)), op);
	}
}

static const struct check_case cases[] = {
	CHECK_CASE(wire_op_info__rows_and_header_bytes),
	CHECK_CASE(wire_op_info__names),
	CHECK_CASE(wire_op_info__each_message_packet_has_one_direction_and_kind),
	CHECK_CASE(wire_op_info__rc_traits),
	CHECK_CASE(wire_op_info__rc_extension_headers),
	CHECK_CASE(wire_op_info__classes_agree),
};

CHECK_MAIN(cases)
