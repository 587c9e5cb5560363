/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine on a loop port: who drives, messages, bells, EAL's manners. */
#include "engine_fixture.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>

static int
same_affinity(const cpu_set_t *before)
{
	cpu_set_t now;

	sched_getaffinity(0, sizeof(now), &now);
	return CPU_EQUAL(before, &now);
}

/* Another program that starts just now has its own there for a moment. */
static bool
is_gone(const char *dir)
{
	for (int ms = 0; ms < 10000 && access(dir, F_OK) == 0; ms++)
		usleep(1000);
	return access(dir, F_OK) != 0;
}

/* The first case: EAL starts here. */
static void
eng_start__leaves_the_program_as_it_was(void)
{
	char name[] = "again", arg[] = "--no-huge", *argv[] = { name, arg, NULL };
	sigset_t mask_before, mask;
	cpu_set_t cpus;

	memset(&mask_before, 0, sizeof(mask_before));
	memset(&mask, 0, sizeof(mask));
	sched_getaffinity(0, sizeof(cpus), &cpus);
	pthread_sigmask(SIG_SETMASK, NULL, &mask_before);
	CHECK_EQ(start_with("loop", true), 0);
	CHECK(same_affinity(&cpus));
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	CHECK_MEM(&mask, &mask_before, sizeof(mask));
	CHECK(rte_eal_init(2, argv) < 0);
	CHECK_EQ(rte_errno, EALREADY);
	CHECK_EQ(rte_lcore_id(), LCORE_ID_ANY);
	CHECK(is_gone(rte_eal_get_runtime_dir()));	/* nothing is left in /run/dpdk */
	stop();
}

static void
eng_start__again_after_a_stop(void)
{
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(start_with("loop", i & 1), 0);
		CHECK(eng_link_up(eng));
		stop();
	}
}

static void
core_try__one_holder(void)
{
	CHECK_EQ(start_alone(), 0);
	while (!core_try(core, false))
		;
	CHECK(!core_try(core, false));
	CHECK(!core_leave(core));
	while (!core_try(core, false))
		;
	CHECK(!core_try(core, true));	/* and asks for one round more */
	CHECK(core_leave(core));	/* so it is held again */
	CHECK(!core_leave(core));
	stop();
}

static void
core_try__lcore_id_is_the_cores(void)
{
	CHECK_EQ(start_alone(), 0);
	while (!core_try(core, false))
		;
	CHECK_EQ(rte_lcore_id(), core->lcore);
	CHECK(core->lcore != LCORE_ID_ANY);
	core_leave(core);
	CHECK_EQ(rte_lcore_id(), LCORE_ID_ANY);
	stop();
}

#define CALLERS 3
#define CALLS 2000
static uint64_t plain;			/* no atomic: eng_call() says one at a time */
static uint32_t running;

static int
add_one(struct core *c, void *arg)
{
	(void)c;
	plain += *(int *)arg;
	return (int)(plain & 0xff);
}

static void *
caller(void *arg)
{
	int one = 1;

	(void)arg;
	for (int i = 0; i < CALLS; i++)
		eng_call(core, add_one, &one);
	__atomic_sub_fetch(&running, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void
call_from_many(bool inline_mode)
{
	pthread_t t[CALLERS];

	CHECK_EQ(start_with("loop", inline_mode), 0);
	plain = 0;
	running = CALLERS;
	for (int i = 0; i < CALLERS; i++)
		pthread_create(&t[i], NULL, caller, NULL);
	while (__atomic_load_n(&running, __ATOMIC_ACQUIRE)) {
		core_drive_poll(core);
		core_drive_post(core);
		sched_yield();
	}
	for (int i = 0; i < CALLERS; i++)
		pthread_join(t[i], NULL);
	CHECK_EQ(plain, CALLERS * CALLS);
	stop();
}

static void
eng_call__from_many_threads_inline(void)
{
	call_from_many(true);
}

static void
eng_call__from_many_threads_dedicated(void)
{
	call_from_many(false);
}

static int
give_back(struct core *c, void *arg)
{
	(void)c;
	return *(int *)arg;
}

static void
eng_call__returns_what_the_function_did(void)
{
	int rc = -42;

	CHECK_EQ(start_with("loop", true), 0);
	CHECK_EQ((uint64_t)eng_call(core, give_back, &rc), (uint64_t)-42);
	stop();
}

static struct qp *
no_qp(void *arg, uint32_t handle)
{
	(*(uint64_t *)arg) += handle;
	return NULL;
}

static int
join(struct core *c, void *arg)
{
	core_client_add(c, arg);
	return 0;
}

static int
leave(struct core *c, void *arg)
{
	core_client_del(c, arg);
	return 0;
}

static void
core_submit__takes_every_bell_once(void)
{
	static struct plx_bell_ring ring;
	static struct plx_wq_ctl wq[300];
	uint64_t sum = 0, expect = 0;
	struct core_client client = { .ring = &ring, .qp_of = no_qp, .arg = &sum, .async_fd = -1 };

	memset(&ring, 0, sizeof(ring));
	memset(wq, 0, sizeof(wq));
	CHECK_EQ(start_with("loop", true), 0);
	eng_call(core, join, &client);
	for (uint32_t i = 0; i < 300; i++) {
		plx_bell_publish(&ring, &wq[i], 1, i, i & 1 ? PLX_BELL_RQ : PLX_BELL_SQ);
		plx_bell_publish(&ring, &wq[i], 2, i, PLX_BELL_SQ);	/* on its way already */
		expect += i;
	}
	for (int i = 0; i < 10; i++)
		core_drive_post(core);
	eng_call(core, leave, &client);
	CHECK_EQ(sum, expect);
	CHECK_EQ(client.head, 300);
	CHECK_EQ(ring.slot[299], 0);
	stop();
}

static void
eng_forked__child_drives_nothing(void)
{
	uint64_t before;
	int status = -1;
	pid_t pid;

	CHECK_EQ(start_with("loop", true), 0);
	pid = fork();
	if (pid == 0) {
		eng_forked(eng);
		before = core->x.now;
		core_drive_poll(core);
		core_drive_post(core);
		eng_exit(eng);	/* and the port stays the parent's */
		_exit(core->x.now == before ? 0 : 1);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
	core_drive_poll(core);
	stop();
}

static const struct check_case cases[] = {
	CHECK_CASE(eng_start__leaves_the_program_as_it_was),
	CHECK_CASE(eng_start__again_after_a_stop),
	CHECK_CASE(core_try__one_holder),
	CHECK_CASE(core_try__lcore_id_is_the_cores),
	CHECK_CASE(eng_call__from_many_threads_inline),
	CHECK_CASE(eng_call__from_many_threads_dedicated),
	CHECK_CASE(eng_call__returns_what_the_function_did),
	CHECK_CASE(core_submit__takes_every_bell_once),
	CHECK_CASE(eng_forked__child_drives_nothing),
};

CHECK_MAIN(cases)
