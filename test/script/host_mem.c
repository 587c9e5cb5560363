/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which bytes does the application own, and are they what they should be? Every region has a
 * shadow and canaries before and behind it. Called by setup and by every check.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "host.h"

struct host_mr *
host_mr_find(struct host *h, const char *name)
{
	for (unsigned int i = 0; i < h->num_mrs; i++)
		if (!strcmp(h->mr[i].name, name))
			return &h->mr[i];
	return NULL;
}

static bool
allocate(struct host_mr *m)
{
	size_t room = HOST_CANARY + m->len + HOST_CANARY;

	m->room = aligned_alloc(64, (room + 63) & ~(size_t)63);
	m->shadow = malloc(m->len);
	if (!m->room || !m->shadow)
		return false;
	memset(m->room, HOST_CANARY_BYTE, room);
	m->mem = m->room + HOST_CANARY;
	for (size_t i = 0; i < m->len; i++)
		m->mem[i] = m->shadow[i] = data_pattern(m->name, i);
	return true;
}

struct host_mr *
host_mr_add(struct host *h, const char *name, const struct mr *desc)
{
	struct host_mr *m = &h->mr[h->num_mrs];
	struct mr d = *desc;

	if (h->num_mrs == HOST_MRS)
		return NULL;
	snprintf(m->name, sizeof(m->name), "%s", name);
	m->len = d.length;
	m->iova = d.iova ? d.iova : 0x100000000u * (h->num_mrs + 1);
	if (!allocate(m))
		abort();
	d.iova = m->iova;
	d.base = m->mem;
	h->num_mrs++;
	if (mr_add(h->mrs, &d, &m->mr))
		return NULL;
	m->key = m->mr->key;
	return m;
}

int
host_mr_dereg(struct host *h, struct host_mr *m)
{
	struct mr *mr = m->mr;
	int rc = mr ? mr_close(mr) : 0;

	if (!mr || rc)
		return rc;
	m->mr = NULL;
	mr_unpublish(h->mrs, mr);
	mr_release(h->mrs, mr);
	return 0;
}

struct host_mw *
host_mw_find(struct host *h, const char *name)
{
	for (unsigned int i = 0; i < h->num_mws; i++)
		if (!strcmp(h->mw[i].name, name))
			return &h->mw[i];
	return NULL;
}

struct host_mw *
host_mw_add(struct host *h, const char *name, uint32_t pd, enum mw_type type)
{
	struct host_mw *m = &h->mw[h->num_mws];

	if (h->num_mws == HOST_MWS || mw_add(h->mrs, pd, type, &m->mw))
		return NULL;
	h->num_mws++;
	snprintf(m->name, sizeof(m->name), "%s", name);
	m->key = m->mw->key;
	return m;
}

void
host_mw_dealloc(struct host *h, struct host_mw *m)
{
	if (!m->mw)
		return;
	mw_close(h->mrs, m->mw);
	mw_release(h->mrs, m->mw);
	m->mw = NULL;
}

const char *
host_mem_check(struct host *h)
{
	static char why[160];

	for (unsigned int i = 0; i < h->num_mrs; i++) {
		const struct host_mr *m = &h->mr[i];

		for (size_t k = 0; k < HOST_CANARY; k++) {
			if (m->room[k] == HOST_CANARY_BYTE && m->mem[m->len + k] == HOST_CANARY_BYTE)
				continue;
			snprintf(why, sizeof(why), "a byte outside region %s was written", m->name);
			return why;
		}
		for (size_t k = 0; k < m->len; k++) {
			if (m->mem[k] == m->shadow[k])
				continue;
			snprintf(why, sizeof(why), "byte %s+%zu is 0x%02x, should be 0x%02x", m->name, k,
				 m->mem[k], m->shadow[k]);
			return why;
		}
	}
	return NULL;
}
