/* SPDX-License-Identifier: BSD-3-Clause */
/* Neighbours in virtual time: asking, refreshing, moving, forgetting. */
#include "net_fixture.h"

#include <errno.h>

struct seen {
	unsigned int calls;
	struct net *close_in;	/* closes the path in the call */
};

static void
on_change(struct path *p, void *arg)
{
	struct seen *s = arg;

	s->calls++;
	if (s->close_in)
		path_close(s->close_in, p);
}

/* Three tries a second apart, one line, then every five seconds for as long as a path wants it. */
static void
neigh__retries(void)
{
	static const struct {
		uint32_t sgid;
		const char *dst, *how;
	} t[] = { { 1, "10.11.0.9", "ARP" }, { 0, "fe80::9", "ND" } };

	for (int i = 0; i < 2; i++) {
		struct fix *f = fix_new_started();
		struct path p, other;

		CHECK_EQ(fix_open(f, &p, t[i].sgid, t[i].dst), 0);
		CHECK_EQ(f->num_sent, 1);
		CHECK_EQ(net_wake_at(f->net), f->now + SEC);
		fix_pass(f, SEC - 1);
		CHECK_EQ(f->num_sent, 1);
		fix_pass(f, 1);
		CHECK_EQ(f->num_sent, 2);
		fix_pass(f, SEC);
		CHECK_EQ(f->num_sent, 3);
		CHECK_EQ(f->num_said, 0);
		fix_pass(f, SEC);
		CHECK_EQ(f->num_sent, 3);
		CHECK_EQ(f->num_said, 1);
		CHECK(strstr(f->said, t[i].dst) && strstr(f->said, t[i].how));
		fix_pass(f, 50 * SEC);
		CHECK_EQ(f->num_sent, 13);
		/* another path to it neither asks more nor says it again */
		CHECK_EQ(fix_open(f, &other, t[i].sgid, t[i].dst), 0);
		path_close(f->net, &p);
		fix_pass(f, 50 * SEC);
		CHECK_EQ(f->num_sent, 23);
		CHECK_EQ(f->num_said, 1);
		path_close(f->net, &other);
		fix_pass(f, 50 * SEC);
		CHECK_EQ(f->num_sent, 23);
		CHECK_EQ(net_wake_at(f->net), NET_NEVER);
		fix_free(f);
	}
}

/* The link comes up: who has no MAC yet is asked at once. */
static void
net_announce__hurries(void)
{
	struct fix *f = fix_new_started();
	struct path p;

	CHECK_EQ(fix_open(f, &p, 1, "10.11.10.3"), 0);
	fix_pass(f, 9 * SEC);
	f->num_sent = 0;
	net_announce(f->net);
	CHECK_EQ(f->num_sent, 2);
	fix_pass(f, 0);
	CHECK_EQ(f->num_sent, 3);
	CHECK(fix_sent(f, 2, ARP_A_ASKS));
	fix_pass(f, 2 * SEC);
	CHECK_EQ(f->num_sent, 5);
	fix_pass(f, 2 * SEC); /* silent again, which was said */
	CHECK_EQ(f->num_said, 1);
	CHECK_EQ(fix_rx(f, ARP_B_ANSWERS), DROP_NONE);
	CHECK(p.ready);
	net_announce(f->net);
	fix_pass(f, 0);
	CHECK_EQ(f->num_sent, 7); /* only the announcements */
	path_close(f->net, &p);
	fix_free(f);
}

/* A neighbour that is in use is asked for itself after 30 s without news; its traffic is news. */
static void
neigh__refresh(void)
{
	struct fix *f = fix_new_started();
	struct path p;
	uint8_t gid_b[16], unicast[64];
	size_t len = hex_bytes(ARP_A_ASKS, unicast);

	memcpy(unicast, mac_b, 6);
	gid_of("10.11.10.3", gid_b);
	CHECK_EQ(fix_rx(f, ARP_B_ASKS), DROP_NONE);
	CHECK_EQ(fix_open(f, &p, 1, "10.11.10.3"), 0);
	f->num_sent = 0;
	fix_pass(f, 29 * SEC);
	net_confirm(f->net, gid_b, mac_b, f->now);
	fix_pass(f, 30 * SEC - 1);
	CHECK_EQ(f->num_sent, 0);
	net_confirm(f->net, gid_b, mac_a, f->now); /* another MAC confirms nothing */
	fix_pass(f, 1);
	CHECK_EQ(f->num_sent, 1);
	CHECK_EQ(f->sent[0].len, len);
	CHECK_MEM(f->sent[0].bytes, unicast, len);
	CHECK(p.ready);
	CHECK_EQ(fix_rx(f, ARP_B_ANSWERS), DROP_NONE);
	fix_pass(f, 30 * SEC - 1);
	CHECK_EQ(f->num_sent, 1);
	/* no answer: three of these, one line, then everybody is asked; the path stays */
	fix_pass(f, 1 + 3 * SEC);
	CHECK_EQ(f->num_sent, 4);
	CHECK_EQ(f->num_said, 1);
	fix_pass(f, 5 * SEC);
	CHECK(fix_sent(f, 4, ARP_A_ASKS));
	CHECK(p.ready);
	net_confirm(f->net, gid_b, mac_b, f->now);
	fix_pass(f, 29 * SEC);
	CHECK_EQ(f->num_sent, 5);
	path_close(f->net, &p);
	fix_free(f);
}

/* Confirmation never makes a neighbour. */
static void
net_confirm__unknown(void)
{
	struct fix *f = fix_new_started();
	struct path p;
	uint8_t gid_b[16];

	gid_of("10.11.10.3", gid_b);
	net_confirm(f->net, gid_b, mac_b, f->now);
	CHECK_EQ(fix_open(f, &p, 1, "10.11.10.3"), 0);
	CHECK(!p.ready);
	net_confirm(f->net, gid_b, mac_b, f->now);
	CHECK(!p.ready);
	path_close(f->net, &p);
	fix_free(f);
}

/* A neighbour moves to another MAC: every path learns it, and each may close itself then. */
static void
neigh__mac_changes(void)
{
	struct fix *f = fix_new_started();
	struct seen seen[3] = { { 0 }, { 0, f->net }, { 0 } };
	struct path p[3];
	struct path_req req = { .sgid_index = 1, .udp_sport = 0xc001 };
	uint8_t bytes[256];
	size_t len = hex_bytes(ARP_B_ASKS, bytes);

	gid_of("10.11.10.3", req.dgid);
	CHECK_EQ(fix_rx(f, ARP_B_ASKS), DROP_NONE);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(path_open(f->net, &p[i], &req, f->now, on_change, &seen[i]), 0);
	CHECK_EQ(seen[0].calls, 0);
	bytes[11] = bytes[27] = 0x33;
	bytes[41] = 3; /* announces itself: sender and target 10.11.10.3 */
	CHECK_EQ(fix_rx_bytes(f, bytes, len), DROP_NONE);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(seen[i].calls, 1);
	CHECK_EQ(p[0].tmpl.bytes[5], 0x33);
	CHECK_EQ(p[2].tmpl.bytes[5], 0x33);
	CHECK(!p[1].ready && p[0].ready && p[2].ready);
	path_close(f->net, &p[0]);
	path_close(f->net, &p[2]);
	fix_free(f);
}

/* An advertisement without the override flag does not replace a MAC that we have. */
static void
nd_rx__override(void)
{
	struct fix *f = fix_new_started();
	struct path p;
	uint8_t bytes[256];
	size_t len = hex_bytes(ND_B_ANSWERS, bytes);

	CHECK_EQ(fix_open(f, &p, 0, "fe80::ff:fe00:a03"), 0);
	CHECK_EQ(fix_rx(f, ND_B_ANSWERS), DROP_NONE);
	CHECK_EQ(p.tmpl.bytes[5], 3);
	for (int override = 0; override < 2; override++) {
		bytes[58] = override ? 0x60 : 0x40;
		bytes[len - 1] = 0x44;
		put_be16(bytes + 56, 0);
		put_be16(bytes + 56, csum_icmp6(bytes + 14, bytes + 54, len - 54));
		CHECK_EQ(fix_rx_bytes(f, bytes, len), DROP_NONE);
		CHECK_EQ(p.tmpl.bytes[5], override ? 0x44 : 3);
	}
	path_close(f->net, &p);
	fix_free(f);
}

/* The i-th neighbour asks us. */
static void
asked_by(struct fix *f, unsigned int i)
{
	uint8_t bytes[64];
	size_t len = hex_bytes(ARP_B_ASKS, bytes);

	put_be16(bytes + 30, (uint16_t)(0x2000 + i));
	put_be16(bytes + 10, (uint16_t)(0x2000 + i));
	put_be16(bytes + 26, (uint16_t)(0x2000 + i));
	(void)fix_rx_bytes(f, bytes, len);
}

static bool
knows(struct fix *f, unsigned int i)
{
	struct path p;
	char text[32];
	bool ready;

	snprintf(text, sizeof(text), "10.11.%u.%u", (0x2000 + i) >> 8, (0x2000 + i) & 0xff);
	if (fix_open(f, &p, 1, text) != 0)
		return false;
	ready = p.ready;
	path_close(f->net, &p);
	return ready;
}

/* The table is bounded: the one unused for longest goes, never one with a path. */
static void
neigh__table_is_bounded(void)
{
	struct fix *f = fix_new_started();
	struct path p;

	asked_by(f, 0);
	asked_by(f, 1);
	CHECK_EQ(fix_open(f, &p, 1, "10.11.32.0"), 0);
	CHECK(p.ready);
	for (unsigned int i = 2; i < NEIGH_MAX; i++)
		asked_by(f, i);
	CHECK(knows(f, 1)); /* which makes it the one used last */
	asked_by(f, 2);	    /* and hearing of it again this one */
	asked_by(f, NEIGH_MAX);
	CHECK(knows(f, 1) && knows(f, 2) && knows(f, NEIGH_MAX) && p.ready);
	CHECK(!knows(f, 3));
	for (unsigned int i = 0; i < 3 * NEIGH_MAX; i++)
		asked_by(f, 1 + i);
	CHECK(p.ready && p.neigh->state == NEIGH_FRESH);
	CHECK_EQ(p.tmpl.bytes[4], 0x20);
	CHECK_EQ(p.tmpl.bytes[5], 0);
	path_close(f->net, &p);
	fix_free(f);
}

static unsigned int
length(const struct list *l)
{
	unsigned int n = 0;

	list_for_each(node, l)
		n++;
	return n;
}

/* Neighbours in sequence, as on every subnet, spread over the buckets: one of 4096 then holds more
 * than 12 once in 100000 runs. What is evicted leaves its bucket. */
static void
neigh__buckets(void)
{
	struct fix *f = fix_new_started();
	unsigned int all = 0, longest = 0;

	for (unsigned int i = 0; i < 2 * NEIGH_MAX; i++)
		asked_by(f, i);
	for (unsigned int i = 0; i < NEIGH_BUCKETS; i++) {
		unsigned int n = length(&f->net->neigh.buckets[i]);

		all += n;
		longest = n > longest ? n : longest;
	}
	CHECK_EQ(all, NEIGH_MAX);
	CHECK(longest <= 12);
	CHECK_EQ(length(&f->net->neigh.idle), NEIGH_MAX);
	fix_free(f);
}

/* Every slot in use: no more, until one is given back. */
static void
path_open__table_full(void)
{
	struct fix *f = fix_new_started();
	struct path *p = calloc(NEIGH_MAX + 1, sizeof(*p));
	char text[32];

	CHECK(p);
	for (unsigned int i = 0; i < NEIGH_MAX + 1; i++) {
		snprintf(text, sizeof(text), "10.11.%u.%u", (0x2000 + i) >> 8, i & 0xff);
		CHECK(fix_open(f, &p[i], 1, text) == (i < NEIGH_MAX ? 0 : -ENOMEM));
	}
	asked_by(f, NEIGH_MAX); /* is answered all the same */
	CHECK_EQ(f->num_sent, NEIGH_MAX + 1);
	path_close(f->net, &p[7]);
	CHECK_EQ(fix_open(f, &p[NEIGH_MAX], 1, text), 0);
	fix_pass(f, 20 * SEC);
	for (unsigned int i = 0; i < NEIGH_MAX + 1; i++)
		path_close(f->net, &p[i]);
	CHECK_EQ(f->num_said, NEIGH_MAX);
	free(p);
	fix_free(f);
}

static const struct check_case cases[] = {
	CHECK_CASE(neigh__retries),
	CHECK_CASE(net_announce__hurries),
	CHECK_CASE(neigh__refresh),
	CHECK_CASE(net_confirm__unknown),
	CHECK_CASE(neigh__mac_changes),
	CHECK_CASE(nd_rx__override),
	CHECK_CASE(neigh__table_is_bounded),
	CHECK_CASE(neigh__buckets),
	CHECK_CASE(path_open__table_full),
};
CHECK_MAIN(cases)
