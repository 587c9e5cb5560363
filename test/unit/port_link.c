/* SPDX-License-Identifier: BSD-3-Clause */
/* A card's link: a driver of DPDK asks for it in several steps that no other thread may come between. */
#include <pthread.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "check.h"
#include "ethdev.h"

#define LOOKS 200u
#define LOOKERS 3u

static int looking;
static uint32_t disturbed, up;

int __wrap_rte_eth_link_get_nowait(uint16_t port_id, struct rte_eth_link *link);

/* As the driver of e1000: "not known", what the card says by steps, and the answer. */
int
__wrap_rte_eth_link_get_nowait(uint16_t port_id, struct rte_eth_link *link)
{
	(void)port_id;
	if (__atomic_add_fetch(&looking, 1, __ATOMIC_ACQ_REL) > 1)
		__atomic_add_fetch(&disturbed, 1, __ATOMIC_RELAXED);
	usleep(50);
	link->link_status = RTE_ETH_LINK_UP;
	__atomic_sub_fetch(&looking, 1, __ATOMIC_ACQ_REL);
	return 0;
}

static void *
look(void *port)
{
	for (uint32_t i = 0; i < LOOKS; i++)
		__atomic_add_fetch(&up, ethdev_link_up(port), __ATOMIC_RELAXED);
	return NULL;
}

static void
ethdev_link_up__one_thread_at_a_time(void)
{
	struct ethdev e = { .port_id = 0 };
	struct port p = { .priv = &e };
	pthread_t threads[LOOKERS];

	for (uint32_t i = 0; i < LOOKERS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, look, &p), 0);
	for (uint32_t i = 0; i < LOOKERS; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	CHECK_EQ(disturbed, 0);
	CHECK_EQ(up, LOOKERS * LOOKS);
}

static const struct check_case cases[] = {
	CHECK_CASE(ethdev_link_up__one_thread_at_a_time),
};
CHECK_MAIN(cases)
