/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which multicast groups are received here, and who must be told? Members join and leave; changes are
 * said at once and once more, queries are answered within the time they allow. Called by who attaches
 * receivers, by igmp.c and mld.c with queries, and by net_timer(); owning core.
 *
 * Queries come from anybody on the link. Whatever they ask, nothing is stored but a time for each group
 * that is joined anyhow, and answers go out at most ten times a second, some frames each time.
 */
#include "net/group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "net/net_priv.h"

#define MSEC UINT64_C(1000000)
#define QUIET_NS (100 * MSEC)	/* between answers, and between parts of what is too much at once */
#define MAX_FRAMES 16u		/* at a time */
/* Older Version Querier Present Timeout without the response interval (RFC 3376, 8.12; 3810, 9.12) */
#define OLD_NS (GROUP_ROBUSTNESS * 125000 * MSEC)
#define MAX_RECORDS 64u

/* What differs between the two. */
static const struct group_protocol {
	void (*report)(struct net *n, const struct group_record *r, size_t num);
	void (*report_old)(struct net *n, const struct group_record *r);
	size_t max_records;
	uint64_t again_ns, again_old_ns;	/* Unsolicited Report Interval of either version */
} protocols[GROUP_FAMILIES] = {
	[GROUP_IP4] = { igmp_report, igmp_report_old, IGMP_RECORDS, 1000 * MSEC, 10000 * MSEC },
	[GROUP_IP6] = { mld_report, mld_report_old, MLD_RECORDS, 1000 * MSEC, 10000 * MSEC },
};
_Static_assert(IGMP_RECORDS <= MAX_RECORDS && MLD_RECORDS <= MAX_RECORDS, "both fit");

/* A report that is being filled. */
struct saying {
	struct net *n;
	enum group_family family;
	bool old;
	uint32_t frames;	/* sent */
	size_t num;
	struct group_record record[MAX_RECORDS];
};

int
groups_init(struct groups *g)
{
	g->slot = calloc(NET_MAX_GROUPS, sizeof(*g->slot));
	g->wake = NET_NEVER;
	for (enum group_family f = 0; f < GROUP_FAMILIES; f++)
		g->all_by[f] = NET_NEVER;
	g->chance = random_u64() | 1;
	return g->slot ? 0 : -ENOMEM;
}

void
groups_fini(struct groups *g)
{
	free(g->slot);
	g->slot = NULL;
}

static enum group_family
family_of(const uint8_t gid[16])
{
	return gid_is_ip4(gid) ? GROUP_IP4 : GROUP_IP6;
}

/* All hosts are in the first two for ever, and what never leaves an interface is not the network's
 * (RFC 3376, 6; RFC 3810, 6). */
static bool
is_said(const uint8_t gid[16])
{
	static const uint8_t all_hosts[4] = { 224, 0, 0, 1 }, all_nodes[16] = { 0xff, 0x02, [15] = 1 };

	if (gid_is_ip4(gid))
		return memcmp(gid + 12, all_hosts, 4) != 0;
	return (gid[1] & 0xf) > 1 && !gid_equal(gid, all_nodes);
}

/* 0 up to, but without, `below`: a delay that others do not choose, too. xorshift64 */
static uint64_t
delay(struct groups *g, uint64_t below)
{
	g->chance ^= g->chance << 13;
	g->chance ^= g->chance >> 7;
	g->chance ^= g->chance << 17;
	return below ? g->chance % below : 0;
}

static void
wake_by(struct groups *g, uint64_t at)
{
	if (at < g->wake)
		g->wake = at;
}

static struct group *
find(struct groups *g, const uint8_t gid[16])
{
	for (uint32_t i = 0; i < g->used; i++)
		if (gid_equal(g->slot[i].gid, gid))
			return &g->slot[i];
	return NULL;
}

/* One that is being left was said to be once: if there is no other room, that must do. */
static struct group *
make(struct groups *g, const uint8_t gid[16])
{
	struct group *e = NULL;

	if (g->used < NET_MAX_GROUPS)
		e = &g->slot[g->used++];
	for (uint32_t i = 0; i < g->used && !e; i++)
		if (g->slot[i].users == 0)
			e = &g->slot[i];
	if (!e)
		return NULL;
	memcpy(e->gid, gid, 16);
	e->users = 0;
	e->changes = 0;
	e->change_at = e->answer_at = NET_NEVER;
	return e;
}

/* The last slot moves into its place. */
static void
forget(struct groups *g, struct group *e)
{
	*e = g->slot[--g->used];
}

static void
send(struct saying *s)
{
	if (s->num)
		protocols[s->family].report(s->n, s->record, s->num);
	s->num = 0;
}

static void
say(struct saying *s, const struct group *e, enum group_word word)
{
	const struct group_protocol *p = &protocols[s->family];
	struct group_record *r = &s->record[s->num++];

	*r = (struct group_record){ e->gid, word };
	if (s->old) {
		p->report_old(s->n, r);
		s->num = 0;
		s->frames++;
	} else if (s->num == p->max_records) {
		send(s);
		s->frames++;
	}
}

static struct saying
begin(struct net *n, enum group_family family, uint64_t now)
{
	return (struct saying){ .n = n, .family = family, .old = now < n->groups.old_until[family] };
}

/* Says the group's change once, and sets the time of the next. */
static void
say_change(struct saying *s, struct group *e, uint64_t now)
{
	struct groups *g = &s->n->groups;
	const struct group_protocol *p = &protocols[s->family];

	say(s, e, e->users ? GROUP_JOINS : GROUP_LEAVES);
	e->changes--;
	e->change_at = NET_NEVER;
	if (e->changes)
		e->change_at = now + delay(g, s->old ? p->again_old_ns : p->again_ns);
	wake_by(g, e->change_at);
}

/* It was joined or left just now. */
static void
changed(struct net *n, struct group *e, uint64_t now)
{
	struct saying s = begin(n, family_of(e->gid), now);

	e->answer_at = n->groups.all_by[family_of(e->gid)] = NET_NEVER;
	if (!is_said(e->gid)) {
		if (!e->users)
			forget(&n->groups, e);
		return;
	}
	e->changes = GROUP_ROBUSTNESS;
	say_change(&s, e, now);
	send(&s);
}

int
group_join(struct net *n, const uint8_t gid[16], uint64_t now)
{
	struct group *e;

	if (!wire_gid_is_group(gid))
		return -EINVAL;
	e = find(&n->groups, gid);
	if (!e)
		e = make(&n->groups, gid);
	if (!e)
		return -ENOSPC;
	if (e->users++ == 0)
		changed(n, e, now);
	return 0;
}

int
group_leave(struct net *n, const uint8_t gid[16], uint64_t now)
{
	struct group *e = find(&n->groups, gid);

	if (!e || !e->users)
		return -EINVAL;
	if (--e->users == 0)
		changed(n, e, now);
	return 0;
}

void
groups_announce(struct net *n)
{
	struct groups *g = &n->groups;

	for (uint32_t i = 0; i < g->used; i++) {
		struct group *e = &g->slot[i];

		if (!e->users || !is_said(e->gid))
			continue;
		e->changes = GROUP_ROBUSTNESS;
		e->change_at = 0;
		g->wake = 0;
	}
}

/* Of one family: all that is due, or as much as may go at a time; when something is again. */
static uint64_t
tick(struct net *n, enum group_family family, uint64_t now)
{
	struct groups *g = &n->groups;
	struct saying s = begin(n, family, now);
	uint64_t next = NET_NEVER, answers = NET_NEVER;
	bool answered = false, quiet = now < g->quiet_until[family];

	for (uint32_t i = 0; i < g->used; i++) {
		struct group *e = &g->slot[i];

		if (family_of(e->gid) != family)
			continue;
		if (e->change_at <= now && s.frames < MAX_FRAMES) {
			say_change(&s, e, now);
		} else if (e->answer_at <= now && !quiet && s.frames < MAX_FRAMES) {
			say(&s, e, GROUP_IS_MEMBER);
			e->answer_at = NET_NEVER;
			answered = true;
		}
		if (e->change_at < next)
			next = e->change_at;
		if (e->answer_at < answers)
			answers = e->answer_at;
	}
	send(&s);
	if (answered) {
		g->quiet_until[family] = now + QUIET_NS;
		g->all_by[family] = NET_NEVER;
	}
	if (answers != NET_NEVER && answers < g->quiet_until[family])
		answers = g->quiet_until[family];
	if (answers < next)
		next = answers;
	return next > now ? next : now + QUIET_NS;
}

/* Those that were left, as often as it has to be said. */
static void
sweep(struct groups *g)
{
	for (uint32_t i = g->used; i-- > 0; )
		if (!g->slot[i].users && !g->slot[i].changes)
			forget(g, &g->slot[i]);
}

void
groups_timer(struct net *n, uint64_t now)
{
	struct groups *g = &n->groups;

	if (now < g->wake)
		return;
	g->wake = NET_NEVER;
	for (enum group_family f = 0; f < GROUP_FAMILIES; f++)
		wake_by(g, tick(n, f, now));
	sweep(g);
}

/* Its answer is due at `at` at the latest. */
static void
ask(struct groups *g, const struct group_query *q, struct group *e, uint64_t at)
{
	uint64_t quiet_until = g->quiet_until[q->family];

	if (!e->users || family_of(e->gid) != q->family || !is_said(e->gid))
		return;
	if (at < e->answer_at)
		e->answer_at = at;
	wake_by(g, e->answer_at > quiet_until ? e->answer_at : quiet_until);
}

/*
 * An earlier answer that is due stays so: nobody can put one off by asking again. A question about
 * sources gets the answer for the whole group, which includes it, and nothing is kept of them. The
 * new versions answer for all groups in one report, the old ones one by one at times of their own.
 * Who asks for all that will be said in time anyhow changes nothing, and costs nothing.
 */
void
group_query(struct net *n, const struct group_query *q, uint64_t now)
{
	struct groups *g = &n->groups;
	uint64_t at = now + delay(g, q->within);
	struct group *e = q->gid ? find(g, q->gid) : NULL;

	if (e)
		ask(g, q, e, at);
	if (q->gid)
		return;
	if (q->old)
		g->old_until[q->family] = now + OLD_NS + q->within;
	if (g->all_by[q->family] <= now + q->within)
		return;
	g->all_by[q->family] = q->old ? now + q->within : at;
	for (uint32_t i = 0; i < g->used; i++) {
		ask(g, q, &g->slot[i], at);
		if (q->old)
			at = now + delay(g, q->within);
	}
}
