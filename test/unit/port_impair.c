/* SPDX-License-Identifier: BSD-3-Clause */
/* What people write for a bad network, and what they are told when it makes no sense. */
#include "check.h"
#include "port/spec.h"

static struct port_impair got;
static char why[300];

static int
parse(const char *args)
{
	why[0] = '\0';
	return port_impair_parse(args, &got, why, sizeof(why));
}

static void
port_impair_parse__each(void)
{
	CHECK_EQ(parse("drop=0.25"), 0);
	CHECK_EQ(got.drop, PORT_CHANCE_ONE / 4);
	CHECK(!got.dup && !got.reorder && !got.corrupt && !got.ecn && !got.delay_us && !got.has_seed);
	CHECK_EQ(got.reorder_by, 3);
	CHECK_EQ(parse("dup=.5"), 0);
	CHECK_EQ(got.dup, PORT_CHANCE_ONE / 2);
	CHECK_EQ(parse("corrupt=1,ecn=1.0"), 0);
	CHECK_EQ(got.corrupt, PORT_CHANCE_ONE);
	CHECK_EQ(got.ecn, PORT_CHANCE_ONE);
	CHECK_EQ(parse("reorder=0.5:64"), 0);
	CHECK_EQ(got.reorder, PORT_CHANCE_ONE / 2);
	CHECK_EQ(got.reorder_by, 64);
	CHECK_EQ(parse("delay=1000000"), 0);
	CHECK_EQ(got.delay_us, 1000000);
	CHECK_EQ(got.jitter_us, 0);
	CHECK_EQ(parse("seed=18446744073709551615,delay=20:20"), 0);
	CHECK_EQ(got.seed, UINT64_MAX);
	CHECK(got.has_seed);
	CHECK_EQ(got.delay_us, 20);
	CHECK_EQ(got.jitter_us, 20);
}

static void
port_impair_parse__all(void)
{
	CHECK_EQ(parse("drop=0.001,dup=0.002,reorder=0.003:5,delay=50:10,corrupt=0.004,ecn=0.005,seed=7"), 0);
	CHECK_EQ(got.drop, 4294967);	/* 0.001 of 2^32, rounded */
	CHECK_EQ(got.dup, 8589935);
	CHECK_EQ(got.reorder, 12884902);
	CHECK_EQ(got.corrupt, 17179869);
	CHECK_EQ(got.ecn, 21474836);
	CHECK_EQ(got.reorder_by, 5);
	CHECK_EQ(got.seed, 7);
}

static void
port_impair_parse__fractions(void)
{
	static const char *const bad[] = {
		"", "1.1", "1.000000001", "2", "-0.1", "5%", "0,5", "1e-3", "0.1.2", ".", "+1", " 1", "1 ",
		"0.0000000001", "10000000000", "nan", "0x1",
	};
	char text[64];

	CHECK_EQ(parse("drop=0.000000001"), 0);
	CHECK_EQ(got.drop, 4);
	CHECK_EQ(parse("drop=0"), 0);
	CHECK_EQ(got.drop, 0);
	CHECK_EQ(parse("drop=1."), 0);
	CHECK_EQ(got.drop, PORT_CHANCE_ONE);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "drop=%s", bad[i]);
		CHECK_EQ(parse(text), -22);
		CHECK(strstr(why, "0.01") || strstr(why, "write drop=P"));
	}
}

static void
port_impair_parse__refuses(void)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "", "write drop=P" },
		{ "loss=0.1", "loss=0.1: write drop=P" },
		{ "dup=0.1,drop", "drop: a value is missing" },
		{ "drop=0.1,drop=0.2", "drop=0.2: this is there twice" },
		{ "drop=0.1,", "last comma" },
		{ ",drop=0.1", "a name is missing" },
		{ "reorder=0.1:0", "from 1 to 64" },
		{ "reorder=0.1:65", "from 1 to 64" },
		{ "reorder=0.1:", "from 1 to 64" },
		{ "reorder=:3", "0.01" },
		{ "delay=1000001", "up to 1000000" },
		{ "delay=", "microseconds" },
		{ "delay=10:11", "at most US" },
		{ "delay=10:x", "at most US" },
		{ "delay=1ms", "microseconds" },
		{ "seed=x", "seed=x: N is a number" },
		{ "seed=18446744073709551616", "N is a number" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_EQ(parse(bad[i].text), -22);
		if (!strstr(why, bad[i].says))
			printf("%s: %s\n", bad[i].text, why);
		CHECK(strstr(why, bad[i].says));
		CHECK(strncmp(why, "impair: ", 8) == 0);
	}
}

static const struct check_case cases[] = {
	CHECK_CASE(port_impair_parse__each),
	CHECK_CASE(port_impair_parse__all),
	CHECK_CASE(port_impair_parse__fractions),
	CHECK_CASE(port_impair_parse__refuses),
};
CHECK_MAIN(cases)
