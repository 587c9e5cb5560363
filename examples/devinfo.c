/* SPDX-License-Identifier: BSD-3-Clause */
/* What can a device do? Limits, ports and addresses, in the words of rdma-core's ibv_devinfo. */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

struct wish {
	const char *device;	/* NULL: all */
	unsigned int port;	/* 0: all */
	bool list, verbose;
};

static int
usage(const char *program, FILE *out)
{
	fprintf(out, "Usage: %s             print the ca attributes\n\nOptions:\n"
		"  -d, --ib-dev=<dev>     use device <dev> (default all devices)\n"
		"  -i, --ib-port=<port>   use port <port> of the device (default all ports)\n"
		"  -l, --list             print only the device names\n"
		"  -v, --verbose          print all the attributes of the device(s)\n"
		"  -h, --help             print this and exit\n", program);
	return out == stderr;
}

/* "NAME:" and as many tabs as bring what follows to column `to`. */
static void
name(unsigned int indent, const char *text, unsigned int to)
{
	unsigned int at = 8 * indent + (unsigned int)strlen(text) + 1;

	printf("%.*s%s:%.*s", indent, "\t\t\t", text, at < to ? (int)((to - at + 7) / 8) : 1,
	       "\t\t\t\t");
}

#define DEVICE(text, ...) do { name(1, text, 40); printf(__VA_ARGS__); } while (0)
#define PORT(text, ...) do { name(3, text, 48); printf(__VA_ARGS__); } while (0)

static void
print_guid(const char *text, uint64_t guid)
{
	guid = be64toh(guid);
	name(1, text, 40);
	printf("%04x:%04x:%04x:%04x\n", (unsigned int)(guid >> 48) & 0xffff,
	       (unsigned int)(guid >> 32) & 0xffff, (unsigned int)(guid >> 16) & 0xffff,
	       (unsigned int)guid & 0xffff);
}

/* Words for a number, from a table; the number itself when it is not in there. */
#define WORD(table, n) ((n) < sizeof(table) / sizeof((table)[0]) && (table)[n] ? (table)[n] : "unknown")

static const char *const transports[] = {
	[IBV_TRANSPORT_IB] = "InfiniBand", [IBV_TRANSPORT_IWARP] = "iWARP",
};
static const char *const atomics[] = {
	[IBV_ATOMIC_NONE] = "ATOMIC_NONE", [IBV_ATOMIC_HCA] = "ATOMIC_HCA", [IBV_ATOMIC_GLOB] = "ATOMIC_GLOB",
};
static const char *const states[] = {
	[IBV_PORT_NOP] = "PORT_NOP", [IBV_PORT_DOWN] = "PORT_DOWN", [IBV_PORT_INIT] = "PORT_INIT",
	[IBV_PORT_ARMED] = "PORT_ARMED", [IBV_PORT_ACTIVE] = "PORT_ACTIVE",
	[IBV_PORT_ACTIVE_DEFER] = "PORT_ACTIVE_DEFER",
};
static const char *const layers[] = {
	[IBV_LINK_LAYER_UNSPECIFIED] = "InfiniBand", [IBV_LINK_LAYER_INFINIBAND] = "InfiniBand",
	[IBV_LINK_LAYER_ETHERNET] = "Ethernet",
};
static const char *const widths[] = { [1] = "1X", [2] = "4X", [4] = "8X", [8] = "12X", [16] = "2X" };
static const char *const speeds[] = {
	[1] = "2.5 Gbps", [2] = "5.0 Gbps", [4] = "10.0 Gbps", [8] = "10.0 Gbps", [16] = "14.0 Gbps",
	[32] = "25.0 Gbps", [64] = "50.0 Gbps", [128] = "100.0 Gbps",
};
static const char *const phys_states[] = {
	[1] = "SLEEP", [2] = "POLLING", [3] = "DISABLED", [4] = "PORT_CONFIGURATION TRAINNING",
	[5] = "LINK_UP", [6] = "LINK_ERROR_RECOVERY", [7] = "PHY TEST",
};
static const char *const gid_types[] = {
	[IBV_GID_TYPE_IB] = "IB", [IBV_GID_TYPE_ROCE_V1] = "RoCE v1", [IBV_GID_TYPE_ROCE_V2] = "RoCE v2",
};

/* X(member): those that have nothing but a number */
#define DEVICE_NUMBERS(X) \
	X(max_sge) X(max_sge_rd) X(max_cq) X(max_cqe) X(max_mr) X(max_pd) X(max_qp_rd_atom) \
	X(max_ee_rd_atom) X(max_res_rd_atom) X(max_qp_init_rd_atom) X(max_ee_init_rd_atom)
#define DEVICE_MORE_NUMBERS(X) \
	X(max_ee) X(max_rdd) X(max_mw) X(max_raw_ipv6_qp) X(max_raw_ethy_qp) X(max_mcast_grp) \
	X(max_mcast_qp_attach) X(max_total_mcast_qp_attach) X(max_ah) X(max_fmr) X(max_srq) X(max_srq_wr) \
	X(max_srq_sge) X(max_pkeys) X(local_ca_ack_delay)

#define PRINT_NUMBER(member) DEVICE(#member, "%d\n", (int)a->member);

static void
print_device(const struct ibv_context *ctx, const struct ibv_device_attr *a, bool verbose)
{
	printf("hca_id:\t%s\n", ibv_get_device_name(ctx->device));
	DEVICE("transport", "%s (%d)\n", WORD(transports, (unsigned int)ctx->device->transport_type),
	       ctx->device->transport_type);
	DEVICE("fw_ver", "%s\n", a->fw_ver);
	print_guid("node_guid", a->node_guid);
	print_guid("sys_image_guid", a->sys_image_guid);
	DEVICE("vendor_id", "0x%04x\n", a->vendor_id);
	DEVICE("vendor_part_id", "%u\n", a->vendor_part_id);
	DEVICE("hw_ver", "0x%X\n", a->hw_ver);
	DEVICE("phys_port_cnt", "%d\n", a->phys_port_cnt);
	if (!verbose)
		return;
	DEVICE("max_mr_size", "0x%" PRIx64 "\n", a->max_mr_size);
	DEVICE("page_size_cap", "0x%" PRIx64 "\n", a->page_size_cap);
	DEVICE("max_qp", "%d\n", a->max_qp);
	DEVICE("max_qp_wr", "%d\n", a->max_qp_wr);
	DEVICE("device_cap_flags", "0x%08x\n", a->device_cap_flags);
	DEVICE_NUMBERS(PRINT_NUMBER)
	DEVICE("atomic_cap", "%s (%d)\n", WORD(atomics, (unsigned int)a->atomic_cap), a->atomic_cap);
	DEVICE_MORE_NUMBERS(PRINT_NUMBER)
}

static int
mtu_bytes(enum ibv_mtu mtu)
{
	return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128 << mtu : 0;
}

static void
print_gids(struct ibv_context *ctx, unsigned int port, int n)
{
	for (int i = 0; i < n; i++) {
		struct ibv_gid_entry e;
		char text[INET6_ADDRSTRLEN];

		if (ibv_query_gid_ex(ctx, port, (uint32_t)i, &e, 0))
			continue;
		inet_ntop(AF_INET6, &e.gid, text, sizeof(text));
		printf("\t\t\tGID[%3d]:\t\t%s, %s\n", i, text, WORD(gid_types, e.gid_type));
	}
}

static void
print_port(struct ibv_context *ctx, unsigned int port, bool verbose)
{
	struct ibv_port_attr p;

	if (ibv_query_port(ctx, (uint8_t)port, &p)) {
		fprintf(stderr, "Failed to query port %u props\n", port);
		return;
	}
	printf("\t\tport:\t%u\n", port);
	PORT("state", "%s (%d)\n", WORD(states, (unsigned int)p.state), p.state);
	PORT("max_mtu", "%d (%d)\n", mtu_bytes(p.max_mtu), p.max_mtu);
	PORT("active_mtu", "%d (%d)\n", mtu_bytes(p.active_mtu), p.active_mtu);
	PORT("sm_lid", "%u\n", p.sm_lid);
	PORT("port_lid", "%u\n", p.lid);
	PORT("port_lmc", "0x%02x\n", p.lmc);
	PORT("link_layer", "%s\n", WORD(layers, p.link_layer));
	if (!verbose)
		return;
	PORT("max_msg_sz", "0x%x\n", p.max_msg_sz);
	PORT("port_cap_flags", "0x%08x\n", p.port_cap_flags);
	PORT("bad_pkey_cntr", "0x%x\n", p.bad_pkey_cntr);
	PORT("qkey_viol_cntr", "0x%x\n", p.qkey_viol_cntr);
	PORT("pkey_tbl_len", "%d\n", p.pkey_tbl_len);
	PORT("gid_tbl_len", "%d\n", p.gid_tbl_len);
	PORT("active_width", "%s (%d)\n", WORD(widths, p.active_width), p.active_width);
	PORT("active_speed", "%s (%d)\n", WORD(speeds, p.active_speed), p.active_speed);
	PORT("phys_state", "%s (%d)\n", WORD(phys_states, p.phys_state), p.phys_state);
	print_gids(ctx, port, p.gid_tbl_len);
}

static bool
print(struct ibv_device *device, const struct wish *w)
{
	struct ibv_context *ctx = ibv_open_device(device);
	struct ibv_device_attr a;

	if (!ctx) {
		fprintf(stderr, "Failed to open device %s\n", ibv_get_device_name(device));
		return false;
	}
	if (ibv_query_device(ctx, &a)) {
		fprintf(stderr, "Failed to query device props\n");
		ibv_close_device(ctx);
		return false;
	}
	print_device(ctx, &a, w->verbose);
	for (unsigned int port = 1; port <= a.phys_port_cnt; port++)
		if (!w->port || w->port == port)
			print_port(ctx, port, w->verbose);
	printf("\n");
	ibv_close_device(ctx);
	return true;
}

/* Exit status. */
static int
all(struct ibv_device **list, int n, const struct wish *w)
{
	bool ok = true;
	int told = 0;

	if (w->list)
		printf("%d HCA%s found:\n", n, n == 1 ? "" : "s");
	for (int i = 0; i < n; i++) {
		if (w->device && strcmp(ibv_get_device_name(list[i]), w->device) != 0)
			continue;
		told++;
		if (w->list)
			printf("\t%s\n", ibv_get_device_name(list[i]));
		else
			ok &= print(list[i], w);
	}
	if (w->list)
		printf("\n");
	else if (!told)
		fprintf(stderr, w->device ? "IB device '%s' wasn't found\n" : "No IB devices found\n",
			w->device);
	return told && ok ? 0 : 1;
}

int
main(int argc, char **argv)
{
	static const struct option words[] = {
		{ "ib-dev", required_argument, NULL, 'd' }, { "ib-port", required_argument, NULL, 'i' },
		{ "list", no_argument, NULL, 'l' }, { "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' }, { NULL, 0, NULL, 0 },
	};
	struct wish w = { .port = 0 };
	struct ibv_device **list;
	int c, n, status;

	while ((c = getopt_long(argc, argv, "d:i:lvh", words, NULL)) != -1) {
		switch (c) {
		case 'd': w.device = optarg; break;
		case 'i': w.port = (unsigned int)strtoul(optarg, NULL, 0); break;
		case 'l': w.list = true; break;
		case 'v': w.verbose = true; break;
		case 'h': return usage(argv[0], stdout);
		default: return usage(argv[0], stderr);
		}
	}
	list = ibv_get_device_list(&n);
	if (!list) {
		perror("Failed to get IB devices list");
		return 1;
	}
	status = all(list, n, &w);
	ibv_free_device_list(list);
	return status;
}
