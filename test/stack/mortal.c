/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One of two programs that send to each other by UC, UD, a group and XRC until one of them is killed. The
 * other goes on with whoever comes instead: mortal.py.
 *
 *     mortal DIR NAME PEER PEER-ADDRESS
 *
 * They know one another's numbers by the files DIR/NAME and DIR/PEER; when there is a new PEER, all is
 * destroyed and made anew. DIR/stop ends it. Prints "moves N" when something came by all four in the N-th
 * round. Exit status 0: whatever it was asked to do went well, each byte that came was right.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#define QKEY 0x11111111u
#define GRH 40u
#define DEPTH 32u
#define ROOM 4096u
#define LEN 1000u
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

enum { UC, UD, GROUP, XRC, WAYS };

/* What the other needs to know. */
struct numbers {
	uint32_t pid, with;	/* with whom its QPs are to talk; 0: it has none yet */
	uint32_t uc, ud, ini, tgt, srq;
};

static struct {
	const char *dir, *name, *peer;
	union ibv_gid to, group;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	uint8_t *buf;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp[WAYS], *tgt;	/* senders; UC's and UD's receive too */
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	struct ibv_ah *ah[WAYS];
	uint32_t out[WAYS], came[WAYS];
	double sent[WAYS];
	struct numbers me, it;
} p;

#define MUST(cond) \
	do { \
		if (!(cond)) { \
			printf("%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #cond, errno); \
			exit(1); \
		} \
	} while (0)

static double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static struct ibv_qp *
new_qp(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = { .send_cq = p.cq, .recv_cq = p.cq, .qp_type = type, .sq_sig_all = 1,
					 .cap = { DEPTH, DEPTH, 1, 1, 0 } };

	return ibv_create_qp(p.pd, &init);
}

static void
make_xrc(void)
{
	struct ibv_xrcd_init_attr x = { .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					.fd = -1, .oflags = O_CREAT };
	struct ibv_srq_init_attr_ex s = {
		.attr = { .max_wr = DEPTH, .max_sge = 1 }, .srq_type = IBV_SRQT_XRC, .pd = p.pd, .cq = p.cq,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_PD,
	};
	struct ibv_qp_init_attr_ex t = { .qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD };

	p.xrcd = s.xrcd = t.xrcd = ibv_open_xrcd(p.ctx, &x);
	MUST(p.xrcd);
	p.srq = ibv_create_srq_ex(p.ctx, &s);
	p.tgt = ibv_create_qp_ex(p.ctx, &t);
	p.qp[XRC] = new_qp(IBV_QPT_XRC_SEND);
	MUST(p.srq && p.tgt && p.qp[XRC]);
	MUST(ibv_get_srq_num(p.srq, &p.me.srq) == 0);
}

static void
make(void)
{
	p.cq = ibv_create_cq(p.ctx, 2048, NULL, NULL, 0);
	MUST(p.cq);
	p.qp[UC] = new_qp(IBV_QPT_UC);
	p.qp[UD] = new_qp(IBV_QPT_UD);
	p.qp[GROUP] = new_qp(IBV_QPT_UD);
	MUST(p.qp[UC] && p.qp[UD] && p.qp[GROUP]);
	make_xrc();
	p.me.uc = p.qp[UC]->qp_num;
	p.me.ud = p.qp[UD]->qp_num;
	p.me.ini = p.qp[XRC]->qp_num;
	p.me.tgt = p.tgt->qp_num;
	memset(p.out, 0, sizeof(p.out));
	memset(p.came, 0, sizeof(p.came));
}

static void
say_numbers(void)
{
	char path[256], tmp[300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", p.dir, p.name);
	snprintf(tmp, sizeof(tmp), "%s.new", path);
	f = fopen(tmp, "w");
	MUST(f);
	fprintf(f, "%u %u %u %u %u %u %u\n", p.me.pid, p.me.with, p.me.uc, p.me.ud, p.me.ini, p.me.tgt,
		p.me.srq);
	MUST(fclose(f) == 0 && rename(tmp, path) == 0);
}

/* Of the other, if it has said any. */
static bool
read_numbers(struct numbers *n)
{
	char path[256];
	FILE *f;
	int got = 0;

	snprintf(path, sizeof(path), "%s/%s", p.dir, p.peer);
	f = fopen(path, "r");
	if (f) {
		got = fscanf(f, "%u %u %u %u %u %u %u", &n->pid, &n->with, &n->uc, &n->ud, &n->ini, &n->tgt,
			     &n->srq);
		fclose(f);
	}
	return got == 7;
}

static bool
stopped(void)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/stop", p.dir);
	return access(path, F_OK) == 0;
}

static int
to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY,
				 .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };

	return ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     (qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

static int
to_rts(struct ibv_qp *qp, uint32_t peer, int rtr_more, int rts_more)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer,
				 .max_dest_rd_atomic = 1, .min_rnr_timer = 1 };
	int rc;

	a.ah_attr = (struct ibv_ah_attr){ .is_global = 1, .port_num = 1,
					  .grh = { .dgid = p.to, .sgid_index = 1, .hop_limit = 1 } };
	rc = ibv_modify_qp(qp, &a, IBV_QP_STATE | rtr_more);
	a.qp_state = IBV_QPS_RTS;
	a.timeout = 17;	/* the other may not be ready yet */
	a.retry_cnt = 7;
	a.rnr_retry = 7;
	a.max_rd_atomic = 1;
	return rc ? rc : ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN | rts_more);
}

static struct ibv_ah *
ah_to(const union ibv_gid *gid)
{
	struct ibv_ah_attr a = { .is_global = 1, .port_num = 1, .grh = { .dgid = *gid, .sgid_index = 1 } };

	return ibv_create_ah(p.pd, &a);
}

static void
connect_all(void)
{
	const int uc = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	const int rc = uc | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	const int reliable = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;

	for (int i = 0; i < WAYS; i++)
		MUST(to_init(p.qp[i]) == 0);
	MUST(to_init(p.tgt) == 0);
	MUST(to_rts(p.qp[UC], p.it.uc, uc, 0) == 0);
	MUST(to_rts(p.qp[UD], 0, 0, 0) == 0 && to_rts(p.qp[GROUP], 0, 0, 0) == 0);
	MUST(to_rts(p.qp[XRC], p.it.tgt, rc, reliable) == 0);
	MUST(to_rts(p.tgt, p.it.ini, rc, reliable) == 0);
	MUST(ibv_attach_mcast(p.qp[GROUP], &p.group, 0) == 0);
	p.ah[UD] = ah_to(&p.to);
	p.ah[GROUP] = ah_to(&p.group);
	MUST(p.ah[UD] && p.ah[GROUP]);
}

static void
post_recv(int way, uint32_t slot)
{
	struct ibv_sge sge = { (uintptr_t)p.buf + ((uint32_t)way * DEPTH + slot) * ROOM, ROOM, p.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = (uint64_t)way << 32 | slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (way == XRC)
		MUST(ibv_post_srq_recv(p.srq, &wr, &bad) == 0);
	else
		MUST(ibv_post_recv(p.qp[way], &wr, &bad) == 0);
}

static void
post_send(int way)
{
	struct ibv_sge sge = { (uintptr_t)p.buf + WAYS * DEPTH * ROOM, LEN, p.mr->lkey };
	struct ibv_send_wr wr = { .wr_id = (uint64_t)way << 32, .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_SEND }, *bad;

	if (way == XRC) {
		wr.qp_type.xrc.remote_srqn = p.it.srq;
	} else if (way != UC) {
		wr.wr.ud.ah = p.ah[way];
		wr.wr.ud.remote_qpn = way == UD ? p.it.ud : 0xffffff;
		wr.wr.ud.remote_qkey = QKEY;
	}
	MUST(ibv_post_send(p.qp[way], &wr, &bad) == 0);
	p.out[way]++;
}

static void
look_at(const struct ibv_wc *wc)
{
	int way = (int)(wc->wr_id >> 32);
	uint32_t slot = (uint32_t)wc->wr_id, grh = way == UD || way == GROUP ? GRH : 0;
	const uint8_t *at = p.buf + ((uint32_t)way * DEPTH + slot) * ROOM + grh;

	MUST(wc->byte_len == grh + LEN);
	for (uint32_t i = 1; i < LEN; i++)
		MUST(at[i] == (uint8_t)(i * 7));
	/* not of one's own, which the group brings back */
	p.came[way] += at[0] != (uint8_t)p.name[0];
	post_recv(way, slot);
}

static void
poll_all(void)
{
	struct ibv_wc wc[16];
	int n = ibv_poll_cq(p.cq, 16, wc);

	MUST(n >= 0);
	for (int i = 0; i < n; i++) {
		int way = (int)(wc[i].wr_id >> 32);
		bool recv = wc[i].status == IBV_WC_SUCCESS && (wc[i].opcode & IBV_WC_RECV);

		/* only what is acknowledged may fail, for the other is dead */
		MUST(wc[i].status == IBV_WC_SUCCESS || way == XRC);
		if (recv)
			look_at(&wc[i]);
		else
			p.out[way]--;
	}
}

static bool
all_came(void)
{
	for (int i = 0; i < WAYS; i++)
		if (p.came[i] < 100)
			return false;
	return true;
}

static void
destroy(void)
{
	if (p.ah[GROUP])
		MUST(ibv_detach_mcast(p.qp[GROUP], &p.group, 0) == 0);
	for (int i = 0; i < WAYS; i++)
		MUST(ibv_destroy_qp(p.qp[i]) == 0);
	for (int i = UD; i <= GROUP; i++)
		MUST(!p.ah[i] || ibv_destroy_ah(p.ah[i]) == 0);
	memset(p.ah, 0, sizeof(p.ah));
	MUST(ibv_destroy_srq(p.srq) == 0 && ibv_destroy_qp(p.tgt) == 0 && ibv_close_xrcd(p.xrcd) == 0);
	MUST(ibv_destroy_cq(p.cq) == 0);
}

/* What nobody acknowledges must not drown the rest. */
static bool
may_send(int way)
{
	double t = now();

	if (p.out[way] == 8 || (way == XRC && p.qp[XRC]->state != IBV_QPS_RTS) || t < p.sent[way] + 1e-4)
		return false;
	p.sent[way] = t;
	return true;
}

/* Until the other has a newer life, or there is an end. */
static void
play(uint32_t round)
{
	struct numbers news = p.it;
	double began = now();
	bool said = false;

	for (int way = 0; way < WAYS; way++)
		for (uint32_t i = 0; i < DEPTH; i++)
			post_recv(way, i);
	memset(p.sent, 0, sizeof(p.sent));
	for (uint32_t turn = 0; news.pid == p.it.pid && !(turn % 256 == 0 && stopped()); turn++) {
		for (int way = 0; way < WAYS; way++)
			if (may_send(way))
				post_send(way);
		poll_all();
		if (!said && all_came()) {
			said = true;
			printf("moves %u %.1f\n", round, now() - began);
		}
		if (turn % 256 == 0)
			(void)read_numbers(&news);
	}
}

/* Somebody who is there and new. False: it is to end. */
static bool
meets(void)
{
	uint32_t last = p.it.pid;

	while (!stopped()) {
		if (read_numbers(&p.it) && p.it.pid != last)
			return true;
		usleep(1000);
	}
	return false;
}

/* It has QPs for us. False: another one came, or it is to end. */
static bool
agrees(void)
{
	uint32_t whom = p.it.pid;

	while (!stopped() && read_numbers(&p.it) && p.it.pid == whom) {
		if (p.it.with == p.me.pid)
			return true;
		usleep(1000);
	}
	p.it.pid = 0;
	return false;
}

static void
open_all(const char *address)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	const uint32_t len = (WAYS * DEPTH + 1) * ROOM;
	uint8_t *out;

	MUST(list && list[0]);
	p.ctx = ibv_open_device(list[0]);
	MUST(p.ctx);
	ibv_free_device_list(list);
	p.pd = ibv_alloc_pd(p.ctx);
	p.buf = aligned_alloc(4096, len);
	MUST(p.pd && p.buf);
	p.mr = ibv_reg_mr(p.pd, p.buf, len, ACCESS);
	MUST(p.mr);
	out = p.buf + WAYS * DEPTH * ROOM;
	out[0] = (uint8_t)p.name[0];
	for (uint32_t i = 1; i < LEN; i++)
		out[i] = (uint8_t)(i * 7);
	p.to.raw[10] = p.to.raw[11] = p.group.raw[10] = p.group.raw[11] = 0xff;
	MUST(inet_pton(AF_INET, address, p.to.raw + 12) == 1);
	MUST(inet_pton(AF_INET, "239.1.2.3", p.group.raw + 12) == 1);
}

int
main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	p.dir = argv[1];
	p.name = argv[2];
	p.peer = argv[3];
	open_all(argv[4]);
	p.me.pid = (uint32_t)getpid();
	say_numbers();
	for (uint32_t round = 0; meets(); round++) {
		make();
		p.me.with = p.it.pid;
		say_numbers();
		if (agrees()) {
			connect_all();
			play(round);
		}
		destroy();
		printf("destroyed %u\n", round);
	}
	printf("ends\n");
	return 0;
}
