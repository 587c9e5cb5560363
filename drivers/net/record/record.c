/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What did the stack see, and what did it say? Every frame that passes between it and the port below
 * is written to a file, in the order in which it passed. Burst functions run on the owning core, the
 * rest on the control thread.
 *
 * What is sent is copied before the port below has it, for afterwards it is not ours to read; what
 * the port did not take is then taken back out of the buffer.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "base/log.h"
#include "file.h"
#include "pcapng.h"
#include "port/port_driver.h"

#define CHUNK 32u		/* frames that are copied before they are sent */

extern const struct port_driver drv_record;

/* X(NAME, name, text) */
#define RECORD_LIST(X) \
	X(RECEIVED, recorded_received, "received frames in the recording") \
	X(SENT, recorded_sent, "sent frames in the recording") \
	X(MISSED, recorded_missed, "frames that passed after the recording had ended")

enum record_count {
#define RECORD_ENUM(NAME, name, text) RECORD_##NAME,
	RECORD_LIST(RECORD_ENUM)
#undef RECORD_ENUM
	RECORD_COUNT
};

struct record {
	struct rec_file file;
	uint64_t flush_at, second;		/* TSC */
	uint64_t count[RECORD_COUNT];		/* any thread may read */
	char name[];
};

static void
count(struct record *r, enum record_count which, uint64_t n)
{
	__atomic_store_n(&r->count[which], r->count[which] + n, __ATOMIC_RELAXED);
}

static uint64_t
wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* There is room. */
static void
append(struct rec_file *f, const struct rte_mbuf *m, uint64_t ns, enum pcapng_direction direction)
{
	uint8_t *block = f->buf + f->used, *at = block + PCAPNG_LEAD;

	for (const struct rte_mbuf *seg = m; seg; seg = seg->next) {
		memcpy(at, rte_pktmbuf_mtod(seg, const void *), seg->data_len);
		at += seg->data_len;
	}
	f->used += pcapng_frame(block, ns, m->pkt_len, direction);
}

static void
flush_when_due(struct record *r)
{
	uint64_t now;

	if (!r->file.used)
		return;
	now = rte_rdtsc();
	if ((int64_t)(now - r->flush_at) < 0)
		return;
	rec_file_flush(&r->file);
	r->flush_at = now + r->second;
}

static uint16_t
record_rx(struct port *p, uint16_t queue, struct rte_mbuf **bufs, uint16_t n)
{
	struct record *r = p->priv;
	uint16_t i, got = p->lower->drv->rx(p->lower, queue, bufs, n);
	uint64_t ns = got ? wall_ns() : 0;

	for (i = 0; i < got && rec_file_room(&r->file, PCAPNG_BLOCK_MAX(bufs[i]->pkt_len)); i++)
		append(&r->file, bufs[i], ns, PCAPNG_IN);
	if (got) {
		count(r, RECORD_RECEIVED, i);
		count(r, RECORD_MISSED, got - i);
	}
	flush_when_due(r);
	return got;
}

/* As many as the buffer takes without being flushed, for they may have to be taken out again. end[i]
 * is where it ended after i of them. */
static uint16_t
copy_chunk(struct rec_file *f, struct rte_mbuf **bufs, uint16_t n, size_t end[CHUNK + 1])
{
	uint64_t ns = wall_ns();
	uint16_t i;

	if (!rec_file_room(f, PCAPNG_BLOCK_MAX(bufs[0]->pkt_len)))
		return 0;
	end[0] = f->used;
	for (i = 0; i < n && i < CHUNK; i++) {
		if (FILE_BUF - f->used < PCAPNG_BLOCK_MAX(bufs[i]->pkt_len))
			break;
		append(f, bufs[i], ns, PCAPNG_OUT);
		end[i + 1] = f->used;
	}
	return i;
}

static uint16_t
record_tx(struct port *p, uint16_t queue, struct rte_mbuf **bufs, uint16_t n)
{
	const struct port_driver *lower = p->lower->drv;
	struct record *r = p->priv;
	size_t end[CHUNK + 1];
	uint16_t done = 0, chunk, took;

	while (done < n) {
		chunk = copy_chunk(&r->file, bufs + done, (uint16_t)(n - done), end);
		took = lower->tx(p->lower, queue, bufs + done, chunk ? chunk : (uint16_t)(n - done));
		done = (uint16_t)(done + took);
		if (!chunk) {
			count(r, RECORD_MISSED, took);
			break;
		}
		count(r, RECORD_SENT, took);
		r->file.used = end[took];
		if (took < chunk)
			break;
	}
	return done;
}

static uint64_t
record_due(struct port *p)
{
	struct record *r = p->priv;
	uint64_t lower = port_lower_due(p), now = rte_rdtsc(), left;

	if (!r->file.used)
		return lower;
	if ((int64_t)(r->flush_at - now) <= 0)
		return 0;
	left = (r->flush_at - now) * NS_PER_S / r->second + 1;
	return RTE_MIN(lower, left);
}

static void
record_counters(struct port *p, void (*each)(void *arg, const char *name, const char *text, uint64_t n),
		void *arg)
{
	const struct record *r = p->priv;

#define RECORD_EACH(NAME, name, text) \
	each(arg, #name, text, __atomic_load_n(&r->count[RECORD_##NAME], __ATOMIC_RELAXED));
	RECORD_LIST(RECORD_EACH)
#undef RECORD_EACH
}

static void
record_close(struct port *p)
{
	struct record *r = p->priv;

	rec_file_close(&r->file);
	log_line(PLX_LOG_INFO, "record: %s: %llu frames received, %llu sent, %llu missed", r->name,
		 (unsigned long long)r->count[RECORD_RECEIVED],
		 (unsigned long long)r->count[RECORD_SENT], (unsigned long long)r->count[RECORD_MISSED]);
	free(r);
	p->priv = NULL;
}

static int
record_stack(struct port *p, const char *args, char *why, size_t why_len)
{
	size_t len = strlen(args) + 1;
	struct record *r = calloc(1, sizeof(*r) + len);
	int ret;

	if (!r) {
		snprintf(why, why_len, "record: out of memory");
		return -ENOMEM;
	}
	memcpy(r->name, args, len);
	ret = rec_file_open(&r->file, r->name, p->name, why, why_len);
	if (ret != 0) {
		free(r);
		return ret;
	}
	r->second = rte_get_tsc_hz();
	r->flush_at = rte_rdtsc() + r->second;
	p->priv = r;
	return 0;
}

const struct port_driver drv_record = {
	.name = "record",
	.close = record_close,
	.rx = record_rx,
	.tx = record_tx,
	.link_up = port_lower_link_up,
	.wait_fd = port_lower_wait_fd,
	.wait_arm = port_lower_wait_arm,
	.wait_clear = port_lower_wait_clear,
	.stack = record_stack,
	.due = record_due,
	.counters = record_counters,
};
