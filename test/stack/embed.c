/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A DPDK program with a stack inside: libpollux-stack, <pollux/stack.h>, and the verbs. Each case runs
 * in a process of its own, for EAL starts once in one.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_lcore.h>

#include <pollux/stack.h>
#include <pollux/verbs.h>

#include "check.h"

#define LEN 100000

struct ends {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp[2];
	union ibv_gid gid;
	char *buf;
};

static char why[256];

static int
start(const char *port, int eal_running)
{
	const struct plx_stack_config conf = {
		.size = sizeof(conf), .port = port, .ip = "10.11.0.1/24", .eal_running = eal_running,
	};
	int rc = plx_stack_start(&conf, why, sizeof(why));

	if (rc < 0)
		printf("start: %d %s\n", rc, why);
	return rc;
}

static int
open_ends(struct ends *e)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 } };

	if (!list || !list[0])
		return -1;
	e->ctx = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	e->pd = e->ctx ? ibv_alloc_pd(e->ctx) : NULL;
	e->cq = e->pd ? ibv_create_cq(e->ctx, 16, NULL, NULL, 0) : NULL;
	e->buf = calloc(2, LEN);
	e->mr = e->cq ? ibv_reg_mr(e->pd, e->buf, 2 * LEN, 7) : NULL;
	if (!e->mr || ibv_query_gid(e->ctx, 1, 1, &e->gid))
		return -1;
	init.send_cq = init.recv_cq = e->cq;
	for (int i = 0; i < 2; i++) {
		e->qp[i] = ibv_create_qp(e->pd, &init);
		if (!e->qp[i])
			return -1;
	}
	return 0;
}

static int
connect_qp(const struct ends *e, struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = 7 };
	int rc = ibv_modify_qp(qp, &a, 0x39);

	if (rc)
		return rc;
	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_4096, .dest_qp_num = peer,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 1,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = e->gid, .sgid_index = 1, .hop_limit = 64 } } };
	rc = ibv_modify_qp(qp, &a, 0x129181);
	if (rc)
		return rc;
	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
				  .max_rd_atomic = 1 };
	return ibv_modify_qp(qp, &a, 0x12e01);
}

/* One WRITE from the first half of the buffer to the second; a reactor drives the core. */
static int
write_across(struct ends *e)
{
	struct ibv_sge sge = { (uintptr_t)e->buf, LEN, e->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 9, .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { (uintptr_t)e->buf + LEN, e->mr->rkey } }, *bad;
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };
	int rc;

	for (int i = 0; i < LEN; i++)
		e->buf[i] = (char)(i * 3);
	rc = ibv_post_send(e->qp[0], &wr, &bad);
	while (!rc && ibv_poll_cq(e->cq, 1, &wc) == 0)
		rc = plx_core_poll(0);
	if (rc || wc.status != IBV_WC_SUCCESS || wc.wr_id != 9)
		return -1;
	return memcmp(e->buf, e->buf + LEN, LEN);
}

static int
use_it(void)
{
	struct ends e = { 0 };

	if (open_ends(&e) || connect_qp(&e, e.qp[0], e.qp[1]->qp_num) ||
	    connect_qp(&e, e.qp[1], e.qp[0]->qp_num) || write_across(&e))
		return 1;
	if (plx_stack_stop() != -EBUSY)
		return 2;
	if (ibv_destroy_qp(e.qp[0]) || ibv_destroy_qp(e.qp[1]) || ibv_dereg_mr(e.mr) ||
	    ibv_destroy_cq(e.cq) || ibv_dealloc_pd(e.pd) || ibv_close_device(e.ctx))
		return 3;
	free(e.buf);
	return 0;
}

static int
twice(void)
{
	for (int i = 0; i < 2; i++)
		if (start("loop", 0) || use_it() || plx_stack_stop())
			return 1;
	return plx_stack_stop() == -ESRCH && plx_core_poll(0) == -ENODEV ? 0 : 2;
}

static int
eal_of_the_program(void)
{
	char prog[] = "embed", huge[] = "--no-huge", conf[] = "--no-shconf", pci[] = "--no-pci",
	     telemetry[] = "--no-telemetry", iova[] = "--iova-mode=va", mem[] = "-m256";
	char *argv[] = { prog, huge, conf, pci, telemetry, iova, mem, NULL };
	unsigned int before;

	if (rte_eal_init(7, argv) < 0)
		return 1;
	before = rte_lcore_id();
	if (plx_stack_start(&(struct plx_stack_config){ .size = sizeof(struct plx_stack_config) }, why,
			    sizeof(why)) != -EALREADY)
		return 2;
	if (start("loop", 1) || use_it() || plx_stack_stop())
		return 3;
	return rte_lcore_id() == before ? 0 : 4;	/* it was lent to the core meanwhile */
}

static const char *memif_path;

/* Neither stops the stack nor closes anything. */
static int
just_exits(void)
{
	char port[256];
	struct ends e = { 0 };

	snprintf(port, sizeof(port), "memif:%s,server", memif_path);
	if (start(port, 0) || open_ends(&e) || access(memif_path, F_OK))
		return 1;
	exit(0);
}

static int
wrong_words(void)
{
	struct plx_stack_config conf = { .size = sizeof(conf), .port = "memif:" };

	if (plx_stack_start(&conf, why, sizeof(why)) != -EINVAL || !why[0])
		return 1;
	conf.port = "loop";
	conf.impair = "drop=1%";
	if (plx_stack_start(&conf, why, sizeof(why)) != -EINVAL)
		return 2;
	conf.impair = NULL;
	conf.mtu = 50;
	if (plx_stack_start(&conf, why, sizeof(why)) != -EINVAL)
		return 3;
	conf.mtu = 0;
	conf.size = offsetof(struct plx_stack_config, mtu);	/* a program of an older version */
	if (plx_stack_start(&conf, why, sizeof(why)))
		return 4;
	return plx_stack_stop();
}

static int
status_of(int (*fn)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		exit(fn());
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static void
plx_stack_start__twice_in_a_process(void)
{
	CHECK_EQ(status_of(twice), 0);
}

static void
plx_stack_start__eal_of_the_program(void)
{
	CHECK_EQ(status_of(eal_of_the_program), 0);
}

static void
plx_stack_start__wrong_words(void)
{
	CHECK_EQ(status_of(wrong_words), 0);
}

static void
plx_stack_start__exit_leaves_nothing(void)
{
	char dir[] = "/tmp/pollux-embed-XXXXXX", path[64];

	CHECK(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/m.sock", dir);
	memif_path = path;
	CHECK_EQ(status_of(just_exits), 0);
	CHECK_EQ(rmdir(dir), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(plx_stack_start__twice_in_a_process),
	CHECK_CASE(plx_stack_start__eal_of_the_program),
	CHECK_CASE(plx_stack_start__wrong_words),
	CHECK_CASE(plx_stack_start__exit_leaves_nothing),
};

CHECK_MAIN(cases)
