/* SPDX-License-Identifier: BSD-3-Clause */
/* What does every program need before it makes queue pairs? A device, memory, completions. */
#include "pingpong.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WIPED 0xee		/* what a slot holds before it is received into */

static struct ibv_context *
open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL), **d = list;
	struct ibv_context *ctx = NULL;

	if (!list) {
		perror("Failed to get IB devices list");
		return NULL;
	}
	while (*d && name && strcmp(ibv_get_device_name(*d), name) != 0)
		d++;
	if (*d)
		ctx = ibv_open_device(*d);
	if (!*d && name)
		fprintf(stderr, "IB device %s not found\n", name);
	else if (!*d)
		fprintf(stderr, "No IB devices found\n");
	else if (!ctx)
		fprintf(stderr, "Couldn't get context for %s\n", ibv_get_device_name(*d));
	ibv_free_device_list(list);
	return ctx;
}

/* On an Ethernet there is no path without a GID: RoCE v2, and of those the first of IPv4. */
static int
choose_gid(const struct pp *pp)
{
	int best = 0;

	for (int i = pp->port.gid_tbl_len - 1; i >= 0; i--) {
		struct ibv_gid_entry e;

		if (ibv_query_gid_ex(pp->ctx, pp->opt.ib_port, (uint32_t)i, &e, 0) ||
		    e.gid_type != IBV_GID_TYPE_ROCE_V2)
			continue;
		if (!best || (e.gid.raw[10] == 0xff && e.gid.raw[11] == 0xff && !e.gid.raw[0]))
			best = i;
	}
	return best;
}

/* An empty entry of the table reads as zeros, and nobody answers to that. */
static bool
read_gid(struct pp *pp)
{
	static const union ibv_gid none;

	if (ibv_query_gid(pp->ctx, (uint8_t)pp->opt.ib_port, pp->opt.gid_idx, &pp->gid)) {
		fprintf(stderr, "can't read sgid of index %d\n", pp->opt.gid_idx);
		return false;
	}
	if (memcmp(&pp->gid, &none, sizeof(none)) == 0)
		fprintf(stderr, "GID index %d is empty; devinfo -v lists the others\n", pp->opt.gid_idx);
	return memcmp(&pp->gid, &none, sizeof(none)) != 0;
}

static bool
look_at_port(struct pp *pp)
{
	int *idx = &pp->opt.gid_idx;

	if (ibv_query_port(pp->ctx, (uint8_t)pp->opt.ib_port, &pp->port)) {
		fprintf(stderr, "Couldn't get port info for port %u\n", pp->opt.ib_port);
		return false;
	}
	if (*idx < 0 && pp->port.link_layer == IBV_LINK_LAYER_ETHERNET)
		*idx = choose_gid(pp);
	return *idx < 0 || read_gid(pp);
}

/* Every message holds the same, which no two pages of it do; the first byte of a page is 0, since that is
 * what rdma-core's servers look at. */
static uint8_t
pattern(size_t i, size_t page)
{
	return i % page ? (uint8_t)(i * 31 + i / 256 * 7) | 1 : 0;
}

static bool
make_memory(struct pp *pp, unsigned int slots)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), len;
	int access = IBV_ACCESS_LOCAL_WRITE | (pp->opt.odp ? IBV_ACCESS_ON_DEMAND : 0);

	pp->slot = (pp->headroom + pp->opt.size + page - 1) / page * page;
	pp->slot = pp->slot ? pp->slot : page;
	len = pp->slot * (1 + slots);
	pp->buf = aligned_alloc(page, len);
	if (!pp->buf) {
		fprintf(stderr, "Couldn't allocate work buf.\n");
		return false;
	}
	memset(pp->buf, WIPED, len);
	for (size_t i = 0; i < pp->opt.size; i++)
		pp->buf[i] = pattern(i, page);
	pp->mr = ibv_reg_mr(pp->pd, pp->buf, len, access);
	if (!pp->mr)
		perror("Couldn't register MR");
	return pp->mr;
}

bool
pp_open(struct pp *pp, unsigned int cqe, unsigned int slots, unsigned int headroom)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	pp->headroom = headroom;
	pp->ctx = open_device(pp->opt.ib_dev);
	if (!pp->ctx || !look_at_port(pp))
		return false;
	pp->pd = ibv_alloc_pd(pp->ctx);
	if (!pp->pd) {
		perror("Couldn't allocate PD");
		return false;
	}
	if (pp->opt.events && !(pp->channel = ibv_create_comp_channel(pp->ctx))) {
		perror("Couldn't create completion channel");
		return false;
	}
	pp->cq = ibv_create_cq(pp->ctx, (int)cqe, NULL, pp->channel, 0);
	if (!pp->cq || (pp->channel && ibv_req_notify_cq(pp->cq, 0))) {
		perror("Couldn't create CQ");
		return false;
	}
	return make_memory(pp, slots);
}

void
pp_close(struct pp *pp)
{
	if (pp->fd >= 0)
		close(pp->fd);
	if (pp->num_events)
		ibv_ack_cq_events(pp->cq, pp->num_events);
	if (pp->cq && ibv_destroy_cq(pp->cq))
		fprintf(stderr, "Couldn't destroy CQ\n");
	if (pp->mr && ibv_dereg_mr(pp->mr))
		fprintf(stderr, "Couldn't deregister MR\n");
	if (pp->pd && ibv_dealloc_pd(pp->pd))
		fprintf(stderr, "Couldn't deallocate PD\n");
	if (pp->channel)
		ibv_destroy_comp_channel(pp->channel);
	if (pp->ctx)
		ibv_close_device(pp->ctx);
	free(pp->buf);
}

enum ibv_mtu
pp_mtu(unsigned int bytes)
{
	for (unsigned int e = IBV_MTU_256; e <= IBV_MTU_4096; e++)
		if (bytes == 128u << e)
			return (enum ibv_mtu)e;
	fprintf(stderr, "There is no path MTU of %u bytes\n", bytes);
	return 0;
}

struct ibv_ah_attr
pp_path(const struct pp *pp, unsigned int lid, const union ibv_gid *gid)
{
	struct ibv_ah_attr ah = {
		.dlid = (uint16_t)lid,
		.sl = (uint8_t)pp->opt.sl,
		.port_num = (uint8_t)pp->opt.ib_port,
		.is_global = pp->opt.gid_idx >= 0,
	};

	if (ah.is_global) {
		ah.grh.dgid = *gid;
		ah.grh.sgid_index = (uint8_t)pp->opt.gid_idx;
		ah.grh.hop_limit = 64;
	}
	return ah;
}

/* An event says that the CQ was not empty. It is armed again before it is emptied: what comes in between
 * makes another event. */
static bool
sleep_for_event(struct pp *pp)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(pp->channel, &cq, &context)) {
		fprintf(stderr, "Failed to get cq_event\n");
		return false;
	}
	pp->num_events++;
	if (cq != pp->cq || ibv_req_notify_cq(pp->cq, 0)) {
		fprintf(stderr, "CQ event for unknown CQ %p\n", (void *)cq);
		return false;
	}
	return true;
}

int
pp_wait(struct pp *pp, struct ibv_wc *wc, int max)
{
	int n;

	do {
		n = ibv_poll_cq(pp->cq, max, wc);
		if (n == 0 && pp->channel && !sleep_for_event(pp))
			return 0;
	} while (n == 0);
	if (n < 0)
		fprintf(stderr, "poll CQ failed %d\n", n);
	return n < 0 ? 0 : n;
}

bool
pp_succeeded(const struct ibv_wc *wc)
{
	if (wc->status == IBV_WC_SUCCESS)
		return true;
	fprintf(stderr, "Failed status %s (%d) for wr_id %d, vendor_err 0x%x\n",
		ibv_wc_status_str(wc->status), wc->status, (int)wc->wr_id, wc->vendor_err);
	return false;
}

struct ibv_sge
pp_out(const struct pp *pp)
{
	return (struct ibv_sge){ .addr = (uintptr_t)pp->buf, .length = pp->opt.size, .lkey = pp->mr->lkey };
}

struct ibv_sge
pp_in(const struct pp *pp, unsigned int n)
{
	return (struct ibv_sge){ .addr = (uintptr_t)pp->buf + (1 + n) * pp->slot,
				 .length = pp->headroom + pp->opt.size, .lkey = pp->mr->lkey };
}

bool
pp_check(struct pp *pp, unsigned int n)
{
	uint8_t *slot = pp->buf + (1 + n) * pp->slot, *msg = slot + pp->headroom;
	size_t size = pp->opt.size, page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t fill = size > 1 ? msg[1] : 0;
	bool theirs;

	if (!pp->opt.check)
		return true;
	/* a program of rdma-core's sends the same byte throughout, and if it checks a 0 where pages begin */
	theirs = size > 1 && fill != pattern(1, page) && fill != WIPED;
	for (size_t i = 0; i < size; i++) {
		if (theirs ? msg[i] == fill || (msg[i] == 0 && i % page == 0) : msg[i] == pattern(i, page))
			continue;
		fprintf(stderr, "invalid data in page %zu: byte %zu is 0x%02x\n", i / page, i, msg[i]);
		return false;
	}
	memset(slot, WIPED, pp->slot);
	return true;
}

void
pp_report(const struct pp *pp, unsigned int exchanges, const struct timespec *start)
{
	long long bytes = (long long)pp->opt.size * exchanges * 2;
	struct timespec end;
	double us;

	clock_gettime(CLOCK_MONOTONIC, &end);
	us = (double)(end.tv_sec - start->tv_sec) * 1e6 + (double)(end.tv_nsec - start->tv_nsec) / 1e3;
	printf("%lld bytes in %.2f seconds = %.2f Mbit/sec\n", bytes, us / 1e6, (double)bytes * 8 / us);
	printf("%u iters in %.2f seconds = %.2f usec/iter\n", exchanges, us / 1e6, us / exchanges);
}
