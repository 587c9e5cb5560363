/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagrams to a multicast group, for both ends of soft_roce.py: the same binary runs over Pollux and, in the
 * virtual machine, over rdma_rxe.
 *
 *   group GROUP SIZE COUNT GID-INDEX [HOST]
 *
 * Without HOST it is the server. Each end attaches a QP to GROUP, of IPv4 or IPv6. First the client and then
 * the server sends COUNT datagrams of SIZE bytes to it, and both ends must receive them: the sender too, for
 * it is a member. Bytes, immediate, source QP and the IP header in the GRH's place are compared. Last the
 * receiver of each turn has detached, and must receive only what comes to its own QP number.
 * Exit status 0: everything was right. One thread.
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "meet.h"

#define QKEY 0x11223344u
#define GRH 40u
#define GROUP_QPN 0xffffffu
#define PATIENCE 20		/* seconds */

struct end {
	union ibv_gid gid;
	uint32_t qpn, zero;
};

static union ibv_gid group;
static uint32_t size, count;
static int gid_index;
static bool is_client;

static struct ibv_pd *pd;
static struct ibv_cq *sent, *received;
static struct ibv_mr *mr;
static struct ibv_qp *qp;
static uint8_t *buf;		/* what is sent, and then the receives */
static struct end me, peer;

static bool
ip4(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, prefix, sizeof(prefix));
}

static bool
read_group(const char *text)
{
	memcpy(group.raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
	return inet_pton(AF_INET, text, group.raw + 12) == 1 || inet_pton(AF_INET6, text, group.raw) == 1;
}

/* Where datagram i of a turn is received. */
static uint8_t *
place(uint32_t i)
{
	return buf + size + (size_t)i * (GRH + size);
}

static void
make_objects(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = list && list[0] ? ibv_open_device(list[0]) : NULL;
	size_t len = size + (size_t)count * (GRH + size);
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = count, .max_recv_wr = count, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	sent = pd ? ibv_create_cq(ctx, (int)count, NULL, NULL, 0) : NULL;
	received = sent ? ibv_create_cq(ctx, (int)count, NULL, NULL, 0) : NULL;
	buf = calloc(1, len);
	mr = received && buf ? ibv_reg_mr(pd, buf, len, IBV_ACCESS_LOCAL_WRITE) : NULL;
	init.send_cq = sent;
	init.recv_cq = received;
	qp = mr ? ibv_create_qp(pd, &init) : NULL;
	if (!qp || ibv_query_gid(ctx, 1, gid_index, &me.gid))
		die("objects");
	me.qpn = qp->qp_num;
	for (size_t i = 0; i < size; i++)
		buf[i] = pattern(i);
}

static void
bring_up(void)
{
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	struct ibv_qp_attr rtr = { .qp_state = IBV_QPS_RTR };
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS };

	if (ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) ||
	    ibv_modify_qp(qp, &rtr, IBV_QP_STATE) || ibv_modify_qp(qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN))
		die("states");
	if (ibv_attach_mcast(qp, &group, 0))
		die("attach");
}

static void
post_recv(uint32_t i)
{
	struct ibv_sge sge = { (uintptr_t)place(i), GRH + size, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	memset(place(i), 0, GRH + size);
	if (ibv_post_recv(qp, &wr, &bad))
		die("post_recv");
}

static struct ibv_wc
completion(struct ibv_cq *cq)
{
	time_t end = time(NULL) + PATIENCE;
	struct ibv_wc wc;

	while (!ibv_poll_cq(cq, 1, &wc))
		if (time(NULL) > end)
			die(cq == sent ? "nothing sent" : "nothing received");
	if (wc.status)
		die(ibv_wc_status_str(wc.status));
	return wc;
}

/* Number n of those that this end sends. */
static void
send_one(const union ibv_gid *to, uint32_t qpn, uint32_t n)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1,
				    .grh = { .dgid = *to, .sgid_index = (uint8_t)gid_index,
					     .hop_limit = 64 } };
	struct ibv_ah *ah = ibv_create_ah(pd, &attr);
	struct ibv_sge sge = { (uintptr_t)buf, size, mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND_WITH_IMM,
				  .send_flags = IBV_SEND_SIGNALED, .imm_data = htonl(n) }, *bad;

	if (!ah)
		die("address handle");
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = QKEY;
	if (ibv_post_send(qp, &wr, &bad))
		die("post_send");
	completion(sent);
	ibv_destroy_ah(ah);
}

/* The next that arrives must be number n of those that `from` sends to this address. */
static void
receive(const struct end *from, const union ibv_gid *to, uint32_t n)
{
	struct ibv_wc wc = completion(received);
	const uint8_t *got = place((uint32_t)wc.wr_id);
	bool four = ip4(to);

	if (wc.byte_len != GRH + size || !(wc.wc_flags & IBV_WC_GRH))
		die("byte_len or GRH");
	if (wc.src_qp != from->qpn)
		die("source QP");
	if (!(wc.wc_flags & IBV_WC_WITH_IMM) || wc.imm_data != htonl(n))
		die("immediate");
	/* F3: an IPv4 header ends where the GRH ends */
	if (four ? memcmp(got + 32, from->gid.raw + 12, 4) || memcmp(got + 36, to->raw + 12, 4)
		 : memcmp(got + 8, from->gid.raw, 16) || memcmp(got + 24, to->raw, 16))
		die("addresses");
	for (size_t i = 0; i < size; i++)
		if (got[GRH + i] != pattern(i))
			die("a byte differs");
}

/* One end sends to the group, both receive. */
static void
turn(bool mine)
{
	for (uint32_t i = 0; i < count; i++)
		post_recv(i);
	together();
	for (uint32_t i = 0; mine && i < count; i++)
		send_one(&group, GROUP_QPN, i);
	for (uint32_t i = 0; i < count; i++)
		receive(mine ? &me : &peer, &group, i);
	together();
}

/* One end sends to the group and then to the other end, which has detached. */
static void
last_turn(bool mine)
{
	if (!mine && ibv_detach_mcast(qp, &group, 0))
		die("detach");
	post_recv(0);
	together();
	if (mine) {
		send_one(&group, GROUP_QPN, 0);
		send_one(&peer.gid, peer.qpn, 1);
		receive(&me, &group, 0);
	} else {
		receive(&peer, &me.gid, 1);
	}
	together();
	if (!mine && ibv_attach_mcast(qp, &group, 0))
		die("attach again");
	together();
}

int
main(int argc, char **argv)
{
	if (argc < 5 || argc > 6 || !read_group(argv[1]))
		return 2;
	size = (uint32_t)atoi(argv[2]);
	count = (uint32_t)atoi(argv[3]);
	gid_index = atoi(argv[4]);
	is_client = argc == 6;
	make_objects();
	bring_up();
	meet(argv[5]);
	swap_words(&me, &peer, sizeof(me));
	turn(is_client);
	turn(!is_client);
	last_turn(is_client);
	last_turn(!is_client);
	if (ibv_detach_mcast(qp, &group, 0) || ibv_destroy_qp(qp))
		die("the end");
	ibv_dereg_mr(mr);
	printf("%u datagrams to %s from either end\n", count, argv[1]);
	return 0;
}
