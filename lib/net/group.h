/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which multicast groups have receivers here, and what of that the network has yet to hear. One table
 * of a fixed size; IGMP and MLD say the same in two encodings (RFC 3376 and 3810). Owning core.
 */
#ifndef NET_GROUP_H
#define NET_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GROUP_ROBUSTNESS 2u	/* so often a change is said */

struct net;

/* A record's type; the numbers of both protocols. What is excluded is no source, so all are heard. */
enum group_word {
	GROUP_IS_MEMBER = 2,	/* MODE_IS_EXCLUDE: the answer to a query */
	GROUP_LEAVES = 3,	/* CHANGE_TO_INCLUDE_MODE, of no source */
	GROUP_JOINS = 4,	/* CHANGE_TO_EXCLUDE_MODE */
};

struct group_record {
	const uint8_t *gid;
	enum group_word word;
};

struct group {
	uint8_t gid[16];
	uint32_t users;		/* 0: it is being left, or the slot is free */
	uint8_t changes;	/* times that its last change has yet to be said */
	uint64_t change_at;	/* when next; NET_NEVER */
	uint64_t answer_at;	/* when to answer a query; NET_NEVER */
};

enum group_family { GROUP_IP4, GROUP_IP6, GROUP_FAMILIES };

struct groups {
	struct group *slot;	/* NET_MAX_GROUPS */
	uint32_t used;		/* slots from here on are free */
	uint64_t wake;		/* not later than the first thing that is due, or NET_NEVER */
	uint64_t old_until[GROUP_FAMILIES];	/* a querier of the older version was heard */
	uint64_t quiet_until[GROUP_FAMILIES];	/* no answers before */
	uint64_t all_by[GROUP_FAMILIES];	/* an answer of every group is due by then, or NET_NEVER */
	uint64_t chance;	/* state of the random delays */
};

/* 0 or -ENOMEM. */
int groups_init(struct groups *g);
void groups_fini(struct groups *g);
/* Says what is due. */
void groups_timer(struct net *n, uint64_t now);
/* The link came up: all that are joined are due to be said as if they had just been. */
void groups_announce(struct net *n);

struct group_query {
	enum group_family family;
	const uint8_t *gid;	/* of one group, or NULL: of all */
	uint64_t within;	/* ns that the answer may take */
	bool old;		/* of a querier that knows IGMPv2 or MLDv1 only */
};
void group_query(struct net *n, const struct group_query *q, uint64_t now);

/* igmp.c, mld.c: sends one report with all records, of which there are at most so many. */
#define IGMP_RECORDS 64u
#define MLD_RECORDS 24u
void igmp_report(struct net *n, const struct group_record *r, size_t num);
void mld_report(struct net *n, const struct group_record *r, size_t num);
/* The same in the older version, which has a message for each group. */
void igmp_report_old(struct net *n, const struct group_record *r);
void mld_report_old(struct net *n, const struct group_record *r);

#endif
