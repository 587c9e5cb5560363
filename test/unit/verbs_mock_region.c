/* SPDX-License-Identifier: BSD-3-Clause */
/* The mock's regions and device memory: one of each. */
#include <errno.h>

#include <infiniband/verbs.h>

#include "verbs_mock.h"

int
mock_reg_mr(struct ctl_reg_mr *m)
{
	m->mr = 7;
	m->lkey = m->rkey = 0xabcd00;
	mock.last_mr = *m;
	return 0;
}

int
mock_rereg_mr(struct ctl_rereg_mr *m)
{
	m->lkey = m->rkey = 0xabcd00 + (m->flags & IBV_REREG_MR_CHANGE_TRANSLATION);
	mock.last_rereg = *m;
	return 0;
}

int
mock_advise_mr(struct ctl_advise_mr *m)
{
	m->at = m->addr;
	mock.last_advise = *m;
	return 0;
}

int
mock_alloc_dm(struct ctl_alloc_dm *m)
{
	if (m->length > sizeof(mock.dm))
		return -ENOMEM;
	m->dm = 4;
	m->mem = (struct ctl_seg){ .offset = (uintptr_t)mock.dm, .length = m->length };
	mock.last_dm = *m;
	return 0;
}
