/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers: is this a test that can be run, and how does it travel to the other end? Called while
 * options are read, and by the server for what its client sent.
 */
#include "test.h"

#include <stddef.h>
#include <string.h>

#include "say.h"
#include "verbs_api.h"

#define OP_ROW(id, name, verb, props) { name, verb, props },
const struct op ops[OP_COUNT] = { OP_LIST(OP_ROW) };
#undef OP_ROW

const char *const mode_names[MODE_COUNT] = { "bw", "lat", "rate" };
const char *const poll_names[POLL_COUNT] = { "cq", "memory" };

static const struct field {
	const char *name;
	size_t at;
	uint64_t low, high, preset;
} fields[] = {
#define FIELD_ROW(field, low, high, preset) { #field, offsetof(struct test, field), low, high, preset },
	TEST_FIELDS(FIELD_ROW)
#undef FIELD_ROW
};

#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

static uint64_t *
field_of(struct test *t, const struct field *f)
{
	return (uint64_t *)((char *)t + f->at);
}

void
test_preset(struct test *t)
{
	memset(t, 0, sizeof(*t));
	for (size_t i = 0; i < FIELD_COUNT; i++)
		*field_of(t, &fields[i]) = fields[i].preset;
}

static void
choose(uint64_t *field, uint64_t value)
{
	if (*field == TEST_AUTO)
		*field = value;
}

static void
settle_auto(struct test *t)
{
	bool counted = t->iters != TEST_AUTO || t->verify;
	bool lat = t->mode == MODE_LAT;

	choose(&t->depth, t->verify ? 8 : 128);
	choose(&t->cq_mod, lat || t->verify ? 1 : t->depth >= 64 ? 32 : (t->depth + 1) / 2);
	choose(&t->duration_ms, counted ? 0 : 1000);
	choose(&t->iters, t->verify && test_op(t)->props & OP_ATOMIC ? 100000 : 0);
	if (t->sizes.n || t->sizes.random)
		return;
	if (test_op(t)->props & OP_ATOMIC || lat)
		sizes_parse("8", &t->sizes);
	else if (t->verify)
		sizes_parse("random:0-1M", &t->sizes);
	else
		sizes_parse(t->mode == MODE_RATE ? "64" : "64K", &t->sizes);
}

static int
check_sizes(const struct test *t)
{
	if (test_op(t)->props & OP_ATOMIC && (t->sizes.n != 1 || t->sizes.low != 8))
		return fail("%s is always 8 bytes; leave --size out", test_op(t)->name);
	if (t->sizes.random && !t->verify)
		return fail("random sizes are for --verify; give one size, a list or a range");
	if (t->mode == MODE_LAT && t->op == OP_WRITE && !t->sizes.low)
		return fail("a WRITE of 0 bytes leaves nothing to poll for; use --op write_imm");
	return 0;
}

static int
check_latency(const struct test *t)
{
	if (t->qps > 1 || t->bidirectional || t->verify)
		return fail("--mode lat goes with one QP, one direction and no --verify");
	if (t->cq_mod > 1 && !test_is_ping_pong(t))
		return fail("the latency of %s is that of its completion; leave --cq-mod out",
			    test_op(t)->name);
	if (t->events && t->op == OP_WRITE)
		return fail("a WRITE gives its target no completion to sleep for; use --op write_imm");
	return 0;
}

int
test_settle(struct test *t)
{
	settle_auto(t);
	if (t->cq_mod > t->depth)
		return fail("--cq-mod %llu is more than --depth %llu; nothing would ever complete",
			    (unsigned long long)t->cq_mod, (unsigned long long)t->depth);
	if (t->post_list > t->depth)
		return fail("--post-list %llu is more than --depth %llu",
			    (unsigned long long)t->post_list, (unsigned long long)t->depth);
	if (t->poll == POLL_MEMORY && (t->op != OP_WRITE || t->mode != MODE_LAT))
		return fail("--poll memory is for --op write --mode lat");
	if (t->mtu && (t->mtu < 256 || t->mtu & (t->mtu - 1)))
		return fail("--mtu is 256, 512, 1024, 2048 or 4096");
	if (t->sges > 1 && !t->verify)
		return fail("--sges is for --verify");
	if (t->verify && t->events)
		return fail("--verify polls; leave --events out");
	if (t->verify && t->qps > 1024)
		return fail("--verify runs at most 1024 QPs");
	if (t->mode == MODE_LAT && check_latency(t))
		return -1;
	return check_sizes(t);
}

void
test_pack(const struct test *t, uint64_t *word)
{
	for (size_t i = 0; i < FIELD_COUNT; i++)
		*word++ = *(const uint64_t *)((const char *)t + fields[i].at);
	*word++ = t->sizes.n;
	*word++ = t->sizes.low;
	*word++ = t->sizes.high;
	*word++ = t->sizes.random;
	memcpy(word, t->sizes.each, sizeof(t->sizes.each));
}

int
test_unpack(struct test *t, const uint64_t *word, uint32_t n)
{
	if (n != TEST_WORDS)
		return fail("the client speaks of other settings; run the same version at both ends");
	for (size_t i = 0; i < FIELD_COUNT; i++, word++) {
		if (*word < fields[i].low || *word > fields[i].high)
			return fail("the client asks for %s %llu, which is out of range",
				    fields[i].name, (unsigned long long)*word);
		*field_of(t, &fields[i]) = *word;
	}
	t->sizes.n = *word++;
	t->sizes.low = *word++;
	t->sizes.high = *word++;
	t->sizes.random = *word++;
	memcpy(t->sizes.each, word, sizeof(t->sizes.each));
	if (!sizes_valid(&t->sizes))
		return fail("the client sent sizes that make no sense");
	return test_settle(t);
}
