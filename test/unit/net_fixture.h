/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A net in virtual time with its frames caught, for the tests of lib/net. Frames are written as hex;
 * those that several tests use are here: scapy encoded them, not we.
 */
#ifndef NET_FIXTURE_H
#define NET_FIXTURE_H

#include <arpa/inet.h>
#include <stdlib.h>

#include "check.h"
#include "net/gid.h"
#include "net/net.h"
#include "net/net_priv.h"

#define SEC UINT64_C(1000000000)
#define FIX_FRAMES 64u

/* A is us: 02:00:00:00:0a:02, 10.11.10.2/16; B the peer: …:0a:03, 10.11.10.3 */
#define ARP_B_ASKS \
	"ffffffffffff020000000a0308060001080006040001020000000a030a0b0a030000000000000a0b0a02"
#define ARP_A_ANSWERS \
	"020000000a03020000000a0208060001080006040002020000000a020a0b0a02020000000a030a0b0a03"
#define ARP_A_ASKS \
	"ffffffffffff020000000a0208060001080006040001020000000a020a0b0a020000000000000a0b0a03"
#define ARP_B_ANSWERS \
	"020000000a02020000000a0308060001080006040002020000000a030a0b0a03020000000a020a0b0a02"
#define ND_B_ASKS \
	"3333ff000a02020000000a0386dd6000000000203afffe80000000000000000000fffe000a03" \
	"ff0200000000000000000001ff000a028700549300000000fe80000000000000000000fffe000a02" \
	"0101020000000a03"
#define ND_A_ANSWERS \
	"020000000a03020000000a0286dd6000000000203afffe80000000000000000000fffe000a02" \
	"fe80000000000000000000fffe000a038800f31760000000fe80000000000000000000fffe000a02" \
	"0201020000000a02"
#define ND_A_ASKS \
	"3333ff000a03020000000a0286dd6000000000203afffe80000000000000000000fffe000a02" \
	"ff0200000000000000000001ff000a038700549300000000fe80000000000000000000fffe000a03" \
	"0101020000000a02"
#define ND_B_ANSWERS \
	"020000000a02020000000a0386dd6000000000203afffe80000000000000000000fffe000a03" \
	"fe80000000000000000000fffe000a028800f31560000000fe80000000000000000000fffe000a03" \
	"0201020000000a03"

struct fix {
	struct net *net;
	struct net_conf conf;
	struct cnt_block cnt;
	uint64_t now;
	struct {
		uint8_t bytes[10000];
		size_t len;
	} sent[FIX_FRAMES];
	unsigned int num_sent;		/* all; the first FIX_FRAMES are kept */
	char said[256];
	unsigned int num_said;
};

static const uint8_t mac_a[6] = { 2, 0, 0, 0, 0x0a, 2 };
static const uint8_t mac_b[6] = { 2, 0, 0, 0, 0x0a, 3 };

static inline void
fix_send(void *arg, const uint8_t *frame, size_t len)
{
	struct fix *f = arg;

	if (f->num_sent < FIX_FRAMES && len <= sizeof(f->sent[0].bytes)) {
		memcpy(f->sent[f->num_sent].bytes, frame, len);
		f->sent[f->num_sent].len = len;
	}
	f->num_sent++;
}

static inline void
fix_say(void *arg, const char *line)
{
	struct fix *f = arg;

	snprintf(f->said, sizeof(f->said), "%s", line);
	f->num_said++;
}

/* Starts it with f->conf as it is. */
static inline const char *
fix_start(struct fix *f)
{
	struct net_out out = { .send = fix_send, .arg = f, .say = fix_say };
	const char *why = NULL;

	f->now = 1000 * SEC;
	f->net = net_new(&f->conf, &out, &why);
	return why;
}

/* Host A, one address by default. Ends with fix_free(). */
static inline struct fix *
fix_new(void)
{
	struct fix *f = calloc(1, sizeof(*f));

	if (!f)
		abort();
	memcpy(f->conf.mac, mac_a, 6);
	f->conf.ip_mtu = 4200;
	return f;
}

static inline struct fix *
fix_new_started(void)
{
	struct fix *f = fix_new();

	if (fix_start(f))
		abort();
	return f;
}

static inline void
fix_free(struct fix *f)
{
	net_free(f->net);
	free(f);
}

static inline unsigned int
hex_digit(char c)
{
	return c <= '9' ? (unsigned int)(c - '0') : (unsigned int)(c - 'a') + 10;
}

static inline size_t
hex_bytes(const char *hex, uint8_t *out)
{
	size_t len = strlen(hex) / 2;

	for (size_t i = 0; i < len; i++)
		out[i] = (uint8_t)(hex_digit(hex[2 * i]) << 4 | hex_digit(hex[2 * i + 1]));
	return len;
}

/* The frame in a heap block of just its length, so that ASan sees a read beyond it. */
static inline enum drop_reason
fix_rx_bytes(struct fix *f, const uint8_t *bytes, size_t len)
{
	uint8_t *exact = malloc(len ? len : 1);
	enum drop_reason why;

	if (!exact)
		abort();
	memcpy(exact, bytes, len);
	why = net_rx(f->net, exact, len, f->now, &f->cnt);
	free(exact);
	return why;
}

static inline enum drop_reason
fix_rx(struct fix *f, const char *hex)
{
	uint8_t bytes[2048];

	return fix_rx_bytes(f, bytes, hex_bytes(hex, bytes));
}

/* Frame i that was sent is this one. */
static inline bool
fix_sent(const struct fix *f, unsigned int i, const char *hex)
{
	uint8_t bytes[2048];
	size_t len = hex_bytes(hex, bytes);

	return i < f->num_sent && i < FIX_FRAMES && f->sent[i].len == len &&
	       memcmp(f->sent[i].bytes, bytes, len) == 0;
}

/* Lets time pass, with the timers that fall into it. */
static inline void
fix_pass(struct fix *f, uint64_t ns)
{
	uint64_t end = f->now + ns;

	while (net_wake_at(f->net) <= end) {
		if (f->now < net_wake_at(f->net))
			f->now = net_wake_at(f->net);
		net_timer(f->net, f->now);
	}
	f->now = end;
}

/* "10.11.10.3", "fe80::1" */
static inline void
gid_of(const char *text, uint8_t gid[16])
{
	uint8_t ip4[4];

	if (inet_pton(AF_INET, text, ip4) == 1)
		gid_from_ip4(gid, ip4);
	else if (inet_pton(AF_INET6, text, gid) != 1)
		abort();
}

static inline void
fix_addr(struct fix *f, const char *text, uint8_t prefix_len)
{
	struct net_addr *a = &f->conf.addr[f->conf.num_addrs++];

	gid_of(text, a->gid);
	a->prefix_len = prefix_len;
}

static inline int
fix_open(struct fix *f, struct path *p, uint32_t sgid_index, const char *dst)
{
	struct path_req req = { .sgid_index = sgid_index, .udp_sport = 0xc001 };

	gid_of(dst, req.dgid);
	return path_open(f->net, p, &req, f->now, NULL, NULL);
}

#endif
