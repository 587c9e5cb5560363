/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs packet scripts: `script_runner [--external yes] [--as xrc] [--only PREFIX] [--proofs LIST]
 * [--tests DIR] FILE|DIRECTORY...`.
 * A script is run for each start PSN and each value of what it varies. LIST names other tests that
 * prove statements, and what must be proved (proof.h). Exit status 1 when something failed or is
 * missing.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cover.h"
#include "proof.h"
#include "run.h"

static unsigned int passed, failed, skipped;
/* Of a directory, the scripts whose names begin so. */
static const char *only = "";

/* Value number `at` of every varying thing, as variables. False: at is past the last combination. */
static bool
combination(const struct script *s, unsigned long at, struct run_var *vars, int *num_vars,
	    uint32_t *psn)
{
	*psn = s->psn[at % (unsigned int)s->num_psns];
	at /= (unsigned int)s->num_psns;
	*num_vars = 1;
	snprintf(vars[0].name, sizeof(vars[0].name), "psn");
	snprintf(vars[0].value, sizeof(vars[0].value), "0x%x", *psn);
	for (int i = 0; i < s->num_vary; i++) {
		const struct script_vary *v = &s->vary[i];
		int value = (int)(at % (unsigned int)v->num_values);

		at /= (unsigned int)v->num_values;
		for (int k = 0; k < v->num_names; k++) {
			struct run_var *var = &vars[(*num_vars)++];

			snprintf(var->name, sizeof(var->name), "%s", v->names[k]);
			script_value(v, value, k, var->value, sizeof(var->value));
		}
	}
	return at == 0;
}

/* Text about the first combination that fails, or NULL. */
static char *
run_all(const struct script *s, unsigned long *runs)
{
	struct run_var vars[RUN_VARS];
	char *why = NULL;
	uint32_t psn;
	int n;

	for (*runs = 0; !why && combination(s, *runs, vars, &n, &psn); ++*runs)
		why = run_script(s, vars, n, psn);
	return why;
}

static void
bad_covers(struct script *s)
{
	for (int i = 0; i < s->num_covers; i++)
		if (!cover_valid(s->covers[i]))
			snprintf(s->error, sizeof(s->error), "covers no statement: %s", s->covers[i]);
	for (int i = 0; i < s->num_partly; i++)
		if (!cover_valid(s->partly[i]))
			snprintf(s->error, sizeof(s->error), "is partly of no statement: %s", s->partly[i]);
	if (!s->num_covers && !s->num_partly)
		snprintf(s->error, sizeof(s->error), "no covers and no partly line");
}

static void
run_file(const char *path)
{
	struct script *s = script_read(path);
	unsigned long runs = 0;
	char *why = NULL;

	bad_covers(s);
	if (s->error[0]) {
		printf("FAIL %s: %s\n", path, s->error);
		failed++;
	} else if (s->skip[0]) {
		printf("skip %s:%s\n", path, s->skip);
		skipped++;
	} else if (host_xrc && s->only_rc) {
		skipped++;
	} else if ((why = run_all(s, &runs))) {
		printf("FAIL %s\n%s", path, why);
		failed++;
	} else {
		printf("ok   %s (%lu runs)\n", path, runs);
		for (int i = 0; i < s->num_covers; i++)
			cover_mark(s->covers[i]);
		for (int i = 0; i < s->num_partly; i++)
			cover_partly(s->partly[i]);
		passed++;
	}
	free(why);
	script_free(s);
}

static int
is_script(const struct dirent *d)
{
	const char *dot = strrchr(d->d_name, '.');

	return d->d_name[0] != '.' && (!dot || !strcmp(dot, ".pkt"));	/* or a directory */
}

static int
run_path(const char *path)
{
	struct dirent **entry;
	struct stat st;
	char sub[4096];
	int n;

	if (stat(path, &st)) {
		perror(path);
		return 1;
	}
	if (!S_ISDIR(st.st_mode)) {
		run_file(path);
		return 0;
	}
	n = scandir(path, &entry, is_script, alphasort);
	for (int i = 0; i < n; i++) {
		snprintf(sub, sizeof(sub), "%s/%s", path, entry[i]->d_name);
		if (!stat(sub, &st) &&
		    (S_ISDIR(st.st_mode) || !strncmp(entry[i]->d_name, only, strlen(only))))
			run_path(sub);
		free(entry[i]);
	}
	free(entry);
	return 0;
}

/* Options are --NAME VALUE. Returns the index of the first argument behind them. */
static int
options(int argc, char **argv, const char **proofs, const char **tests)
{
	int i = 1;

	for (; i + 1 < argc && !strncmp(argv[i], "--", 2); i += 2) {
		if (!strcmp(argv[i], "--only"))
			only = argv[i + 1];
		else if (!strcmp(argv[i], "--proofs"))
			*proofs = argv[i + 1];
		else if (!strcmp(argv[i], "--external"))
			host_external = !strcmp(argv[i + 1], "yes");
		else if (!strcmp(argv[i], "--as"))
			host_xrc = !strcmp(argv[i + 1], "xrc");
		else if (!strcmp(argv[i], "--tests"))
			*tests = argv[i + 1];
		else
			break;
	}
	return i;
}

int
main(int argc, char **argv)
{
	const char *proofs = NULL, *tests = NULL;
	unsigned int missing;
	int bad = 0, first;

	setvbuf(stdout, NULL, _IOLBF, 0);
	first = options(argc, argv, &proofs, &tests);
	if (first >= argc) {
		fprintf(stderr, "usage: %s [--external yes] [--as xrc] [--only PREFIX] [--proofs LIST] "
			"[--tests DIR] FILE|DIRECTORY...\n", argv[0]);
		return 2;
	}
	if (proofs)
		failed += proof_read(proofs, tests);
	for (int i = first; i < argc; i++)
		bad |= run_path(argv[i]);
	cover_print();
	missing = cover_print_required();
	printf("%u passed, %u failed, %u skipped\n", passed, failed, skipped);
	return failed || bad || missing || !(passed + skipped) ? 1 : 0;
}
