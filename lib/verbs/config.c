/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What do the environment and the place of this library say? Asked by stack.c when no stack is
 * registered, on an application thread.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/verbs_priv.h"

#define STACK_LIB "libpollux-stack-private.so"

/* Directories beside libpollux.so: an installed tree has the stack in pollux/ or beside it, a build
 * tree in a directory of its own. */
static const char *const beside[] = { "", "pollux/", "../", "../libpollux-stack/" };

/* Length of this library's directory in *path with its slash, or 0 when it has none. */
static int
own_dir(const char **path)
{
	const char *slash;
	Dl_info info;

	if (!dladdr((const void *)__plx_backend_register, &info) || !info.dli_fname)
		return 0;
	slash = strrchr(info.dli_fname, '/');
	if (!slash)
		return 0;
	*path = info.dli_fname;
	return (int)(slash + 1 - info.dli_fname);
}

bool
verbs_stack_path(unsigned int n, char *out, size_t out_len)
{
	/* not for a program that runs with more rights than its caller */
	const char *env = secure_getenv("POLLUX_STACK_LIB");
	const char *dir = "";
	int dir_len;

	if (env && *env) {
		/* who names one wants that one or none */
		snprintf(out, out_len, "%s", env);
		return n == 0;
	}
	if (n >= sizeof(beside) / sizeof(beside[0]))
		return false;
	dir_len = own_dir(&dir);
	if (snprintf(out, out_len, "%.*s%s" STACK_LIB, dir_len, dir, beside[n]) >= (int)out_len)
		return false;
	return true;
}

bool
verbs_launched(void)
{
	const char *env = getenv("POLLUX_LAUNCHED");

	return env && *env && strcmp(env, "0") != 0;
}
