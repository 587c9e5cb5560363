/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a configuration to a port with cores that are driven, and back. Control thread.
 */
#include "engine/engine.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/core.h"
#include "engine/eal.h"
#include "transport/mcast.h"

#define TRACE_RECORDS 1024u
#define EXIT_TRIES 2000u	/* of 50 us: a thread that drives leaves within a round */

/* What the driver wants of EAL, and EAL. */
static int
start_eal(const struct eng_conf *conf, char *why, size_t why_len)
{
	const struct port_driver *drv = port_driver_find(conf->port.driver);
	char arg[512] = "";
	int rc;

	if (!drv) {
		snprintf(why, why_len, "port \"%s\": not in this version", conf->port.spec);
		return -EOPNOTSUPP;
	}
	if (drv->eal_args) {
		rc = drv->eal_args(&conf->port, arg, sizeof(arg), why, why_len);
		if (rc < 0)
			return rc;
	}
	if (conf->eal_running)
		return 0;
	return eal_start(arg, conf->mem_mb ? conf->mem_mb : EAL_MB + (conf->num_cores - 1) * EAL_CORE_MB,
			 why, why_len);
}

static void
touch_chunk(struct rte_mempool *pool, void *opaque, struct rte_mempool_memhdr *chunk, unsigned int idx)
{
	const uintptr_t page = 4096;
	uintptr_t from = (uintptr_t)chunk->addr & ~(page - 1);
	uintptr_t to = ((uintptr_t)chunk->addr + chunk->len + page - 1) & ~(page - 1);

	(void)pool;
	(void)opaque;
	(void)idx;
	madvise((void *)from, to - from, MADV_POPULATE_WRITE);
}

/* Ordinary pages come one by one, when they are first touched, for thousands of cycles each: that is
 * paid here, all at once, and not by the first frames. */
static void
touch_buffers(struct port *p)
{
	rte_mempool_mem_iter(p->pool, touch_chunk, NULL);
}

static int
start_net(struct core *c, const struct eng_conf *conf, char *why, size_t why_len)
{
	const struct net_out out = { .send = core_net_send, .arg = c, .say = core_say };
	struct net_conf net = conf->net;
	const char *text = "out of memory";

	memcpy(net.mac, c->port->mac, 6);
	net.ip_mtu = c->port->ip_mtu;
	c->net = net_new(&net, &out, &text);
	if (c->net)
		return 0;
	snprintf(why, why_len, "%s", text);
	return -EINVAL;
}

/* Their threads have ended. All of them but what outlives the port: the caller's. */
static struct gather *
free_cores(struct engine *e)
{
	struct gather *g = NULL;

	handoff_fini(e);
	for (uint32_t i = 0; i < e->num_cores; i++) {
		struct core *c = e->core[i];

		idle_close(c);
		if (c->gather)
			g = c->gather;
		if (c->out.slot)
			core_tx_fini(c);
		demux_free(c->demux);
		mcast_free(c->mcast);
		if (c->serves_port && c->net)
			net_free(c->net);
		trace_fini(&c->trace);
		core_explain_fini(c);
		free(c);
	}
	e->num_cores = 0;
	return g;
}

/* The next one; NULL without memory. */
static struct core *
new_core(struct engine *e)
{
	struct core *c = aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_CACHE_LINE_ROUNDUP(sizeof(*c)));

	if (!c)
		return NULL;
	memset(c, 0, sizeof(*c));
	c->engine = e;
	c->port = e->top;
	c->index = e->num_cores;
	c->serves_port = c->index == ENG_PORT_CORE;
	c->net_at = NET_NEVER;
	c->lcore = LCORE_ID_ANY;
	c->idle.fd = -1;
	list_init(&c->clients);
	list_init(&c->qp_events);
	list_init(&c->cq_errors);
	list_init(&c->srq_events);
	list_init(&c->held);
	c->held_at = UINT64_MAX;
	e->core[e->num_cores++] = c;
	return c;
}

static int
fill_core(struct core *c, const struct eng_conf *conf, const struct mr_table *mrs, char *why,
	  size_t why_len)
{
	uint8_t mac[sizeof(c->mac)] = { 0 };

	c->own_thread = !conf->inline_mode;
	c->cpu = conf->cpu[c->index];
	c->was_qpn = conf->was_qpn;
	c->was_arg = conf->arg;
	memcpy(mac, c->port->mac, 6);
	c->mac = core_mac(mac);
	c->patience = clock_ticks(&c->clock, CORE_LATE_IDLE_NS);
	c->post_patience = clock_ticks(&c->clock, CORE_LATE_POST_NS);
	c->refine_ns = CORE_REFINE_NS;
	c->refine_at = c->clock.ns + CORE_REFINE_NS;
	twheel_init(&c->wheel, c->clock.ns);
	c->demux = demux_new();
	c->mcast = mcast_new();
	if (!c->demux || !c->mcast || trace_init(&c->trace, TRACE_RECORDS) < 0 || core_tx_init(c) < 0) {
		snprintf(why, why_len, "out of memory");
		return -ENOMEM;
	}
	xport_init(&c->x, &c->out, mrs, &c->cnt, &c->trace);
	c->x.ah_of = conf->ah_of;
	c->x.ah_arg = conf->arg;
	c->x.now = c->clock.ns;
	if (conf->explain && core_explain_init(c) < 0) {
		snprintf(why, why_len, "out of memory");
		return -ENOMEM;
	}
	if (!c->serves_port) {
		c->net = eng_port_core(c->engine)->net;
		return 0;
	}
	if (start_net(c, conf, why, why_len) < 0)
		return -EINVAL;
	core_net_touch(c);
	return 0;
}

static int
make_cores(struct engine *e, const struct eng_conf *conf, const struct mr_table *mrs,
	   const struct clock *clock, char *why, size_t why_len)
{
	for (uint32_t i = 0; i < conf->num_cores; i++) {
		struct core *c = new_core(e);
		int rc;

		if (!c)
			goto no_memory;
		c->clock = *clock;
		rc = fill_core(c, conf, mrs, why, why_len);
		if (rc < 0)
			return rc;
	}
	if (handoff_init(e) == 0)
		return 0;
no_memory:
	snprintf(why, why_len, "out of memory");
	return -ENOMEM;
}

/* All of them exist before the first runs: each may give to each. */
static int
run_cores(struct engine *e, char *why, size_t why_len)
{
	for (uint32_t i = 0; i < e->num_cores; i++) {
		int rc = idle_start(e->core[i]);

		if (rc == 0)
			continue;
		if (e->inline_mode)
			snprintf(why, why_len, "cannot start the core's thread: %s", strerror(-rc));
		else
			snprintf(why, why_len, "cannot start a core's thread on CPU %d (--cores: may this "
				 "process run there?): %s", e->core[i]->cpu, strerror(-rc));
		return rc;
	}
	return 0;
}

static void
stop_cores(struct engine *e)
{
	for (uint32_t i = 0; i < e->num_cores; i++)
		idle_stop(e->core[i]);
}

static int
start_cores(struct engine *e, const struct eng_conf *conf, const struct mr_table *mrs,
	    const struct clock *clock, char *why, size_t why_len)
{
	int rc = make_cores(e, conf, mrs, clock, why, why_len);

	if (rc == 0)
		rc = run_cores(e, why, why_len);
	if (rc < 0) {
		stop_cores(e);
		gather_fini(free_cores(e));
	}
	return rc;
}

/* The core, then the recording, then the bad network, then the device: what is recorded is what the
 * core saw. What is open when one of them fails is closed by who called. */
static int
stack_ports(struct engine *e, const struct eng_conf *conf, char *why, size_t why_len)
{
	int rc = 0;

	if (conf->impair) {
		rc = port_stack(&e->impaired, "impair", e->top, conf->impair, why, why_len);
		if (rc == 0)
			e->top = &e->impaired;
	}
	if (rc == 0 && conf->record) {
		rc = port_stack(&e->recorded, "record", e->top, conf->record, why, why_len);
		if (rc == 0)
			e->top = &e->recorded;
	}
	return rc;
}

/* What the cores beyond the first hold of the port's buffers. */
static int
open_port(struct engine *e, const struct eng_conf *conf, char *why, size_t why_len)
{
	struct port_conf port = conf->port;

	port.more_mbufs = (conf->num_cores - 1) * CORE_MBUFS;
	return port_open(&e->port, &port, why, why_len);
}

int
eng_start(const struct eng_conf *conf, const struct mr_table *mrs, struct engine **out, char *why,
	  size_t why_len)
{
	struct engine *e = calloc(1, sizeof(*e));
	struct clock clock;
	int rc;

	assert(conf->num_cores >= 1 && conf->num_cores <= ENG_MAX_CORES);
	assert(conf->num_cores == 1 || !conf->inline_mode);
	if (!e) {
		snprintf(why, why_len, "out of memory");
		return -ENOMEM;
	}
	e->inline_mode = conf->inline_mode;
	e->pid = getpid();
	e->top = &e->port;
	e->ended = conf->ended;
	e->arg = conf->arg;
	clock_begin(&clock);
	rc = start_eal(conf, why, why_len);
	if (rc < 0)
		goto free_engine;
	rc = open_port(e, conf, why, why_len);
	if (rc < 0)
		goto free_engine;
	touch_buffers(&e->port);
	rc = stack_ports(e, conf, why, why_len);
	if (rc < 0)
		goto close_port;
	if (conf->copies)
		e->top->gathers = false;
	clock_ready(&clock);
	e->tick_khz = clock_khz(&clock);
	rc = start_cores(e, conf, mrs, &clock, why, why_len);
	if (rc < 0)
		goto close_port;
	*out = e;
	return 0;
close_port:
	port_close(e->top);
free_engine:
	free(e);
	return rc;
}

void
eng_stop(struct engine *e)
{
	struct gather *g;

	stop_cores(e);
	for (uint32_t i = 0; i < e->num_cores; i++)
		core_explain_last(e->core[i]);
	if (e->ended)
		e->ended(e->arg, e);
	g = free_cores(e);
	port_close(e->top);
	gather_fini(g);
	free(e);
}

/* Nobody drives it from now on. False: somebody does not leave it. */
static bool
hold_for_ever(struct core *c)
{
	for (unsigned int i = 0; i < EXIT_TRIES; i++) {
		if (core_try(c, false))
			return true;
		usleep(50);
	}
	return false;
}

void
eng_exit(struct engine *e)
{
	if (e->pid != getpid())
		return;
	stop_cores(e);
	for (uint32_t i = 0; i < e->num_cores; i++)
		if (!hold_for_ever(e->core[i]))
			return;
	/* the port's core last: it sends what the others give it */
	for (uint32_t i = e->num_cores; i-- > 0; )
		core_settle(e->core[i]);
	for (uint32_t i = 0; i < e->num_cores; i++)
		core_explain_last(e->core[i]);
	if (e->ended)
		e->ended(e->arg, e);
	port_close(e->top);
}

void
eng_forked(struct engine *e)
{
	/* the child's copy: nobody gets the locks any more */
	for (uint32_t i = 0; i < e->num_cores; i++)
		__atomic_store_n(&e->core[i]->lock, CORE_HELD, __ATOMIC_RELAXED);
}

uint32_t
eng_num_cores(const struct engine *e)
{
	return e->num_cores;
}

struct core *
eng_core(struct engine *e, uint32_t index)
{
	return index < e->num_cores ? e->core[index] : NULL;
}

struct core *
eng_port_core(struct engine *e)
{
	return e->core[ENG_PORT_CORE];
}

const struct port *
eng_port(const struct engine *e)
{
	return e->top;
}

void
eng_port_counters(const struct engine *e,
		  void (*each)(void *arg, const char *name, const char *text, uint64_t n), void *arg)
{
	for (const struct port *p = e->top; p; p = p->lower)
		if (p->drv->counters)
			p->drv->counters((struct port *)(uintptr_t)p, each, arg);
}

bool
eng_inline(const struct engine *e)
{
	return e->inline_mode;
}

bool
eng_link_up(struct engine *e)
{
	if (e->top->carrier)
		return e->top->drv->link_up(e->top);
	return !__atomic_load_n(&e->link_lost, __ATOMIC_RELAXED);
}
