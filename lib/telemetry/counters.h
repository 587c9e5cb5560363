/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is counted, once, with its text. A block of counters belongs to one core; only that core
 * adds, anybody reads (relaxed). One counter for every reason to drop a frame.
 */
#ifndef TELEMETRY_COUNTERS_H
#define TELEMETRY_COUNTERS_H

#include <stdint.h>

/* X(name, text): reasons to drop a received frame */
#define DROP_LIST(X) \
	X(NONE, "not dropped") \
	X(SHORT, "frame shorter than its headers") \
	X(L2, "not an Ethernet II frame for us (EtherType, VLAN)") \
	X(DST_MAC, "RoCE to another station's MAC, or to a group that no QP is attached to") \
	X(L3, "IP header that RoCE does not allow (IHL, next header, addresses)") \
	X(FRAGMENT, "IP fragment") \
	X(LENGTH, "lengths of IP, UDP and headers do not agree") \
	X(TVER, "transport version is not 0") \
	X(OPCODE, "no such opcode") \
	X(ICRC, "wrong ICRC") \
	X(DST_GID, "destination address is not ours") \
	X(QPN, "no such QP") \
	X(QPN_SELF, "one of our own QPs sent to a QPN that does not exist here") \
	X(QP_TYPE, "opcode class is not the QP's transport") \
	X(QP_STATE, "QP is not in a state to receive this") \
	X(PKEY, "P_Key does not match") \
	X(ADDRESS, "addresses are not those of the QP's path") \
	X(DUP_READ, "duplicate READ that does not lie in a remembered one") \
	X(DUP_ATOMIC, "duplicate atomic, ATOMIC_WRITE or FLUSH that is not remembered") \
	X(PSN_AHEAD, "request ahead of the expected PSN") \
	X(PSN_STALE, "acknowledgement or response outside of what is outstanding") \
	X(SYNDROME, "reserved AETH syndrome") \
	X(PSN_GAP, "unreliable: part of a message of which something is missing") \
	X(ACCESS, "unreliable: the QP does not allow such a request") \
	X(NO_RECV, "unreliable: no receive was posted for it") \
	X(MSG_LENGTH, "unreliable: not as long as its message says, or longer than the receive") \
	X(QKEY, "Q_Key is not the QP's") \
	X(RKEY, "unreliable: its key gives no right to the memory it names") \
	X(NOT_ROCE, "neither RoCE nor ARP, ND or ICMP echo for us") \
	X(NEIGH_QUEUE, "neighbour unresolved") \
	X(RESOURCE, "no buffer for the answer; the peer will repeat") \
	X(HANDOFF, "the core that owns the QP is too far behind") \
	X(COPY, "no room for one more copy of a frame to a group")

enum drop_reason {
#define DROP_ENUM(name, text) DROP_##name,
	DROP_LIST(DROP_ENUM)
#undef DROP_ENUM
	DROP_COUNT
};

/* X(name, text): everything else that is counted */
#define CNT_LIST(X) \
	X(RX_FRAMES, "frames that the port received") \
	X(RX_BYTES, "bytes that the port received") \
	X(TX_FRAMES, "frames that the port took") \
	X(TX_BYTES, "bytes that the port took") \
	X(TX_FULL, "bursts that the port did not take whole") \
	X(TX_LOST, "frames lost because the port has no link") \
	X(SELF_FRAMES, "frames to an own address that did not pass the port") \
	X(RX_REQUESTS, "request packets accepted; for UC and UD, every packet") \
	X(RX_RESPONSES, "READ and atomic response packets accepted") \
	X(RX_DUPLICATES, "duplicate requests") \
	X(TX_REQUESTS, "request packets sent, first time; for UC and UD, every packet") \
	X(TX_RETRANS, "request packets sent again") \
	X(TX_UNREACHED, "unreliable messages lost because nobody answered at the peer's address") \
	X(TX_EXTERNAL, "frames whose payload was sent from where the program put it") \
	X(TX_ACKS, "ACKs sent") \
	X(TX_NAK_SEQ, "sequence NAKs sent") \
	X(TX_NAK_INV, "invalid request NAKs sent") \
	X(TX_NAK_ACCESS, "remote access NAKs sent") \
	X(TX_NAK_OP, "remote operation NAKs sent") \
	X(TX_NAK_RNR, "RNR NAKs sent") \
	X(RX_ACKS, "ACKs received") \
	X(RX_ACKS_AGAIN, "ACKs received that repeat the last one") \
	X(RX_NAK_SEQ, "sequence NAKs received") \
	X(RX_NAK_ERR, "NAKs received that end the connection") \
	X(RX_NAK_RNR, "RNR NAKs received") \
	X(TIMEOUTS, "ACK timeouts") \
	X(RETRY_EXC, "QPs that ran out of retries (of RNR NAKs aside)") \
	X(CQE, "completions written") \
	X(CQ_OVERFLOW, "completions that found no room") \
	X(RX_ARP, "ARP packets for us") \
	X(RX_ND, "neighbour discovery packets for us") \
	X(RX_QUERY, "IGMP and MLD queries heard") \
	X(RX_ECHO, "ICMP echo requests answered")

enum cnt {
#define CNT_ENUM(name, text) CNT_##name,
	CNT_LIST(CNT_ENUM)
#undef CNT_ENUM
	CNT_COUNT
};

struct cnt_block {
	uint64_t cnt[CNT_COUNT];
	uint64_t drop[DROP_COUNT];
};

/* Owning core only. */
static inline void
cnt_add(struct cnt_block *b, enum cnt which, uint64_t n)
{
	__atomic_store_n(&b->cnt[which], b->cnt[which] + n, __ATOMIC_RELAXED);
}

/* Owning core only. */
static inline void
cnt_drop(struct cnt_block *b, enum drop_reason why)
{
	__atomic_store_n(&b->drop[why], b->drop[why] + 1, __ATOMIC_RELAXED);
}

/* Any thread. */
static inline uint64_t
cnt_read(const uint64_t *c)
{
	return __atomic_load_n(c, __ATOMIC_RELAXED);
}

/* "rx_frames", "drop_icrc" …, and the text of each. Pure. */
const char *cnt_name(enum cnt which);
const char *cnt_text(enum cnt which);
const char *drop_name(enum drop_reason why);
const char *drop_text(enum drop_reason why);

#endif
