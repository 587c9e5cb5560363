/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks as the format has them, and a file that stays whole when it may not grow. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "check.h"
#include "file.h"
#include "pcapng.h"
#include "port/spec.h"

static uint32_t
u32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static uint16_t
u16(const uint8_t *at)
{
	uint16_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static void
pcapng_head__blocks(void)
{
	_Alignas(4) uint8_t b[PCAPNG_HEAD_MAX];
	size_t len = pcapng_head(b, "Pollux", "loop"), section = u32(b + 4);
	const uint8_t *i = b + section;

	CHECK_EQ(u32(b), 0x0a0d0d0a);
	CHECK_EQ(u32(b + 8), 0x1a2b3c4d);
	CHECK_EQ(u16(b + 12), 1);
	CHECK_EQ(u16(b + 14), 0);
	CHECK_EQ(u32(b + section - 4), section);
	CHECK_EQ(u32(i), 1);
	CHECK_EQ(u32(i + 4), len - section);
	CHECK_EQ(u16(i + 8), 1);		/* Ethernet */
	CHECK_EQ(u32(i + 12), 0);		/* no limit */
	CHECK_EQ(u16(i + 16), 2);
	CHECK_EQ(u16(i + 18), 4);
	CHECK_MEM(i + 20, "loop", 4);
	CHECK_EQ(u16(i + 24), 9);
	CHECK_EQ(u16(i + 26), 1);
	CHECK_EQ(i[28], 9);			/* ns */
	CHECK_EQ(u32(i + 32), 0);
	CHECK_EQ(u32(i + 36), len - section);
	CHECK_EQ(pcapng_whole(b, len), len);
}

static void
pcapng_head__long_names(void)
{
	static char name[1000];
	uint8_t b[PCAPNG_HEAD_MAX];

	memset(name, 'x', sizeof(name) - 1);
	CHECK(pcapng_head(b, name, name) <= sizeof(b));
	CHECK(pcapng_head(b, "", "") < 100);
}

static void
pcapng_frame__lengths(void)
{
	_Alignas(4) uint8_t b[200];

	for (uint32_t len = 0; len <= 66; len++) {
		uint32_t padded = (len + 3) & ~3u;
		size_t block;

		memset(b, 0xee, sizeof(b));
		memset(b + PCAPNG_LEAD, 0x77, len);
		block = pcapng_frame(b, UINT64_C(0x1122334455667788), len, PCAPNG_OUT);
		CHECK_EQ(block, 28 + padded + 16);
		CHECK(block <= PCAPNG_BLOCK_MAX(len));
		CHECK_EQ(u32(b), 6);
		CHECK_EQ(u32(b + 4), block);
		CHECK_EQ(u32(b + 8), 0);
		CHECK_EQ(u32(b + 12), 0x11223344);
		CHECK_EQ(u32(b + 16), 0x55667788);
		CHECK_EQ(u32(b + 20), len);
		CHECK_EQ(u32(b + 24), len);
		for (uint32_t i = 0; i < padded; i++)
			CHECK_EQ(b[28 + i], i < len ? 0x77 : 0);
		CHECK_EQ(u16(b + 28 + padded), 2);
		CHECK_EQ(u16(b + 30 + padded), 4);
		CHECK_EQ(u32(b + 32 + padded), 2);
		CHECK_EQ(u32(b + 36 + padded), 0);
		CHECK_EQ(u32(b + 40 + padded), block);
		CHECK_EQ(b[block], 0xee);
		CHECK_EQ(pcapng_whole(b, block), block);
		CHECK_EQ(pcapng_whole(b, block - 1), 0);
		CHECK_EQ(pcapng_whole(b, block + 3), block);
	}
	pcapng_frame(b, 0, 8, PCAPNG_IN);
	CHECK_EQ(u32(b + 32 + 8), 1);
}

static unsigned int warnings;

static void
hear(void *arg, enum log_level level, const char *text)
{
	(void)arg;
	if (level == PLX_LOG_WARN && strstr(text, "File too large"))
		warnings++;
}

static bool
put(struct rec_file *f, uint32_t len)
{
	if (!rec_file_room(f, PCAPNG_BLOCK_MAX(len)))
		return false;
	memset(f->buf + f->used + PCAPNG_LEAD, 0x55, len);
	f->used += pcapng_frame(f->buf + f->used, 1, len, PCAPNG_IN);
	return true;
}

/* The process may not make a longer file: that is a disk that fills up. */
static void
rec_file__limit(void)
{
	const struct rlimit small = { .rlim_cur = 700001, .rlim_max = RLIM_INFINITY };
	char name[] = "record_test_XXXXXX", why[300] = "";
	uint8_t head[PCAPNG_HEAD_MAX];
	struct rec_file f;
	struct stat st;
	int fd = mkstemp(name), n = 0;

	CHECK(fd >= 0);
	close(fd);
	log_set_sink(hear, NULL);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
	CHECK_EQ(rec_file_open(&f, name, "loop", why, sizeof(why)), 0);
	while (n < 2000 && put(&f, 1000))
		n++;
	CHECK(f.stopped && n > 700 && n < 2000);
	CHECK(!put(&f, 1));
	rec_file_flush(&f);
	CHECK_EQ(warnings, 1);
	rec_file_close(&f);
	CHECK_EQ(warnings, 1);
	CHECK_EQ(stat(name, &st), 0);
	unlink(name);
	/* whole blocks of 28 + 1000 + 16, and no more of them would have fitted */
	CHECK(st.st_size <= 700001 && st.st_size > 700001 - 1044);
	CHECK_EQ(((uint64_t)st.st_size - pcapng_head(head, "Pollux", "loop")) % 1044, 0);
	log_set_sink(NULL, NULL);
}

static void
rec_file__full(void)
{
	struct rec_file f;
	char why[300] = "";

	CHECK_EQ(rec_file_open(&f, "/dev/full", "loop", why, sizeof(why)), -28);
	CHECK(strstr(why, "/dev/full: No space left"));
}

static int
create(const char *name, char *why)
{
	why[0] = '\0';
	return port_record_create(name, why, 300);
}

static void
port_record_create__refuses(void)
{
	char dir[] = "record_dir_XXXXXX", fifo[64], why[300];
	int fd;

	CHECK_EQ(create("no/such/place.pcapng", why), -2);
	CHECK(strstr(why, "no/such/place.pcapng") && strstr(why, "choose another"));
	CHECK(mkdtemp(dir));
	CHECK_EQ(create(dir, why), -22);
	CHECK(strstr(why, "no plain file"));
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	CHECK_EQ(mkfifo(fifo, 0600), 0);
	CHECK_EQ(create(fifo, why), -22);	/* nobody reads */
	fd = open(fifo, O_RDONLY | O_NONBLOCK);
	CHECK_EQ(create(fifo, why), -22);	/* somebody reads */
	close(fd);
	unlink(fifo);
	rmdir(dir);
}

static const struct check_case cases[] = {
	CHECK_CASE(pcapng_head__blocks),
	CHECK_CASE(pcapng_head__long_names),
	CHECK_CASE(pcapng_frame__lengths),
	CHECK_CASE(rec_file__full),
	CHECK_CASE(port_record_create__refuses),
	CHECK_CASE(rec_file__limit),
};
CHECK_MAIN(cases)
