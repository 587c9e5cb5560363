/* SPDX-License-Identifier: BSD-3-Clause */
/* Unit tests of lib/mem/cursor.c and place.h: every offset and length of a list, and its end. */
#include <stdlib.h>
#include <sys/mman.h>

#include "check.h"
#include "mem/cursor.h"
#include "mem/guarded.h"
#include "mem/place.h"

static uint8_t memory[512], image[512], buf[512];

struct fixture {
	struct mr_table *t;
	struct mr *mr;
	struct plx_sge sge[4];
	struct mem_sgl l;
};

/* Four pieces with an empty one among them: 7 + 0 + 100 + 33 bytes, out of order in memory. */
static void
set_up(struct fixture *f, uint32_t need)
{
	struct mr d = { .pd = 1, .access = MEM_LOCAL_WRITE, .iova = 0x10000, .length = 512, .base = memory };

	f->t = mr_table_new(4);
	mr_add(f->t, &d, &f->mr);
	f->sge[0] = (struct plx_sge){ 0x10000 + 300, 7, f->mr->key };
	f->sge[1] = (struct plx_sge){ 0, 0, 0xdead };
	f->sge[2] = (struct plx_sge){ 0x10000 + 11, 100, f->mr->key };
	f->sge[3] = (struct plx_sge){ 0x10000 + 479, 33, f->mr->key };
	f->l = (struct mem_sgl){ .sge = f->sge, .num_sge = 4, .pd = 1, .need = need };
	for (uint32_t i = 0; i < 512; i++)
		memory[i] = (uint8_t)(i * 7 + 3);
	memcpy(image, memory + 300, 7);
	memcpy(image + 7, memory + 11, 100);
	memcpy(image + 107, memory + 479, 33);
}

static void
mem_sgl_read__all_offsets(void)
{
	struct fixture f;

	set_up(&f, 0);
	CHECK_EQ(mem_sgl_length(&f.l), 140);
	CHECK_EQ(mem_sgl_check(f.t, &f.l), MEM_OK);
	for (uint32_t at = 0; at <= 140; at++) {
		for (uint32_t n = 0; n <= 140 - at; n++) {
			memset(buf, 0xee, sizeof(buf));
			CHECK_EQ(mem_sgl_read(f.t, &f.l, at, buf, n), MEM_OK);
			CHECK_MEM(buf, image + at, n);
			CHECK_EQ(buf[n], 0xee);
		}
		CHECK_EQ(mem_sgl_read(f.t, &f.l, at, buf, 141 - at), MEM_BAD_RANGE);
	}
	mr_table_free(f.t);
}

static void
mem_sgl_write__all_offsets(void)
{
	struct fixture f;
	uint8_t before[512];

	set_up(&f, MEM_LOCAL_WRITE);
	for (uint32_t i = 0; i < 512; i++)
		buf[i] = (uint8_t)(i ^ 0x5a);
	for (uint32_t at = 0; at <= 140; at++) {
		for (uint32_t n = 0; n <= 140 - at; n++) {
			uint8_t want[140], got[140];

			memcpy(before, memory, sizeof(before));
			CHECK_EQ(mem_sgl_read(f.t, &f.l, 0, want, 140), MEM_OK);
			memcpy(want + at, buf, n);
			CHECK_EQ(mem_sgl_write(f.t, &f.l, at, buf, n), MEM_OK);
			CHECK_EQ(mem_sgl_read(f.t, &f.l, 0, got, 140), MEM_OK);
			CHECK_MEM(got, want, 140);
			CHECK_MEM(memory, before, 11);
			CHECK_MEM(memory + 111, before + 111, 300 - 111);
			CHECK_MEM(memory + 307, before + 307, 479 - 307);
		}
	}
	mr_table_free(f.t);
}

static void
mem_sgl_check__rights(void)
{
	struct fixture f;

	set_up(&f, MEM_LOCAL_WRITE);
	f.l.pd = 2;
	CHECK_EQ(mem_sgl_check(f.t, &f.l), MEM_BAD_PD);
	f.l.pd = 1;
	f.l.need = MEM_REMOTE_READ;
	CHECK_EQ(mem_sgl_check(f.t, &f.l), MEM_BAD_ACCESS);
	f.l.need = 0;
	f.sge[3].length = 34;
	CHECK_EQ(mem_sgl_check(f.t, &f.l), MEM_BAD_RANGE);
	f.sge[3].length = 33;
	f.sge[2].lkey ^= 1;
	CHECK_EQ(mem_sgl_check(f.t, &f.l), MEM_BAD_KEY);
	/* bytes in front of the bad piece are still reachable, those in it are not */
	CHECK_EQ(mem_sgl_read(f.t, &f.l, 0, buf, 7), MEM_OK);
	CHECK_EQ(mem_sgl_read(f.t, &f.l, 0, buf, 8), MEM_BAD_KEY);
	mr_table_free(f.t);
}

static void
mem_sgl_length__does_not_wrap(void)
{
	struct plx_sge sge[32];
	struct mem_sgl l = { .sge = sge, .num_sge = 32 };

	for (uint32_t i = 0; i < 32; i++)
		sge[i] = (struct plx_sge){ 0, UINT32_MAX, 1 };
	CHECK_EQ(mem_sgl_length(&l), UINT64_C(32) * UINT32_MAX);
}

static void
mem_place__every_alignment(void)
{
	uint8_t src[200], dst[240];

	for (uint32_t i = 0; i < sizeof(src); i++)
		src[i] = (uint8_t)(i + 1);
	for (uint32_t at = 0; at < 16; at++) {
		for (uint32_t n = 0; n <= sizeof(src); n++) {
			memset(dst, 0, sizeof(dst));
			mem_place(dst + at, src, n);
			CHECK_MEM(dst + at, src, n);
			CHECK_EQ(dst[at + n], 0);
			CHECK(!at || !dst[at - 1]);
		}
	}
}

/* The middle of a list in a region of `outside`; `va` is where that piece lies. */
static void
set_outside(struct fixture *f, enum mem_result outside, const void *va)
{
	struct mr d = { .pd = 1, .access = MEM_LOCAL_WRITE, .outside = outside,
			.length = outside == MEM_ASK ? UINT64_MAX : 0 }, *mr;

	set_up(f, MEM_LOCAL_WRITE);
	CHECK_EQ(mr_add(f->t, &d, &mr), 0);
	f->sge[2] = (struct plx_sge){ (uintptr_t)va, 100, mr->key };
}

static void
mem_sgl__nowhere_reads_zeros_and_forgets(void)
{
	struct fixture f;
	uint8_t zeros[100] = { 0 };
	uint32_t key;

	set_outside(&f, MEM_NOWHERE, (void *)1);
	CHECK_EQ(mem_sgl_check(f.t, &f.l), MEM_OK);
	memset(buf, 0xee, sizeof(buf));
	CHECK_EQ(mem_sgl_write(f.t, &f.l, 0, buf, 140), MEM_OK);
	memset(buf, 0x77, sizeof(buf));
	CHECK_EQ(mem_sgl_read(f.t, &f.l, 0, buf, 140), MEM_OK);
	CHECK(buf[6] == 0xee && buf[107] == 0xee && buf[140] == 0x77);
	CHECK_MEM(buf + 7, zeros, 100);
	CHECK(!mem_sgl_whole(f.t, &f.l, 7, 10, &key));
	mr_table_free(f.t);
}

/* What is mapped is reached, what is not is an error and no signal; also what may not be written. */
static void
mem_sgl__ask_before_touching(void)
{
	uint8_t *two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct fixture f;
	uint32_t key;

	CHECK(two != MAP_FAILED && mem_guarded_works());
	set_outside(&f, MEM_ASK, two + 4000);
	memset(buf, 0x11, sizeof(buf));
	CHECK_EQ(mem_sgl_write(f.t, &f.l, 0, buf, 140), MEM_OK);
	CHECK(two[3999] == 0 && two[4000] == 0x11 && two[4099] == 0x11 && two[4100] == 0);
	CHECK_EQ(mem_sgl_read(f.t, &f.l, 7, image, 100), MEM_OK);
	CHECK_MEM(image, buf, 100);
	CHECK(!mem_sgl_whole(f.t, &f.l, 7, 10, &key));
	CHECK_EQ(mprotect(two + 4096, 4096, PROT_READ), 0);
	CHECK_EQ(mem_sgl_write(f.t, &f.l, 0, buf, 140), MEM_BAD_RANGE);
	CHECK_EQ(mem_sgl_read(f.t, &f.l, 7, image, 100), MEM_OK);
	CHECK_EQ(munmap(two + 4096, 4096), 0);
	CHECK_EQ(mem_sgl_check(f.t, &f.l), MEM_OK);	/* the copy tells */
	CHECK_EQ(mem_sgl_read(f.t, &f.l, 0, image, 140), MEM_BAD_RANGE);
	CHECK_EQ(mem_sgl_read(f.t, &f.l, 0, image, 100), MEM_OK);
	CHECK_EQ(munmap(two, 4096), 0);
	mr_table_free(f.t);
}

/* The word is what it was, whatever it was; what cannot be written says so. */
static void
mem_guarded_word__changes_nothing(void)
{
	uint64_t *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	at[1] = UINT64_C(0x8000000180000001);
	CHECK(mem_guarded_word(&at[0]) && mem_guarded_word(&at[1]) && mem_guarded_word(&at[1023]));
	CHECK(at[0] == 0 && at[1] == UINT64_C(0x8000000180000001) && at[1023] == 0);
	CHECK_EQ(mprotect(at, 4096, PROT_READ), 0);
	CHECK(!mem_guarded_word(&at[1]) && mem_guarded_word(&at[512]));
	CHECK_EQ(munmap(at, 4096), 0);
	CHECK(!mem_guarded_word(&at[1]));
	CHECK_EQ(munmap(&at[512], 4096), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(mem_sgl_read__all_offsets),
	CHECK_CASE(mem_sgl_write__all_offsets),
	CHECK_CASE(mem_sgl_check__rights),
	CHECK_CASE(mem_sgl__nowhere_reads_zeros_and_forgets),
	CHECK_CASE(mem_sgl__ask_before_touching),
	CHECK_CASE(mem_guarded_word__changes_nothing),
	CHECK_CASE(mem_sgl_length__does_not_wrap),
	CHECK_CASE(mem_place__every_alignment),
};

CHECK_MAIN(cases)
