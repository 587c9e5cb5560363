/* SPDX-License-Identifier: BSD-3-Clause */
/* Events reach their sockets, also when those are full for a while. No EAL runs. */
#include "engine/core.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <pollux/abi/event.h>

#include "check.h"

static struct core core;

static void
new_core(void)
{
	memset(&core, 0, sizeof(core));
	list_init(&core.x.run);
	list_init(&core.x.cq_events);
	list_init(&core.qp_events);
	list_init(&core.clients);
	list_init(&core.cq_errors);
	list_init(&core.srq_events);
}

static int
new_socket(int fds[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds);
}

static void
owe(struct eng_cq *cq, uint32_t handle, int fd)
{
	memset(cq, 0, sizeof(*cq));
	cq->cq.handle = handle;
	cq->cq.gen = handle + 100;
	cq->cq.event_fd = fd;
	cq->cq.async_fd = fd;
	cq->cq.event_due = true;
	list_push(&core.x.cq_events, &cq->cq.event_node);
}

static void
core_notify__completion_event_is_one_record(void)
{
	struct plx_cq_event ev;
	struct eng_cq cq;
	int fds[2];

	new_core();
	CHECK_EQ(new_socket(fds), 0);
	owe(&cq, 7, fds[0]);
	CHECK(core_notify(&core) > 0);
	CHECK(!cq.cq.event_due);
	CHECK_EQ(recv(fds[1], &ev, sizeof(ev), MSG_DONTWAIT), sizeof(ev));
	CHECK_EQ(ev.cq, 7);
	CHECK_EQ(ev.cq_gen, 107);
	CHECK_EQ(core_notify(&core), 0);
	CHECK(recv(fds[1], &ev, sizeof(ev), MSG_DONTWAIT) < 0);
	close(fds[0]);
	close(fds[1]);
}

#define MANY 5000
static struct eng_cq many[MANY];

static void
core_notify__nothing_is_lost_in_a_full_socket(void)
{
	static uint8_t seen[MANY];
	struct plx_cq_event ev;
	uint32_t got = 0;
	int fds[2];

	new_core();
	memset(seen, 0, sizeof(seen));
	CHECK_EQ(new_socket(fds), 0);
	for (uint32_t i = 0; i < MANY; i++)
		owe(&many[i], i, fds[0]);
	core_notify(&core);
	CHECK(!list_empty(&core.x.cq_events));	/* it did fill up */
	for (int turn = 0; turn < MANY && got < MANY; turn++) {
		while (recv(fds[1], &ev, sizeof(ev), MSG_DONTWAIT) == sizeof(ev)) {
			seen[ev.cq]++;
			got++;
		}
		core_notify(&core);
	}
	CHECK_EQ(got, MANY);
	for (uint32_t i = 0; i < MANY; i++)
		CHECK_EQ(seen[i], 1);
	close(fds[0]);
	close(fds[1]);
}

static void
core_notify__reader_is_gone(void)
{
	struct eng_cq cq;
	int fds[2];

	new_core();
	CHECK_EQ(new_socket(fds), 0);
	close(fds[1]);
	owe(&cq, 1, fds[0]);
	core_notify(&core);	/* no SIGPIPE, and no event that is due for ever */
	CHECK(list_empty(&core.x.cq_events));
	close(fds[0]);
}

static void
core_notify__cq_error_once(void)
{
	struct plx_async_event ev;
	struct eng_cq cq;
	int fds[2];

	new_core();
	CHECK_EQ(new_socket(fds), 0);
	memset(&cq, 0, sizeof(cq));
	cq.cq.handle = 3;
	cq.cq.async_fd = fds[0];
	for (int i = 0; i < 2; i++)
		core.x.events[core.x.num_events++] = (struct qp_event){ .type = 0, .cq = &cq.cq };
	core_notify(&core);
	CHECK_EQ(recv(fds[1], &ev, sizeof(ev), MSG_DONTWAIT), sizeof(ev));
	CHECK_EQ(ev.type, 0);
	CHECK_EQ(ev.subject, PLX_EVENT_CQ);
	CHECK_EQ(ev.handle, 3);
	CHECK(recv(fds[1], &ev, sizeof(ev), MSG_DONTWAIT) < 0);
	CHECK_EQ(core.x.num_events, 0);
	close(fds[0]);
	close(fds[1]);
}

static void
core_cq_del__owes_nothing_any_more(void)
{
	struct eng_cq cq;
	int fds[2];

	new_core();
	CHECK_EQ(new_socket(fds), 0);
	owe(&cq, 1, fds[0]);
	core_cq_del(&core, &cq);
	CHECK(list_empty(&core.x.cq_events));
	CHECK_EQ(core_notify(&core), 0);
	close(fds[0]);
	close(fds[1]);
}

/* Every client is told; one whose socket is full gets the last state only, when it reads again. */
static void
core_notify__port_events(void)
{
	struct core_client a = { .async_fd = -1 }, b = { .async_fd = -1 };
	struct plx_async_event ev;
	int fds[2], full[2];

	new_core();
	CHECK_EQ(new_socket(fds), 0);
	CHECK_EQ(new_socket(full), 0);
	a.async_fd = fds[0];
	b.async_fd = full[0];
	list_push(&core.clients, &a.node);
	list_push(&core.clients, &b.node);
	while (send(full[0], &ev, sizeof(ev), MSG_DONTWAIT) > 0)
		;
	core_port_event(&core, false);
	CHECK_EQ(core_notify(&core), 1);
	CHECK_EQ(recv(fds[1], &ev, sizeof(ev), MSG_DONTWAIT), sizeof(ev));
	CHECK(ev.type == 10 && ev.subject == PLX_EVENT_PORT && ev.handle == 1);
	core_port_event(&core, true);
	while (recv(full[1], &ev, sizeof(ev), MSG_DONTWAIT) > 0)
		;
	CHECK_EQ(core_notify(&core), 2);
	CHECK_EQ(recv(full[1], &ev, sizeof(ev), MSG_DONTWAIT), sizeof(ev));
	CHECK_EQ(ev.type, 9);
	CHECK(recv(full[1], &ev, sizeof(ev), MSG_DONTWAIT) < 0);
	CHECK_EQ(core_notify(&core), 0);
	close(fds[0]);
	close(fds[1]);
	close(full[0]);
	close(full[1]);
}

/* A QP that several have opened tells all of them, each by its own handle; a full socket holds up none of
 * the others, and who left hears nothing (F17). */
static void
core_qp_hear__all_who_opened_it(void)
{
	static struct eng_qp q;
	static struct core_client client[3];
	static struct eng_ear ear[3];
	struct plx_async_event ev;
	int fds[3][2];

	new_core();
	list_init(&q.ears);
	for (uint32_t i = 0; i < 3; i++) {
		CHECK_EQ(new_socket(fds[i]), 0);
		client[i].async_fd = fds[i][0];
		ear[i] = (struct eng_ear){ .client = &client[i], .handle = 10 + i, .gen = 20 + i };
		core_qp_hear(&core, &q, &ear[i]);
	}
	while (send(fds[0][0], &ev, sizeof(ev), MSG_DONTWAIT) > 0)
		;
	core_qp_raised(&core, &q, 3);
	core_qp_deaf(&core, &ear[1]);
	for (int i = 0; i < 4; i++)
		core_notify(&core);
	while (recv(fds[0][1], &ev, sizeof(ev), MSG_DONTWAIT) > 0)
		;
	core_notify(&core);
	for (uint32_t i = 0; i < 3; i += 2) {
		CHECK_EQ(recv(fds[i][1], &ev, sizeof(ev), MSG_DONTWAIT), sizeof(ev));
		CHECK(ev.type == 3 && ev.subject == PLX_EVENT_QP && ev.handle == 10 + i && ev.gen == 20 + i);
		CHECK(recv(fds[i][1], &ev, sizeof(ev), MSG_DONTWAIT) < 0);
	}
	CHECK(recv(fds[1][1], &ev, sizeof(ev), MSG_DONTWAIT) < 0);
	CHECK_EQ(core_notify(&core), 0);
	for (uint32_t i = 0; i < 3; i++) {
		close(fds[i][0]);
		close(fds[i][1]);
	}
}

static const struct check_case cases[] = {
	CHECK_CASE(core_qp_hear__all_who_opened_it),
	CHECK_CASE(core_notify__port_events),
	CHECK_CASE(core_notify__completion_event_is_one_record),
	CHECK_CASE(core_notify__nothing_is_lost_in_a_full_socket),
	CHECK_CASE(core_notify__reader_is_gone),
	CHECK_CASE(core_notify__cq_error_once),
	CHECK_CASE(core_cq_del__owes_nothing_any_more),
};

CHECK_MAIN(cases)
