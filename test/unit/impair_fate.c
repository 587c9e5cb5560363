/* SPDX-License-Identifier: BSD-3-Clause */
/* Fates: as often as they were asked for, the same for the same seed, and of each other independent. */
#include <math.h>

#include "check.h"
#include "fate.h"

#define N 1000000u

/* Kinds with a chance each: X(member of fate, member of port_impair) */
#define KIND_LIST(X) \
	X(dup) \
	X(reorder) \
	X(corrupt) \
	X(ecn) \
	X(drop)

enum kind {
#define KIND_ENUM(name) KIND_##name,
	KIND_LIST(KIND_ENUM)
#undef KIND_ENUM
	KIND_COUNT
};

static unsigned int
bits_of(const struct fate *f)
{
	unsigned int bits = 0;

#define KIND_BIT(name) bits |= (unsigned int)f->name << KIND_##name;
	KIND_LIST(KIND_BIT)
#undef KIND_BIT
	return bits;
}

static struct port_impair
all(double p, uint64_t seed)
{
	struct port_impair c = { .seed = seed, .reorder_by = 3 };
	uint64_t chance = (uint64_t)(p * (double)PORT_CHANCE_ONE);

#define KIND_SET(name) c.name = chance;
	KIND_LIST(KIND_SET)
#undef KIND_SET
	c.drop = 0;
	return c;
}

/* Is `n` of N what a chance of p gives? Five standard deviations: once in two million. */
static bool
fair(uint64_t n, double p)
{
	double want = p * N, dev = sqrt(N * p * (1 - p));

	return fabs((double)n - want) <= 5 * dev + 1;
}

static void
fate_draw__never_and_always(void)
{
	struct port_impair c = all(0, 1);
	struct fate f;

	for (uint64_t i = 0; i < 10000; i++) {
		f = fate_draw(&c, i);
		CHECK_EQ(bits_of(&f), 0);
		CHECK_EQ(f.delay_ns, 0);
	}
	c = all(1, 1);
	for (uint64_t i = 0; i < 10000; i++) {
		f = fate_draw(&c, i);
		CHECK_EQ(bits_of(&f), (1u << KIND_drop) - 1);
	}
	c.drop = PORT_CHANCE_ONE;
	for (uint64_t i = 0; i < 10000; i++) {
		f = fate_draw(&c, i);
		CHECK_EQ(bits_of(&f), 1u << KIND_drop);
	}
}

/* Rates of the kinds, of each two together, and of two frames in a row. */
static void
fate_draw__rates(void)
{
	static const double chances[] = { 0.0001, 0.01, 0.1, 0.5, 0.9 };
	static uint64_t both[KIND_COUNT][KIND_COUNT], row[KIND_COUNT];

	for (size_t k = 0; k < sizeof(chances) / sizeof(chances[0]); k++) {
		struct port_impair c = all(chances[k], 1000 + k);
		double p = chances[k];
		unsigned int before = 0;

		memset(both, 0, sizeof(both));
		memset(row, 0, sizeof(row));
		for (uint64_t i = 0; i < N; i++) {
			struct fate f = fate_draw(&c, i);
			unsigned int bits = bits_of(&f);

			for (int a = 0; a < KIND_drop; a++) {
				row[a] += before >> a & bits >> a & 1;
				for (int b = a; b < KIND_drop; b++)
					both[a][b] += bits >> a & bits >> b & 1;
			}
			before = bits;
		}
		for (int a = 0; a < KIND_drop; a++) {
			CHECK(fair(both[a][a], p));
			CHECK(fair(row[a], p * p));
			for (int b = a + 1; b < KIND_drop; b++)
				CHECK(fair(both[a][b], p * p));
		}
	}
}

static void
fate_draw__drop_rate(void)
{
	struct port_impair c = { .drop = PORT_CHANCE_ONE / 1000, .seed = 5 };
	uint64_t n = 0, in_row = 0;
	bool before = false;

	for (uint64_t i = 0; i < N; i++) {
		bool drop = fate_draw(&c, i).drop;

		n += drop;
		in_row += drop && before;
		before = drop;
	}
	CHECK(fair(n, 0.001));
	CHECK(fair(in_row, 0.000001));
}

static bool
same(const struct fate *a, const struct fate *b)
{
	return bits_of(a) == bits_of(b) && a->delay_ns == b->delay_ns && a->bit == b->bit;
}

static void
fate_draw__repeats(void)
{
	struct port_impair c = all(0.3, 42), other = all(0.3, 43);
	uint64_t differ = 0;

	c.delay_us = other.delay_us = 100;
	c.jitter_us = other.jitter_us = 50;
	for (uint64_t i = 0; i < 1000; i++) {
		/* any order, any number of times */
		struct fate a = fate_draw(&c, 999 - i), b = fate_draw(&c, 999 - i);
		struct fate o = fate_draw(&other, 999 - i);

		CHECK(same(&a, &b));
		differ += !same(&a, &o);
	}
	CHECK(differ > 950);
}

/* What a seed means must not change: runs of old are repeated with it. */
static void
fate_draw__known(void)
{
	struct port_impair c = all(0.25, 12345);
	uint64_t drops = 0, dups = 0, ecns = 0;

	c.drop = PORT_CHANCE_ONE / 4;
	for (unsigned int i = 0; i < 32; i++) {
		struct fate f = fate_draw(&c, i);

		drops |= (uint64_t)f.drop << i;
		dups |= (uint64_t)f.dup << i;
		ecns |= (uint64_t)f.ecn << i;
	}
	CHECK_EQ(drops, 0x10218001);
	CHECK_EQ(dups, 0x180a80);
	CHECK_EQ(ecns, 0x40009a);
}

/* The fates of one kind stay when the chance of another changes. */
static void
fate_draw__kinds_are_streams(void)
{
	struct port_impair few = all(0.1, 9), many = few;

	many.dup = PORT_CHANCE_ONE / 2;
	many.delay_us = 7;
	for (uint64_t i = 0; i < 10000; i++) {
		struct fate a = fate_draw(&few, i), b = fate_draw(&many, i);

		CHECK(!a.dup || b.dup);		/* more, and those that were */
		CHECK(a.reorder == b.reorder && a.corrupt == b.corrupt && a.ecn == b.ecn);
		CHECK_EQ(a.bit, b.bit);
		CHECK_EQ(b.delay_ns, 7000);
	}
}

/* Two streams of one seed, and of neighbouring seeds, agree in a bit as often as coins do. */
static void
fate_draw__seeds(void)
{
	struct port_impair a = all(0.5, 100), b = all(0.5, 101);
	uint64_t agree[KIND_COUNT] = { 0 };

	for (uint64_t i = 0; i < N; i++) {
		struct fate fa = fate_draw(&a, i), fb = fate_draw(&b, i);
		unsigned int differ = bits_of(&fa) ^ bits_of(&fb);

		for (int k = 0; k < KIND_drop; k++)
			agree[k] += !(differ >> k & 1);
	}
	for (int k = 0; k < KIND_drop; k++)
		CHECK(fair(agree[k], 0.5));
}

static void
fate_draw__jitter(void)
{
	struct port_impair c = { .delay_us = 100, .jitter_us = 40, .seed = 3 };
	uint64_t least = UINT64_MAX, most = 0, below = 0, quarter = 0;

	for (uint64_t i = 0; i < N; i++) {
		uint64_t ns = fate_draw(&c, i).delay_ns;

		least = ns < least ? ns : least;
		most = ns > most ? ns : most;
		below += ns < 100000;
		quarter += ns < 80000;
	}
	CHECK(least >= 60000 && least < 60100);
	CHECK(most <= 140000 && most > 139900);
	CHECK(fair(below, 0.5));
	CHECK(fair(quarter, 0.25));
}

/* Every bit of a frame has the same chance. */
static void
fate_draw__bit(void)
{
	struct port_impair c = { .corrupt = PORT_CHANCE_ONE, .seed = 8 };
	static uint64_t hit[480];

	for (uint64_t i = 0; i < N; i++)
		hit[fate_draw(&c, i).bit % 480]++;
	for (int i = 0; i < 480; i++)
		CHECK(fair(hit[i], 1.0 / 480));
}

static const struct check_case cases[] = {
	CHECK_CASE(fate_draw__never_and_always),
	CHECK_CASE(fate_draw__rates),
	CHECK_CASE(fate_draw__drop_rate),
	CHECK_CASE(fate_draw__repeats),
	CHECK_CASE(fate_draw__known),
	CHECK_CASE(fate_draw__kinds_are_streams),
	CHECK_CASE(fate_draw__seeds),
	CHECK_CASE(fate_draw__jitter),
	CHECK_CASE(fate_draw__bit),
};
CHECK_MAIN(cases)
