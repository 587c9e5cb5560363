/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pollux-run: runs a program over Pollux. Checks every setting first, so that a wrong one is said
 * in one line before anything starts, then puts the drop-in in front and becomes the program.
 *
 * Which way the stack runs: 1. --attach or POLLUX_SOCKET; 2. --port or POLLUX_PORT, in the
 * program's process; 3. a running polluxd; 4. a loop. The first and the third are not in this
 * version.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dropin.h"
#include "setting.h"

enum { EXIT_OK = 0, EXIT_REFUSED = 2, EXIT_CANNOT_RUN = 126, EXIT_NO_PROGRAM = 127 };

/* One line, whatever the user's text has in it. */
static int
refuse(struct why *w)
{
	for (char *s = w->text; *s; s++)
		if ((unsigned char)*s < ' ')
			*s = '?';
	fprintf(stderr, "pollux-run: %s\n", w->text);
	return EXIT_REFUSED;
}

static int
read_and_check(struct plan *p, char **argv, struct why *w)
{
	int rc = plan_read_args(p, argv, w);

	if (rc || p->help || p->version)
		return rc;
	rc = plan_read_env(p, w);
	return rc ? rc : plan_check(p, w);
}

static int
prepare(const struct plan *p, struct why *w)
{
	char exe[PATH_MAX], dir[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	int rc;

	if (n < 0)
		return why(w, "/proc/self/exe: %s; is /proc mounted?", strerror(errno));
	exe[n] = 0;
	rc = dropin_find(exe, dir, w);
	if (!rc)
		rc = dropin_prefer(dir, w);
	return rc ? rc : plan_export(p, w);
}

int
main(int argc, char **argv)
{
	struct plan plan = { .help = argc < 1 };
	struct why w = { "" };
	int rc;

	if (read_and_check(&plan, argv, &w))
		return refuse(&w);
	if (plan.help || plan.version) {
		if (plan.help)
			setting_usage(stdout);
		else
			puts("pollux-run " POLLUX_VERSION);
		return EXIT_OK;
	}
	if (prepare(&plan, &w))
		return refuse(&w);
	execvp(plan.program[0], plan.program);
	rc = errno;
	fprintf(stderr, "pollux-run: %s: %s\n", plan.program[0], strerror(rc));
	return rc == ENOENT ? EXIT_NO_PROGRAM : EXIT_CANNOT_RUN;
}
