/* SPDX-License-Identifier: BSD-3-Clause */
/* Does this script hold? Runs its lines, blocks and loops; called for each combination of values. */
#include "run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
saw(void *arg, const char *text)
{
	struct run *r = arg;
	unsigned int at = r->traced++ % RUN_TRACE;

	free(r->trace[at]);
	r->trace[at] = strdup(text);
}

void
run_fail(struct run *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->why, sizeof(r->why), fmt, ap);
	va_end(ap);
	longjmp(r->failed, 1);
}

struct host_qp *
run_qp(struct run *r)
{
	static struct words none;

	if (!r->qp) {
		words_split(&none, "qp");
		words_next(&none);
		setup_qp(r, &none);
	}
	return r->qp;
}

void
run_settle(struct run *r)
{
	if (!r->burst)
		host_settle(&r->h);
	if (r->h.broken[0])
		run_fail(r, "%s", r->h.broken);
}

void
run_claimed(struct run *r)
{
	struct host *h = &r->h;
	char line[600];
	struct pkt p;

	if (h->frames) {
		if (pkt_decode(h->frames->bytes, h->frames->len, &p))
			run_fail(r, "the host sent a frame that cannot be decoded");
		pkt_print(&p, run_qp(r)->sq_base, line, sizeof(line));
		run_fail(r, "no line expects what the host sent before:\n    got:      %s", line);
	}
	for (int i = 0; i < 2; i++)
		if (h->cqes[i])
			run_fail(r, "no line expects the completion of wr %llu, status %u",
				 (unsigned long long)h->cqes[i]->cqe.wr_id, h->cqes[i]->cqe.status);
	if (h->x.num_events)
		run_fail(r, "no line expects event %u", h->x.events[0].type);
	if (h->notified[0] || h->notified[1])
		run_fail(r, "no line expects the completion event");
}

/* $name and ${name}. */
static void
replace(struct run *r, const char *line, char *out, size_t size)
{
	size_t n = 0;

	while (*line && n + 64 < size) {
		int i;

		if (*line != '$') {
			out[n++] = *line++;
			continue;
		}
		line += line[1] == '{' ? 2 : 1;
		for (i = 0; i < r->num_vars; i++) {
			size_t len = strlen(r->var[i].name);

			if (strncmp(line, r->var[i].name, len) ||
			    strspn(line, "abcdefghijklmnopqrstuvwxyz_0123456789") != len)
				continue;
			line += len;
			line += *line == '}';
			n += (size_t)snprintf(out + n, size - n, "%s", r->var[i].value);
			break;
		}
		if (i == r->num_vars)
			run_fail(r, "no such variable: $%s", line);
	}
	out[n] = 0;
}

static const struct cmd *
find(const char *name)
{
	static const struct cmd *const all[] = {
		cmd_setup, cmd_srq, cmd_mw, cmd_group, cmd_ud, cmd_post, cmd_wire, cmd_check, cmd_modify,
		cmd_table, cmd_moves, cmd_pair, cmd_xrc,
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (const struct cmd *c = all[i]; c->name; c++)
			if (!strcmp(c->name, name))
				return c;
	return NULL;
}

void
run_line(struct run *r, const char *line)
{
	struct words *w = &r->words;
	const struct cmd *c;
	const char *name;

	replace(r, line, r->text, sizeof(r->text));
	if (!words_split(w, r->text))
		run_fail(r, "line too long");
	name = words_next(w);
	if (!name)
		return;
	c = find(name);
	if (!c)
		run_fail(r, "no such command: %s", name);
	c->run(r, w);
	if (words_left(w))
		run_fail(r, "not understood: %s", words_left(w));
}

static void run_lines(struct run *r, int from, int to);

static void
foreach(struct run *r, int from, int end)
{
	struct script_vary *v = run_alloc(r, sizeof(*v));
	int vars = r->num_vars;

	/* its texts are kept: a failure inside leaves by longjmp, and they are small */
	replace(r, r->script->line[from], r->text, sizeof(r->text));
	if (!script_vary_parse(v, r->text) || vars + v->num_names > RUN_VARS)
		run_fail(r, "foreach NAME... in VALUE...");
	for (int i = 0; i < v->num_values; i++) {
		for (int k = 0; k < v->num_names; k++) {
			struct run_var *var = &r->var[vars + k];

			snprintf(var->name, sizeof(var->name), "%s", v->names[k]);
			script_value(v, i, k, var->value, sizeof(var->value));
		}
		r->num_vars = vars + v->num_names;
		run_lines(r, from + 1, end);
	}
	r->num_vars = vars;
	script_vary_free(v);
}

static void
run_lines(struct run *r, int from, int to)
{
	for (int i = from; i < to; i++) {
		const char *line = r->script->line[i] + strspn(r->script->line[i], " \t");
		bool loop = !strncmp(line, "foreach ", 8);
		int end;

		r->line = i;
		if (!loop && strncmp(line, "burst", 5)) {
			run_line(r, line);
			continue;
		}
		end = script_block_end(r->script, i);
		if (end < 0)
			run_fail(r, "no end of the block");
		if (loop) {
			foreach(r, i, end);
		} else {
			run_claimed(r);
			r->burst = true;
			run_lines(r, i + 1, end);
			r->burst = false;
			run_settle(r);
		}
		i = end;
	}
}

static char *
report(struct run *r)
{
	size_t size = 65536;
	char *out = malloc(size);
	FILE *f = out ? fmemopen(out, size, "w") : NULL;
	unsigned int first = r->traced > RUN_TRACE ? r->traced - RUN_TRACE : 0;

	if (!f)
		abort();
	fprintf(f, "  %s:%d", r->script->path, r->line + 1);
	for (int i = 0; i < r->num_vars; i++)
		fprintf(f, "%s%s=%s", i ? ", " : "  with ", r->var[i].name, r->var[i].value);
	fprintf(f, "\n    line:     %s\n    %s\n    trace (PSNs as on the wire; < to the host, > from it):\n",
		r->text, r->why);
	for (unsigned int i = first; i < r->traced; i++)
		fprintf(f, "    %s\n", r->trace[i % RUN_TRACE]);
	fclose(f);
	return out;
}

static void
finish(struct run *r)
{
	const char *why;

	r->line = r->script->num_lines - 1;
	snprintf(r->text, sizeof(r->text), "(end of the script)");
	run_claimed(r);
	why = host_mem_check(&r->h);
	if (why)
		run_fail(r, "%s", why);
	if (r->h.x.lost_events)
		run_fail(r, "events were lost");
}

static void
clean(struct run *r)
{
	host_fini(&r->h);
	for (int i = 0; i < RUN_TRACE; i++)
		free(r->trace[i]);
	while (r->arena) {
		struct run_arena *a = r->arena;

		r->arena = a->next;
		free(a);
	}
	free(r);
}

static bool
holds(struct run *r)
{
	if (setjmp(r->failed))
		return false;
	run_lines(r, 0, r->script->num_lines);
	finish(r);
	return true;
}

char *
run_script(const struct script *s, const struct run_var *vars, int num_vars, uint32_t start_psn)
{
	struct run *r = calloc(1, sizeof(*r));
	char *text;

	if (!r)
		abort();
	host_init(&r->h);
	r->h.xrc |= s->xrc;
	r->h.saw = saw;
	r->h.saw_arg = r;
	r->h.start_psn = start_psn;
	r->script = s;
	memcpy(r->var, vars, sizeof(*vars) * (size_t)num_vars);
	r->num_vars = num_vars;
	text = holds(r) ? NULL : report(r);
	clean(r);
	return text;
}
