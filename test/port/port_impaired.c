/* SPDX-License-Identifier: BSD-3-Clause */
/* The impair driver on a loop: what was asked for happens, as often as asked, and nothing else. */
#include "fate.h"
#include "port_rig.h"

#define LEN 200u
#define MOST 400000u

/* X(name): what the driver counts */
#define COUNTER_LIST(X) \
	X(received) X(dropped) X(duplicated) X(reordered) X(delayed) X(corrupted) X(marked) X(early) \
	X(unchanged)

struct counters {
#define COUNTER_MEMBER(name) uint64_t name;
	COUNTER_LIST(COUNTER_MEMBER)
#undef COUNTER_MEMBER
};

static struct port top;
static uint32_t got[MOST];	/* numbers of the frames that came out, in order */
static uint32_t num_got;
static uint32_t wrong;		/* that did not come out as they went in */
static bool in_place;		/* a frame's number is its place, not what it says */

static int
on(struct rig *r, const char *args)
{
	num_got = wrong = 0;
	return port_stack(&top, "impair", &r->port, args, r->why, sizeof(r->why));
}

/* Closes the upper port alone: what it held is back then, so all buffers are. */
static bool
off(struct rig *r)
{
	top.drv->close(&top);
	top.drv = NULL;
	return rig_in_use(r) == 0;
}

static void
take_counter(void *arg, const char *name, const char *text, uint64_t n)
{
	struct counters *c = arg;

	(void)text;
#define COUNTER_TAKE(member) \
	if (strcmp(name, #member) == 0) \
		c->member = n;
	COUNTER_LIST(COUNTER_TAKE)
#undef COUNTER_TAKE
}

static struct counters
counted(void)
{
	struct counters c;

	memset(&c, 0xff, sizeof(c));
	top.drv->counters(&top, take_counter, &c);
	return c;
}

/* Between what the chance p makes of n: five standard deviations. */
static bool
fair(uint64_t is, uint32_t n, double p)
{
	double off_by = (double)is - p * n;

	return off_by * off_by <= 25 * n * p * (1 - p);
}

static uint16_t
pull_burst(struct rig *r)
{
	struct rte_mbuf *bufs[RIG_BURST];
	uint16_t n = port_rx(&top, 0, bufs, RIG_BURST);

	for (uint16_t i = 0; i < n; i++) {
		uint32_t seq = num_got;

		if (!in_place)
			memcpy(&seq, rte_pktmbuf_mtod(bufs[i], uint8_t *) + 14, 4);
		wrong += rig_judge(r, bufs[i], r->side, seq, LEN) != 1;
		if (num_got < MOST)
			got[num_got++] = seq;
	}
	rte_pktmbuf_free_bulk(bufs, n);
	return n;
}

static void
pull(struct rig *r)
{
	while (pull_burst(r) > 0)
		;
}

/* Sends n frames from number `from` on, in bursts, and receives after each. */
static bool
push(struct rig *r, uint32_t from, uint32_t n)
{
	for (uint32_t i = 0; i < n;) {
		struct rte_mbuf *bufs[RIG_BURST];
		uint16_t k;

		for (k = 0; k < RIG_BURST && i < n; k++)
			if (!(bufs[k] = rig_frame(r, r->peer_mac, from + i++, LEN)))
				return false;
		if (port_tx(&top, 0, bufs, k) != k)
			return false;
		pull(r);
	}
	return true;
}

/* Receives until nothing waits any more. */
static void
drain(struct rig *r)
{
	uint64_t end = rig_ms() + 3000;

	while (top.drv->due(&top) != UINT64_MAX && rig_ms() < end)
		pull(r);
	pull(r);
}

static bool
in_order(void)
{
	for (uint32_t i = 1; i < num_got; i++)
		if (got[i] < got[i - 1])
			return false;
	return true;
}

static int
start(struct rig *r)
{
	RIG_CHECK(rig_open(r, "loop", false) == 0);
	memcpy(r->peer_mac, r->port.mac, 6);
	return 0;
}

static int
nothing(struct rig *r)
{
	struct counters c;

	RIG_CHECK(start(r) == 0);
	RIG_CHECK(on(r, "drop=0,dup=0,reorder=0,corrupt=0,ecn=0,delay=0") == 0);
	RIG_CHECK(top.ip_mtu == r->port.ip_mtu && top.pool == r->port.pool && top.lower == &r->port);
	RIG_CHECK(memcmp(top.mac, r->port.mac, 6) == 0 && top.drv->link_up(&top));
	RIG_CHECK(top.drv->wait_fd(&top) == -1 && top.drv->due(&top) == UINT64_MAX);
	RIG_CHECK(push(r, 0, 5000));
	drain(r);
	c = counted();
	RIG_CHECK(num_got == 5000 && wrong == 0 && in_order() && got[4999] == 4999);
	RIG_CHECK(c.received == 5000 && c.dropped + c.duplicated + c.reordered + c.delayed + c.corrupted +
		  c.marked + c.early + c.unchanged == 0);
	RIG_CHECK(off(r));
	port_close(&r->port);
	return 0;
}

static int
loses(struct rig *r)
{
	struct port_impair conf;
	struct counters c;
	uint32_t at = 0;

	RIG_CHECK(start(r) == 0);
	RIG_CHECK(on(r, "drop=1") == 0);
	RIG_CHECK(push(r, 0, 5000));
	c = counted();
	RIG_CHECK(num_got == 0 && c.received == 5000 && c.dropped == 5000);
	RIG_CHECK(off(r));
	for (int again = 0; again < 2; again++) {
		RIG_CHECK(on(r, "drop=0.1,seed=77") == 0);
		RIG_CHECK(push(r, 0, 100000));
		c = counted();
		RIG_CHECK(c.received == 100000 && fair(c.dropped, 100000, 0.1) && wrong == 0);
		RIG_CHECK(num_got == 100000 - c.dropped && in_order());
		RIG_CHECK(off(r));
	}
	/* the very frames that the seed says */
	RIG_CHECK(port_impair_parse("drop=0.1,seed=77", &conf, r->why, sizeof(r->why)) == 0);
	for (uint32_t i = 0; i < 100000; i++)
		if (!fate_draw(&conf, i).drop)
			RIG_CHECK(got[at++] == i);
	RIG_CHECK(at == num_got);
	/* a seed of its own each time */
	RIG_CHECK(on(r, "drop=0.5") == 0);
	RIG_CHECK(push(r, 0, 1000));
	at = num_got;
	memmove(got + 1000, got, at * sizeof(got[0]));
	RIG_CHECK(off(r) && on(r, "drop=0.5") == 0 && push(r, 0, 1000));
	RIG_CHECK(at != num_got || memcmp(got, got + 1000, at * sizeof(got[0])) != 0);
	RIG_CHECK(off(r));
	port_close(&r->port);
	return 0;
}

static int
doubles(struct rig *r)
{
	struct counters c;

	RIG_CHECK(start(r) == 0);
	RIG_CHECK(on(r, "dup=1") == 0);
	RIG_CHECK(push(r, 0, 5000));
	drain(r);
	c = counted();
	RIG_CHECK(num_got == 10000 && wrong == 0 && c.duplicated == 5000);
	for (uint32_t i = 0; i < 10000; i++)
		RIG_CHECK(got[i] == i / 2);
	RIG_CHECK(off(r));
	RIG_CHECK(on(r, "dup=0.1,seed=1") == 0);
	RIG_CHECK(push(r, 0, 100000));
	drain(r);
	c = counted();
	RIG_CHECK(fair(c.duplicated, 100000, 0.1) && num_got == 100000 + c.duplicated);
	RIG_CHECK(in_order() && wrong == 0);
	RIG_CHECK(off(r));
	port_close(&r->port);
	return 0;
}

/* Frame by frame, what the words say: one that is held comes when by later ones have passed. */
static uint32_t
reordered(const struct port_impair *conf, uint32_t n, uint32_t *out)
{
	static uint32_t waits[MOST];
	uint32_t k = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (fate_draw(conf, i).reorder) {
			waits[i] = conf->reorder_by;
			continue;
		}
		out[k++] = i;
		waits[i] = 0;
		/* nobody waits that is further back than this, with these chances */
		for (uint32_t j = i > 1000 ? i - 1000 : 0; j < i; j++)
			if (waits[j] && --waits[j] == 0)
				out[k++] = j;
	}
	return k;
}

static int
reorders(struct rig *r)
{
	static const char *const args[] = {
		"reorder=0.1,seed=5", "reorder=0.5:1,seed=6", "reorder=0.02:64,seed=7", "reorder=0.3:10,seed=8"
	};
	static uint32_t want[MOST];

	RIG_CHECK(start(r) == 0);
	for (int a = 0; a < 4; a++) {
		struct port_impair conf;
		uint64_t held = 0;
		uint32_t n;

		RIG_CHECK(port_impair_parse(args[a], &conf, r->why, sizeof(r->why)) == 0);
		RIG_CHECK(on(r, args[a]) == 0);
		RIG_CHECK(push(r, 0, 20000));
		for (uint32_t i = 0; i < 20000; i++)
			held += fate_draw(&conf, i).reorder;
		RIG_CHECK(counted().reordered == held);
		RIG_CHECK(fair(held, 20000, (double)conf.reorder / (double)PORT_CHANCE_ONE));
		n = reordered(&conf, 20000, want);
		/* a burst that took longer than the bound lets held ones go; then try again */
		for (int tries = 0; tries < 5 && memcmp(got, want, n * sizeof(got[0])) != 0; tries++) {
			RIG_CHECK(off(r) && on(r, args[a]) == 0 && push(r, 0, 20000));
		}
		RIG_CHECK(memcmp(got, want, n * sizeof(got[0])) == 0);
		drain(r);
		RIG_CHECK(num_got == 20000 && wrong == 0 && !in_order());
		RIG_CHECK(off(r));
	}
	port_close(&r->port);
	return 0;
}

/* The last frame of a stream is not held for ever, nor are all of them when all are held. */
static int
lets_go(struct rig *r)
{
	uint64_t began, took;

	RIG_CHECK(start(r) == 0);
	RIG_CHECK(on(r, "reorder=1") == 0);
	began = rig_ms();
	RIG_CHECK(push(r, 0, 1));
	RIG_CHECK(num_got == 0 && top.drv->due(&top) <= 10000000);
	drain(r);
	took = rig_ms() - began;
	RIG_CHECK(num_got == 1 && took >= 9 && took < 1000);
	RIG_CHECK(push(r, 1, 5000));
	drain(r);
	RIG_CHECK(num_got == 5001 && wrong == 0 && in_order() && counted().reordered == 5001);
	/* some are held at the end */
	RIG_CHECK(push(r, 0, 20) && rig_in_use(r) > 0);
	RIG_CHECK(off(r));
	port_close(&r->port);
	return 0;
}

static int
delays(struct rig *r)
{
	uint64_t began, due;

	RIG_CHECK(start(r) == 0);
	RIG_CHECK(on(r, "delay=20000") == 0);
	began = rig_ms();
	RIG_CHECK(push(r, 0, 300));
	due = top.drv->due(&top);
	RIG_CHECK(due <= 20000000);
	RIG_CHECK((num_got == 0 && due > 1000000) || rig_ms() - began >= 19);
	drain(r);
	RIG_CHECK(num_got == 300 && wrong == 0 && in_order() && rig_ms() - began >= 20);
	RIG_CHECK(rig_ms() - began < 1000 && counted().delayed == 300 && counted().early == 0);
	RIG_CHECK(off(r));
	/* more than may wait: the first go early, none is lost */
	RIG_CHECK(on(r, "delay=500000") == 0);
	RIG_CHECK(push(r, 0, 5000));
	RIG_CHECK(counted().early > 3000);
	drain(r);
	RIG_CHECK(num_got == 5000 && wrong == 0 && in_order());
	RIG_CHECK(push(r, 0, 100) && rig_in_use(r) >= 100);
	RIG_CHECK(off(r));
	/* jitter shifts but does not reorder */
	RIG_CHECK(on(r, "delay=2000:2000,dup=0.1,seed=2") == 0);
	RIG_CHECK(push(r, 0, 5000));
	drain(r);
	RIG_CHECK(num_got == 5000 + counted().duplicated && wrong == 0 && in_order());
	RIG_CHECK(off(r));
	port_close(&r->port);
	return 0;
}

/* One bit, never in the Ethernet header. -1: something else. */
static int
flipped_bit(const uint8_t *a, const uint8_t *b, uint32_t len)
{
	int bit = -1;

	for (uint32_t i = 0; i < len; i++) {
		uint8_t x = a[i] ^ b[i];

		if (!x)
			continue;
		if (bit >= 0 || (x & (x - 1)))
			return -1;
		bit = (int)(8 * i) + __builtin_ctz(x);
	}
	return bit;
}

static int
corrupts(struct rig *r)
{
	static uint8_t seen[8 * LEN];
	uint8_t want[LEN];
	struct counters c;
	uint32_t n = 0;

	RIG_CHECK(start(r) == 0);
	RIG_CHECK(on(r, "corrupt=1,seed=3") == 0);
	for (uint32_t i = 0; i < 20000; i++) {
		struct rte_mbuf *m = rig_frame(r, r->peer_mac, i, LEN), *back;
		int bit;

		RIG_CHECK(m);
		memcpy(want, rte_pktmbuf_mtod(m, void *), LEN);
		/* the sender may keep it, to send it again: it must stay as it is */
		if (i & 1)
			rte_mbuf_refcnt_update(m, 1);
		RIG_CHECK(port_tx(&top, 0, &m, 1) == 1 && port_rx(&top, 0, &back, 1) == 1);
		RIG_CHECK(back->pkt_len == LEN && back->nb_segs == 1 && (i & 1) == (back != m));
		bit = flipped_bit(want, rte_pktmbuf_mtod(back, uint8_t *), LEN);
		RIG_CHECK(bit >= 8 * 14);
		seen[bit] = 1;
		rte_pktmbuf_free(back);
		if (i & 1) {
			RIG_CHECK(memcmp(want, rte_pktmbuf_mtod(m, void *), LEN) == 0);
			rte_pktmbuf_free(m);
		}
	}
	for (uint32_t i = 0; i < 8 * LEN; i++)
		n += seen[i];
	RIG_CHECK(n > 8 * (LEN - 14) - 5);
	RIG_CHECK(counted().corrupted == 20000 && off(r));
	RIG_CHECK(on(r, "corrupt=0.1,seed=4") == 0);
	in_place = true;
	RIG_CHECK(push(r, 0, 100000));
	c = counted();
	RIG_CHECK(num_got == 100000 && fair(c.corrupted, 100000, 0.1));
	RIG_CHECK(wrong == c.corrupted && c.unchanged == 0);
	RIG_CHECK(off(r));
	port_close(&r->port);
	return 0;
}

static uint16_t
ip_sum(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* A frame with an IP header of this version, behind a VLAN tag or not; version 0 is ARP. */
static struct rte_mbuf *
ip_frame(struct rig *r, int version, bool tagged, uint32_t seq)
{
	struct rte_mbuf *m = rig_frame(r, r->peer_mac, seq, LEN);
	uint8_t *f = m ? rte_pktmbuf_mtod(m, uint8_t *) : NULL, *ip = f + (tagged ? 18 : 14);
	static const uint8_t types[] = { [0] = 0x06, [4] = 0x00, [6] = 0xdd };
	uint16_t sum;

	if (!m)
		return NULL;
	memcpy(f + 12, "\x81\x00\x20\x05", 4);
	ip[-2] = version == 6 ? 0x86 : 0x08;
	ip[-1] = types[version];
	ip[0] = version == 4 ? 0x45 : 0x60;
	ip[1] = (uint8_t)(seq * 4);
	ip[10] = ip[11] = 0;
	sum = (uint16_t)~ip_sum(ip);
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
	return m;
}

static int
marks(struct rig *r)
{
	uint32_t marked = 0;

	RIG_CHECK(start(r) == 0);
	RIG_CHECK(on(r, "ecn=1") == 0);
	for (uint32_t i = 0; i < 6000; i++) {
		int version = i % 3 ? i % 3 == 1 ? 4 : 6 : 0;
		bool tagged = i / 3 & 1;
		struct rte_mbuf *m = ip_frame(r, version, tagged, i), *back;
		uint8_t want[LEN], *ip = want + (tagged ? 18 : 14), *is;

		RIG_CHECK(m);
		memcpy(want, rte_pktmbuf_mtod(m, void *), LEN);
		RIG_CHECK(port_tx(&top, 0, &m, 1) == 1 && port_rx(&top, 0, &back, 1) == 1);
		is = rte_pktmbuf_mtod(back, uint8_t *);
		if (version == 4) {
			RIG_CHECK(ip_sum(is + (ip - want)) == 0xffff);
			ip[1] |= 3;
			memcpy(ip + 10, is + (ip - want) + 10, 2);
		} else if (version == 6) {
			ip[1] |= 0x30;
		}
		marked += version != 0;
		RIG_CHECK(memcmp(want, is, LEN) == 0);
		rte_pktmbuf_free(back);
	}
	RIG_CHECK(counted().marked == marked && counted().unchanged == 6000 - marked);
	RIG_CHECK(off(r));
	RIG_CHECK(on(r, "ecn=0.1,seed=9") == 0);
	marked = 0;
	for (uint32_t i = 0; i < 100000; i++) {
		struct rte_mbuf *m = ip_frame(r, 4, false, 0);

		RIG_CHECK(m && port_tx(&top, 0, &m, 1) == 1 && port_rx(&top, 0, &m, 1) == 1);
		marked += (rte_pktmbuf_mtod(m, uint8_t *)[15] & 3) == 3;
		rte_pktmbuf_free(m);
	}
	RIG_CHECK(marked == counted().marked && fair(marked, 100000, 0.1) && off(r));
	port_close(&r->port);
	return 0;
}

/* A frame in pieces, part of it in memory that is not ours, is changed in a copy in one piece. */
static int
pieces(struct rig *r)
{
	struct rte_mbuf *m, *tail, *back;
	uint8_t want[2 * LEN];

	RIG_CHECK(start(r) == 0);
	RIG_CHECK(on(r, "corrupt=1,dup=1") == 0);
	m = rig_frame(r, r->peer_mac, 0, LEN);
	tail = rig_frame(r, r->peer_mac, 1, LEN);
	RIG_CHECK(m && tail && rte_pktmbuf_chain(m, tail) == 0);
	RIG_CHECK(rte_pktmbuf_read(m, 0, 2 * LEN, want) == want);
	RIG_CHECK(port_tx(&top, 0, &m, 1) == 1);
	for (int i = 0; i < 2; i++) {
		RIG_CHECK(port_rx(&top, 0, &back, 1) == 1 && back->nb_segs == 1);
		RIG_CHECK(back->data_len == 2 * LEN);
		RIG_CHECK(flipped_bit(want, rte_pktmbuf_mtod(back, uint8_t *), 2 * LEN) >= 8 * 14);
		rte_pktmbuf_free(back);
	}
	RIG_CHECK(off(r));
	port_close(&r->port);
	return 0;
}

/* No buffer is left for copies: frames pass as they are. */
static int
exhausted(struct rig *r)
{
	static struct rte_mbuf *hoard[65536];
	struct rte_mbuf *m, *back[2];
	uint32_t n = 0;

	RIG_CHECK(start(r) == 0);
	RIG_CHECK(on(r, "dup=1") == 0);
	m = rig_frame(r, r->peer_mac, 0, LEN);
	while (n < 65536 && (hoard[n] = rte_pktmbuf_alloc(r->port.pool)))
		n++;
	RIG_CHECK(m && n < 65536 && port_tx(&top, 0, &m, 1) == 1);
	RIG_CHECK(port_rx(&top, 0, back, 2) == 1 && back[0] == m);
	RIG_CHECK(counted().duplicated == 0 && counted().unchanged == 1);
	rte_pktmbuf_free(m);
	rte_pktmbuf_free_bulk(hoard, n);
	RIG_CHECK(off(r));
	port_close(&r->port);
	return 0;
}

static int
everything(struct rig *r)
{
	struct counters c;

	RIG_CHECK(start(r) == 0);
	for (int again = 0; again < 3; again++) {
		RIG_CHECK(on(r, "drop=0.05,dup=0.05,reorder=0.05:7,delay=100:50,corrupt=0.05,ecn=0.05,seed=1")
			  == 0);
		RIG_CHECK(push(r, 0, 100000));
		if (again < 2)
			drain(r);
		c = counted();
		RIG_CHECK(c.received == 100000 && fair(c.dropped, 100000, 0.05));
		RIG_CHECK(fair(c.corrupted, 100000, 0.0475) && c.delayed == 100000 - c.dropped);
		RIG_CHECK(again == 2 || num_got == 100000 - c.dropped + c.duplicated);
		/* not IP: none can be marked */
		RIG_CHECK(c.marked == 0 && fair(c.unchanged, 100000, 0.0475));
		RIG_CHECK(off(r));
	}
	/* a whole stack is closed from its top, with frames under way everywhere */
	RIG_CHECK(on(r, "delay=1000000,reorder=0.5") == 0);
	RIG_CHECK(push(r, 0, 300));
	port_close(&top);
	RIG_CHECK(!top.drv && !r->port.drv);
	return 0;
}

static int
refuses(struct rig *r)
{
	RIG_CHECK(start(r) == 0);
	RIG_CHECK(on(r, "drop=2") == -EINVAL && strstr(r->why, "drop=2: P is a fraction"));
	RIG_CHECK(!top.drv);
	RIG_CHECK(port_stack(&top, "loop", &r->port, "", r->why, sizeof(r->why)) == -EOPNOTSUPP);
	RIG_CHECK(port_stack(&top, "nonesuch", &r->port, "", r->why, sizeof(r->why)) == -EOPNOTSUPP);
	RIG_CHECK(r->port.drv && rig_in_use(r) == 0);
	port_close(&r->port);
	/* and it is no device */
	r->conf.driver = "impair";
	RIG_CHECK(port_open(&top, &r->conf, r->why, sizeof(r->why)) == -EOPNOTSUPP);
	return 0;
}

/* X(case, what it runs in a process of its own) */
#define CASE_LIST(X) \
	X(impair_rx__nothing, nothing) \
	X(impair_rx__loses, loses) \
	X(impair_rx__doubles, doubles) \
	X(impair_rx__reorders, reorders) \
	X(impair_rx__lets_go, lets_go) \
	X(impair_rx__delays, delays) \
	X(impair_rx__corrupts, corrupts) \
	X(impair_rx__marks, marks) \
	X(impair_rx__pieces, pieces) \
	X(impair_rx__exhausted, exhausted) \
	X(impair_rx__everything, everything) \
	X(port_stack__refuses, refuses)

#define CASE_FUNCTION(name, fn) \
	static void \
	name(void) \
	{ \
		CHECK_EQ(rig_alone(fn), 0); \
	}
CASE_LIST(CASE_FUNCTION)

static const struct check_case cases[] = {
#define CASE_ROW(name, fn) CHECK_CASE(name),
	CASE_LIST(CASE_ROW)
};
CHECK_MAIN(cases)
