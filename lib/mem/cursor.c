/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where do the bytes of a scatter/gather list lie? Asked by the requester when it reads a payload
 * and by responder and completer when they place one. Owning core only.
 */
#include <stdbool.h>
#include <string.h>

#include "mem/cursor.h"
#include "mem/guarded.h"
#include "mem/place.h"

uint64_t
mem_sgl_length(const struct mem_sgl *l)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < l->num_sge; i++)
		sum += l->sge[i].length;
	return sum;
}

/* Usable, and only the copy itself tells how it went. */
static bool
elsewhere(enum mem_result res)
{
	return res == MEM_NOWHERE || res == MEM_ASK;
}

enum mem_result
mem_sgl_check(const struct mr_table *t, const struct mem_sgl *l)
{
	for (uint32_t i = 0; i < l->num_sge; i++) {
		const struct plx_sge *s = &l->sge[i];
		enum mem_result res;
		uint8_t *ptr;

		if (!s->length)
			continue;
		res = mr_check(t, s->lkey, l->pd, l->need, s->addr, s->length, &ptr);
		if (res != MEM_OK && !elsewhere(res))
			return res;
	}
	return MEM_OK;
}

const uint8_t *
mem_sgl_whole(const struct mr_table *t, const struct mem_sgl *l, uint64_t offset, uint32_t len,
	      uint32_t *key)
{
	for (uint32_t i = 0; i < l->num_sge; i++) {
		const struct plx_sge *s = &l->sge[i];
		uint8_t *ptr;

		if (offset >= s->length) {
			offset -= s->length;
			continue;
		}
		if (len > s->length - offset ||
		    mr_check(t, s->lkey, l->pd, l->need, s->addr, s->length, &ptr) != MEM_OK)
			return NULL;
		*key = s->lkey;
		return ptr + offset;
	}
	return NULL;
}

/* One piece: out of the list into `buf`, or into the list. */
static void
move(uint8_t *mem, uint8_t *buf, uint32_t n, bool into)
{
	if (into)
		mem_place(mem, buf, n);
	else
		memcpy(buf, mem, n);
}

/* The same where no pointer may be followed; what is not usable at all stays what it is. */
static enum mem_result
move_elsewhere(enum mem_result res, uint8_t *mem, uint8_t *buf, uint32_t n, bool into)
{
	if (res == MEM_ASK) {
		if (into ? !mem_guarded_write(mem, buf, n) : !mem_guarded_read(mem, buf, n))
			return MEM_BAD_RANGE;
		return MEM_OK;
	}
	if (res != MEM_NOWHERE)
		return res;
	if (!into)
		memset(buf, 0, n);
	return MEM_OK;
}

static enum mem_result
walk(const struct mr_table *t, const struct mem_sgl *l, uint64_t offset, uint8_t *buf, uint32_t len,
     bool into)
{
	for (uint32_t i = 0; i < l->num_sge && len; i++) {
		const struct plx_sge *s = &l->sge[i];
		enum mem_result res;
		uint8_t *ptr;
		uint32_t n;

		if (offset >= s->length) {
			offset -= s->length;
			continue;
		}
		n = s->length - (uint32_t)offset;
		if (n > len)
			n = len;
		res = mr_check(t, s->lkey, l->pd, l->need, s->addr, s->length, &ptr);
		if (res == MEM_OK)
			move(ptr + offset, buf, n, into);
		else
			res = move_elsewhere(res, res == MEM_ASK ? ptr + offset : NULL, buf, n, into);
		if (res != MEM_OK)
			return res;
		buf += n;
		len -= n;
		offset = 0;
	}
	return len ? MEM_BAD_RANGE : MEM_OK;
}

enum mem_result
mem_sgl_read(const struct mr_table *t, const struct mem_sgl *l, uint64_t offset, void *dst,
	     uint32_t len)
{
	return walk(t, l, offset, dst, len, false);
}

enum mem_result
mem_sgl_write(const struct mr_table *t, const struct mem_sgl *l, uint64_t offset, const void *src,
	      uint32_t len)
{
	return walk(t, l, offset, (uint8_t *)(uintptr_t)src, len, true);
}
