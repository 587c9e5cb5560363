/* SPDX-License-Identifier: BSD-3-Clause */
/* lib/telemetry/counters: every counter has a name of its own and a text. */
#include "telemetry/counters.h"

#include <ctype.h>

#include "check.h"

static int
is_name(const char *s)
{
	size_t len = strlen(s);

	for (const char *c = s; *c; c++)
		if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c) && *c != '_')
			return 0;
	return len >= 3 && len < 24;
}

static void
cnt_name__known_answers(void)
{
	CHECK(!strcmp(cnt_name(CNT_RX_FRAMES), "rx_frames"));
	CHECK(!strcmp(cnt_name(CNT_RX_ECHO), "rx_echo"));
	CHECK(!strcmp(drop_name(DROP_ICRC), "drop_icrc"));
	CHECK(!strcmp(drop_text(DROP_ICRC), "wrong ICRC"));
	CHECK(!strcmp(cnt_text(CNT_RX_BYTES), "bytes that the port received"));
}

/* A name that filled its array would have lost its end. */
static void
cnt_name__each_whole_and_its_own(void)
{
	for (enum cnt i = 0; i < CNT_COUNT; i++) {
		CHECK(is_name(cnt_name(i)) && *cnt_text(i));
		for (enum cnt j = 0; j < i; j++)
			CHECK(strcmp(cnt_name(i), cnt_name(j)));
	}
	for (enum drop_reason i = 0; i < DROP_COUNT; i++) {
		CHECK(is_name(drop_name(i)) && *drop_text(i));
		for (enum drop_reason j = 0; j < i; j++)
			CHECK(strcmp(drop_name(i), drop_name(j)));
	}
}

static void
cnt_add__adds_to_one(void)
{
	struct cnt_block b = { 0 };

	cnt_add(&b, CNT_TX_BYTES, 5);
	cnt_add(&b, CNT_TX_BYTES, 7);
	cnt_drop(&b, DROP_QPN);
	CHECK_EQ(cnt_read(&b.cnt[CNT_TX_BYTES]), 12);
	CHECK_EQ(cnt_read(&b.cnt[CNT_TX_FRAMES]), 0);
	CHECK_EQ(cnt_read(&b.drop[DROP_QPN]), 1);
	CHECK_EQ(cnt_read(&b.drop[DROP_ICRC]), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(cnt_name__known_answers),
	CHECK_CASE(cnt_name__each_whole_and_its_own),
	CHECK_CASE(cnt_add__adds_to_one),
};

CHECK_MAIN(cases)
