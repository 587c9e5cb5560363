/* SPDX-License-Identifier: BSD-3-Clause */
/* The impair driver on a loop: frames are lost, doubled and changed, as often as asked, and no others. */
#include "fate.h"
#include "impaired.h"

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

/* X(case, what it runs in a process of its own) */
#define CASE_LIST(X) \
	X(impair_rx__nothing, nothing) \
	X(impair_rx__loses, loses) \
	X(impair_rx__doubles, doubles) \
	X(impair_rx__corrupts, corrupts) \
	X(impair_rx__marks, marks) \
	X(impair_rx__pieces, pieces) \
	X(impair_rx__exhausted, exhausted)

CASE_LIST(CASE_FUNCTION)

static const struct check_case cases[] = {
	CASE_LIST(CASE_ROW)
};
CHECK_MAIN(cases)
