/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Does the device say of itself what doc/features.ini proves? Every bit and every limit that it claims, by
 * a query or by granting it at a create, has a row in the section [Claims], which names its tests; and each
 * row there is claimed. test/lint/features.py sees that the tests exist.
 */
#include "serve_verbs.h"

#define INI SOURCE_ROOT "/doc/features.ini"
#define MAX_CLAIMS 256
#define NAME_LEN 96

static char claims[MAX_CLAIMS][NAME_LEN], rows[MAX_CLAIMS][NAME_LEN];
static unsigned int num_claims, num_rows;

static void
claim(const char *what, const char *name, uint64_t value)
{
	if (!value)
		return;
	MUST(num_claims < MAX_CLAIMS);
	snprintf(claims[num_claims++], NAME_LEN, "%s%s%s", what, *what ? " " : "", name);
}

struct bit {
	uint64_t value;
	const char *name;
};

/* Bits that have no name are claims too. */
static void
claim_bits(const char *what, uint64_t bits, const struct bit *names, size_t num)
{
	char nameless[32];

	for (size_t i = 0; i < num; i++) {
		claim(what, names[i].name, bits & names[i].value);
		bits &= ~names[i].value;
	}
	for (unsigned int bit = 0; bit < 64; bit++) {
		snprintf(nameless, sizeof(nameless), "bit %u", bit);
		claim(what, nameless, bits >> bit & 1);
	}
}
#define CLAIM_BITS(what, bits, names) claim_bits(what, bits, names, sizeof(names) / sizeof((names)[0]))

#define DEVICE_BIT(name) { IBV_DEVICE_##name, #name }
static const struct bit device_bits[] = {
	DEVICE_BIT(RESIZE_MAX_WR), DEVICE_BIT(BAD_PKEY_CNTR), DEVICE_BIT(BAD_QKEY_CNTR),
	DEVICE_BIT(RAW_MULTI), DEVICE_BIT(AUTO_PATH_MIG), DEVICE_BIT(CHANGE_PHY_PORT),
	DEVICE_BIT(UD_AV_PORT_ENFORCE), DEVICE_BIT(CURR_QP_STATE_MOD), DEVICE_BIT(SHUTDOWN_PORT),
	DEVICE_BIT(INIT_TYPE), DEVICE_BIT(PORT_ACTIVE_EVENT), DEVICE_BIT(SYS_IMAGE_GUID),
	DEVICE_BIT(RC_RNR_NAK_GEN), DEVICE_BIT(SRQ_RESIZE), DEVICE_BIT(N_NOTIFY_CQ),
	DEVICE_BIT(MEM_WINDOW), DEVICE_BIT(UD_IP_CSUM), DEVICE_BIT(XRC), DEVICE_BIT(MEM_MGT_EXTENSIONS),
	DEVICE_BIT(MEM_WINDOW_TYPE_2A), DEVICE_BIT(MEM_WINDOW_TYPE_2B), DEVICE_BIT(RC_IP_CSUM),
	DEVICE_BIT(RAW_IP_CSUM), DEVICE_BIT(MANAGED_FLOW_STEERING), DEVICE_BIT(RAW_SCATTER_FCS),
	DEVICE_BIT(PCI_WRITE_END_PADDING),
};

static const struct bit device_ex_bits[] = {
	{ PLX_DEVICE_FLUSH_GLOBAL, "FLUSH_GLOBAL" }, { PLX_DEVICE_FLUSH_PERSISTENT, "FLUSH_PERSISTENT" },
	{ PLX_DEVICE_ATOMIC_WRITE, "ATOMIC_WRITE" }, DEVICE_BIT(PCI_WRITE_END_PADDING),
};

/* X(field of struct ibv_device_attr that is a limit) */
#define LIMITS(X) \
	X(max_mr_size) X(page_size_cap) X(max_qp) X(max_qp_wr) X(max_sge) X(max_sge_rd) X(max_cq) X(max_cqe) \
	X(max_mr) X(max_pd) X(max_qp_rd_atom) X(max_ee_rd_atom) X(max_res_rd_atom) X(max_qp_init_rd_atom) \
	X(max_ee_init_rd_atom) X(max_ee) X(max_rdd) X(max_mw) X(max_raw_ipv6_qp) X(max_raw_ethy_qp) \
	X(max_mcast_grp) X(max_mcast_qp_attach) X(max_total_mcast_qp_attach) X(max_ah) X(max_fmr) \
	X(max_map_per_fmr) X(max_srq) X(max_srq_wr) X(max_srq_sge) X(max_pkeys) X(local_ca_ack_delay) \
	X(phys_port_cnt)

static void
claim_device(void)
{
	struct ibv_device_attr d;

	MUST(ibv_query_device(v.ctx, &d) == 0);
#define LIMIT(field) claim("", #field, (uint64_t)d.field);
	LIMITS(LIMIT)
#undef LIMIT
	CLAIM_BITS("device", d.device_cap_flags, device_bits);
	claim("atomic_cap", "HCA", d.atomic_cap == IBV_ATOMIC_HCA);
	claim("atomic_cap", "GLOB", d.atomic_cap == IBV_ATOMIC_GLOB);
}

#define ODP_BIT(name) { IBV_ODP_SUPPORT_##name, #name }
static const struct bit odp_bits[] = {
	ODP_BIT(SEND), ODP_BIT(RECV), ODP_BIT(WRITE), ODP_BIT(READ), ODP_BIT(ATOMIC), ODP_BIT(SRQ_RECV),
};
static const struct bit odp_general[] = {
	{ IBV_ODP_SUPPORT, "SUPPORT" }, { IBV_ODP_SUPPORT_IMPLICIT, "IMPLICIT" },
};

/* X(name, field of struct ibv_device_attr_ex that is a limit or a mask) */
#define LIMITS_EX(X) \
	X(completion_timestamp_mask, completion_timestamp_mask) X(hca_core_clock, hca_core_clock) \
	X(max_tso, tso_caps.max_tso) X(tso_qpts, tso_caps.supported_qpts) \
	X(rss_qpts, rss_caps.supported_qpts) X(max_rwq, rss_caps.max_rwq_indirection_tables) \
	X(max_rwq_size, rss_caps.max_rwq_indirection_table_size) X(rss_fields, rss_caps.rx_hash_fields_mask) \
	X(rss_function, rss_caps.rx_hash_function) X(max_wq_type_rq, max_wq_type_rq) \
	X(rate_limit_min, packet_pacing_caps.qp_rate_limit_min) \
	X(rate_limit_max, packet_pacing_caps.qp_rate_limit_max) \
	X(pacing_qpts, packet_pacing_caps.supported_qpts) X(raw_packet_caps, raw_packet_caps) \
	X(tm_max_rndv_hdr_size, tm_caps.max_rndv_hdr_size) X(tm_max_num_tags, tm_caps.max_num_tags) \
	X(tm_flags, tm_caps.flags) X(tm_max_ops, tm_caps.max_ops) X(tm_max_sge, tm_caps.max_sge) \
	X(max_cq_count, cq_mod_caps.max_cq_count) X(max_cq_period, cq_mod_caps.max_cq_period) \
	X(max_dm_size, max_dm_size) X(pci_fetch_add, pci_atomic_caps.fetch_add) \
	X(pci_swap, pci_atomic_caps.swap) X(pci_compare_swap, pci_atomic_caps.compare_swap) \
	X(phys_port_cnt_ex, phys_port_cnt_ex)

static void
claim_device_ex(void)
{
	struct ibv_device_attr_ex e;

	MUST(ibv_query_device_ex(v.ctx, NULL, &e) == 0);
#define LIMIT(name, field) claim("", #name, e.field);
	LIMITS_EX(LIMIT)
#undef LIMIT
	CLAIM_BITS("device_ex", e.device_cap_flags_ex & ~(uint64_t)e.orig_attr.device_cap_flags,
		   device_ex_bits);
	CLAIM_BITS("odp", e.odp_caps.general_caps, odp_general);
	CLAIM_BITS("odp RC", e.odp_caps.per_transport_caps.rc_odp_caps, odp_bits);
	CLAIM_BITS("odp UC", e.odp_caps.per_transport_caps.uc_odp_caps, odp_bits);
	CLAIM_BITS("odp UD", e.odp_caps.per_transport_caps.ud_odp_caps, odp_bits);
	CLAIM_BITS("odp XRC", e.xrc_odp_caps, odp_bits);
}

static const struct bit port_bits[] = {
	{ IBV_PORT_CM_SUP, "CM_SUP" }, { IBV_PORT_IP_BASED_GIDS, "IP_BASED_GIDS" },
};

static void
claim_port(void)
{
	static const struct bit flags[] = { { IBV_QPF_GRH_REQUIRED, "GRH_REQUIRED" } };
	struct ibv_port_attr p;

	MUST(ibv_query_port(v.ctx, 1, &p) == 0);
	CLAIM_BITS("port", p.port_cap_flags, port_bits);
	CLAIM_BITS("port2", p.port_cap_flags2, port_bits);
	CLAIM_BITS("port", p.flags, flags);
	claim("", "max_msg_sz", p.max_msg_sz);
	claim("", "max_mtu", (uint64_t)p.max_mtu);
	claim("", "gid_tbl_len", (uint64_t)p.gid_tbl_len);
	claim("", "pkey_tbl_len", p.pkey_tbl_len);
}

#define WC_BIT(name) { IBV_WC_EX_WITH_##name, #name }
static const struct bit wc_bits[] = {
	WC_BIT(BYTE_LEN), WC_BIT(IMM), WC_BIT(QP_NUM), WC_BIT(SRC_QP), WC_BIT(SLID), WC_BIT(SL),
	WC_BIT(DLID_PATH_BITS), WC_BIT(COMPLETION_TIMESTAMP), WC_BIT(CVLAN), WC_BIT(FLOW_TAG),
	WC_BIT(TM_INFO), WC_BIT(COMPLETION_TIMESTAMP_WALLCLOCK),
};
static const struct bit cq_bits[] = {
	{ IBV_CREATE_CQ_ATTR_SINGLE_THREADED, "SINGLE_THREADED" },
	{ IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN, "IGNORE_OVERRUN" },
};

static bool
cq_granted(uint64_t wc_flags, uint32_t flags)
{
	struct ibv_cq_init_attr_ex init = { .cqe = 1, .wc_flags = wc_flags, .flags = flags,
					    .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(v.ctx, &init);

	if (cq)
		MUST(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)) == 0);
	else
		MUST(errno == EOPNOTSUPP);
	return cq != NULL;
}

static void
claim_cqs(void)
{
	uint64_t wc = 0, flags = 0;

	for (unsigned int bit = 0; bit < 64; bit++)
		wc |= cq_granted(1ull << bit, 0) ? 1ull << bit : 0;
	for (unsigned int bit = 0; bit < 32; bit++)
		flags |= cq_granted(0, 1u << bit) ? 1u << bit : 0;
	CLAIM_BITS("wc", wc, wc_bits);
	CLAIM_BITS("cq", flags, cq_bits);
}

#define OP_BIT(name) { IBV_QP_EX_WITH_##name, #name }
static const struct bit op_bits[] = {
	OP_BIT(RDMA_WRITE), OP_BIT(RDMA_WRITE_WITH_IMM), OP_BIT(SEND), OP_BIT(SEND_WITH_IMM),
	OP_BIT(RDMA_READ), OP_BIT(ATOMIC_CMP_AND_SWP), OP_BIT(ATOMIC_FETCH_AND_ADD), OP_BIT(LOCAL_INV),
	OP_BIT(BIND_MW), OP_BIT(SEND_WITH_INV), OP_BIT(TSO), OP_BIT(ATOMIC_WRITE),
	{ PLX_QP_EX_WITH_FLUSH, "FLUSH" },
};

static bool
op_granted(enum ibv_qp_type type, uint64_t op)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = v.cq, .recv_cq = v.cq, .qp_type = type, .pd = v.pd, .cap = { 1, 1, 1, 1, 0 },
		.send_ops_flags = op, .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(v.ctx, &init);

	if (qp)
		MUST(ibv_destroy_qp(qp) == 0);
	else
		MUST(errno == EOPNOTSUPP);
	return qp != NULL;
}

/* Also which types there are: a type that grants nothing may be none. */
static void
claim_qps(void)
{
	static const struct { enum ibv_qp_type type; const char *name; } types[] = {
		{ IBV_QPT_RC, "RC" }, { IBV_QPT_UC, "UC" }, { IBV_QPT_UD, "UD" },
		{ IBV_QPT_RAW_PACKET, "RAW_PACKET" }, { IBV_QPT_XRC_SEND, "XRC" },
		{ IBV_QPT_DRIVER, "DRIVER" },
	};

	for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
		uint64_t granted = 0;

		for (unsigned int bit = 0; bit < 64; bit++)
			granted |= op_granted(types[t].type, 1ull << bit) ? 1ull << bit : 0;
		CLAIM_BITS(types[t].name, granted, op_bits);
	}
}

/* The rows of [Claims] that say yes. */
static void
read_rows(void)
{
	FILE *f = fopen(INI, "r");
	bool inside = false;
	char line[1024];

	MUST(f);
	while (fgets(line, sizeof(line), f)) {
		char *end = strstr(line, " = yes;");

		if (*line == '[')
			inside = !strncmp(line, "[Claims]", 8);
		if (!inside || !end || *line == '#')
			continue;
		*end = '\0';
		MUST(num_rows < MAX_CLAIMS && strlen(line) < NAME_LEN);
		strcpy(rows[num_rows++], line);
	}
	fclose(f);
}

static bool
has(char list[][NAME_LEN], unsigned int num, const char *name)
{
	for (unsigned int i = 0; i < num; i++)
		if (!strcmp(list[i], name))
			return true;
	return false;
}

static void
claims__are_those_that_are_proved(void)
{
	unsigned int bad = 0;

	open_verbs("inline", 8, 8);
	claim_device();
	claim_device_ex();
	claim_port();
	claim_cqs();
	claim_qps();
	CHECK_EQ(close_verbs(), 0);
	read_rows();
	for (unsigned int i = 0; i < num_claims; i++) {
		if (has(rows, num_rows, claims[i]))
			continue;
		printf("claimed, and no row of [Claims] in doc/features.ini names a test: %s\n", claims[i]);
		bad++;
	}
	for (unsigned int i = 0; i < num_rows; i++) {
		if (has(claims, num_claims, rows[i]))
			continue;
		printf("a row of [Claims] in doc/features.ini, and not claimed: %s\n", rows[i]);
		bad++;
	}
	CHECK(num_claims > 0);
	CHECK_EQ(bad, 0);
}

static struct ibv_cq *
wide_pair(int cqe, uint32_t wr, uint32_t sge, struct ibv_qp **a, struct ibv_qp **b)
{
	struct ibv_cq *cq = ibv_create_cq(v.ctx, cqe, NULL, NULL, 0);
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
					 .cap = { wr, wr, sge, sge, 0 } };

	MUST(cq);
	*a = ibv_create_qp(v.pd, &init);
	*b = ibv_create_qp(v.pd, &init);
	connect_pair(*a, *b);
	return cq;
}

/* A queue, and a request, of the greatest size: it is all used, by a SEND and by a READ. */
static void
limits__of_a_queue(void)
{
	struct ibv_sge sge[32];
	struct ibv_device_attr d;
	struct ibv_qp *a, *b;
	struct ibv_wc wc = { 0 };
	struct ibv_cq *cq;

	open_verbs("inline", 8, 8);
	MUST(ibv_query_device(v.ctx, &d) == 0);
	CHECK(d.max_sge == 32 && d.max_sge_rd == 32);
	cq = wide_pair(d.max_cqe, (uint32_t)d.max_qp_wr, (uint32_t)d.max_sge, &a, &b);
	for (uint32_t i = 0; i < 32; i++) {
		sge[i] = (struct ibv_sge){ (uintptr_t)v.buf + i * 64, 8, v.mr->lkey };
		memset(v.buf + i * 64, (int)i + 1, 8);
	}
	for (int op = 0; op < 2; op++) {
		struct ibv_send_wr wr = { .sg_list = sge, .num_sge = 32, .send_flags = IBV_SEND_SIGNALED,
					  .opcode = op ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE }, *bad;

		wr.wr.rdma.remote_addr = (uintptr_t)v.buf + BUF_LEN / 2;
		wr.wr.rdma.rkey = v.mr->rkey;
		CHECK_EQ(ibv_post_send(a, &wr, &bad), 0);
		CHECK(poll_one(cq, &wc));
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		for (uint32_t i = 0; i < 32; i++) {
			CHECK_EQ(v.buf[op ? i * 64 : BUF_LEN / 2 + i * 8], i + 1);
			v.buf[i * 64] = 0;
		}
	}
	for (int i = 0; i < d.max_qp_wr; i++)
		CHECK_EQ(post_recv(b, (uint64_t)i), 0);
	CHECK_EQ(post_recv(b, 0), ENOMEM);
	CHECK_EQ(to_err(b), 0);
	for (int i = 0; i < d.max_qp_wr; i++) {
		CHECK(poll_one(cq, &wc));
		CHECK_EQ(wc.wr_id, i);
	}
	CHECK_EQ(ibv_destroy_qp(a) | ibv_destroy_qp(b) | ibv_destroy_cq(cq), 0);
	CHECK_EQ(close_verbs(), 0);
}

#define ADDS 20000u

static void *
add_by_cpu(void *arg)
{
	for (uint32_t i = 0; i < ADDS; i++)
		__atomic_fetch_add((uint64_t *)arg, 1u << 20, __ATOMIC_RELAXED);
	return NULL;
}

/* IBV_ATOMIC_GLOB: atomic with what the CPUs do, too. */
static void
atomic_cap__with_the_cpus(void)
{
	uint64_t *word;
	uint32_t posted = 0, done = 0;
	pthread_t thread;
	struct ibv_wc wc = { 0 };

	open_verbs("inline", 64, 32);
	word = (uint64_t *)(void *)(v.buf + BUF_LEN / 2);
	MUST(pthread_create(&thread, NULL, add_by_cpu, word) == 0);
	while (done < ADDS) {
		struct ibv_sge sge = { (uintptr_t)v.buf, 8, v.mr->lkey };
		struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
					  .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD }, *bad;

		wr.wr.atomic.remote_addr = (uintptr_t)word;
		wr.wr.atomic.rkey = v.mr->rkey;
		wr.wr.atomic.compare_add = 1;
		while (posted < ADDS && posted - done < 32 && ibv_post_send(v.a, &wr, &bad) == 0)
			posted++;
		CHECK(poll_one(v.cq, &wc));
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		done++;
	}
	pthread_join(thread, NULL);
	CHECK_EQ(*word, ((uint64_t)ADDS << 20) + ADDS);
	CHECK_EQ(close_verbs(), 0);
}

/* A program that was compiled with a shorter structure gets what it has room for, and no byte more. */
static void
query_device_ex__sizes_and_refusals(void)
{
	struct ibv_query_device_ex_input input = { .comp_mask = 0 };
	struct ibv_device_attr_ex whole, cut[2];
	size_t at;

	open_verbs("inline", 8, 8);
	CHECK_EQ(ibv_query_device_ex(v.ctx, &input, &whole), 0);
	CHECK_EQ(whole.comp_mask, 0);
	CHECK_EQ((uint32_t)whole.device_cap_flags_ex, whole.orig_attr.device_cap_flags);
	CHECK_EQ(whole.phys_port_cnt_ex, whole.orig_attr.phys_port_cnt);
	for (at = sizeof(struct ibv_device_attr); at <= sizeof(whole) + 40; at += 4) {
		struct verbs_context *vctx = verbs_get_ctx_op(v.ctx, query_device_ex);
		size_t same = at < sizeof(whole) ? at : sizeof(whole);

		memset(cut, 0xa5, sizeof(cut));
		CHECK_EQ(vctx->query_device_ex(v.ctx, NULL, cut, at), 0);
		CHECK(!memcmp(cut, &whole, same));
		CHECK(((uint8_t *)cut)[at] == 0xa5);
		CHECK(at == same || ((uint8_t *)cut)[same] == 0);
	}
	for (unsigned int bit = 0; bit < 32; bit++) {
		input.comp_mask = 1u << bit;
		CHECK_EQ(ibv_query_device_ex(v.ctx, &input, &whole), EINVAL);
	}
	CHECK_EQ(close_verbs(), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(claims__are_those_that_are_proved),
	CHECK_CASE(limits__of_a_queue),
	CHECK_CASE(atomic_cap__with_the_cpus),
	CHECK_CASE(query_device_ex__sizes_and_refusals),
};
CHECK_MAIN(cases)
