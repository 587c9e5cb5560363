/* SPDX-License-Identifier: BSD-3-Clause */
/* The record driver on a loop: every frame is in the file, once, whole, and tshark can read it. */
#include <fcntl.h>
#include <sys/mount.h>

#include "base/log.h"
#include "port_rig.h"

#define FILE_MAX (64u << 20)

/* What is in a recording. */
struct record {
	uint64_t ns;
	uint32_t len;
	uint32_t direction;	/* 1: received, 2: sent */
	const uint8_t *frame;
};

static struct port top, middle;
static char dir[] = "recorded_XXXXXX", file[64];
static uint8_t *bytes;		/* of the file as read last */
static size_t num_bytes;
static struct record records[200000];
static uint32_t num_records, num_in, num_out;

static int
make_place(struct rig *r)
{
	RIG_CHECK(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/frames.pcapng", dir);
	bytes = malloc(FILE_MAX);
	RIG_CHECK(bytes);
	return 0;
}

static int
start(struct rig *r)
{
	RIG_CHECK(make_place(r) == 0);
	RIG_CHECK(rig_open(r, "loop", false) == 0);
	memcpy(r->peer_mac, r->port.mac, 6);
	return 0;
}

static void
finish(void)
{
	unlink(file);
	rmdir(dir);
	free(bytes);
}

static uint64_t
wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint32_t
u32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

/* A packet's block; false when it is not one of ours. */
static bool
read_packet(const uint8_t *b, uint32_t len)
{
	struct record *k = &records[num_records];
	uint32_t padded;

	if (num_records == sizeof(records) / sizeof(records[0]) || len < 44 || u32(b + 8) != 0)
		return false;
	k->ns = (uint64_t)u32(b + 12) << 32 | u32(b + 16);
	k->len = u32(b + 20);
	padded = (k->len + 3) & ~3u;
	k->frame = b + 28;
	if (len != 28 + padded + 16 || u32(b + 24) != k->len || u32(b + 28 + padded) != (2 | 4 << 16))
		return false;
	k->direction = u32(b + 32 + padded);
	num_in += k->direction == 1;
	num_out += k->direction == 2;
	num_records++;
	return k->direction == 1 || k->direction == 2;
}

/* Reads the whole file; false unless it is whole blocks: a section, an interface, and packets. */
static bool
read_file(void)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	size_t at = 0;
	ssize_t n;

	num_records = num_in = num_out = 0;
	for (num_bytes = 0; fd >= 0 && (n = read(fd, bytes + num_bytes, FILE_MAX - num_bytes)) > 0;)
		num_bytes += (size_t)n;
	if (fd >= 0)
		close(fd);
	for (uint32_t i = 0; at + 12 <= num_bytes; i++) {
		uint32_t type = u32(bytes + at), len = u32(bytes + at + 4);

		if (len < 12 || len & 3 || len > num_bytes - at || u32(bytes + at + len - 4) != len)
			return false;
		if (i < 2 ? type != (i ? 1u : 0x0a0d0d0au) : type != 6 || !read_packet(bytes + at, len))
			return false;
		at += len;
	}
	return at && at == num_bytes;
}

/* How many frames of a filter tshark finds; -1: it complains; -2: there is no tshark. */
static long
tshark(const char *filter)
{
	char command[256], line[512];
	long n = 0;
	FILE *out;

	if (access("/usr/bin/tshark", X_OK) != 0)
		return -2;
	snprintf(command, sizeof(command), "/usr/bin/tshark -n -r %s -Y '%s' -T fields -e frame.number 2>&1",
		 file, filter);
	out = popen(command, "re");
	while (out && fgets(line, sizeof(line), out)) {
		if (strstr(line, "Running as user"))
			continue;
		n = n < 0 || line[0] < '0' || line[0] > '9' ? -1 : n + 1;
		if (n < 0)
			printf("tshark: %s", line);
	}
	return out && pclose(out) == 0 ? n : -1;
}

static uint32_t
size_of(uint32_t i)
{
	return 64 + i * 37 % 4155;
}

/* Sends frame i and receives all that came. False: without memory, or the port took nothing. */
static bool
pass(struct rig *r, uint32_t i)
{
	struct rte_mbuf *m = rig_frame(r, r->peer_mac, i, size_of(i)), *back[RIG_BURST];
	uint16_t n;

	if (!m || port_tx(&top, 0, &m, 1) != 1)
		return false;
	n = port_rx(&top, 0, back, RIG_BURST);
	rte_pktmbuf_free_bulk(back, n);
	return true;
}

static bool
is_frame(const struct rig *r, const struct record *k, uint32_t seq)
{
	static uint8_t want[8192];

	rig_fill(want, r->peer_mac, r->port.mac, 0, seq, size_of(seq));
	return k->len == size_of(seq) && memcmp(want, k->frame, k->len) == 0;
}

static int
everything(struct rig *r)
{
	uint64_t began = wall_ns();
	long in, out, large = 0;

	RIG_CHECK(start(r) == 0);
	RIG_CHECK(port_stack(&top, "record", &r->port, file, r->why, sizeof(r->why)) == 0);
	RIG_CHECK(read_file() && num_records == 0);
	RIG_CHECK(top.pool == r->port.pool && top.max_frame == r->port.max_frame);
	for (uint32_t i = 0; i < 3000; i++)	/* 13 MB, far more than is kept in memory */
		RIG_CHECK(pass(r, i));
	RIG_CHECK(rig_in_use(r) == 0);
	port_close(&top);
	RIG_CHECK(!r->port.drv);
	RIG_CHECK(read_file() && num_in == 3000 && num_out == 3000);
	for (uint32_t i = 0; i < num_records; i++) {
		RIG_CHECK(records[i].direction == (i & 1 ? 1 : 2) && is_frame(r, &records[i], i / 2));
		RIG_CHECK(records[i].ns >= (i ? records[i - 1].ns : began) && records[i].ns <= wall_ns());
		large += records[i].len > 4000;
	}
	in = tshark("frame.packet_flags_direction == 1 && frame.interface_name == \"loop\"");
	out = tshark("frame.packet_flags_direction == 2");
	if (in == -2)
		printf("no tshark here: read by this test alone\n");
	else
		RIG_CHECK(in == 3000 && out == 3000 && tshark("frame.len > 4000") == large);
	finish();
	return 0;
}

/* What the port does not take is not in the recording, nor what it takes later twice. */
static int
full(struct rig *r)
{
	struct rte_mbuf *bufs[192];
	uint32_t taken = 0, seq = 0;

	RIG_CHECK(start(r) == 0);
	RIG_CHECK(port_stack(&top, "record", &r->port, file, r->why, sizeof(r->why)) == 0);
	for (int round = 0; round < 3; round++) {
		uint16_t n, back;

		do {
			for (n = 0; n < 192; n++)
				RIG_CHECK((bufs[n] = rig_frame(r, r->peer_mac, seq + n, size_of(seq + n))));
			n = port_tx(&top, 0, bufs, 192);
			rte_pktmbuf_free_bulk(bufs + n, 192u - n);
			taken += n;
			seq += n;
		} while (n == 192);
		do {
			back = port_rx(&top, 0, bufs, 192);
			rte_pktmbuf_free_bulk(bufs, back);
		} while (back);
	}
	RIG_CHECK(rig_in_use(r) == 0);
	port_close(&top);
	RIG_CHECK(taken >= 3 * 512 && read_file() && num_out == taken && num_in == taken);
	seq = 0;
	for (uint32_t i = 0; i < num_records; i++)
		if (records[i].direction == 2)
			RIG_CHECK(is_frame(r, &records[i], seq++));
	finish();
	return 0;
}

/* A frame in pieces is one frame in the recording. */
static int
pieces(struct rig *r)
{
	struct rte_mbuf *m, *tail;
	uint8_t want[700];

	RIG_CHECK(start(r) == 0);
	RIG_CHECK(port_stack(&top, "record", &r->port, file, r->why, sizeof(r->why)) == 0);
	m = rig_frame(r, r->peer_mac, 0, 333);
	tail = rig_frame(r, r->peer_mac, 1, 367);
	RIG_CHECK(m && tail && rte_pktmbuf_chain(m, tail) == 0 && rte_pktmbuf_read(m, 0, 700, want) == want);
	RIG_CHECK(port_tx(&top, 0, &m, 1) == 1 && port_rx(&top, 0, &m, 1) == 1);
	rte_pktmbuf_free(m);
	port_close(&top);
	RIG_CHECK(read_file() && num_records == 2);
	for (int i = 0; i < 2; i++)
		RIG_CHECK(records[i].len == 700 && memcmp(records[i].frame, want, 700) == 0);
	finish();
	return 0;
}

/* In the file within about a second, without another frame. */
static int
flushes(struct rig *r)
{
	struct rte_mbuf *back;
	uint64_t due;

	RIG_CHECK(start(r) == 0);
	RIG_CHECK(port_stack(&top, "record", &r->port, file, r->why, sizeof(r->why)) == 0);
	RIG_CHECK(top.drv->due(&top) == UINT64_MAX);
	RIG_CHECK(pass(r, 1));
	due = top.drv->due(&top);
	RIG_CHECK(due <= 1000000001 || due == UINT64_MAX);
	rig_nap(1100);
	RIG_CHECK(port_rx(&top, 0, &back, 1) == 0 && top.drv->due(&top) == UINT64_MAX);
	RIG_CHECK(read_file() && num_records == 2);
	port_close(&top);
	finish();
	return 0;
}

static unsigned int said;

static void
hear(void *arg, enum log_level level, const char *text)
{
	(void)arg;
	said += level <= PLX_LOG_WARN && strstr(text, "the recording ends here");
}

/* A disk of a megabyte on `dir`, which this process alone sees. */
static bool
mount_small(void)
{
	return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("none", dir, "tmpfs", 0, "size=1m") == 0;
}

static int
disk_full(struct rig *r)
{
	long in;

	RIG_CHECK(make_place(r) == 0);
	if (!mount_small()) {
		printf("no disk can be mounted here\n");
		finish();
		return 0;
	}
	RIG_CHECK(rig_open(r, "loop", false) == 0);
	memcpy(r->peer_mac, r->port.mac, 6);
	log_set_sink(hear, NULL);
	RIG_CHECK(port_stack(&top, "record", &r->port, file, r->why, sizeof(r->why)) == 0);
	for (uint32_t i = 0; i < 3000; i++)
		RIG_CHECK(pass(r, i));
	RIG_CHECK(said == 1 && rig_in_use(r) == 0);
	port_close(&top);
	RIG_CHECK(said == 1 && read_file() && num_records > 300 && num_bytes <= 1u << 20);
	for (uint32_t i = 0; i < num_records; i++)
		RIG_CHECK(is_frame(r, &records[i], i / 2));
	in = tshark("frame");
	RIG_CHECK(in == -2 || in == (long)num_records);
	umount(dir);
	finish();
	return 0;
}

/* The order of a stack: what the recording has is what came through the bad network. */
static int
on_impaired(struct rig *r)
{
	uint32_t seen = 0;

	RIG_CHECK(start(r) == 0);
	RIG_CHECK(port_stack(&middle, "impair", &r->port, "drop=0.5,dup=0.1,seed=3", r->why,
			     sizeof(r->why)) == 0);
	RIG_CHECK(port_stack(&top, "record", &middle, file, r->why, sizeof(r->why)) == 0);
	for (uint32_t i = 0; i < 2000; i++) {
		struct rte_mbuf *m = rig_frame(r, r->peer_mac, i, 64), *back[4];
		uint16_t n;

		RIG_CHECK(m && port_tx(&top, 0, &m, 1) == 1);
		n = port_rx(&top, 0, back, 4);
		seen += n;
		rte_pktmbuf_free_bulk(back, n);
	}
	RIG_CHECK(seen > 900 && seen < 1300 && top.drv->due(&top) != 0);
	port_close(&top);
	RIG_CHECK(!middle.drv && !r->port.drv);
	RIG_CHECK(read_file() && num_out == 2000 && num_in == seen);
	finish();
	return 0;
}

static int
refuses(struct rig *r)
{
	RIG_CHECK(start(r) == 0);
	RIG_CHECK(port_stack(&top, "record", &r->port, "no/such/dir/f", r->why, sizeof(r->why)) == -ENOENT);
	RIG_CHECK(strstr(r->why, "no/such/dir/f cannot be written") && !top.drv);
	RIG_CHECK(port_stack(&top, "record", &r->port, dir, r->why, sizeof(r->why)) == -EINVAL);
	RIG_CHECK(port_stack(&top, "record", &r->port, "/dev/full", r->why, sizeof(r->why)) == -ENOSPC);
	port_close(&r->port);
	finish();
	return 0;
}

/* X(case, what it runs in a process of its own) */
#define CASE_LIST(X) \
	X(record__everything, everything) \
	X(record_tx__full, full) \
	X(record__pieces, pieces) \
	X(record_rx__flushes, flushes) \
	X(record__disk_full, disk_full) \
	X(record__on_impaired, on_impaired) \
	X(record_stack__refuses, refuses)

#define CASE_FUNCTION(name, fn) \
	static void \
	name(void) \
	{ \
		CHECK_EQ(rig_alone(fn), 0); \
	}
CASE_LIST(CASE_FUNCTION)

static const struct check_case cases[] = {
#define CASE_ROW(name, fn) CHECK_CASE(name),
	CASE_LIST(CASE_ROW)
};
CHECK_MAIN(cases)
