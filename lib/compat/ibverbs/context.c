/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What does rdma-core's ABI call devices, contexts and their queries? Adapters, on application
 * threads. The operations that inline functions of unmodified programs call through a context are
 * filled in by libpollux: the same code as the inline layer's.
 */
#include <errno.h>
#include <string.h>

#include "adapt.h"

ADAPT_VOID(ibv_free_device_list(struct ibv_device **list), plx_free_device_list(list))
ADAPT(const char *, ibv_get_device_name(struct ibv_device *dev), plx_get_device_name(dev))
ADAPT(int, ibv_get_device_index(struct ibv_device *dev), plx_get_device_index(dev))
ADAPT(__be64, ibv_get_device_guid(struct ibv_device *dev), plx_get_device_guid(dev))
ADAPT(struct ibv_context *, ibv_open_device(struct ibv_device *dev), plx_open_device(dev))
ADAPT(int, ibv_close_device(struct ibv_context *ctx), plx_close_device(ctx))
ADAPT(struct ibv_context *, ibv_import_device(int cmd_fd), plx_import_device(cmd_fd))

ADAPT(int, ibv_query_device(struct ibv_context *ctx, struct ibv_device_attr *attr),
      plx_query_device(ctx, attr))
ADAPT(int, ibv_query_gid(struct ibv_context *ctx, uint8_t port, int index, union ibv_gid *gid),
      plx_query_gid(ctx, port, index, gid))
ADAPT(int, ibv_query_pkey(struct ibv_context *ctx, uint8_t port, int index, __be16 *pkey),
      plx_query_pkey(ctx, port, index, pkey))
ADAPT(int, ibv_get_pkey_index(struct ibv_context *ctx, uint8_t port, __be16 pkey),
      plx_get_pkey_index(ctx, port, pkey))
ADAPT(int, _ibv_query_gid_ex(struct ibv_context *ctx, uint32_t port, uint32_t index,
			     struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size),
      __plx_query_gid_ex(ctx, port, index, entry, flags, entry_size))
ADAPT(ssize_t, _ibv_query_gid_table(struct ibv_context *ctx, struct ibv_gid_entry *entries,
				    size_t max, uint32_t flags, size_t entry_size),
      __plx_query_gid_table(ctx, entries, max, flags, entry_size))

ADAPT(int, ibv_get_async_event(struct ibv_context *ctx, struct ibv_async_event *event),
      plx_get_async_event(ctx, event))
ADAPT_VOID(ibv_ack_async_event(struct ibv_async_event *event), plx_ack_async_event(event))

ADAPT(int, ibv_fork_init(void), plx_fork_init())
ADAPT(enum ibv_fork_status, ibv_is_fork_initialized(void), plx_is_fork_initialized())

ADAPT(int, ibv_resolve_eth_l2_from_gid(struct ibv_context *ctx, struct ibv_ah_attr *attr,
				       uint8_t mac[ETHERNET_LL_SIZE], uint16_t *vid),
      plx_resolve_eth_l2_from_gid(ctx, attr, mac, vid))

/* Programs built before port_cap_flags2 have a structure that ends before it. */
int
ibv_query_port(struct ibv_context *ctx, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	struct ibv_port_attr full;
	int err = plx_query_port(ctx, port, &full);

	if (!err)
		memcpy(attr, &full, offsetof(struct ibv_port_attr, port_cap_flags2));
	return err;
}

/* What sysfs tells a type by: 1 is RoCE v2, 0 all others. */
int
ibv_query_gid_type(struct ibv_context *ctx, uint8_t port, unsigned int index, int *type)
{
	struct ibv_gid_entry entry = { 0 };
	int err = plx_query_gid_ex(ctx, port, index, &entry, 0);

	if (err && err != ENODATA) {
		errno = err;
		return -1;
	}
	*type = entry.gid_type == IBV_GID_TYPE_ROCE_V2;
	return 0;
}

/* Registered memory needs no care at a fork: see plx_fork_init(). */
int
ibv_dontfork_range(void *base, size_t size)
{
	(void)base;
	(void)size;
	return 0;
}

int
ibv_dofork_range(void *base, size_t size)
{
	(void)base;
	(void)size;
	return 0;
}
