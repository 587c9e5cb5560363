/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The UDP source port of a QP: entropy for the network's hashing, constant for the QP's life,
 * always in 0xc000..0xffff (A2). Pure.
 */
#ifndef WIRE_UDP4791_H
#define WIRE_UDP4791_H

#include <stdint.h>

#define UDP4791_SPORT_MIN 0xc000u

/* From the 20-bit flow label of the address vector. */
static inline uint16_t
udp4791_sport_of_label(uint32_t flow_label)
{
	flow_label &= 0xfffff;
	return (uint16_t)(UDP4791_SPORT_MIN | ((flow_label & 0x3fff) ^ flow_label >> 14));
}

/* A label for two QPs that have none: their product in pieces of 20 bits, the same from both. */
static inline uint32_t
udp4791_label_of_qpns(uint32_t qpn, uint32_t peer_qpn)
{
	uint64_t product = (uint64_t)(qpn & 0xffffff) * (peer_qpn & 0xffffff);

	return (uint32_t)(product ^ product >> 20 ^ product >> 40) & 0xfffff;
}

/* What a connected QP sends from; flow_label 0 means none was given. */
static inline uint16_t
udp4791_sport(uint32_t flow_label, uint32_t qpn, uint32_t peer_qpn)
{
	if (!(flow_label & 0xfffff))
		flow_label = udp4791_label_of_qpns(qpn, peer_qpn);
	return udp4791_sport_of_label(flow_label);
}

#endif
