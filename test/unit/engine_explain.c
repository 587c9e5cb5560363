/* SPDX-License-Identifier: BSD-3-Clause */
/* Why QPs failed is told in so many lines a second, the rest is counted, and nothing is silent. No EAL. */
#include "engine/core.h"

#include <rte_cycles.h>

#include "base/log.h"
#include "check.h"
#include "transport/status.h"

static struct core core;
static unsigned int lines;
static char last[LOG_TEXT_MAX + 1];

static void
sink(void *arg, enum log_level level, const char *text)
{
	(void)arg;
	(void)level;
	lines++;
	snprintf(last, sizeof(last), "%s", text);
}

static void
new_core(void)
{
	memset(&core, 0, sizeof(core));
	list_init(&core.clients);
	clock_begin(&core.clock);
	clock_ready(&core.clock);
	CHECK_EQ(core_explain_init(&core), 0);
	lines = 0;
	log_set_sink(sink, NULL);
}

static void
end_core(void)
{
	log_set_sink(NULL, NULL);
	core_explain_fini(&core);
	CHECK(core.x.whys == NULL);
}

/* What the transport does for a QP that ends. */
static void
fail_qps(uint32_t n)
{
	struct why_box *box = core.x.whys;

	while (n--) {
		if (box->num == WHY_BOX) {
			box->lost++;
			continue;
		}
		box->why[box->num] = (struct qp_why){ .end.fault = FAULT_RETRY_EXC, .qpn = 0x123, .type = 2 };
		box->num++;
	}
}

static void
core_explain__a_line_for_each(void)
{
	new_core();
	core_explain(&core);
	CHECK_EQ(lines, 0);
	fail_qps(3);
	core_explain(&core);
	CHECK_EQ(lines, 3);
	CHECK(strncmp(last, "RC QP 0x000123: the peer does not answer", 40) == 0);
	core_explain(&core);
	CHECK_EQ(lines, 3);
	end_core();
}

static void
core_explain__so_many_a_second(void)
{
	new_core();
	fail_qps(40);
	core_explain(&core);
	CHECK_EQ(lines, 17);
	CHECK(strcmp(last, "24 more queue pairs failed") == 0);
	for (uint32_t i = 0; i < 10; i++) {
		fail_qps(5);
		core.explain->since = rte_rdtsc();	/* it is the same second */
		core_explain(&core);
	}
	CHECK_EQ(lines, 17);
	CHECK_EQ(core.explain->unsaid, 50);
	core.explain->since -= clock_ticks(&core.clock, 2000000000u);
	core_explain(&core);
	CHECK_EQ(lines, 18);
	CHECK(strcmp(last, "50 more queue pairs failed") == 0);
	fail_qps(1);
	core_explain(&core);
	CHECK_EQ(lines, 19);
	end_core();
}

static void
core_explain__the_end_tells_all(void)
{
	new_core();
	fail_qps(18);
	core_explain_last(&core);
	CHECK_EQ(lines, 17);
	CHECK(strcmp(last, "2 more queue pairs failed") == 0);
	end_core();
}

/* Somebody else has the core: it is told in another round. */
static void
core_explain__waits_for_the_lock(void)
{
	new_core();
	fail_qps(1);
	core.lock = CORE_HELD;
	core_explain(&core);
	CHECK_EQ(lines, 0);
	core.lock = CORE_FREE;
	core_explain(&core);
	CHECK_EQ(lines, 1);
	end_core();
}

static const struct check_case cases[] = {
	CHECK_CASE(core_explain__a_line_for_each),
	CHECK_CASE(core_explain__so_many_a_second),
	CHECK_CASE(core_explain__the_end_tells_all),
	CHECK_CASE(core_explain__waits_for_the_lock),
};

CHECK_MAIN(cases)
