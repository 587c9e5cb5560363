/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers: which settings did the user give, by option or by variable, and how do they reach the
 * program? Called by main(), on the launcher's only thread.
 */
#include "setting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct setting {
	const char *option;
	const char *variable;
	const char *arg;
	const char *help;
} settings[SETTING_COUNT] = {
#define SETTING_ROW(id, option, variable, arg, help) { option, variable, arg, help },
	SETTING_LIST(SETTING_ROW)
#undef SETTING_ROW
};

/* The setting whose option is the first `len` bytes of `name`; SETTING_COUNT when there is none. */
static int
find_option(const char *name, size_t len)
{
	int i;

	for (i = 0; i < SETTING_COUNT; i++) {
		const char *o = settings[i].option;

		if (o && strlen(o) == len && !strncmp(o, name, len))
			break;
	}
	return i;
}

static int
set_value(struct plan *p, int i, const char *text, struct why *w)
{
	char *joined;

	if (p->value[i] && i != SETTING_IP)
		return why(w, "--%s is given twice; give it once", settings[i].option);
	if (asprintf(&joined, "%s%s%s", p->value[i] ? p->value[i] : "", p->value[i] ? "," : "",
		     text) < 0)
		return why(w, "out of memory");
	free(p->value[i]);
	p->value[i] = joined;
	return 0;
}

/* Takes the option at *argv and its value; returns how many words that were, or -EINVAL. */
static int
read_option(struct plan *p, char **argv, struct why *w)
{
	const char *name = argv[0] + 2;
	size_t len = strcspn(name, "=");
	int i = find_option(name, len);
	const char *value = name[len] ? name + len + 1 : argv[1];
	int words = name[len] ? 1 : 2;

	if (i == SETTING_COUNT)
		return why(w, "there is no option %s; --help lists them", argv[0]);
	p->from[i] = argv[0];
	/* the only option whose value may be left out */
	if (i == SETTING_SOCKET && !name[len] && (!value || value[0] == '-')) {
		value = "";
		words = 1;
	} else if (!value || (!name[len] && !strncmp(value, "--", 2)) || !*value) {
		return why(w, "--%s needs a value: --%s %s", settings[i].option,
			   settings[i].option, settings[i].arg);
	}
	return set_value(p, i, value, w) ? -EINVAL : words;
}

int
plan_read_args(struct plan *p, char **argv, struct why *w)
{
	for (argv++; *argv && strcmp(*argv, "--");) {
		int words = 1;

		if (!strcmp(*argv, "--help") || !strcmp(*argv, "-h"))
			p->help = 1;
		else if (!strcmp(*argv, "--version"))
			p->version = 1;
		else if (!strncmp(*argv, "--", 2))
			words = read_option(p, argv, w);
		else if (**argv == '-')
			return why(w, "there is no option %s; --help lists them", *argv);
		else
			return why(w, "put -- before the program: pollux-run [OPTION]... -- %s ...",
				   *argv);
		if (words < 0)
			return words;
		argv += words;
	}
	p->program = *argv ? argv + 1 : argv;
	if (!*p->program && !p->help && !p->version)
		return why(w, "no program is given: pollux-run [OPTION]... -- PROGRAM [ARG]...");
	return 0;
}

int
plan_read_env(struct plan *p, struct why *w)
{
	for (int i = 0; i < SETTING_COUNT; i++) {
		const char *text = getenv(settings[i].variable);

		if (p->value[i] || !text || !*text)
			continue;
		p->from[i] = settings[i].variable;
		if (set_value(p, i, text, w))
			return -ENOMEM;
	}
	return 0;
}

int
plan_export(const struct plan *p, struct why *w)
{
	for (int i = 0; i < SETTING_COUNT; i++) {
		int rc = p->value[i] ? setenv(settings[i].variable, p->value[i], 1) :
				       unsetenv(settings[i].variable);

		if (rc)
			return why(w, "%s cannot be set: %s", settings[i].variable,
				   strerror(errno));
	}
	/* port and order of the ways: without any setting the port is a loop */
	if (setenv("POLLUX_LAUNCHED", "1", 1) ||
	    setenv("POLLUX_PORT", p->value[SETTING_PORT] ? p->value[SETTING_PORT] : "loop", 1))
		return why(w, "the environment cannot be set: %s", strerror(errno));
	return 0;
}

void
setting_usage(FILE *out)
{
	fputs("usage: pollux-run [OPTION]... -- PROGRAM [ARG]...\n\n"
	      "Runs a verbs program over Pollux instead of RDMA hardware.\n\n", out);
	for (int i = 0; i < SETTING_COUNT; i++) {
		char left[64];

		if (settings[i].option)
			snprintf(left, sizeof(left), "--%s %s", settings[i].option,
				 settings[i].arg);
		else
			snprintf(left, sizeof(left), "  %s", settings[i].arg);
		fprintf(out, "  %-22s %-22s %s\n", left, settings[i].variable, settings[i].help);
	}
	fputs("  --help                 print this\n"
	      "  --version              print the version\n\n"
	      "SPEC is loop, memif:SOCKET,server|client[,zc] (SOCKET a path or @name),\n"
	      "af_packet:IFACE, af_xdp:IFACE, vhost:SOCKET with virtio:SOCKET at the other end,\n"
	      "pci:ADDRESS or vdev:DPDK-DEVARGS. --attach is not in this version. An option\n"
	      "wins over its variable.\n\n"
	      "--impair does to received frames: drop=P,dup=P,reorder=P[:K],delay=US[:JITTER],\n"
	      "corrupt=P,ecn=P,seed=N, or some of these; P is a fraction, such as 0.01.\n\n"
	      "Exit status: the program's; 2 wrong option or nothing started; 126 the program\n"
	      "cannot be run; 127 there is no such program.\n", out);
}
