/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where does a user read what was counted? In a file that is written when the stack ends, and with
 * POLLUX_LOG=debug on the standard error. Control thread; at the exit, the thread that exits.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "serve/object.h"
#include "serve/stack.h"

int
tally_open(struct stack *s, char *why, size_t why_len)
{
	const char *file = s->conf.counters;
	int rc;

	s->tally_fd = -1;
	if (!file)
		return 0;
	s->tally_fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
	if (s->tally_fd >= 0)
		return 0;
	rc = -errno;
	snprintf(why, why_len, "counters \"%.100s\": %s: choose another file", file, strerror(-rc));
	return rc;
}

void
tally_close(struct stack *s)
{
	if (s->tally_fd >= 0)
		close(s->tally_fd);
	s->tally_fd = -1;
}

static void
tell(void *arg, const char *name, const char *text, uint64_t n)
{
	struct stack *s = arg;

	if (s->tally_fd >= 0 && dprintf(s->tally_fd, "%-24s %12" PRIu64 "  %s\n", name, n, text) < 0) {
		log_line(PLX_LOG_ERR, "counters \"%s\": %s: it does not hold them all", s->conf.counters,
			 strerror(errno));
		tally_close(s);
	}
	if (n)
		log_line(PLX_LOG_DBG, "%" PRIu64 " %s", n, text);
}

static uint64_t
sum(struct engine *e, int which, bool drop)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < eng_num_cores(e); i++) {
		const struct cnt_block *b = core_counters(eng_core(e, i));

		n += cnt_read(drop ? &b->drop[which] : &b->cnt[which]);
	}
	return n;
}

void
tally_write(void *arg, struct engine *e)
{
	struct stack *s = arg;

	for (int i = 0; i < CNT_COUNT; i++)
		tell(s, cnt_name(i), cnt_text(i), sum(e, i, false));
	for (int i = DROP_NONE + 1; i < DROP_COUNT; i++) {
		char text[128];

		snprintf(text, sizeof(text), "dropped: %s", drop_text(i));
		tell(s, drop_name(i), text, sum(e, i, true));
	}
	eng_port_counters(e, tell, s);
	tally_close(s);
}
