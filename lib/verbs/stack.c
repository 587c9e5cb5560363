/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which stack serves this process? The one that a linked libpollux-stack registered, else the
 * private one, loaded here. Also what a fork does to it. Called by the control verbs on application
 * threads, and by the stack when it starts and stops.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "verbs/verbs_priv.h"

static struct {
	pthread_mutex_t load_lock;	/* one thread loads and starts; taken before `lock` */
	pthread_mutex_t lock;
	pthread_once_t once;
	const struct ctl_backend *backend;
	int failure;			/* -errno with which the private stack did not start */
	bool forked;			/* this process is a child of the one that holds the stack */
	struct list contexts;
} stack = {
	.load_lock = PTHREAD_MUTEX_INITIALIZER,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.once = PTHREAD_ONCE_INIT,
};

static void
fork_prepare(void)
{
	pthread_mutex_lock(&stack.lock);
}

static void
fork_parent(void)
{
	pthread_mutex_unlock(&stack.lock);
}

/* The stack's threads and its port stay with the parent: whoever goes on here must hear so. */
static void
fork_child(void)
{
	stack.forked = stack.backend != NULL;
	list_for_each(n, &stack.contexts)
		container_of(n, struct verbs_ctx, node)->pub.refuse = EIO;
	pthread_mutex_unlock(&stack.lock);
}

static void
stack_init(void)
{
	list_init(&stack.contexts);
	pthread_atfork(fork_prepare, fork_parent, fork_child);
}

static void
stack_lock(void)
{
	pthread_once(&stack.once, stack_init);
	pthread_mutex_lock(&stack.lock);
}

__attribute__((visibility("default"))) int
__plx_backend_register(const struct ctl_backend *backend)
{
	int err = 0;

	stack_lock();
	if (backend && backend->abi_version != CTL_ABI_VERSION)
		err = -EPROTO;
	else if (backend && stack.backend && stack.backend != backend)
		err = -EBUSY;
	else
		stack.backend = backend;
	pthread_mutex_unlock(&stack.lock);
	return err;
}

static const struct ctl_backend *
stack_registered(void)
{
	const struct ctl_backend *backend;

	stack_lock();
	backend = stack.backend;
	pthread_mutex_unlock(&stack.lock);
	return backend;
}

/* The line is for a person; under pollux-run, which promised a stack, it is also the end. */
static int
stack_failed(int err, const char *why)
{
	fprintf(stderr, "pollux: %s\n", why);
	if (verbs_launched())
		exit(2);
	return err;
}

static void *
stack_open(char *why, size_t why_len)
{
	char path[PATH_MAX];
	void *lib = NULL;

	snprintf(why, why_len, "no place to look for the stack");
	for (unsigned int n = 0; !lib && verbs_stack_path(n, path, sizeof(path)); n++) {
		lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		/* a file that is there and does not load says more than the next that is not there */
		if (!lib && (n == 0 || access(path, F_OK) == 0))
			snprintf(why, why_len, "the stack cannot be loaded: %s", dlerror());
	}
	return lib;
}

/* Loads the private stack and lets it start and register. It stays loaded. */
static int
stack_load(void)
{
	int (*start)(char *why, size_t why_len);
	char why[512];
	int err;
	void *lib = stack_open(why, sizeof(why));

	if (!lib)
		return stack_failed(-ENOENT, why);
	*(void **)&start = dlsym(lib, CTL_STACK_START_ENV);
	if (!start)
		return stack_failed(-ENOENT, "the library that was loaded is not a Pollux stack");
	snprintf(why, sizeof(why), "the stack did not start");
	err = start(why, sizeof(why));
	if (err)
		return stack_failed(err, why);
	if (!stack_registered())
		return stack_failed(-EIO, "the stack started but did not register");
	return 0;
}

int
verbs_stack_get(const struct ctl_backend **out)
{
	int err = 0;

	*out = stack_registered();
	if (*out)
		return 0;
	pthread_mutex_lock(&stack.load_lock);
	if (!stack_registered() && !stack.failure)
		stack.failure = stack_load();
	*out = stack_registered();
	if (!*out)
		err = stack.failure ? stack.failure : -ENODEV;
	pthread_mutex_unlock(&stack.load_lock);
	return err;
}

int
verbs_stack_join(struct verbs_ctx *ctx)
{
	bool forked;

	stack_lock();
	forked = stack.forked;
	if (!forked)
		list_push(&stack.contexts, &ctx->node);
	pthread_mutex_unlock(&stack.lock);
	if (!forked)
		return 0;
	fprintf(stderr, "pollux: the stack belongs to the parent of this process and a fork does not "
		"carry it over: open the device after the fork, or use a stack in a process of its "
		"own (attached mode)\n");
	return -EIO;
}

void
verbs_stack_leave(struct verbs_ctx *ctx)
{
	stack_lock();
	list_del(&ctx->node);
	pthread_mutex_unlock(&stack.lock);
}

int
verbs_call(struct ibv_context *context, enum ctl_msg_type type, void *msg)
{
	struct verbs_ctx *ctx = verbs_ctx_of(context);

	if (ctx->pub.refuse)
		return -ctx->pub.refuse;
	return ctx->backend->call(ctx->client.handle, type, msg);
}
