/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What can be done to the bytes of a frame? Called by the impair driver, on the owning core.
 */
#include <rte_mbuf.h>

#include "impair.h"
#include "wire/hdr.h"

/* A loop gives the very buffers that were sent: they may be in more than one hand, or lie in the
 * program's memory. */
static bool
is_own(const struct rte_mbuf *m)
{
	return RTE_MBUF_DIRECT(m) && rte_mbuf_refcnt_read(m) == 1 && m->nb_segs == 1;
}

/* Makes *m a frame in one piece that nobody else sees. */
static bool
make_own(struct rte_mbuf **m, struct rte_mempool *pool)
{
	struct rte_mbuf *copy;

	if (is_own(*m))
		return true;
	copy = rte_pktmbuf_copy(*m, pool, 0, UINT32_MAX);
	if (!copy || copy->nb_segs != 1) {
		rte_pktmbuf_free(copy);
		return false;
	}
	rte_pktmbuf_free(*m);
	*m = copy;
	return true;
}

/* Bytes up to the end of the Ethernet header with its tag, if that is in the first piece. */
static uint32_t
l2_len(const struct rte_mbuf *m)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, const uint8_t *);

	if (m->data_len >= ETH_HDR_LEN + VLAN_TAG_LEN && be16_load(f + ETH_TYPE) == ETH_TYPE_VLAN)
		return ETH_HDR_LEN + VLAN_TAG_LEN;
	return ETH_HDR_LEN;
}

/* RFC 1624: the checksum after one 16-bit word changed. A wrong one stays as wrong as it was. */
static void
mend_checksum(uint8_t *at, uint16_t before, uint16_t after)
{
	uint32_t sum = (uint16_t)~be16_load(at) + (uint32_t)(uint16_t)~before + after;

	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	be16_store(at, (uint16_t)~sum);
}

static void
mark_ip4(uint8_t *ip)
{
	uint16_t before = be16_load(ip);

	ip[IP4_TOS] |= IP_ECN_CE;
	mend_checksum(ip + IP4_CSUM, before, be16_load(ip));
}

bool
change_mark_ce(struct rte_mbuf **m, struct rte_mempool *pool)
{
	uint32_t l2 = l2_len(*m);
	uint16_t type;
	uint8_t *ip;

	if ((*m)->data_len < l2 + IP4_HDR_LEN)
		return false;
	type = be16_load(rte_pktmbuf_mtod(*m, uint8_t *) + l2 - 2);
	if ((type != ETH_TYPE_IP4 && type != ETH_TYPE_IP6) || !make_own(m, pool))
		return false;
	ip = rte_pktmbuf_mtod_offset(*m, uint8_t *, l2);
	if (type == ETH_TYPE_IP4)
		mark_ip4(ip);
	else
		ip[1] |= IP_ECN_CE << 4;	/* the traffic class ends in the second byte's upper half */
	return true;
}

bool
change_flip_bit(struct rte_mbuf **m, struct rte_mempool *pool, uint64_t number)
{
	uint32_t l2 = l2_len(*m);
	uint64_t bit;

	if ((*m)->pkt_len <= l2 || !make_own(m, pool))
		return false;
	bit = number % (((uint64_t)(*m)->pkt_len - l2) * 8);
	rte_pktmbuf_mtod(*m, uint8_t *)[l2 + bit / 8] ^= (uint8_t)(1u << bit % 8);
	return true;
}
