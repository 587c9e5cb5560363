/* SPDX-License-Identifier: BSD-3-Clause */
/* Membership of multicast groups in virtual time: what is said, when and how often. */
#include "net_group_fixture.h"

#include <errno.h>

/* The first receiver is announced and the last one that leaves, each twice; nobody in between. */
static void
group_join__says_changes_twice(void)
{
	static const struct {
		const char *group, *joins, *leaves;
	} t[] = { { "239.1.2.3", JOIN4, LEAVE4 }, { "ff15::77:1", JOIN6, LEAVE6 } };

	for (size_t i = 0; i < 2; i++) {
		struct fix *f = fix_new_quiet();

		CHECK_EQ(join(f, t[i].group), 0);
		CHECK_EQ(f->num_sent, 1);
		CHECK(fix_sent(f, 0, t[i].joins));
		CHECK_EQ(join(f, t[i].group), 0);
		fix_pass(f, SEC);
		CHECK_EQ(f->num_sent, 2);
		CHECK(fix_sent(f, 1, t[i].joins));
		fix_pass(f, 1000 * SEC);
		CHECK_EQ(leave(f, t[i].group), 0);
		CHECK_EQ(f->num_sent, 2);
		CHECK_EQ(leave(f, t[i].group), 0);
		CHECK_EQ(f->num_sent, 3);
		CHECK(fix_sent(f, 2, t[i].leaves));
		fix_pass(f, SEC);
		CHECK_EQ(f->num_sent, 4);
		CHECK(fix_sent(f, 3, t[i].leaves));
		CHECK(leave(f, t[i].group) == -EINVAL);
		fix_pass(f, 1000 * SEC);
		CHECK_EQ(f->num_sent, 4);
		CHECK_EQ(net_wake_at(f->net), NET_NEVER);
		fix_free(f);
	}
}

/* Who comes back before the leaving was said twice says so twice, and nothing of the leaving any more. */
static void
group_join__again_at_once(void)
{
	struct fix *f = fix_new_quiet();

	CHECK_EQ(join(f, groups4[0]), 0);
	CHECK_EQ(leave(f, groups4[0]), 0);
	CHECK_EQ(join(f, groups4[0]), 0);
	CHECK_EQ(f->num_sent, 3);
	fix_pass(f, 10 * SEC);
	CHECK_EQ(f->num_sent, 4);
	CHECK(fix_sent(f, 3, JOIN4));
	fix_free(f);
}

/* What is no group cannot be joined; what every host is in, or never leaves it, is not said. */
static void
group_join__which(void)
{
	static const struct {
		const char *gid;
		int ret;
		unsigned int sent;
	} t[] = {
		{ "10.11.10.3", -EINVAL, 0 }, { "223.255.255.255", -EINVAL, 0 },
		{ "240.0.0.1", -EINVAL, 0 },  { "255.255.255.255", -EINVAL, 0 },
		{ "fe80::1", -EINVAL, 0 },    { "::", -EINVAL, 0 },
		{ "224.0.0.1", 0, 0 },	      { "224.0.0.251", 0, 1 },
		{ "ff02::1", 0, 0 },	      { "ff01::7", 0, 0 },
		{ "ff10::7", 0, 0 },	      { "ff02::fb", 0, 1 },
		{ "ff0e::1", 0, 1 },	      { "239.255.255.255", 0, 1 },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct fix *f = fix_new_quiet();

		CHECK(join(f, t[i].gid) == t[i].ret);
		CHECK_EQ(f->num_sent, t[i].sent);
		CHECK(leave(f, t[i].gid) == t[i].ret);
		CHECK_EQ(f->num_sent, 2 * t[i].sent);
		fix_pass(f, 10 * SEC);
		CHECK_EQ(net_wake_at(f->net), NET_NEVER);
		fix_free(f);
	}
}

/* Each kind of query, its answer, and the time that it may take. */
static void
group_query__answers(void)
{
	static const struct {
		const char *query, *answer;
		uint64_t within;
	} t[] = {
		{ Q3, IS4, 10 * SEC },	 { Q3G, IS4, SEC },	{ Q3S, IS4, SEC },
		{ Q2, V2REP, 10 * SEC }, { Q1, V2REP, 10 * SEC }, { MQ2, IS6, 10 * SEC },
		{ MQ2G, IS6, SEC },	 { MQ1, V1REP, 10 * SEC },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct fix *f = fix_new_quiet();

		CHECK_EQ(join(f, groups4[0]), 0);
		CHECK_EQ(join(f, group6), 0);
		fix_pass(f, 10 * SEC);
		f->num_sent = 0;
		CHECK_EQ(fix_rx(f, t[i].query), DROP_NONE);
		CHECK_EQ(f->cnt.cnt[CNT_RX_QUERY], 1);
		CHECK_EQ(f->num_sent, 0);
		CHECK(net_wake_at(f->net) <= f->now + t[i].within);
		fix_pass(f, t[i].within);
		CHECK_EQ(f->num_sent, 1);
		CHECK(fix_sent(f, 0, t[i].answer));
		fix_pass(f, 1000 * SEC);
		CHECK_EQ(f->num_sent, 1);
		fix_free(f);
	}
}

/* One report for all groups; none for one that is not joined, or no more. */
static void
group_query__all_in_one(void)
{
	struct fix *f = fix_new_quiet();

	CHECK_EQ(join(f, groups4[0]), 0);
	CHECK_EQ(join(f, groups4[1]), 0);
	CHECK_EQ(join(f, "239.9.9.9"), 0);
	CHECK_EQ(leave(f, "239.9.9.9"), 0);
	f->num_sent = 0;
	CHECK_EQ(fix_rx(f, MQ2), DROP_NONE);
	CHECK_EQ(fix_rx(f, MQ2G), DROP_NONE);
	fix_pass(f, 20 * SEC);
	f->num_sent = 0;
	CHECK_EQ(fix_rx(f, Q3), DROP_NONE);
	fix_pass(f, 10 * SEC);
	CHECK_EQ(f->num_sent, 1);
	CHECK(fix_sent(f, 0, IS4x2));
	fix_free(f);
}

/* A querier of the old version makes us speak it, until it was silent for long enough. */
static void
group_query__old_version(void)
{
	static const struct {
		const char *group, *query, *joins, *leaves, *new_joins;
	} t[] = {
		{ "239.1.2.3", Q2, V2REP, V2LEAVE, JOIN4 },
		{ "ff15::77:1", MQ1, V1REP, V1DONE, JOIN6 },
	};

	for (size_t i = 0; i < 2; i++) {
		struct fix *f = fix_new_quiet();

		CHECK_EQ(fix_rx(f, t[i].query), DROP_NONE);
		fix_pass(f, 259 * SEC);
		CHECK_EQ(join(f, t[i].group), 0);
		CHECK(fix_sent(f, 0, t[i].joins));
		CHECK_EQ(leave(f, t[i].group), 0);
		CHECK(fix_sent(f, 1, t[i].leaves));
		fix_pass(f, SEC);
		f->num_sent = 0;
		CHECK_EQ(join(f, t[i].group), 0);
		CHECK(fix_sent(f, 0, t[i].new_joins));
		fix_free(f);
	}
}

/* The link comes up: all groups are announced as if new, the others by name. */
static void
net_announce__groups(void)
{
	struct fix *f = fix_new_quiet();

	CHECK_EQ(join(f, groups4[0]), 0);
	CHECK_EQ(join(f, "224.0.0.1"), 0);
	CHECK_EQ(join(f, "239.9.9.9"), 0);
	CHECK_EQ(leave(f, "239.9.9.9"), 0);
	fix_pass(f, 10 * SEC);
	f->num_sent = 0;
	net_announce(f->net);
	CHECK_EQ(f->num_sent, 2);
	fix_pass(f, 0);
	CHECK_EQ(f->num_sent, 3);
	CHECK(fix_sent(f, 2, JOIN4));
	fix_pass(f, 10 * SEC);
	CHECK_EQ(f->num_sent, 4);
	CHECK(fix_sent(f, 3, JOIN4));
	fix_free(f);
}

/* A host without an IPv4 address reports as nobody. */
static void
igmp_report__without_address(void)
{
	static const uint8_t nobody[4];
	struct fix *f = fix_new();

	fix_addr(f, "fd00::2", 64);
	CHECK(!fix_start(f));
	CHECK_EQ(join(f, groups4[0]), 0);
	CHECK_MEM(f->sent[0].bytes + 26, nobody, 4);
	fix_free(f);
}

static const struct check_case cases[] = {
	CHECK_CASE(group_join__says_changes_twice),
	CHECK_CASE(group_join__again_at_once),
	CHECK_CASE(group_join__which),
	CHECK_CASE(group_query__answers),
	CHECK_CASE(group_query__all_in_one),
	CHECK_CASE(group_query__old_version),
	CHECK_CASE(net_announce__groups),
	CHECK_CASE(igmp_report__without_address),
};
CHECK_MAIN(cases)
