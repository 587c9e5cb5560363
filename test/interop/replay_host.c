/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport as a process that is driven line by line, for replay.py: the host of test/script
 * with the numbers of somebody else's QP. Each line of stdin does one thing; then come the lines of
 * what the host sent ("frame HEX") and completed ("cqe send|recv WR STATUS BYTES SRC-QPN FLAGS IMM"), and at
 * last ".". One thread, virtual time.
 *
 *   qp QPN PEER-QPN RQ-PSN SQ-PSN MTU ACCESS RNR-RETRY TYPE OUR-GID THEIR-GID [QKEY]
 *                                first; ACCESS as in ibv_access_flags; QKEY of UD alone
 *   ah SPORT TOS TTL FLOW OUR-MAC THEIR-MAC      the way to the peer, for datagrams
 *   mr IOVA LENGTH ACCESS        prints "key HEX"
 *   recv WR OFFSET LENGTH        a receive into the local region
 *   post WR OPCODE OFFSET LENGTH VA RKEY IMM SWAP COMPARE-OR-ADD
 *   dgram WR OPCODE OFFSET LENGTH QPN QKEY IMM
 *   fill IOVA HEX, mem IOVA LENGTH       IOVA 0 on: the local region; mem prints "mem HEX"
 *   frame HEX                    arrives
 *   wait NS                      until something happens, at most so long
 *
 * Numbers are hexadecimal.
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

#define LOCAL_SIZE (1u << 20)
#define LINE_MAX (4 * PKT_MAX)

static struct host h;
static struct host_qp *q;
static char *rest;		/* of the line */

static void
die(const char *why)
{
	fprintf(stderr, "replay_host: %s\n", why);
	exit(2);
}

static const char *
word(void)
{
	char *w = strsep(&rest, " \n");

	if (!w || !*w)
		die("a word is missing");
	return w;
}

static uint64_t
number(void)
{
	return strtoull(word(), NULL, 16);
}

static uint32_t
hex(const char *text, uint8_t *out, uint32_t max)
{
	uint32_t n = 0;
	unsigned int byte;

	for (; n < max && sscanf(text, "%2x", &byte) == 1; text += 2)
		out[n++] = (uint8_t)byte;
	return n;
}

static void
put_hex(const char *what, const uint8_t *bytes, size_t len)
{
	printf("%s ", what);
	for (size_t i = 0; i < len; i++)
		printf("%02x", bytes[i]);
	putchar('\n');
}

static struct host_mr *
region(uint64_t iova, uint64_t len)
{
	if (iova + len <= LOCAL_SIZE)
		return &h.mr[0];
	for (unsigned int i = h.num_mrs; --i;)
		if (iova >= h.mr[i].iova && iova - h.mr[i].iova + len <= h.mr[i].len)
			return &h.mr[i];
	die("no region there");
	return NULL;
}

static uint64_t
offset_in(const struct host_mr *m, uint64_t iova)
{
	return m == &h.mr[0] ? iova : iova - m->iova;
}

static struct host_mr *
add_mr(const char *name, uint64_t iova, uint64_t len, uint32_t access)
{
	struct mr desc = { .pd = 1, .iova = iova, .length = len, .access = access };
	struct host_mr *m = host_mr_add(&h, name, &desc);

	if (!m)
		die("no region can be made");
	return m;
}

static uint8_t
mtu_code(uint64_t mtu)
{
	uint8_t code = 1;

	while (128u << code < mtu)
		code++;
	return code;
}

static void
cmd_qp(void)
{
	struct host_qp_want want = { .sq = 512, .rq = 512, .send_cqe = 1024, .recv_cqe = 1024, .pd = 1,
				     .ip_mtu = 9000, .max_inline = PLX_MAX_INLINE };
	uint32_t qpn = (uint32_t)number(), peer = (uint32_t)number();
	uint32_t rq_psn = (uint32_t)number(), sq_psn = (uint32_t)number();

	want.qpn = qpn;
	want.attr = (struct qp_attr){ .path_mtu = mtu_code(number()),
				      .timeout = 14, .retry_cnt = 7, .min_rnr_timer = 12,
				      .max_rd_atomic = 16, .max_dest_rd_atomic = 16 };
	want.attr.access_flags = (uint32_t)number();
	want.attr.rnr_retry = (uint8_t)number();
	want.type = (uint32_t)number();
	add_mr("local", 0, LOCAL_SIZE, MEM_LOCAL_WRITE);
	q = host_qp_add(&h, "qp", &want);
	if (!q)
		die(h.broken);
	hex(word(), q->out.src, 16);
	hex(word(), q->out.dst, 16);
	q->out.ip6 = q->out.src[10] != 0xff;
	if (want.type == IBV_QPT_UD)
		want.attr.qkey = (uint32_t)number();
	q->peer_qpn = peer;
	q->rq_base = rq_psn;
	q->sq_base = sq_psn;
	if (host_qp_raise(&h, q, &want, IBV_QPS_RTS))
		die("the QP does not come to RTS");
}

static void
cmd_mr(void)
{
	uint64_t iova = number(), len = number();

	printf("key %x\n", add_mr("remote", iova, len, (uint32_t)number())->key);
}

static struct plx_sge
local_sge(uint64_t offset, uint64_t len)
{
	return (struct plx_sge){ .addr = h.mr[0].iova + offset, .length = (uint32_t)len,
				 .lkey = h.mr[0].key };
}

static void
cmd_recv(void)
{
	uint64_t wr = number(), offset = number(), len = number();
	struct plx_sge sge = local_sge(offset, len);

	if (host_recv(&h, q, wr, len != 0, &sge))
		die("the receive queue is full");
}

static void
cmd_post(void)
{
	uint64_t wr = number(), opcode = number(), offset = number(), len = number();
	struct plx_sq_wqe wqe = { .wr_id = wr, .opcode = (uint8_t)opcode, .flags = PLX_WQE_SIGNALED };
	struct plx_sge sge = local_sge(offset, len);

	wqe.num_sge = len != 0;
	wqe.length = (uint32_t)len;
	wqe.remote_addr = number();
	wqe.rkey = (uint32_t)number();
	wqe.imm = htonl((uint32_t)number());
	wqe.atomic.swap = number();
	wqe.atomic.compare_add = number();
	if (host_post(&h, q, &wqe, &sge, NULL))
		die("the send queue is full");
}

static void
cmd_ah(void)
{
	struct wire_tmpl_conf t = { .udp_sport = (uint16_t)number() };
	struct qp_path path = { .ready = true, .way = OUT_WIRE };

	t.traffic_class = (uint8_t)number();
	t.hop_limit = (uint8_t)number();
	t.flow_label = (uint32_t)number();
	hex(word(), t.src_mac, 6);
	hex(word(), t.dst_mac, 6);
	memcpy(t.src_gid, q->out.src, 16);
	memcpy(t.dst_gid, q->out.dst, 16);
	memcpy(path.src_gid, t.src_gid, 16);
	memcpy(path.dst_gid, t.dst_gid, 16);
	wire_tmpl_make(&path.tmpl, &t);
	h.ah[0].pd = h.ah[0].gen = 1;
	h.ah[0].labelled = true;	/* the source port is the one that is given */
	seqcell_set(&h.ah[0].path, &path);
	h.ah_there[0] = true;
}

static void
cmd_dgram(void)
{
	struct plx_sq_wqe wqe = { .wr_id = number(), .flags = PLX_WQE_SIGNALED };
	uint64_t offset;
	struct plx_sge sge;

	wqe.opcode = (uint8_t)number();
	offset = number();
	wqe.length = (uint32_t)number();
	wqe.num_sge = wqe.length != 0;
	sge = local_sge(offset, wqe.length);
	wqe.ud.ah_gen = 1;
	wqe.ud.qpn = (uint32_t)number();
	wqe.ud.qkey = (uint32_t)number();
	wqe.imm = htonl((uint32_t)number());
	if (host_post(&h, q, &wqe, &sge, NULL))
		die("the send queue is full");
}

static void
cmd_fill(void)
{
	uint64_t iova = number();
	const char *text = word();
	uint64_t len = strlen(text) / 2;
	struct host_mr *m = region(iova, len);

	hex(text, m->mem + offset_in(m, iova), (uint32_t)len);
}

static void
cmd_mem(void)
{
	uint64_t iova = number(), len = number();
	struct host_mr *m = region(iova, len);

	put_hex("mem", m->mem + offset_in(m, iova), len);
}

static void
cmd_frame(void)
{
	static uint8_t bytes[PKT_MAX];

	host_rx(&h, bytes, hex(word(), bytes, PKT_MAX));
}

static void
cmd_wait(void)
{
	host_advance(&h, h.x.now + number());
}

static const struct {
	const char *name;
	void (*fn)(void);
} cmds[] = {
	{ "qp", cmd_qp }, { "mr", cmd_mr }, { "recv", cmd_recv }, { "post", cmd_post },
	{ "ah", cmd_ah }, { "dgram", cmd_dgram },
	{ "fill", cmd_fill }, { "mem", cmd_mem }, { "frame", cmd_frame }, { "wait", cmd_wait },
};

static void
tell(void)
{
	host_settle(&h);
	if (h.broken[0])
		die(h.broken);
	for (struct host_frame *f = h.frames; f; f = f->next)
		put_hex("frame", f->bytes, f->len);
	for (int i = 0; i < 2; i++)
		for (struct host_cqe *c = h.cqes[i]; c; c = c->next)
			printf("cqe %s %llx %x %x %x %x %x\n", i ? "recv" : "send",
			       (unsigned long long)c->cqe.wr_id, c->cqe.status, c->cqe.byte_len,
			       c->cqe.src_qp, c->cqe.wc_flags, ntohl(c->cqe.imm));
	host_forget(&h);
	puts(".");
	fflush(stdout);
}

int
main(void)
{
	static char line[LINE_MAX];

	host_init(&h);
	while (fgets(line, sizeof(line), stdin)) {
		const char *name;
		size_t i = 0;

		rest = line;
		name = word();
		while (i < sizeof(cmds) / sizeof(cmds[0]) && strcmp(cmds[i].name, name))
			i++;
		if (i == sizeof(cmds) / sizeof(cmds[0]))
			die("no such command");
		cmds[i].fn();
		tell();
	}
	host_fini(&h);
	return 0;
}
