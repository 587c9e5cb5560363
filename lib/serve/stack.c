/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How does a stack begin and end? Control threads; at the exit, the thread that exits.
 */
#include "serve/stack.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "port/spec.h"
#include "serve/object.h"

static struct stack *running;
static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

struct stack *
stack_running(void)
{
	return __atomic_load_n(&running, __ATOMIC_ACQUIRE);
}

/* The port and the threads stay with the parent. */
static void
forked(void)
{
	struct stack *s = stack_running();

	if (!s)
		return;
	s->forked = true;
	eng_forked(s->eng);
}

static void
set_log_level(void)
{
	static const char *const names[] = { "error", "warning", "info", "debug" };
	const char *want = getenv("POLLUX_LOG");

	if (!want)
		return;
	for (unsigned int i = 0; i < 4; i++)
		if (strcmp(want, names[i]) == 0) {
			log_set_level((enum log_level)i);
			return;
		}
	log_line(PLX_LOG_WARN, "POLLUX_LOG=%.32s: there are error, warning, info and debug", want);
}

static void
first_time(void)
{
	pthread_atfork(NULL, NULL, forked);
	set_log_level();
}

static void
stack_free(struct stack *s)
{
	if (s->mrs)
		mr_table_free(s->mrs);
	table_fini(&s->pds);
	table_fini(&s->ahs);
	table_fini(&s->regions);
	table_fini(&s->windows);
	table_fini(&s->dms);
	table_fini(&s->channels);
	table_fini(&s->cqs);
	table_fini(&s->srqs);
	table_fini(&s->qps);
	table_fini(&s->xrcds);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static struct stack *
stack_new(void)
{
	struct stack *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	pthread_mutex_init(&s->lock, NULL);
	table_init(&s->pds, MAX_PD);
	table_init(&s->ahs, MAX_AH);
	table_init(&s->regions, MAX_MR);
	table_init(&s->windows, MAX_MW);
	table_init(&s->dms, MAX_DM);
	table_init(&s->channels, MAX_CHANNEL);
	table_init(&s->cqs, MAX_CQ);
	table_init(&s->srqs, MAX_SRQ);
	table_init(&s->qps, MAX_QP);
	table_init(&s->xrcds, MAX_XRCD);
	list_init(&s->domains);
	list_init(&s->clients);
	list_init(&s->mgroups);
	s->pid = getpid();
	s->mrs = mr_table_new(MAX_MR + MAX_MW);
	if (s->mrs)
		return s;
	stack_free(s);
	return NULL;
}

static bool
was_qpn(void *arg, uint32_t qpn)
{
	struct stack *s = arg;
	uint32_t bits = eng_qpn_bits(s->conf.eng.num_cores), core = qpn & ((1u << bits) - 1);

	return core < s->conf.eng.num_cores &&
	       perm_invert(&s->qpns, qpn >> bits) <
	       __atomic_load_n(&s->num_created[core], __ATOMIC_RELAXED);
}

/* The kernel would answer what is sent to an address that it holds too: with ICMP errors for UDP, and
 * with its own MAC. */
static int
check_addrs(const struct eng_conf *conf, char *why, size_t why_len)
{
	char text[INET6_ADDRSTRLEN];

	if (strcmp(conf->port.driver, "af_packet") != 0)
		return 0;
	for (uint32_t i = 0; i < conf->net.num_addrs; i++) {
		const uint8_t *gid = conf->net.addr[i].gid;

		if (port_iface_has_addr(conf->port.args, gid) != 1)
			continue;
		inet_ntop(AF_INET6, gid, text, sizeof(text));
		snprintf(why, why_len, "the kernel holds %s on %s: take another address of that network "
			 "for --ip", strncmp(text, "::ffff:", 7) ? text : text + 7, conf->port.args);
		return -EADDRINUSE;
	}
	return 0;
}

static int
fill(struct stack *s, const struct setting_text *text, bool eal_running, uint32_t mem_mb, char *why,
     size_t why_len)
{
	int rc = conf_parse(&s->conf, text, why, why_len);

	if (rc == 0)
		rc = check_addrs(&s->conf.eng, why, why_len);
	if (rc < 0)
		return rc;
	perm_init(&s->qpns, 24 - eng_qpn_bits(s->conf.eng.num_cores));
	s->conf.eng.eal_running = eal_running;
	s->conf.eng.mem_mb = mem_mb;
	s->conf.eng.was_qpn = was_qpn;
	s->conf.eng.ah_of = ah_of_handle;
	s->conf.eng.ended = tally_write;
	s->conf.eng.arg = s;
	rc = tally_open(s, why, why_len);
	if (rc < 0)
		return rc;
	rc = eng_start(&s->conf.eng, s->mrs, &s->eng, why, why_len);
	if (rc < 0) {
		tally_close(s);
		return rc;
	}
	__atomic_store_n(&running, s, __ATOMIC_RELEASE);
	rc = __plx_backend_register(&serve_local);
	if (rc == 0)
		return 0;
	__atomic_store_n(&running, NULL, __ATOMIC_RELEASE);
	eng_stop(s->eng);
	snprintf(why, why_len, rc == -EPROTO ? "libpollux and the stack are of different builds" :
		 "another stack is registered in this process");
	return rc;
}

int
stack_start(const struct setting_text *text, bool eal_running, uint32_t mem_mb, char *why,
	    size_t why_len)
{
	struct stack *s;
	int rc = -ENOMEM;

	pthread_once(&once, first_time);
	pthread_mutex_lock(&start_lock);
	if (running) {
		snprintf(why, why_len, "a stack runs in this process already");
		rc = -EBUSY;
		goto unlock;
	}
	s = stack_new();
	if (!s) {
		snprintf(why, why_len, "out of memory");
		goto unlock;
	}
	rc = fill(s, text, eal_running, mem_mb, why, why_len);
	if (rc < 0)
		stack_free(s);
unlock:
	pthread_mutex_unlock(&start_lock);
	return rc;
}

static int
stop(struct stack *s)
{
	bool busy;

	if (!s)
		return -ESRCH;
	if (s->forked)
		return -EIO;
	pthread_mutex_lock(&s->lock);
	busy = !list_empty(&s->clients);
	pthread_mutex_unlock(&s->lock);
	if (busy)
		return -EBUSY;
	__plx_backend_register(NULL);
	__atomic_store_n(&running, NULL, __ATOMIC_RELEASE);
	eng_stop(s->eng);
	stack_free(s);
	return 0;
}

int
stack_stop(void)
{
	int rc;

	pthread_mutex_lock(&start_lock);
	rc = stop(running);
	pthread_mutex_unlock(&start_lock);
	return rc;
}

/* Programs end with contexts open, and with threads that still poll: the port is closed under them,
 * for it has a socket file to take away. */
__attribute__((destructor)) static void
at_exit(void)
{
	struct stack *s = stack_running();

	if (!s || s->forked)
		return;
	eng_exit(s->eng);
}
