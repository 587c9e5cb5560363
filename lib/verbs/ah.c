/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which way to a peer that no QP is connected to? Address handles, also made from what a datagram that
 * came in says of its sender; control verbs, on application threads.
 */
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/verbs_priv.h"

#define ECN_MASK 3u		/* of a traffic class: the network's word about one packet */
#define REPLY_HOPS 255

struct ibv_ah *
plx_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct ctl_create_ah msg = { .pd = pd->handle };
	struct verbs_ah *ah = calloc(1, sizeof(*ah));
	int err = -ENOMEM;

	if (ah) {
		verbs_ah_to_ctl(attr, &msg.attr);
		err = verbs_call(pd->context, CTL_CREATE_AH, &msg);
	}
	if (err) {
		free(ah);
		errno = -err;
		return NULL;
	}
	ah->pub.ah.context = pd->context;
	ah->pub.ah.pd = pd;
	ah->pub.ah.handle = msg.ah;
	ah->pub.gen = msg.ah_gen;
	verbs_pd_hold(pd);
	return &ah->pub.ah;
}

int
plx_destroy_ah(struct ibv_ah *ah)
{
	struct ctl_destroy_ah msg = { .ah = ah->handle };
	int err = verbs_call(ah->context, CTL_DESTROY_AH, &msg);

	if (err)
		return -err;
	verbs_pd_let_go(ah->pd);
	free(ah);
	return 0;
}

static bool
ip4_sum_ok(const uint8_t ip[20])
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < 20; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	return (sum & 0xffff) + (sum >> 16) == 0xffff;
}

/* A GRH area holds the IPv6 header, or zeros and then the IPv4 header (F3). */
struct grh_area {
	union ibv_gid from, to;
	uint32_t flow_label;
	uint8_t traffic_class;
};

static void
map_ip4(union ibv_gid *gid, const uint8_t ip[4])
{
	memset(gid->raw, 0, 10);
	memset(gid->raw + 10, 0xff, 2);
	memcpy(gid->raw + 12, ip, 4);
}

/* 0 or -EPROTONOSUPPORT: that is no header with which a RoCE v2 datagram came. */
static int
area_read(const struct ibv_grh *grh, struct grh_area *out)
{
	uint8_t area[40];
	const uint8_t *ip = area + 20;
	uint32_t word;

	memcpy(area, grh, sizeof(area));
	memcpy(&word, area, sizeof(word));
	word = be32toh(word);
	if (word >> 28 == 6 && area[6] == IPPROTO_UDP) {
		memcpy(out->from.raw, area + 8, 16);
		memcpy(out->to.raw, area + 24, 16);
		out->flow_label = word & 0xfffff;
		out->traffic_class = (uint8_t)(word >> 20);
		return 0;
	}
	if (ip[0] != 0x45 || ip[9] != IPPROTO_UDP || !ip4_sum_ok(ip))
		return -EPROTONOSUPPORT;
	map_ip4(&out->from, ip + 12);
	map_ip4(&out->to, ip + 16);
	out->flow_label = 0;
	out->traffic_class = ip[1];
	return 0;
}

/* The index of one of our own GIDs, or -ENOENT and other errors. */
static int
gid_index(struct ibv_context *context, uint32_t port_num, const union ibv_gid *gid)
{
	struct ctl_query_port p = { .port = port_num };
	int err = verbs_call(context, CTL_QUERY_PORT, &p);

	for (uint32_t i = 0; !err && i < p.gid_tbl_len; i++) {
		struct ctl_query_gid g = { .port = port_num, .index = i };

		err = verbs_call(context, CTL_QUERY_GID, &g);
		if (!err && memcmp(g.gid, gid->raw, sizeof(g.gid)) == 0)
			return (int)i;
		if (err == -ENODATA)
			err = 0;
	}
	return err ? err : -ENOENT;
}

/* 0 or -errno. */
static int
init_from_wc(struct ibv_context *context, uint8_t port_num, const struct ibv_wc *wc,
	     const struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	struct grh_area area;
	int rc;

	if (!(wc->wc_flags & IBV_WC_GRH))
		return -EINVAL;		/* every address of this port is a global one */
	rc = area_read(grh, &area);
	if (rc == 0)
		rc = gid_index(context, port_num, &area.to);
	if (rc < 0)
		return rc;
	*attr = (struct ibv_ah_attr){
		.grh = {
			.dgid = area.from,
			.sgid_index = (uint8_t)rc,
			.flow_label = area.flow_label,
			.hop_limit = REPLY_HOPS,
			.traffic_class = area.traffic_class & (uint8_t)~ECN_MASK,
		},
		.dlid = wc->slid,
		.sl = wc->sl,
		.src_path_bits = wc->dlid_path_bits,
		.is_global = 1,
		.port_num = port_num,
	};
	return 0;
}

int
plx_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc,
		    struct ibv_grh *grh, struct ibv_ah_attr *ah_attr)
{
	int err = init_from_wc(context, port_num, wc, grh, ah_attr);

	if (!err)
		return 0;
	errno = -err;
	return -1;
}

struct ibv_ah *
plx_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port_num)
{
	struct ibv_ah_attr attr;

	if (plx_init_ah_from_wc(pd->context, port_num, wc, grh, &attr))
		return NULL;
	return plx_create_ah(pd, &attr);
}
