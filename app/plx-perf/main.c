/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plx-perf: how fast is RDMA between two processes, or within one, and is every byte right? main()
 * opens the device, finds the other end, and runs the sizes one after the other. One thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report.h"
#include "run.h"
#include "say.h"

#define EXIT_WRONG 1			/* the test failed */
#define EXIT_START 2			/* it could not be started */
#define CONNECT_WAIT_MS 10000
#define PEER_WAIT_MS 20000

static struct worker worker[2];
static struct device device;
static struct report report;

static void
on_signal(int sig)
{
	(void)sig;
	run_interrupted++;
}

static void
catch_signals(void)
{
	struct sigaction a = { .sa_handler = on_signal };

	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
}

static int
send_test(struct worker *w, const struct test *t)
{
	uint64_t word[TEST_WORDS];

	test_pack(t, word);
	return link_send(&w->link, MSG_TEST, word, TEST_WORDS) ?
		fail("%s closed its connection before the test began", w->link.peer) : 0;
}

static int
hear_test(struct worker *w, struct test *t)
{
	struct msg *m = malloc(sizeof(*m));
	int rc = m ? 0 : fail("out of memory");

	if (!rc)
		rc = link_expect(&w->link, m, MSG_TEST, TEST_WORDS, PEER_WAIT_MS);
	if (!rc && test_unpack(t, m->word, m->n)) {
		link_send(&w->link, MSG_FAIL, NULL, 0);
		rc = -1;
	}
	free(m);
	return rc;
}

/* Waits for the client, who says what is measured. 1 when interrupted before one came. */
static int
meet_client(struct worker *w, struct options *o)
{
	int listener = link_listen((uint16_t)o->tcp_port), rc;

	if (listener < 0)
		return -1;
	if (!o->json)
		printf("plx-perf %s: waiting for a client on TCP port %llu\n", POLLUX_VERSION,
		       (unsigned long long)o->tcp_port);
	fflush(stdout);
	rc = link_accept(&w->link, listener, (const volatile int *)&run_interrupted);
	close(listener);
	if (rc)
		return run_interrupted ? 1 : -1;
	return hear_test(w, &o->test);
}

static int
meet_server(struct worker *w, const struct options *o)
{
	w->client = true;
	return link_connect(&w->link, o->host, (uint16_t)o->tcp_port, CONNECT_WAIT_MS) ||
		send_test(w, &o->test) ? -1 : 0;
}

static int
meet(struct options *o)
{
	if (o->self) {
		worker[0].client = true;
		return link_pair(&worker[0].link, &worker[1].link);
	}
	return o->host ? meet_server(&worker[0], o) : meet_client(&worker[0], o);
}

static const struct activity *
choose_activity(const struct test *t)
{
	if (t->verify)
		return test_op(t)->props & OP_ATOMIC ? &activity_verify_atomic : &activity_verify;
	return t->mode == MODE_LAT ? &activity_lat : &activity_bw;
}

static int
run_all(struct worker *w, int n)
{
	const struct sizes *s = &w->test->sizes;
	uint32_t rounds = s->random ? 1 : (uint32_t)s->n;

	report_begin(w);
	for (uint32_t i = 0; i < rounds && !run_ends(w, n); i++) {
		int rc = run_size(w, n, s->random ? s->high : s->each[i]);

		if (rc < 0)
			return -1;
		if (!rc)
			report_size(&report, w);
	}
	return run_ends(w, n) && w->test->verify ?
		fail("interrupted: only %llu bytes were checked",
		     (unsigned long long)(w->mine.checked + w->theirs.checked)) : 0;
}

static int
run(struct options *o)
{
	int n = o->self ? 2 : 1, rc;

	for (int i = 0; i < n; i++) {
		worker[i].options = o;
		worker[i].test = &o->test;
		worker[i].act = choose_activity(&o->test);
	}
	if (run_open(worker, n, &device)) {
		rc = EXIT_START;
	} else {
		rc = run_all(worker, n) ? EXIT_WRONG : 0;
		report_end(&report, worker, !rc);
	}
	/* an interrupted end has told the other already */
	for (int i = 0; i < n && rc && !run_ends(worker, n); i++)
		link_send(&worker[i].link, MSG_FAIL, NULL, 0);
	return rc;
}

int
main(int argc, char **argv)
{
	static struct options o;
	int rc = options_read(&o, argc, argv);

	if (rc)
		return rc < 0 ? EXIT_START : 0;
	worker[0].link.fd = worker[1].link.fd = -1;
	catch_signals();
	rc = device_open(&device, o.device, o.gid_index);
	if (!rc)
		rc = meet(&o);
	if (!rc)
		rc = run(&o);
	else
		rc = rc > 0 ? 0 : EXIT_START;
	run_close(worker, o.self ? 2 : 1);
	device_close(&device);
	return rc;
}
