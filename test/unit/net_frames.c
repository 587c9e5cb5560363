/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames in, frames out: ARP, neighbour discovery, echo, VLANs, and bytes that mean nothing. */
#include "net_fixture.h"

#define ECHO4 \
	"020000000a02020000000a0308004504002100770000210171470a0b0a030a0b0a02" \
	"0800ce28000700096162636465"
#define ECHO4_REPLY \
	"020000000a03020000000a0208004500002100004000400112c20a0b0a020a0b0a03" \
	"0000d628000700096162636465"
#define ECHO6 \
	"020000000a02020000000a0386dd60000005000d3a21fe80000000000000000000fffe000a03" \
	"fe80000000000000000000fffe000a02800046da000700096162636465"
#define ECHO6_REPLY \
	"020000000a03020000000a0286dd60000000000d3a40fe80000000000000000000fffe000a02" \
	"fe80000000000000000000fffe000a03810045da000700096162636465"
/* Is fe80::ff:fe00:a02 taken? From nobody (duplicate address detection), and what we say to it */
#define DAD \
	"3333ff000a02020000000a0386dd6000000000183aff00000000000000000000000000000000" \
	"ff0200000000000000000001ff000a028700692300000000fe80000000000000000000fffe000a02"
#define DAD_ANSWER \
	"333300000001020000000a0286dd6000000000203afffe80000000000000000000fffe000a02" \
	"ff02000000000000000000000000000188003b9820000000fe80000000000000000000fffe000a02" \
	"0201020000000a02"

/* What comes in, what goes out, how it is counted. */
static void
net_rx__answers(void)
{
	static const struct {
		const char *in, *out;
		enum cnt cnt;
	} t[] = {
		{ ARP_B_ASKS, ARP_A_ANSWERS, CNT_RX_ARP },
		{ ND_B_ASKS, ND_A_ANSWERS, CNT_RX_ND },
		{ DAD, DAD_ANSWER, CNT_RX_ND },
		{ ECHO4, ECHO4_REPLY, CNT_RX_ECHO },
		{ ECHO6, ECHO6_REPLY, CNT_RX_ECHO },
		/* the padding of short frames is no part of the packet */
		{ ECHO4 "0000000000", ECHO4_REPLY, CNT_RX_ECHO },
		{ ARP_B_ASKS "000000000000000000000000000000000000", ARP_A_ANSWERS, CNT_RX_ARP },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct fix *f = fix_new_started();

		CHECK_EQ(fix_rx(f, t[i].in), DROP_NONE);
		CHECK_EQ(f->num_sent, 1);
		CHECK(fix_sent(f, 0, t[i].out));
		CHECK_EQ(f->cnt.cnt[t[i].cnt], 1);
		CHECK_EQ(f->num_said, 0);
		fix_free(f);
	}
}

/* Frames that differ from good ones in one thing: at byte `at` stands `byte`. */
static void
net_rx__leaves_what_is_not_ours(void)
{
	static const struct {
		const char *in;
		unsigned int at;
		uint8_t byte;
		enum drop_reason why;
	} t[] = {
		{ ARP_B_ASKS, 41, 9, DROP_NOT_ROCE },	/* another target */
		{ ARP_B_ASKS, 21, 3, DROP_NOT_ROCE },	/* no such operation */
		{ ARP_B_ASKS, 18, 8, DROP_NOT_ROCE },	/* hardware address length */
		{ ARP_B_ASKS, 15, 6, DROP_NOT_ROCE },	/* not Ethernet */
		{ ARP_B_ASKS, 22, 3, DROP_NOT_ROCE },	/* a group as sender */
		{ ARP_B_ASKS, 0, 0xfe, DROP_L2 },	/* to another MAC */
		{ ARP_B_ASKS, 6, 3, DROP_L2 },		/* from a group */
		{ ARP_B_ASKS, 13, 7, DROP_NOT_ROCE },	/* EtherType */
		{ ND_B_ASKS, 21, 254, DROP_L3 },	/* came through a router */
		{ ND_B_ASKS, 57, 0, DROP_NOT_ROCE },	/* checksum */
		{ ND_B_ASKS, 19, 0x21, DROP_LENGTH },	/* longer than the frame */
		{ ND_B_ASKS, 20, 44, DROP_FRAGMENT },
		{ ND_B_ASKS, 20, 17, DROP_NOT_ROCE },
		{ ND_B_ASKS, 14, 0x50, DROP_L3 },	/* version */
		{ ECHO4, 23, 17, DROP_L3 },		/* breaks the header's checksum */
		{ ECHO4, 14, 0x46, DROP_L3 },
		{ ECHO4, 42, 0, DROP_NOT_ROCE },	/* data against its checksum */
		{ ECHO6, 60, 1, DROP_NOT_ROCE },
		{ ECHO4, 5, 9, DROP_L2 },
		{ ECHO4, 0, 3, DROP_NOT_ROCE },		/* to a group of hosts: all would answer */
		{ ECHO6, 0, 3, DROP_NOT_ROCE },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct fix *f = fix_new_started();
		uint8_t bytes[256];
		size_t len = hex_bytes(t[i].in, bytes);

		CHECK(t[i].at < len && bytes[t[i].at] != t[i].byte);
		bytes[t[i].at] = t[i].byte;
		CHECK_EQ(fix_rx_bytes(f, bytes, len), t[i].why);
		CHECK_EQ(f->num_sent, 0);
		fix_free(f);
	}
}

/* Fixes the IPv4 header's checksum and gives the frame. */
static enum drop_reason
rx_ip4_edited(struct fix *f, unsigned int at, uint8_t byte)
{
	uint8_t bytes[256];
	size_t len = hex_bytes(ECHO4, bytes);

	bytes[at] = byte;
	put_be16(bytes + 24, 0);
	put_be16(bytes + 24, csum_fold(csum_add(0, bytes + 14, 20)));
	return fix_rx_bytes(f, bytes, len);
}

static void
icmp4_rx__headers(void)
{
	struct fix *f = fix_new_started();

	CHECK_EQ(rx_ip4_edited(f, 14, 0x45), DROP_NONE); /* as it was */
	CHECK_EQ(f->num_sent, 1);
	CHECK_EQ(rx_ip4_edited(f, 20, 0x20), DROP_FRAGMENT); /* more fragments */
	CHECK_EQ(rx_ip4_edited(f, 21, 1), DROP_FRAGMENT);    /* offset */
	CHECK_EQ(rx_ip4_edited(f, 33, 9), DROP_DST_GID);
	CHECK_EQ(rx_ip4_edited(f, 17, 0x13), DROP_LENGTH);  /* shorter than its header */
	CHECK_EQ(rx_ip4_edited(f, 17, 0x22), DROP_LENGTH);  /* longer than the frame */
	CHECK_EQ(rx_ip4_edited(f, 17, 0x1b), DROP_SHORT);   /* 7 bytes of ICMP */
	CHECK_EQ(rx_ip4_edited(f, 23, 17), DROP_NOT_ROCE);  /* UDP */
	CHECK_EQ(rx_ip4_edited(f, 26, 224), DROP_NOT_ROCE); /* from a group */
	CHECK_EQ(f->num_sent, 1);
	fix_free(f);
}

/* Echo of as many bytes as the MTU carries comes back whole; one more does not. */
static void
icmp4_rx__echo_up_to_the_mtu(void)
{
	for (uint32_t extra = 0; extra < 2; extra++) {
		struct fix *f = fix_new_started();
		uint32_t total = 4200 + extra;
		uint8_t *bytes = calloc(1, 14 + total);
		uint32_t sum;

		CHECK(bytes);
		hex_bytes(ECHO4, bytes);
		put_be16(bytes + 16, (uint16_t)total);
		put_be16(bytes + 24, 0);
		put_be16(bytes + 24, csum_fold(csum_add(0, bytes + 14, 20)));
		for (uint32_t i = 8; i < total - 20; i++)
			bytes[34 + i] = (uint8_t)i;
		put_be16(bytes + 36, 0);
		sum = csum_add(0, bytes + 34, total - 20);
		put_be16(bytes + 36, csum_fold(sum));
		CHECK_EQ(fix_rx_bytes(f, bytes, 14 + total), extra ? DROP_NOT_ROCE : DROP_NONE);
		CHECK_EQ(f->num_sent, 1 - extra);
		if (!extra) {
			CHECK_EQ(f->sent[0].len, 14 + total);
			CHECK_MEM(f->sent[0].bytes + 42, bytes + 42, total - 28);
		}
		free(bytes);
		fix_free(f);
	}
}

static void
net_rx__every_truncation_is_dropped(void)
{
	static const char *const frames[] = { ARP_B_ASKS, ND_B_ASKS, ECHO4, ECHO6, DAD };

	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		struct fix *f = fix_new_started();
		uint8_t bytes[256];
		size_t len = hex_bytes(frames[i], bytes);

		for (size_t cut = 0; cut < len; cut++)
			CHECK(fix_rx_bytes(f, bytes, cut) != DROP_NONE);
		CHECK_EQ(f->num_sent, 0);
		fix_free(f);
	}
}

/* Random changes and lengths: nothing is read beyond the end (ASan watches), and every frame that
 * we send stays within the MTU. */
static void
net_rx__survives_anything(void)
{
	static const char *const frames[] = { ARP_B_ASKS, ARP_B_ANSWERS, ND_B_ASKS, ND_B_ANSWERS,
					      ECHO4, ECHO6, DAD };
	struct fix *f = fix_new();
	uint64_t x = 88172645463325252u;

	f->conf.vlan_tci = 0;
	CHECK(!fix_start(f));
	for (unsigned int round = 0; round < 200000; round++) {
		uint8_t bytes[256] = { 0 };
		size_t len = hex_bytes(frames[round % 7], bytes);

		for (unsigned int change = round % 4; change; change--) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			bytes[x % len] = (uint8_t)(x >> 32);
		}
		/* a right ICMPv6 checksum lets changed options through to be read */
		if (round % 2 && bytes[12] == 0x86 && len >= 62) {
			put_be16(bytes + 56, 0);
			put_be16(bytes + 56, csum_icmp6(bytes + 14, bytes + 54, len - 54));
		}
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		if (round % 8 == 7)
			len = x % (len + 8);
		f->num_sent = 0;
		(void)fix_rx_bytes(f, bytes, len);
		CHECK(f->num_sent <= 1);
		CHECK(f->num_sent == 0 || f->sent[0].len <= 4200 + 18);
	}
	fix_free(f);
}

/* A solicitation with other addresses, and a right checksum. */
static enum drop_reason
rx_nd_edited(struct fix *f, const char *hex, const char *src, const char *dst)
{
	uint8_t bytes[256];
	size_t len = hex_bytes(hex, bytes);

	if (src)
		gid_of(src, bytes + 22);
	if (dst)
		gid_of(dst, bytes + 38);
	put_be16(bytes + 56, 0);
	put_be16(bytes + 56, csum_icmp6(bytes + 14, bytes + 54, len - 54));
	return fix_rx_bytes(f, bytes, len);
}

/* Where a solicitation may come from and go to (RFC 4861, 7.1.1). */
static void
nd_rx__addresses(void)
{
	static const struct {
		const char *hex, *src, *dst;
		enum drop_reason why;
	} t[] = {
		{ ND_B_ASKS, NULL, NULL, DROP_NONE },
		{ ND_B_ASKS, NULL, "fe80::ff:fe00:a02", DROP_NONE }, /* to us alone */
		{ ND_B_ASKS, NULL, "ff02::1", DROP_DST_GID },
		{ ND_B_ASKS, NULL, "ff02::1:ff00:a03", DROP_DST_GID }, /* another's group */
		{ ND_B_ASKS, "ff02::1", NULL, DROP_NOT_ROCE },
		{ ND_B_ASKS, "::ffff:10.0.0.9", NULL, DROP_NOT_ROCE },	/* ARP speaks for those */
		{ ND_B_ASKS, "::", NULL, DROP_NOT_ROCE }, /* no address, but a MAC to answer to */
		{ DAD, NULL, "fe80::ff:fe00:a02", DROP_DST_GID },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct fix *f = fix_new_started();

		CHECK_EQ(rx_nd_edited(f, t[i].hex, t[i].src, t[i].dst), t[i].why);
		CHECK_EQ(f->num_sent, t[i].why == DROP_NONE);
		fix_free(f);
	}
}

static void
nd_rx__options(void)
{
	static const struct {
		uint8_t opt[8];
		enum drop_reason why;
		bool learns;
	} t[] = {
		{ { 1, 1, 2, 0, 0, 0, 0x0a, 3 }, DROP_NONE, true },
		{ { 1, 0, 2, 0, 0, 0, 0x0a, 3 }, DROP_LENGTH, false }, /* no length: no end */
		{ { 1, 2, 2, 0, 0, 0, 0x0a, 3 }, DROP_LENGTH, false }, /* beyond the message */
		{ { 99, 1, 2, 0, 0, 0, 0x0a, 3 }, DROP_NONE, false },  /* unknown: skipped */
		{ { 1, 1, 3, 0, 0, 0, 0x0a, 3 }, DROP_NONE, false },   /* a group's MAC */
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct fix *f = fix_new_started();
		struct path p;
		uint8_t bytes[256];
		size_t len = hex_bytes(ND_B_ASKS, bytes);

		memcpy(bytes + len - 8, t[i].opt, 8);
		put_be16(bytes + 56, 0);
		put_be16(bytes + 56, csum_icmp6(bytes + 14, bytes + 54, len - 54));
		CHECK_EQ(fix_rx_bytes(f, bytes, len), t[i].why);
		CHECK_EQ(f->num_sent, t[i].why == DROP_NONE);
		CHECK_EQ(fix_open(f, &p, 0, "fe80::ff:fe00:a03"), 0);
		CHECK_EQ(p.ready, t[i].learns);
		path_close(f->net, &p);
		fix_free(f);
	}
}

/* The frame with a tag; tci 0xffff: none. */
static enum drop_reason
rx_tagged(struct fix *f, const char *hex, uint16_t tci)
{
	uint8_t bytes[256], tagged[260];
	size_t len = hex_bytes(hex, bytes);

	if (tci == 0xffff)
		return fix_rx_bytes(f, bytes, len);
	memcpy(tagged, bytes, 12);
	put_be16(put_be16(tagged + 12, 0x8100), tci);
	memcpy(tagged + 16, bytes + 12, len - 12);
	return fix_rx_bytes(f, tagged, len + 4);
}

/* Only our VLAN is ours, whatever the priority; no tag and VLAN 0 are the same. */
static void
net_rx__vlans(void)
{
	static const struct {
		uint16_t ours, theirs;
		bool taken;
	} t[] = {
		{ 0, 0xffff, true },	  { 0, 0, true },	  { 0, 0x6000, true },
		{ 0, 5, false },	  { 5, 5, true },	  { 5, 0xa005, true },
		{ 5, 6, false },	  { 5, 0xffff, false },	  { 0xa005, 5, true },
		{ 0x6000, 0xffff, true },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		static const char *const in[] = { ARP_B_ASKS, ND_B_ASKS, ECHO4, ECHO6 };

		for (int k = 0; k < 4; k++) {
			struct fix *f = fix_new();

			f->conf.vlan_tci = t[i].ours;
			CHECK(!fix_start(f));
			CHECK_EQ(rx_tagged(f, in[k], t[i].theirs),
				 t[i].taken ? DROP_NONE : DROP_L2);
			CHECK_EQ(f->num_sent, t[i].taken);
			if (t[i].taken && t[i].ours) {
				CHECK_EQ(get_be16(f->sent[0].bytes + 12), 0x8100);
				CHECK_EQ(get_be16(f->sent[0].bytes + 14), t[i].ours);
			}
			fix_free(f);
		}
	}
}

/* Somebody with our address is told of, once; our own frames coming back are not. */
static void
net_rx__address_conflict(void)
{
	struct fix *f = fix_new_started();
	uint8_t bytes[256];
	size_t len = hex_bytes(ARP_B_ASKS, bytes);

	bytes[31] = 2; /* sender 10.11.10.2 */
	CHECK_EQ(fix_rx_bytes(f, bytes, len), DROP_NONE);
	CHECK_EQ(fix_rx_bytes(f, bytes, len), DROP_NONE);
	CHECK_EQ(f->num_said, 1);
	CHECK(strstr(f->said, "10.11.10.2") && strstr(f->said, "02:00:00:00:0a:03"));
	fix_free(f);

	f = fix_new_started();
	net_announce(f->net);
	CHECK_EQ(f->num_sent, 2);
	for (unsigned int i = 0; i < 2; i++)
		CHECK_EQ(fix_rx_bytes(f, f->sent[i].bytes, f->sent[i].len), DROP_NONE);
	CHECK_EQ(f->num_sent, 2);
	CHECK_EQ(f->num_said, 0);
	fix_free(f);
}

static void
net_announce__every_address(void)
{
	struct fix *f = fix_new();

	fix_addr(f, "10.11.10.2", 16);
	fix_addr(f, "fd00::2", 64);
	CHECK(!fix_start(f));
	net_announce(f->net);
	CHECK_EQ(f->num_sent, 3);
	CHECK(fix_sent(f, 0, DAD_ANSWER)); /* unsolicited advertisement of the link-local one */
	CHECK(fix_sent(f, 1, "ffffffffffff020000000a0208060001080006040001020000000a020a0b0a02"
			     "0000000000000a0b0a02"));
	CHECK_EQ(get_be16(f->sent[2].bytes + 12), 0x86dd);
	fix_free(f);
}

static const struct check_case cases[] = {
	CHECK_CASE(net_rx__answers),
	CHECK_CASE(net_rx__leaves_what_is_not_ours),
	CHECK_CASE(icmp4_rx__headers),
	CHECK_CASE(icmp4_rx__echo_up_to_the_mtu),
	CHECK_CASE(net_rx__every_truncation_is_dropped),
	CHECK_CASE(net_rx__survives_anything),
	CHECK_CASE(nd_rx__addresses),
	CHECK_CASE(nd_rx__options),
	CHECK_CASE(net_rx__vlans),
	CHECK_CASE(net_rx__address_conflict),
	CHECK_CASE(net_announce__every_address),
};
CHECK_MAIN(cases)
