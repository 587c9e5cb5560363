/* SPDX-License-Identifier: BSD-3-Clause */
/* Which objects does the fuzzer have, and what looks like one and is none? */
#include <sys/mman.h>

#include "api.h"

struct api api;
struct fuzz fz;

#define HANDLE(structure, member) { sizeof(struct structure), offsetof(struct structure, member) }

static const struct {
	size_t size, handle;
} layout[KINDS] = {
	[PD] = HANDLE(verbs_pd, pd.handle),
	[MR] = HANDLE(verbs_mr, mr.handle),
	[DM] = HANDLE(verbs_dm, dm.handle),
	[CHANNEL] = HANDLE(verbs_channel, handle),
	[CQ] = HANDLE(verbs_cq, pub.v.cq.handle),
	[SRQ] = HANDLE(verbs_srq, pub.srq.handle),
	[QP] = HANDLE(verbs_qp, pub.v.qp.handle),
	[AH] = HANDLE(verbs_ah, pub.ah.handle),
	[XRCD] = HANDLE(verbs_xrcd, handle),
	[MW] = HANDLE(ibv_mw, handle),
};

uint32_t
handle_of(enum kind kind, const void *object)
{
	uint32_t handle;

	memcpy(&handle, (const char *)object + layout[kind].handle, sizeof(handle));
	return handle;
}

static bool
is_live(enum kind kind, uint32_t handle)
{
	for (unsigned int i = 0; i < api.num[kind]; i++) {
		if (handle_of(kind, api.live[kind][i]) == handle)
			return true;
	}
	return false;
}

/* Of an object that is gone or never was, or of the other context's. Not 0: that may say none. */
static uint32_t
wrong_handle(enum kind kind)
{
	const void *theirs = other_object(kind);
	uint32_t handle;

	if (theirs && one_in(3))
		return handle_of(kind, theirs);
	do
		handle = one_in(2) ? 1 + below(4 * MAX_LIVE) : 1u << 20 | (uint32_t)rnd64() >> 1;
	while (is_live(kind, handle) || (theirs && handle_of(kind, theirs) == handle));
	return handle;
}

void *
pick(enum kind kind)
{
	return api.num[kind] ? api.live[kind][below(api.num[kind])] : NULL;
}

/* As a program has it that destroyed the object and kept its structure. One of each kind at a time. */
static void *
copy_of(enum kind kind)
{
	static _Alignas(PLX_CACHE_LINE) uint8_t copies[KINDS][1024];
	const void *from = pick(kind);
	uint32_t handle = wrong_handle(kind);

	_Static_assert(sizeof(struct verbs_qp) <= sizeof(copies[0]), "the largest fits");
	if (!from || !layout[kind].size || (kind == PD && ((const struct verbs_pd *)from)->base))
		return NULL;	/* of parent domains the stack knows nothing */
	memcpy(copies[kind], from, layout[kind].size);
	memcpy(copies[kind] + layout[kind].handle, &handle, sizeof(handle));
	api.wrong = true;
	return copies[kind];
}

void *
pick_any(enum kind kind)
{
	return one_in(6) ? copy_of(kind) : pick(kind);
}

void *
pick_use(enum kind kind)
{
	if (one_in(12)) {
		api.wrong = true;
		return one_in(2) ? NULL : other_object(kind);
	}
	return one_in(12) ? copy_of(kind) : pick(kind);
}

int
made(enum kind kind, void *object)
{
	int err = errno;

	if (!object)
		return err ? err : NO_ERRNO;
	if (api.num[kind] == MAX_LIVE)
		return fuzz_fail("there are too many of kind", kind);
	api.live[kind][api.num[kind]++] = object;
	return 0;
}

int
ended(enum kind kind, void *object, int err)
{
	unsigned int i = 0;

	if (err)
		return err;
	while (i < api.num[kind] && api.live[kind][i] != object)
		i++;
	if (i < api.num[kind])
		api.live[kind][i] = api.live[kind][--api.num[kind]];
	return 0;
}

static int
end_one(enum kind kind, void *object)
{
	switch (kind) {
	case PD:
		return plx_dealloc_pd(object);
	case TD:
		return plx_dealloc_td(object);
	case MR:
		return plx_dereg_mr(object);
	case MW:
		return plx_dealloc_mw(object);
	case DM:
		return plx_free_dm(object);
	case CHANNEL:
		return plx_destroy_comp_channel(object);
	case CQ:
		return plx_destroy_cq(object);
	case SRQ:
		return plx_destroy_srq(object);
	case QP:
		leave_groups(object);
		return plx_destroy_qp(object);
	case AH:
		return plx_destroy_ah(object);
	case XRCD:
		return plx_close_xrcd(object);
	case KINDS:
		break;
	}
	return EINVAL;
}

/* The newest first: a parent domain holds the PD that it was made of. */
int
end_all(void)
{
	static const enum kind order[] = { QP, SRQ, CQ, CHANNEL, AH, MW, MR, DM, XRCD, PD, TD };

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		enum kind kind = order[i];

		for (unsigned int round = 0; api.num[kind] && round < MAX_LIVE * MAX_LIVE; round++) {
			void *object = api.live[kind][api.num[kind] - 1 - round % api.num[kind]];

			(void)ended(kind, object, end_one(kind, object));
		}
		if (api.num[kind])
			return fuzz_fail("what is not used by anything does not end: kind", kind);
	}
	return 0;
}

void *
any_addr(void)
{
	switch (below(10)) {
	case 0:
		return NULL;
	case 1:
		return (void *)(uintptr_t)rnd64();
	case 2:
		return api.buf - 1;
	case 3:
	case 4:
	case 5:
		return api.buf;
	default:
		return api.buf + below(API_BUF_LEN);
	}
}

size_t
any_len(void)
{
	switch (below(10)) {
	case 0:
		return 0;
	case 1:
		return (size_t)rnd64();
	case 2:
		return (size_t)1 << below(34);
	case 3:
	case 4:
	case 5:
		return API_BUF_LEN;
	default:
		return below(9000);
	}
}

unsigned int
any_access(void)
{
	return one_in(6) ? rnd_word() : one_in(3) ? below(32) : 31;
}
