/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From handles to objects. Handles count from 0; a handle's generation rises each time that it is
 * given out. Control threads change a table, one at a time; a core may look up meanwhile.
 */
#ifndef SERVE_TABLE_H
#define SERVE_TABLE_H

#include <stdint.h>

#define TABLE_PAGE 1024u
#define TABLE_PAGES 1024u

struct table_slot {
	void *obj;		/* atomic */
	uint32_t gen;
	uint32_t next_free;	/* while it is free: handle + 1, 0 at the end */
};

struct table {
	uint32_t max;		/* objects; at most TABLE_PAGE * TABLE_PAGES */
	uint32_t num;		/* objects now */
	uint32_t fresh;		/* handles below it have been out */
	uint32_t first_free;	/* handle + 1, or 0 */
	struct table_slot *page[TABLE_PAGES];	/* atomic */
};

void table_init(struct table *t, uint32_t max);
/* The objects are the caller's. */
void table_fini(struct table *t);

/* 0, or -ENOMEM: full, or no memory. `gen` may be NULL. */
int table_add(struct table *t, void *obj, uint32_t *handle, uint32_t *gen);

/* Nothing happens for a handle that is not out. */
void table_del(struct table *t, uint32_t handle);

/* The object, or NULL. Control threads and cores. */
void *table_get(const struct table *t, uint32_t handle);

#endif
