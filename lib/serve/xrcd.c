/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which XRC domain do these clients share? A domain is found by the inode of a file, and lives while
 * anybody has it open or anything is in it; a client's handle is one opening of it. Control threads,
 * under the stack's lock.
 */
#include "serve/xrcd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct xrcd_open *
xrcd_get(struct client *cl, uint32_t handle)
{
	struct xrcd_open *o = table_get(&cl->stack->xrcds, handle - 1);	/* 0 is none */

	return o && o->client == cl ? o : NULL;
}

static struct xrcd *
find(struct stack *s, const struct stat *file)
{
	list_for_each(n, &s->domains) {
		struct xrcd *d = container_of(n, struct xrcd, node);

		if (d->fd >= 0 && d->dev == file->st_dev && d->ino == file->st_ino)
			return d;
	}
	return NULL;
}

/* The file stays open, so that its inode's number names no other file meanwhile. */
static int
domain_new(struct stack *s, int fd, const struct stat *file, struct xrcd **out)
{
	struct xrcd *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (fd >= 0 && d->fd < 0) {
		int rc = -errno;

		free(d);
		return rc;
	}
	if (fd >= 0) {
		d->dev = file->st_dev;
		d->ino = file->st_ino;
	}
	d->stack = s;
	list_init(&d->targets);
	list_push(&s->domains, &d->node);
	*out = d;
	return 0;
}

void
xrcd_hold(struct xrcd *d)
{
	d->refs++;
}

void
xrcd_drop(struct xrcd *d)
{
	if (--d->refs)
		return;
	list_del(&d->node);
	if (d->fd >= 0)
		close(d->fd);
	free(d);
}

/* By fd and flags, as the man page says. 0 or -errno. */
static int
domain_of(struct stack *s, const struct ctl_xrcd *m, struct xrcd **out)
{
	struct stat file;

	*out = NULL;
	if (m->fd == -1)
		return domain_new(s, -1, NULL, out);	/* nobody else can find it */
	if (fstat(m->fd, &file) < 0)
		return -errno;
	*out = find(s, &file);
	if (*out)
		return (m->oflags & O_CREAT) && (m->oflags & O_EXCL) ? -EINVAL : 0;
	return m->oflags & O_CREAT ? domain_new(s, m->fd, &file, out) : -EAGAIN;
}

int
serve_open_xrcd(struct client *cl, struct ctl_xrcd *m)
{
	struct xrcd_open *o = calloc(1, sizeof(*o));
	int rc;

	if (!o)
		return -ENOMEM;
	rc = domain_of(cl->stack, m, &o->xrcd);
	if (rc < 0)
		goto free_open;
	xrcd_hold(o->xrcd);
	rc = table_add(&cl->stack->xrcds, o, &o->handle, NULL);
	if (rc < 0)
		goto drop;
	o->client = cl;
	list_push(&cl->xrcds, &o->node);
	m->xrcd = o->handle + 1;
	return 0;
drop:
	xrcd_drop(o->xrcd);
free_open:
	free(o);
	return rc;
}

void
xrcd_free(struct xrcd_open *o)
{
	table_del(&o->client->stack->xrcds, o->handle);
	list_del(&o->node);
	xrcd_drop(o->xrcd);
	free(o);
}

/* A target of any core may take from it, and completes on its CQ. */
static struct xrc_srq *
as_cores_see(struct squeue *s, struct cqueue *cq)
{
	struct engine *e = s->client->stack->eng;
	uint32_t cores = eng_num_cores(e), first = home_place(s->client->stack, cq, cq);
	struct xrc_srq *at = calloc(cores, sizeof(*at));
	int rc = 0;

	for (uint32_t i = 0; at && rc == 0 && i < cores; i++) {
		uint32_t core = (first + i) % cores;

		at[core].srq = &s->e.srq;
		rc = home_join(cq, eng_core(e, core), &at[core].cq);
	}
	if (rc == 0)
		return at;
	free(at);
	return NULL;
}

int
xrcd_join(struct client *cl, struct squeue *s, struct ctl_create_srq *m)
{
	struct xrcd_open *o = xrcd_get(cl, m->xrcd);
	struct cqueue *cq = cq_get(cl, m->cq);
	struct xrc_srq *at;

	if (!o || !cq)
		return -EINVAL;
	at = as_cores_see(s, cq);
	if (!at)
		return -ENOMEM;
	s->open = o;
	s->cq = cq;
	o->users++;
	cq->users++;
	s->number = m->number = (s->e.gen & 0xff) << 16 | s->e.handle;
	__atomic_store_n(&s->at, at, __ATOMIC_RELEASE);
	return 0;
}

void
xrcd_leave(struct squeue *s)
{
	target_forget_srq(s->open->xrcd, &s->e.srq);
	free(s->at);
	s->cq->users--;
	s->open->users--;
}

int
serve_close_xrcd(struct client *cl, struct ctl_xrcd *m)
{
	struct xrcd_open *o = xrcd_get(cl, m->xrcd);

	if (!o)
		return -EINVAL;
	if (o->users)
		return -EBUSY;
	xrcd_free(o);
	return 0;
}
