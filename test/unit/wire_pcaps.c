/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lib/wire against captures of another stack: each RoCE frame parses and has the right ICRC. The
 * captures lie beside the repository, in ../shared/pcaps, or where $POLLUX_PCAPS says; without
 * them the test is skipped. Their index calls one frame malformed, as tshark does: a SEND of no
 * bytes, 58 in all, each of them right, so it is held to the same rule.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "wire/hdr.h"
#include "wire/icrc.h"
#include "wire/print.h"

#define SKIP 77
#define PCAP_HDR_LEN 24
#define PCAP_REC_LEN 16
#define PCAP_MAGIC_LE 0xd4c3b2a1u	/* as read in network order */

static char dir[4096];
static unsigned int files, frames;

static const char *
find_dir(void)
{
	const char *place = getenv("POLLUX_PCAPS");

	if (place)
		snprintf(dir, sizeof(dir), "%s", place);
	else
		snprintf(dir, sizeof(dir), "%s/../shared/pcaps", SOURCE_ROOT);
	return dir;
}

static bool
check_frame(const char *file, unsigned int n, const uint8_t *frame, size_t len)
{
	enum drop_reason why;
	char text[WIRE_TEXT_MAX];
	struct wire_pkt pkt;

	if (wire_classify(frame, len) != WIRE_KIND_ROCE)
		return true;
	frames++;
	why = wire_parse(frame, len, &pkt);
	if (why == DROP_NONE && wire_icrc_ok(&pkt))
		return true;
	printf("%s frame %u: %s%s\n", file, n, wire_frame_text(text, sizeof(text), frame, len),
	       why == DROP_NONE ? " wrong ICRC" : "");
	return false;
}

static uint32_t
le32_load(const uint8_t *p)
{
	return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static bool
check_records(const char *file, FILE *f)
{
	uint8_t head[PCAP_HDR_LEN], frame[65536];
	bool ok = true;

	if (fread(head, PCAP_HDR_LEN, 1, f) != 1 || be32_load(head) != PCAP_MAGIC_LE) {
		printf("%s is not a capture in little-endian pcap\n", file);
		return false;
	}
	for (unsigned int n = 1; fread(head, PCAP_REC_LEN, 1, f) == 1; n++) {
		uint32_t len = le32_load(head + 8);

		if (len > sizeof(frame) || fread(frame, 1, len, f) != len)
			return false;
		ok &= check_frame(file, n, frame, len);
	}
	return ok;
}

static bool
check_file(const char *name)
{
	char path[sizeof(dir) + 300];
	bool ok;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	if (!f)
		return false;
	ok = check_records(name, f);
	fclose(f);
	files++;
	return ok;
}

static void
wire_parse__every_captured_frame(void)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	bool ok = true;

	CHECK(d);
	while ((e = readdir(d))) {
		const char *dot = strrchr(e->d_name, '.');

		if (dot && !strcmp(dot, ".pcap"))
			ok &= check_file(e->d_name);
	}
	closedir(d);
	printf("  %u frames in %u files\n", frames, files);
	CHECK(ok);
	CHECK(files && frames > files);
}

static const struct check_case cases[] = {
	CHECK_CASE(wire_parse__every_captured_frame),
};

int
main(int argc, char **argv)
{
	DIR *d = opendir(find_dir());

	if (!d) {
		printf("skipped: no captures in %s (set POLLUX_PCAPS)\n", dir);
		return SKIP;
	}
	closedir(d);
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
