/* SPDX-License-Identifier: BSD-3-Clause */
/* Address handles of a whole stack: what is refused, what holds what, and what remains. */
#include <malloc.h>

#include "base/log.h"
#include "net/neigh.h"
#include "serve_fixture.h"

static struct ctl_create_ah
good(void)
{
	struct ctl_create_ah m = { .pd = w.pd,
				   .attr = { .sgid_index = 1, .is_global = 1, .port_num = 1 } };

	memcpy(m.attr.dgid, w.gid, 16);
	return m;
}

static void
refused(struct ctl_create_ah m, int err)
{
	CHECK_EQ(call(CTL_CREATE_AH, &m), err);
}

static void
create_ah__refusals(void)
{
	struct ctl_create_ah m;

	CHECK_EQ(start_world("inline"), 0);
	m = good(), m.attr.is_global = 0;
	refused(m, -EINVAL);		/* FC61 */
	m = good(), m.attr.port_num = 2;
	refused(m, -EINVAL);
	m = good(), m.pd = w.pd + 1;
	refused(m, -EINVAL);
	m = good(), m.attr.sgid_index = 7;
	refused(m, -EINVAL);		/* an empty entry */
	m = good(), m.attr.sgid_index = 0;
	refused(m, -EINVAL);		/* the link-local one: of the other family */
	m = good(), m.attr.dgid[15] = 255;
	refused(m, -EINVAL);		/* the subnet's broadcast */
	m = good(), m.attr.dgid[12] = 99;
	refused(m, -ENETUNREACH);
	m = good(), m.attr.static_rate = 99;
	refused(m, 0);			/* not looked at */
	CHECK_EQ(end_world(), 0);
}

/* F9: the way to a group is known at once, with the hops that were asked for, to the wire and round it. */
static void
create_ah__groups(void)
{
	static const uint8_t group[16] = { [10] = 0xff, [11] = 0xff, 239, 129, 2, 3 };
	static const uint8_t mac[6] = { 0x01, 0x00, 0x5e, 1, 2, 3 };
	struct ctl_create_ah m;
	struct ctl_qp_attr attr;
	struct qp_path path;
	struct end e;

	CHECK_EQ(start_world("inline"), 0);
	m = good();
	memcpy(m.attr.dgid, group, 16);
	m.attr.hop_limit = 3;
	CHECK_EQ(call(CTL_CREATE_AH, &m), 0);
	seqcell_get(&ah_of_handle(stack_running(), m.ah)->path, &path);
	CHECK(path.ready && path.way == OUT_BOTH);
	CHECK_MEM(path.tmpl.bytes, mac, 6);
	CHECK_EQ(path.tmpl.bytes[14 + 8], 3);
	m.attr.sgid_index = 0;
	refused(m, -EINVAL);		/* the families differ */
	m.attr.dgid[12] = 240;
	m.attr.sgid_index = 1;
	refused(m, -EINVAL);
	/* a connected QP has one peer */
	attr = rtr_attr(w.b.m.qp_num);
	memcpy(attr.ah.dgid, group, 16);
	CHECK_EQ(new_qp(&e), 0);
	CHECK_EQ(to_init(&e), 0);
	CHECK_EQ(modify(&e, RTR_MASK, attr), -EINVAL);
	CHECK_EQ(end_world(), 0);
}

static void
create_ah__holds_its_pd(void)
{
	struct ctl_pd pd = { 0 };
	struct ctl_create_ah m;
	struct ctl_destroy_ah d;

	CHECK_EQ(start_world("inline"), 0);
	CHECK_EQ(call(CTL_ALLOC_PD, &pd), 0);
	m = good();
	m.pd = pd.pd;
	CHECK_EQ(call(CTL_CREATE_AH, &m), 0);
	CHECK_EQ(call(CTL_DEALLOC_PD, &pd), -EBUSY);
	d.ah = m.ah + 1;
	CHECK_EQ(call(CTL_DESTROY_AH, &d), -EINVAL);
	d.ah = m.ah;
	CHECK_EQ(call(CTL_DESTROY_AH, &d), 0);
	CHECK_EQ(call(CTL_DESTROY_AH, &d), -EINVAL);
	CHECK_EQ(call(CTL_DEALLOC_PD, &pd), 0);
	CHECK_EQ(end_world(), 0);
}

/* A handle that comes again is not the one that was. */
static void
create_ah__generations(void)
{
	struct ctl_create_ah first = { 0 }, again = { 0 };
	struct ctl_destroy_ah d;

	CHECK_EQ(start_world("inline"), 0);
	first = again = good();
	CHECK_EQ(call(CTL_CREATE_AH, &first), 0);
	d.ah = first.ah;
	CHECK_EQ(call(CTL_DESTROY_AH, &d), 0);
	CHECK_EQ(call(CTL_CREATE_AH, &again), 0);
	CHECK_EQ(again.ah, first.ah);
	CHECK(again.ah_gen != first.ah_gen);
	CHECK_EQ(end_world(), 0);	/* what is left is reclaimed */
}

static void
count_neighbour_lines(void *arg, enum log_level level, const char *text)
{
	(void)level;
	*(unsigned int *)arg += strstr(text, "neighbours already;") != NULL;
}

/* More neighbours than the table holds: refused, and said once. Not through the back end, which waits for
 * each of them to answer; there is no other thread that calls. */
static void
create_ah__neighbours(void)
{
	static const uint8_t link_local[16] = { 0xfe, 0x80, [8] = 2, [15] = 1 };
	struct ctl_destroy_ah d = { .ah = 0 };
	struct ctl_create_ah m;
	unsigned int lines = 0;
	uint32_t n;

	CHECK_EQ(start_world("inline"), 0);
	log_set_sink(count_neighbour_lines, &lines);
	for (n = 0; n < NEIGH_MAX + 2; n++) {
		m = good();
		m.attr.sgid_index = 0;
		memcpy(m.attr.dgid, link_local, 16);
		m.attr.dgid[13] = (uint8_t)(n >> 8);
		m.attr.dgid[14] = (uint8_t)n;
		if (serve_create_ah(w.cl.handle, &m) != (n < NEIGH_MAX ? 0 : -ENOMEM))
			break;
		d.ah = n < NEIGH_MAX ? m.ah : d.ah;
	}
	log_set_sink(NULL, NULL);
	CHECK_EQ(n, NEIGH_MAX + 2);
	CHECK_EQ(lines, 1);
	CHECK_EQ(call(CTL_DESTROY_AH, &d), 0);
	CHECK_EQ(serve_create_ah(w.cl.handle, &m), 0);	/* there is room again */
	CHECK_EQ(end_world(), 0);
}

/* As many as the device says, and no more; nothing of them stays. */
static void
create_ah__as_many_as_it_says(void)
{
	struct ctl_query_device dev = { 0 };
	struct ctl_destroy_ah d;
	struct ctl_create_ah m;
	size_t before, after;
	uint32_t n;

	CHECK_EQ(start_world("inline"), 0);
	CHECK_EQ(call(CTL_QUERY_DEVICE, &dev), 0);
	CHECK_EQ(dev.max_ah, 65536);
	m = good();
	CHECK_EQ(call(CTL_CREATE_AH, &m), 0);
	before = mallinfo2().uordblks;
	for (n = 1; n < dev.max_ah; n++) {
		m = good();
		if (call(CTL_CREATE_AH, &m) < 0)
			break;
	}
	CHECK_EQ(n, dev.max_ah);
	m = good();
	CHECK_EQ(call(CTL_CREATE_AH, &m), -ENOMEM);
	for (d.ah = 1; d.ah < n; d.ah++)
		if (call(CTL_DESTROY_AH, &d) < 0)
			break;
	CHECK_EQ(d.ah, n);
	after = mallinfo2().uordblks;
	CHECK(after < before + (4u << 20));	/* the table's pages stay: 16 bytes a handle and more */
	CHECK_EQ(end_world(), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(create_ah__refusals),
	CHECK_CASE(create_ah__groups),
	CHECK_CASE(create_ah__holds_its_pd),
	CHECK_CASE(create_ah__generations),
	CHECK_CASE(create_ah__neighbours),
	CHECK_CASE(create_ah__as_many_as_it_says),
};
CHECK_MAIN(cases)
