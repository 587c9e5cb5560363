/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is a counter called, and what does it count? Called by whoever shows counters, any thread.
 */
#include "telemetry/counters.h"

#include <assert.h>
#include <ctype.h>
#include <pthread.h>

#define NAME_MAX_LEN 24

/* The lists hold names as enums need them; people read lower case. Written once, by names_init. */
static char cnt_names[CNT_COUNT][NAME_MAX_LEN] = {
#define CNT_NAME(name, text) #name,
	CNT_LIST(CNT_NAME)
#undef CNT_NAME
};

static char drop_names[DROP_COUNT][NAME_MAX_LEN] = {
#define DROP_NAME(name, text) "DROP_" #name,
	DROP_LIST(DROP_NAME)
#undef DROP_NAME
};

static const char *const cnt_texts[CNT_COUNT] = {
#define CNT_TEXT(name, text) text,
	CNT_LIST(CNT_TEXT)
#undef CNT_TEXT
};

static const char *const drop_texts[DROP_COUNT] = {
#define DROP_TEXT(name, text) text,
	DROP_LIST(DROP_TEXT)
#undef DROP_TEXT
};

static pthread_once_t names_once = PTHREAD_ONCE_INIT;

static void
lower(char *s)
{
	for (; *s; s++)
		*s = (char)tolower((unsigned char)*s);
}

static void
names_init(void)
{
	for (int i = 0; i < CNT_COUNT; i++)
		lower(cnt_names[i]);
	for (int i = 0; i < DROP_COUNT; i++)
		lower(drop_names[i]);
}

const char *
cnt_name(enum cnt which)
{
	assert(which < CNT_COUNT);
	pthread_once(&names_once, names_init);
	return cnt_names[which];
}

const char *
cnt_text(enum cnt which)
{
	assert(which < CNT_COUNT);
	return cnt_texts[which];
}

const char *
drop_name(enum drop_reason why)
{
	assert(why < DROP_COUNT);
	pthread_once(&names_once, names_init);
	return drop_names[why];
}

const char *
drop_text(enum drop_reason why)
{
	assert(why < DROP_COUNT);
	return drop_texts[why];
}
