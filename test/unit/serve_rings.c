/* SPDX-License-Identifier: BSD-3-Clause */
/* lib/serve/rings.c: the mappings that rings take, and what is said when there is none to have. */
#include "serve/object.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "check.h"

#define MANY 2000u

static unsigned int
count_mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned int n = 0;
	int ch;

	while (f && (ch = getc(f)) != EOF)
		n += ch == '\n';
	if (f)
		fclose(f);
	return n;
}

/* 65,536 QPs, CQs and SRQs are promised, and a process has 65,530 mappings by default. */
static void
rings_new__takes_no_mapping_each(void)
{
	static struct rings all[MANY];
	unsigned int before = count_mappings();

	for (unsigned int i = 0; i < MANY; i++) {
		CHECK_EQ(rings_new(&all[i], 1000 + 4096 * (i % 5)), 0);
		*(volatile char *)all[i].at = 1;
	}
	CHECK(before > 0 && count_mappings() < before + MANY / 10);
	for (unsigned int i = 0; i < MANY; i++)
		rings_free(&all[i]);
}

static void
keep(void *arg, enum log_level level, const char *text)
{
	(void)level;
	snprintf(arg, LOG_TEXT_MAX, "%s", text);
}

static void
rings_new__no_room(void)
{
	static const size_t sizes[] = { (size_t)1 << 62, SIZE_MAX };
	char text[LOG_TEXT_MAX];
	struct rings r;

	for (size_t i = 0; i < 2; i++) {
		text[0] = '\0';
		log_set_sink(keep, text);
		CHECK_EQ(rings_new(&r, sizes[i]), -ENOMEM);
		log_set_sink(NULL, NULL);
		CHECK(strstr(text, "vm.max_map_count") != NULL);
		rings_free(&r);		/* and that is no error */
	}
}

static const struct check_case cases[] = {
	CHECK_CASE(rings_new__takes_no_mapping_each),
	CHECK_CASE(rings_new__no_room),
};

CHECK_MAIN(cases)
