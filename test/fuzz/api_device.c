/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls about devices, contexts, ports, names, and those that this version does not have. */
#include <endian.h>
#include <fcntl.h>

#include "api.h"

static int
minus_one(int rc)
{
	int err = errno;

	return rc >= 0 ? 0 : rc != -1 ? NO_ERRNO : err ? err : NO_ERRNO;
}

int
call_get_device_list(void)
{
	int n = -1;
	struct ibv_device **list = plx_get_device_list(one_in(2) ? &n : NULL);

	if (!list)
		return errno;
	plx_free_device_list(list);
	return n == -1 || n == 1 ? 0 : NO_ERRNO;
}

int
call_get_device_info(void)
{
	return plx_get_device_name(api.dev) && plx_get_device_index(api.dev) >= 0 &&
	       plx_get_device_guid(api.dev) ? 0 : NO_ERRNO;
}

int
call_open_device(void)
{
	struct ibv_context *ctx = plx_open_device(api.dev);
	struct ibv_pd *pd;
	int err;

	if (!ctx)
		return errno;
	pd = one_in(2) ? plx_alloc_pd(ctx) : NULL;
	err = pd ? plx_dealloc_pd(pd) : 0;
	return err ? err : plx_close_device(ctx);
}

int
call_open_device_version(void)
{
	uint32_t version = one_in(16) ? rnd_word() : PLX_ABI_VERSION;
	struct ibv_context *ctx = __plx_open_device(api.dev, version);

	api.wrong = version != PLX_ABI_VERSION;
	return ctx ? plx_close_device(ctx) : errno;
}

int
call_query_device(void)
{
	struct ibv_device_attr attr;

	return plx_query_device(api.ctx, &attr);
}

int
call_query_device_ex(void)
{
	struct ibv_query_device_ex_input input = { .comp_mask = rnd_word() };
	struct ibv_device_attr_ex attr;
	bool given = !one_in(3);

	api.wrong = given && input.comp_mask;
	return plx_query_device_ex(api.ctx, given ? &input : NULL, &attr);
}

int
call_query_rt_values_ex(void)
{
	struct ibv_values_ex values = { .comp_mask = one_in(2) ? rnd_word() : 1 };

	api.wrong = values.comp_mask > 1;
	return plx_query_rt_values_ex(api.ctx, &values);
}

int
call_wallclock(void)
{
	(void)__plx_wallclock_ns(api.ctx, rnd64());
	return 0;
}

int
call_query_port(void)
{
	struct ibv_port_attr attr;
	uint8_t port = (uint8_t)rnd_word();

	api.wrong = port != 1;
	return plx_query_port(api.ctx, port, &attr);
}

int
call_query_gid(void)
{
	union ibv_gid gid;

	return minus_one(plx_query_gid(api.ctx, (uint8_t)below(3), (int)rnd_word(), &gid));
}

int
call_query_gid_ex(void)
{
	struct ibv_gid_entry entry;

	return plx_query_gid_ex(api.ctx, below(3), rnd_word(), &entry, one_in(8) ? rnd_word() : 0);
}

int
call_query_gid_ex_sized(void)
{
	struct ibv_gid_entry entry[2];

	return __plx_query_gid_ex(api.ctx, below(3), rnd_word(), entry, one_in(8) ? rnd_word() : 0,
				  below(sizeof(entry) + 1));
}

static int
count_or_errno(ssize_t n)
{
	return n >= 0 ? 0 : (int)-n;
}

int
call_query_gid_table(void)
{
	struct ibv_gid_entry entries[4];

	return count_or_errno(plx_query_gid_table(api.ctx, entries, below(5), one_in(8) ? rnd_word() : 0));
}

int
call_query_gid_table_sized(void)
{
	struct ibv_gid_entry entries[8];

	return count_or_errno(__plx_query_gid_table(api.ctx, entries, below(5), one_in(8) ? rnd_word() : 0,
						    below(2 * sizeof(entries[0]) + 1)));
}

int
call_query_pkey(void)
{
	__be16 pkey;

	return minus_one(plx_query_pkey(api.ctx, (uint8_t)below(3), (int)rnd_word(), &pkey));
}

int
call_get_pkey_index(void)
{
	return minus_one(plx_get_pkey_index(api.ctx, (uint8_t)below(3), (__be16)rnd_word()));
}

int
call_names(void)
{
	return plx_wc_status_str((enum ibv_wc_status)rnd_word()) &&
	       plx_node_type_str((enum ibv_node_type)rnd_word()) &&
	       plx_port_state_str((enum ibv_port_state)rnd_word()) &&
	       plx_event_type_str((enum ibv_event_type)rnd_word()) ? 0 : NO_ERRNO;
}

int
call_rates(void)
{
	(void)plx_rate_to_mult((enum ibv_rate)rnd_word());
	(void)plx_mult_to_rate((int)rnd_word());
	(void)plx_rate_to_mbps((enum ibv_rate)rnd_word());
	(void)plx_mbps_to_rate((int)rnd_word());
	return 0;
}

int
call_fork_init(void)
{
	(void)plx_is_fork_initialized();
	return plx_fork_init();
}

/* Never there: importing, and what only InfiniBand has. */
int
call_absent(void)
{
	struct ibv_pd *pd = pick(PD);
	struct ibv_qp *qp = pick(QP);
	struct ibv_ah_attr ah;
	struct ibv_ece ece;
	uint8_t mac[6];
	uint16_t vid;

	rnd_bytes(&ah, sizeof(ah));
	rnd_bytes(&ece, sizeof(ece));
	api.wrong = true;
	errno = 0;
	if (plx_import_device((int)rnd_word()) || errno != EOPNOTSUPP ||
	    plx_import_pd(api.ctx, rnd_word()) || (pd && plx_import_mr(pd, rnd_word())) ||
	    plx_import_dm(api.ctx, rnd_word()) ||
	    (qp && (!plx_set_ece(qp, &ece) || !plx_query_ece(qp, &ece))))
		return 0;
	return plx_resolve_eth_l2_from_gid(api.ctx, &ah, mac, &vid);
}

/* Often what such an area looks like: this port's own header of IPv4. */
void
rnd_area(struct ibv_grh *grh, struct ibv_wc *wc)
{
	uint8_t *ip = (uint8_t *)grh + 20;
	uint32_t sum = 0;

	rnd_bytes(wc, sizeof(*wc));
	rnd_bytes(grh, sizeof(*grh));
	if (one_in(4))
		return;
	wc->wc_flags |= IBV_WC_GRH;
	ip[0] = 0x45;
	ip[9] = 17;
	memcpy(ip + 12, api.gid.raw + 12, 4);
	memcpy(ip + 16, api.gid.raw + 12, 4);
	ip[10] = ip[11] = 0;
	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~((sum & 0xffff) + (sum >> 16));
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
}

int
call_init_ah_from_wc(void)
{
	struct ibv_ah_attr attr;
	struct ibv_grh grh;
	struct ibv_wc wc;

	rnd_area(&grh, &wc);
	return minus_one(plx_init_ah_from_wc(api.ctx, (uint8_t)below(3), &wc, &grh, &attr));
}
