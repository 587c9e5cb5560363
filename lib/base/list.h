/* SPDX-License-Identifier: BSD-3-Clause */
/* Intrusive doubly linked list with a head; one thread. */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list_node {
	struct list_node *next, *prev;
};

struct list {
	struct list_node head;
};

#ifndef container_of /* DPDK's rte_common.h has it too */
#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))
#endif

static inline void
list_init(struct list *l)
{
	l->head.next = l->head.prev = &l->head;
}

/* A node that stands in no list has next == NULL. */
static inline void
list_node_init(struct list_node *n)
{
	n->next = n->prev = NULL;
}

static inline bool
list_linked(const struct list_node *n)
{
	return n->next != NULL;
}

static inline bool
list_empty(const struct list *l)
{
	return l->head.next == &l->head;
}

static inline void
list_push(struct list *l, struct list_node *n)
{
	n->prev = l->head.prev;
	n->next = &l->head;
	l->head.prev->next = n;
	l->head.prev = n;
}

static inline void
list_del(struct list_node *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	list_node_init(n);
}

static inline struct list_node *
list_first(const struct list *l)
{
	return list_empty(l) ? NULL : l->head.next;
}

static inline struct list_node *
list_pop(struct list *l)
{
	struct list_node *n = list_first(l);

	if (n)
		list_del(n);
	return n;
}

#define list_for_each(n, l) \
	for (struct list_node *n = (l)->head.next; n != &(l)->head; n = n->next)

#endif
