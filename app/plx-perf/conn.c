/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers: which verbs objects does an end need, and how does the other end hear of them? Called
 * before and after the traffic.
 */
#include "conn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "say.h"
#include "stats.h"

#define PORT 1
#define PEER_WAIT_MS 20000
#define ENDPOINT_WORDS (sizeof(struct endpoint) / sizeof(uint64_t))
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
		IBV_ACCESS_REMOTE_ATOMIC)

static int
make_buffer(struct conn *c, size_t length)
{
	c->length = (length + 4095) & ~(size_t)4095;
	c->buffer = mmap(NULL, c->length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c->buffer == MAP_FAILED) {
		c->buffer = NULL;
		return fail("no memory for %zu MiB of buffers; take fewer --qps, a smaller --size or "
			    "--depth", c->length >> 20);
	}
	madvise(c->buffer, c->length, MADV_HUGEPAGE);
	memset(c->buffer, 0, c->length);
	c->mr = ibv_reg_mr(c->pd, c->buffer, c->length, ACCESS);
	return c->mr ? 0 : fail("cannot register %zu MiB: %s", c->length >> 20, strerror(errno));
}

static int
make_channel(struct conn *c)
{
	int flags;

	c->channel = ibv_create_comp_channel(c->dev->ctx);
	if (!c->channel)
		return fail("cannot make a completion channel: %s", strerror(errno));
	flags = fcntl(c->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(c->channel->fd, F_SETFL, flags | O_NONBLOCK))
		return fail("cannot make a completion channel non-blocking: %s", strerror(errno));
	return 0;
}

static struct ibv_cq *
make_cq(struct conn *c, uint64_t entries)
{
	struct ibv_cq *cq = NULL;

	if (entries > (uint64_t)c->dev->attr.max_cqe) {
		fail("%s has CQs of at most %d entries, %llu are needed; take fewer --qps or a smaller "
		     "--depth", c->dev->name, c->dev->attr.max_cqe, (unsigned long long)entries);
		return NULL;
	}
	cq = ibv_create_cq(c->dev->ctx, (int)entries, NULL, c->channel, 0);
	if (!cq)
		fail("cannot make a CQ of %llu entries: %s", (unsigned long long)entries,
		     strerror(errno));
	return cq;
}

static int
make_qp(struct conn *c, uint32_t i, const struct conn_need *need)
{
	struct ibv_qp_init_attr init = {
		.send_cq = c->send_cq,
		.recv_cq = c->recv_cq,
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = need->send_wr,
			.max_recv_wr = need->recv_wr,
			.max_send_sge = need->sges,
			.max_recv_sge = need->sges,
			.max_inline_data = need->inline_max,
		},
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags = ACCESS & ~IBV_ACCESS_LOCAL_WRITE,
	};
	struct conn_qp *q = &c->qp[i];
	int rc;

	q->qp = ibv_create_qp(c->pd, &init);
	if (!q->qp)
		return fail("cannot make QP %u of %u (%u + %u WRs, %u SGEs, %u B inline): %s; the device "
			    "allows %d WRs and %d SGEs", i + 1, c->qps, need->send_wr, need->recv_wr,
			    need->sges, need->inline_max, strerror(errno), c->dev->attr.max_qp_wr,
			    c->dev->attr.max_sge);
	q->psn = (uint32_t)(now_ns() * 2654435761u >> 7) & 0xffffff;
	rc = ibv_modify_qp(q->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			   IBV_QP_ACCESS_FLAGS);
	return rc ? fail("cannot take QP %u to INIT: %s", i + 1, strerror(rc)) : 0;
}

int
conn_make(struct conn *c, struct device *d, const struct test *t, const struct conn_need *need)
{
	memset(c, 0, sizeof(*c));
	c->dev = d;
	c->test = t;
	c->qps = need->qps;
	c->qp = calloc(need->qps, sizeof(*c->qp));
	if (!c->qp)
		return fail("out of memory");
	c->pd = ibv_alloc_pd(d->ctx);
	if (!c->pd)
		return fail("cannot make a PD: %s", strerror(errno));
	if (make_buffer(c, need->buffer) || (t->events && make_channel(c)))
		return -1;
	c->send_cq = make_cq(c, (uint64_t)need->qps * need->send_wr);
	c->recv_cq = c->send_cq ? make_cq(c, (uint64_t)need->qps * need->recv_wr) : NULL;
	if (!c->recv_cq)
		return -1;
	for (uint32_t i = 0; i < need->qps; i++) {
		if (make_qp(c, i, need))
			return -1;
	}
	return 0;
}

int
conn_tell(struct conn *c, struct link *l)
{
	uint32_t n = ENDPOINT_WORDS + 2 * c->qps;
	uint64_t *word = calloc(n, sizeof(*word)), *w = word;
	struct endpoint mine = {
		.gid_high = be64toh(c->dev->gid.global.subnet_prefix),
		.gid_low = be64toh(c->dev->gid.global.interface_id),
		.mtu = 128u << c->dev->port.active_mtu,
		.rd_atom = device_rd_atom(c->dev),
		.addr = (uintptr_t)c->buffer,
		.length = c->length,
		.rkey = c->mr->rkey,
		.qps = c->qps,
	};
	int rc;

	if (!word)
		return fail("out of memory");
	memcpy(w, &mine, sizeof(mine));
	w += ENDPOINT_WORDS;
	for (uint32_t i = 0; i < c->qps; i++) {
		*w++ = c->qp[i].qp->qp_num;
		*w++ = c->qp[i].psn;
	}
	rc = link_send(l, MSG_ENDPOINT, word, n);
	free(word);
	return rc ? fail("%s closed its connection before the test began", l->peer) : 0;
}

int
conn_hear(struct conn *c, struct link *l)
{
	struct msg *m = malloc(sizeof(*m));
	const uint64_t *w;
	int rc = -1;

	if (!m)
		return fail("out of memory");
	if (link_expect(l, m, MSG_ENDPOINT, ENDPOINT_WORDS + 2 * c->qps, PEER_WAIT_MS))
		goto out;
	memcpy(&c->peer, m->word, sizeof(c->peer));
	if (c->peer.length < c->length || c->peer.qps != c->qps) {
		fail("%s has other buffers or QPs; run the same version at both ends", l->peer);
		goto out;
	}
	w = m->word + ENDPOINT_WORDS;
	for (uint32_t i = 0; i < c->qps; i++) {
		c->qp[i].peer_qpn = (uint32_t)*w++;
		c->qp[i].peer_psn = (uint32_t)*w++ & 0xffffff;
	}
	rc = 0;
out:
	free(m);
	return rc;
}

void
conn_free(struct conn *c)
{
	for (uint32_t i = 0; c->qp && i < c->qps; i++) {
		if (c->qp[i].qp)
			ibv_destroy_qp(c->qp[i].qp);
	}
	free(c->qp);
	if (c->recv_cq)
		ibv_destroy_cq(c->recv_cq);
	if (c->send_cq)
		ibv_destroy_cq(c->send_cq);
	if (c->channel)
		ibv_destroy_comp_channel(c->channel);
	if (c->mr)
		ibv_dereg_mr(c->mr);
	if (c->buffer)
		munmap(c->buffer, c->length);
	if (c->pd)
		ibv_dealloc_pd(c->pd);
	memset(c, 0, sizeof(*c));
}
