/* SPDX-License-Identifier: BSD-3-Clause */
/* lib/base/log: a line arrives whole, once, and where it should. */
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "check.h"

struct sink {
	unsigned int lines;
	enum log_level level;
	char text[LOG_TEXT_MAX + 8];
};

static void
keep(void *arg, enum log_level level, const char *text)
{
	struct sink *s = arg;

	s->lines++;
	s->level = level;
	snprintf(s->text, sizeof(s->text), "%s", text);
}

static void
log_line__to_the_sink(void)
{
	struct sink s = { 0 };

	log_set_sink(keep, &s);
	errno = ENOENT;
	log_line(PLX_LOG_WARN, "port %s has %d", "a", 7);
	log_set_sink(NULL, NULL);
	CHECK_EQ(errno, ENOENT);
	CHECK_EQ(s.lines, 1);
	CHECK_EQ(s.level, PLX_LOG_WARN);
	CHECK(!strcmp(s.text, "port a has 7"));
}

static void
log_line__level(void)
{
	struct sink s = { 0 };

	log_set_sink(keep, &s);
	log_line(PLX_LOG_DBG, "not shown");
	log_set_level(PLX_LOG_ERR);
	log_line(PLX_LOG_WARN, "not shown");
	log_line(PLX_LOG_ERR, "shown");
	log_set_level(PLX_LOG_DBG);
	log_line(PLX_LOG_DBG, "shown");
	log_set_level(PLX_LOG_INFO);
	log_set_sink(NULL, NULL);
	CHECK_EQ(s.lines, 2);
}

static void
log_line__cuts_what_is_too_long(void)
{
	char longer[2 * LOG_TEXT_MAX];
	struct sink s = { 0 };

	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	log_set_sink(keep, &s);
	log_line(PLX_LOG_ERR, "%s", longer);
	log_set_sink(NULL, NULL);
	CHECK_EQ(strlen(s.text), LOG_TEXT_MAX);
}

static void
log_line__stderr_has_prefix_and_newline(void)
{
	static const char want[] = "pollux: a line of 1\n";
	int fd[2], saved = dup(2);
	char got[64] = "";
	ssize_t n;

	CHECK_EQ(pipe(fd), 0);
	dup2(fd[1], 2);
	log_line(PLX_LOG_ERR, "a line of %d", 1);
	dup2(saved, 2);
	n = read(fd[0], got, sizeof(got) - 1);
	close(saved);
	close(fd[0]);
	close(fd[1]);
	CHECK_EQ(n, sizeof(want) - 1);
	CHECK(!strcmp(got, want));
}

static bool said;

static void *
say_once(void *arg)
{
	(void)arg;
	for (int i = 0; i < 1000; i++)
		log_once(&said, PLX_LOG_ERR, "only %d", 1);
	return NULL;
}

static void
log_once__once_from_all_threads(void)
{
	struct sink s = { 0 };
	pthread_t th[4];

	log_set_sink(keep, &s);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&th[i], NULL, say_once, NULL), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(th[i], NULL);
	log_set_sink(NULL, NULL);
	CHECK_EQ(s.lines, 1);
	CHECK(said);
}

static const struct check_case cases[] = {
	CHECK_CASE(log_line__to_the_sink),
	CHECK_CASE(log_line__level),
	CHECK_CASE(log_line__cuts_what_is_too_long),
	CHECK_CASE(log_line__stderr_has_prefix_and_newline),
	CHECK_CASE(log_once__once_from_all_threads),
};

CHECK_MAIN(cases)
