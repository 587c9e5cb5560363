/* SPDX-License-Identifier: BSD-3-Clause */
/* What queries from anybody on the link cost, those that are wrong and those that are too many. */
#include "net_group_fixture.h"

#include <errno.h>
#include <time.h>

#define MS UINT64_C(1000000)

/* However much is asked, the answers are ten times a second at most, and come when they would have. */
static void
group_query__storm(void)
{
	static const char *const queries[] = { Q3, Q3G, Q3S, MQ2, MQ2G };

	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		struct fix *f = fix_new_quiet();

		CHECK_EQ(join(f, groups4[0]), 0);
		CHECK_EQ(join(f, group6), 0);
		fix_pass(f, 10 * SEC);
		f->num_sent = 0;
		for (unsigned int k = 0; k < 100000; k++) {
			CHECK_EQ(fix_rx(f, queries[i]), DROP_NONE);
			fix_pass(f, MS / 10);
		}
		CHECK(f->num_sent >= 1);
		CHECK(f->num_sent <= 101);
		fix_pass(f, 10 * SEC);
		CHECK(f->num_sent <= 102);
		CHECK_EQ(net_wake_at(f->net), NET_NEVER);
		fix_free(f);
	}
}

/* ns of this thread for each query of a storm. */
static double
cost_of(struct fix *f, const uint8_t *query, size_t len)
{
	struct timespec from, to;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	for (unsigned int k = 0; k < 10000; k++)
		fix_rx_bytes(f, query, len);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / 10000;
}

/* Asking for all groups again and again costs about the same whether there are many or none. */
static void
group_query__storm_at_many_groups(void)
{
	static const char *const queries[] = { Q3, Q2, MQ2, MQ1 };
	uint8_t gid[16], query[256];

	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		size_t len = hex_bytes(queries[i], query);
		struct fix *f = fix_new_quiet();
		double none = cost_of(f, query, len);

		gid_of(i < 2 ? groups4[0] : group6, gid);
		for (uint32_t k = 0; k < NET_MAX_GROUPS; k++) {
			gid[13] = (uint8_t)(k >> 8);
			gid[14] = (uint8_t)k;
			CHECK_EQ(group_join(f->net, gid, f->now), 0);
		}
		CHECK(cost_of(f, query, len) < 20 * none + 1000);
		fix_free(f);
	}
}

/* A query with the time 0 is answered at once, one with a very long one does not put that off. */
static void
group_query__soonest_wins(void)
{
	struct fix *f = fix_new_quiet();
	uint8_t now[256], late[256];
	size_t len = hex_bytes(Q3, now);

	memcpy(late, now, len);
	late[39] = 0xff;	/* 31744 tenths of a second */
	now[39] = 0;
	for (int i = 0; i < 2; i++) {
		uint8_t *q = i ? now : late;

		put_be16(q + 40, 0);
		put_be16(q + 40, csum_fold(csum_add(0, q + 38, len - 38)));
	}
	CHECK_EQ(join(f, groups4[0]), 0);
	fix_pass(f, 10 * SEC);
	f->num_sent = 0;
	CHECK_EQ(fix_rx_bytes(f, late, len), DROP_NONE);
	CHECK(net_wake_at(f->net) < f->now + 3175 * SEC);
	CHECK_EQ(fix_rx_bytes(f, now, len), DROP_NONE);
	CHECK_EQ(fix_rx_bytes(f, late, len), DROP_NONE);
	fix_pass(f, 0);
	CHECK_EQ(f->num_sent, 1);
	CHECK(fix_sent(f, 0, IS4));
	fix_free(f);
}

/* Frames that differ from a good query at one byte; the checksums of IP and IGMP are put right. */
static void
igmp_rx__what_does_not_count(void)
{
	static const struct {
		const char *hex;
		unsigned int at;
		uint8_t byte;
		enum drop_reason why;
	} t[] = {
		{ Q3, 14, 0x44, DROP_L3 },	/* shorter than its header */
		{ Q3, 14, 0x4f, DROP_LENGTH },
		{ Q3, 14, 0x66, DROP_L3 },
		{ Q3, 17, 0x1f, DROP_LENGTH },	/* total length: no whole IGMP; the old one and one byte */
		{ Q3, 17, 0x21, DROP_LENGTH },
		{ Q3, 17, 0xff, DROP_LENGTH },
		{ Q3, 20, 0x20, DROP_FRAGMENT },
		{ Q3, 22, 2, DROP_L3 },		/* may come from another link */
		{ Q3, 30, 10, DROP_DST_GID },
		{ Q3, 38, 0x22, DROP_NOT_ROCE },	/* somebody's report */
		{ V2REP, 17, 0x20, DROP_NOT_ROCE },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct fix *f = fix_new_quiet();
		uint8_t b[256];
		size_t len = hex_bytes(t[i].hex, b), head, igmp_len;

		CHECK_EQ(join(f, groups4[0]), 0);
		fix_pass(f, 10 * SEC);
		b[t[i].at] = t[i].byte;
		head = (b[14] & 0xfu) * 4;
		put_be16(b + 24, 0);
		if (head >= 20 && 14 + head <= len)
			put_be16(b + 24, csum_fold(csum_add(0, b + 14, head)));
		put_be16(b + 40, 0);
		igmp_len = b[17] > 24 && b[17] < len - 14 ? b[17] - 24u : len - 38;
		put_be16(b + 40, csum_fold(csum_add(0, b + 38, igmp_len)));
		CHECK_EQ(fix_rx_bytes(f, b, len), t[i].why);
		CHECK_EQ(net_wake_at(f->net), NET_NEVER);
		fix_free(f);
	}
}

static void
mld_rx__what_does_not_count(void)
{
	static const struct {
		unsigned int at;
		uint8_t byte;
		enum drop_reason why;
	} t[] = {
		{ 19, 4, DROP_SHORT },	  { 19, 8, DROP_LENGTH },    { 19, 0xff, DROP_LENGTH },
		{ 21, 2, DROP_NOT_ROCE }, { 22, 0x20, DROP_NOT_ROCE }, { 38, 0xfe, DROP_DST_GID },
		{ 54, 17, DROP_NOT_ROCE }, { 55, 9, DROP_LENGTH },   { 56, 6, DROP_NOT_ROCE },
		{ 57, 7, DROP_NOT_ROCE }, { 59, 1, DROP_NOT_ROCE },  { 62, 143, DROP_NOT_ROCE },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct fix *f = fix_new_quiet();
		uint8_t b[256];
		size_t len = hex_bytes(MQ2, b);

		CHECK_EQ(join(f, group6), 0);
		fix_pass(f, 10 * SEC);
		b[t[i].at] = t[i].byte;
		put_be16(b + 64, 0);
		put_be16(b + 64, csum_icmp6(b + 14, b + 62, len - 62));
		CHECK_EQ(fix_rx_bytes(f, b, len), t[i].why);
		CHECK_EQ(net_wake_at(f->net), NET_NEVER);
		fix_free(f);
	}
}

/* Every truncation, and random changes with right checksums: nothing is read beyond the end (ASan
 * watches), and nothing is sent at once. */
static void
net_rx__queries_survive_anything(void)
{
	static const char *const frames[] = { Q3, Q3S, Q2, MQ2, MQ1 };
	struct fix *f = fix_new_quiet();
	uint64_t x = 88172645463325252u;

	CHECK_EQ(join(f, groups4[0]), 0);
	CHECK_EQ(join(f, group6), 0);
	f->num_sent = 0;
	for (unsigned int round = 0; round < 100000; round++) {
		uint8_t b[256] = { 0 };
		size_t len = hex_bytes(frames[round % 5], b);

		for (unsigned int change = round % 4; change; change--) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			b[x % len] = (uint8_t)(x >> 32);
		}
		if (round % 8 == 7)
			len = (x >> 20) % (len + 8);
		if (b[12] == 8 && len >= 42) {
			put_be16(b + 24, 0);
			put_be16(b + 24, csum_fold(csum_add(0, b + 14, 24)));
			put_be16(b + 40, 0);
			put_be16(b + 40, csum_fold(csum_add(0, b + 38, len - 38)));
		} else if (b[12] == 0x86 && len >= 66) {
			put_be16(b + 64, 0);
			put_be16(b + 64, csum_icmp6(b + 14, b + 62, len - 62));
		}
		(void)fix_rx_bytes(f, b, len);
		CHECK_EQ(f->num_sent, 0);
	}
	CHECK(f->cnt.cnt[CNT_RX_QUERY] > 10000);
	fix_free(f);
}

static void
group_gid(unsigned int i, bool ip6, uint8_t gid[16])
{
	static const uint8_t ip4[4] = { 239, 7 };

	gid_from_ip4(gid, ip4);
	if (ip6)
		gid_of("ff15::", gid);
	put_be16(gid + 14, (uint16_t)i);
}

/* As many as there is room for, in reports of the old version, one each: sixteen at a time. */
static void
group_join__full(void)
{
	for (int ip6 = 0; ip6 < 2; ip6++) {
		struct fix *f = fix_new_quiet();
		uint64_t before;
		uint8_t gid[16];

		for (unsigned int i = 0; i < NET_MAX_GROUPS; i++) {
			group_gid(i, ip6, gid);
			CHECK_EQ(group_join(f->net, gid, f->now), 0);
		}
		group_gid(NET_MAX_GROUPS, ip6, gid);
		CHECK(group_join(f->net, gid, f->now) == -ENOSPC);
		fix_pass(f, 10 * SEC);
		CHECK_EQ(fix_rx(f, ip6 ? MQ1 : Q2), DROP_NONE);
		f->num_sent = 0;
		for (before = 0; net_wake_at(f->net) != NET_NEVER; before = f->num_sent) {
			f->now = net_wake_at(f->net);
			net_timer(f->net, f->now);
			CHECK(f->num_sent - before <= 17);
		}
		CHECK_EQ(f->num_sent, NET_MAX_GROUPS);
		/* one that is being left makes room */
		group_gid(5, ip6, gid);
		CHECK_EQ(group_leave(f->net, gid, f->now), 0);
		group_gid(NET_MAX_GROUPS, ip6, gid);
		CHECK_EQ(group_join(f->net, gid, f->now), 0);
		fix_free(f);
	}
}

static const struct check_case cases[] = {
	CHECK_CASE(group_query__storm),
	CHECK_CASE(group_query__storm_at_many_groups),
	CHECK_CASE(group_query__soonest_wins),
	CHECK_CASE(igmp_rx__what_does_not_count),
	CHECK_CASE(mld_rx__what_does_not_count),
	CHECK_CASE(net_rx__queries_survive_anything),
	CHECK_CASE(group_join__full),
};
CHECK_MAIN(cases)
