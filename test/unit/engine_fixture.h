/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests of the engine: one of a single core, and its end. */
#ifndef UNIT_ENGINE_FIXTURE_H
#define UNIT_ENGINE_FIXTURE_H

#include "engine/core.h"

#include "check.h"

static struct engine *eng;
static struct core *core;
static struct mr_table *mrs;

static inline int
start_with(const char *spec, bool inline_mode)
{
	static char words[256], why[256];
	struct eng_conf conf = { .inline_mode = inline_mode, .num_cores = 1 };
	int rc;

	rc = port_conf_parse(spec, words, sizeof(words), &conf.port, why, sizeof(why));
	if (rc == 0) {
		mrs = mr_table_new(16);
		rc = eng_start(&conf, mrs, &eng, why, sizeof(why));
	}
	if (rc < 0) {
		printf("start: %d %s\n", rc, why);
		return rc;
	}
	core = eng_core(eng, 0);
	return 0;
}

/* Without the background thread, which takes the lock and looks at the port when it likes. */
static inline int
start_alone(void)
{
	int rc = start_with("loop", true);

	if (rc == 0)
		idle_stop(core);
	return rc;
}

static inline void
stop(void)
{
	eng_stop(eng);
	mr_table_free(mrs);
}

#endif
