/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whose is the interface's queue, when an af_xdp device opens or closes?
 *
 * - The kernel gives a queue back some time after its socket is closed, or its process is gone: the next
 *   who wants it, a program started again at once, is told EBUSY. It is asked again for a while.
 * - DPDK 22.11 closes a device without libxdp's record of its memory, whose socket has the queue: no
 *   second device opens in the process.
 *
 * Put between DPDK and libxdp by the linker, as intr_mend.c says. Control thread.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define XSK_PATIENCE_MS 1000u
#define XSK_STEP_MS 10u

struct xsk_socket;
struct xsk_umem;
struct xsk_ring_cons;
struct xsk_ring_prod;
struct xsk_socket_config;
struct xsk_umem_config;

/* Weak: the originals, which only a link with --wrap has. */
int __real_xsk_socket__create(struct xsk_socket **xsk, const char *iface, uint32_t queue,
			      struct xsk_umem *umem, struct xsk_ring_cons *rx, struct xsk_ring_prod *tx,
			      const struct xsk_socket_config *conf) __attribute__((weak));
void __real_xsk_socket__delete(struct xsk_socket *xsk) __attribute__((weak));
int __real_xsk_umem__create(struct xsk_umem **umem, void *area, uint64_t size, struct xsk_ring_prod *fill,
			    struct xsk_ring_cons *done, const struct xsk_umem_config *conf)
	__attribute__((weak));
int __real_xsk_umem__delete(struct xsk_umem *umem) __attribute__((weak));

int __wrap_xsk_socket__create(struct xsk_socket **xsk, const char *iface, uint32_t queue,
			      struct xsk_umem *umem, struct xsk_ring_cons *rx, struct xsk_ring_prod *tx,
			      const struct xsk_socket_config *conf);
void __wrap_xsk_socket__delete(struct xsk_socket *xsk);
int __wrap_xsk_umem__create(struct xsk_umem **umem, void *area, uint64_t size, struct xsk_ring_prod *fill,
			    struct xsk_ring_cons *done, const struct xsk_umem_config *conf);
int __wrap_xsk_umem__delete(struct xsk_umem *umem);

/* The one device's, and what it had last. */
static struct xsk_umem *held, *gone;

int
__wrap_xsk_socket__create(struct xsk_socket **xsk, const char *iface, uint32_t queue,
			  struct xsk_umem *umem, struct xsk_ring_cons *rx, struct xsk_ring_prod *tx,
			  const struct xsk_socket_config *conf)
{
	const struct timespec step = { .tv_nsec = XSK_STEP_MS * 1000000 };
	int ret = __real_xsk_socket__create(xsk, iface, queue, umem, rx, tx, conf);

	for (unsigned int ms = 0; ret == -EBUSY && ms < XSK_PATIENCE_MS; ms += XSK_STEP_MS) {
		nanosleep(&step, NULL);
		ret = __real_xsk_socket__create(xsk, iface, queue, umem, rx, tx, conf);
	}
	held = ret == 0 ? umem : NULL;
	return ret;
}

void
__wrap_xsk_socket__delete(struct xsk_socket *xsk)
{
	__real_xsk_socket__delete(xsk);
	if (xsk && held) {
		(void)__real_xsk_umem__delete(held);
		gone = held;
		held = NULL;
	}
}

int
__wrap_xsk_umem__create(struct xsk_umem **umem, void *area, uint64_t size, struct xsk_ring_prod *fill,
			struct xsk_ring_cons *done, const struct xsk_umem_config *conf)
{
	gone = NULL;	/* another may get its address */
	return __real_xsk_umem__create(umem, area, size, fill, done, conf);
}

/* DPDK does so when it gives up a device half-way. */
int
__wrap_xsk_umem__delete(struct xsk_umem *umem)
{
	return umem == gone ? 0 : __real_xsk_umem__delete(umem);
}
