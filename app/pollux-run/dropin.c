/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers: where is the drop-in that this launcher puts in front? Found from the launcher's own
 * place, so that an installed tree runs from wherever it is copied to. Called by main(), on the
 * launcher's only thread.
 */
#include "dropin.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DROPIN "libibverbs.so.1"

/* From the launcher's directory; the build defines DROPIN_FROM_BIN from its bindir and libdir. */
static const char *const places[] = {
	DROPIN_FROM_BIN,			/* installed */
	"../../lib/compat/ibverbs",		/* build tree */
};

/* `dir` becomes the real path of `place` seen from `bin`; 1 when the drop-in is there. */
static int
is_here(const char *bin, const char *place, char dir[PATH_MAX])
{
	char path[PATH_MAX], file[PATH_MAX + sizeof("/" DROPIN)];

	if (snprintf(path, sizeof(path), "%s/%s", bin, place) >= (int)sizeof(path) ||
	    !realpath(path, dir))
		return 0;
	snprintf(file, sizeof(file), "%s/" DROPIN, dir);
	return !access(file, R_OK);
}

int
dropin_find(const char *exe, char dir[PATH_MAX], struct why *w)
{
	char copy[PATH_MAX];
	const char *bin;

	if (snprintf(copy, sizeof(copy), "%s", exe) >= (int)sizeof(copy))
		return why(w, "the path of pollux-run is too long; install it elsewhere");
	bin = dirname(copy);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (is_here(bin, places[i], dir))
			return 0;
	return why(w, "no " DROPIN " in %.120s/%s nor in a build tree around it: install Pollux "
		   "whole (meson install)", bin, places[0]);
}

int
dropin_prefer(const char *dir, struct why *w)
{
	const char *old = getenv("LD_LIBRARY_PATH");
	char *joined;
	int rc = 0;

	if (strpbrk(dir, ":;"))
		return why(w, "%.300s: the loader splits paths at ':' and ';'; install Pollux in a "
			   "directory without", dir);
	/* behind it the directory of libpollux itself, for programs that were linked with that */
	if (asprintf(&joined, "%s:%s/..%s%s", dir, dir, old && *old ? ":" : "", old ? old : "") < 0)
		return why(w, "out of memory");
	if (setenv("LD_LIBRARY_PATH", joined, 1))
		rc = why(w, "LD_LIBRARY_PATH cannot be set: %s", strerror(errno));
	free(joined);
	return rc;
}
