/* SPDX-License-Identifier: BSD-3-Clause */
/* The impair driver on a loop: frames come late and in another order, as asked, and all of them come. */
#include "fate.h"
#include "impaired.h"

/* Frame by frame, what the words say: one that is held comes when by later ones have passed. */
static uint32_t
reordered(const struct port_impair *conf, uint32_t n, uint32_t *out)
{
	static uint32_t waits[MOST];
	uint32_t k = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (fate_draw(conf, i).reorder) {
			waits[i] = conf->reorder_by;
			continue;
		}
		out[k++] = i;
		waits[i] = 0;
		/* nobody waits that is further back than this, with these chances */
		for (uint32_t j = i > 1000 ? i - 1000 : 0; j < i; j++)
			if (waits[j] && --waits[j] == 0)
				out[k++] = j;
	}
	return k;
}

static int
reorders(struct rig *r)
{
	static const char *const args[] = {
		"reorder=0.1,seed=5", "reorder=0.5:1,seed=6", "reorder=0.02:64,seed=7",
		"reorder=0.3:10,seed=8",
	};
	static uint32_t want[MOST];

	RIG_CHECK(start(r) == 0);
	for (int a = 0; a < 4; a++) {
		struct port_impair conf;
		uint64_t held = 0;
		uint32_t n;

		RIG_CHECK(port_impair_parse(args[a], &conf, r->why, sizeof(r->why)) == 0);
		RIG_CHECK(on(r, args[a]) == 0);
		RIG_CHECK(push(r, 0, 20000));
		for (uint32_t i = 0; i < 20000; i++)
			held += fate_draw(&conf, i).reorder;
		RIG_CHECK(counted().reordered == held);
		RIG_CHECK(fair(held, 20000, (double)conf.reorder / (double)PORT_CHANCE_ONE));
		n = reordered(&conf, 20000, want);
		/* a burst that took longer than the bound lets held ones go; then try again */
		for (int tries = 0; tries < 5 && memcmp(got, want, n * sizeof(got[0])) != 0; tries++) {
			RIG_CHECK(off(r) && on(r, args[a]) == 0 && push(r, 0, 20000));
		}
		RIG_CHECK(memcmp(got, want, n * sizeof(got[0])) == 0);
		drain(r);
		RIG_CHECK(num_got == 20000 && wrong == 0 && !in_order());
		RIG_CHECK(off(r));
	}
	port_close(&r->port);
	return 0;
}

/* The last frame of a stream is not held for ever, nor are all of them when all are held. */
static int
lets_go(struct rig *r)
{
	uint64_t began;

	RIG_CHECK(start(r) == 0);
	RIG_CHECK(on(r, "reorder=1") == 0);
	began = rig_ms();
	RIG_CHECK(push(r, 0, 1));
	RIG_CHECK(num_got == 0 ? top.drv->due(&top) <= 10000000 : rig_ms() - began >= 9);
	drain(r);
	RIG_CHECK(num_got == 1 && rig_ms() - began >= 9);
	RIG_CHECK(push(r, 1, 5000));
	drain(r);
	RIG_CHECK(num_got == 5001 && wrong == 0 && in_order() && counted().reordered == 5001);
	/* some are held at the end */
	RIG_CHECK(push(r, 0, 20) && rig_in_use(r) > 0);
	RIG_CHECK(off(r));
	port_close(&r->port);
	return 0;
}

static int
delays(struct rig *r)
{
	uint64_t began, due;

	RIG_CHECK(start(r) == 0);
	RIG_CHECK(on(r, "delay=20000") == 0);
	began = rig_ms();
	RIG_CHECK(push(r, 0, 300));
	due = top.drv->due(&top);
	RIG_CHECK(due <= 20000000);
	RIG_CHECK((num_got == 0 && due > 1000000) || rig_ms() - began >= 19);
	drain(r);
	RIG_CHECK(num_got == 300 && wrong == 0 && in_order() && rig_ms() - began >= 20);
	RIG_CHECK(counted().delayed == 300 && counted().early == 0);
	RIG_CHECK(off(r));
	/* more than may wait: the first go early, none is lost */
	RIG_CHECK(on(r, "delay=500000") == 0);
	began = rig_ms();
	RIG_CHECK(push(r, 0, 5000));
	RIG_CHECK(counted().early > 3000 || rig_ms() - began >= 500);
	drain(r);
	RIG_CHECK(num_got == 5000 && wrong == 0 && in_order());
	began = rig_ms();
	RIG_CHECK(push(r, 0, 100) && (rig_in_use(r) >= 100 || rig_ms() - began >= 500));
	RIG_CHECK(off(r));
	/* jitter shifts but does not reorder */
	RIG_CHECK(on(r, "delay=2000:2000,dup=0.1,seed=2") == 0);
	RIG_CHECK(push(r, 0, 5000));
	drain(r);
	RIG_CHECK(num_got == 5000 + counted().duplicated && wrong == 0 && in_order());
	RIG_CHECK(off(r));
	port_close(&r->port);
	return 0;
}

static int
everything(struct rig *r)
{
	struct counters c;

	RIG_CHECK(start(r) == 0);
	for (int again = 0; again < 3; again++) {
		RIG_CHECK(on(r, "drop=0.05,dup=0.05,reorder=0.05:7,delay=100:50,corrupt=0.05,ecn=0.05,seed=1")
			  == 0);
		RIG_CHECK(push(r, 0, 100000));
		if (again < 2)
			drain(r);
		c = counted();
		RIG_CHECK(c.received == 100000 && fair(c.dropped, 100000, 0.05));
		RIG_CHECK(fair(c.corrupted, 100000, 0.0475) && c.delayed == 100000 - c.dropped);
		RIG_CHECK(again == 2 || num_got == 100000 - c.dropped + c.duplicated);
		/* not IP: none can be marked */
		RIG_CHECK(c.marked == 0 && fair(c.unchanged, 100000, 0.0475));
		RIG_CHECK(off(r));
	}
	/* a whole stack is closed from its top, with frames under way everywhere */
	RIG_CHECK(on(r, "delay=1000000,reorder=0.5") == 0);
	RIG_CHECK(push(r, 0, 300));
	port_close(&top);
	RIG_CHECK(!top.drv && !r->port.drv);
	return 0;
}

static int
refuses(struct rig *r)
{
	RIG_CHECK(start(r) == 0);
	RIG_CHECK(on(r, "drop=2") == -EINVAL && strstr(r->why, "drop=2: P is a fraction"));
	RIG_CHECK(!top.drv);
	RIG_CHECK(port_stack(&top, "loop", &r->port, "", r->why, sizeof(r->why)) == -EOPNOTSUPP);
	RIG_CHECK(port_stack(&top, "nonesuch", &r->port, "", r->why, sizeof(r->why)) == -EOPNOTSUPP);
	RIG_CHECK(r->port.drv && rig_in_use(r) == 0);
	port_close(&r->port);
	/* and it is no device */
	r->conf.driver = "impair";
	RIG_CHECK(port_open(&top, &r->conf, r->why, sizeof(r->why)) == -EOPNOTSUPP);
	return 0;
}

/* X(case, what it runs in a process of its own) */
#define CASE_LIST(X) \
	X(impair_rx__reorders, reorders) \
	X(impair_rx__lets_go, lets_go) \
	X(impair_rx__delays, delays) \
	X(impair_rx__everything, everything) \
	X(port_stack__refuses, refuses)

CASE_LIST(CASE_FUNCTION)

static const struct check_case cases[] = {
	CASE_LIST(CASE_ROW)
};
CHECK_MAIN(cases)
