/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to lib/serve and its tests; control threads. */
#ifndef SERVE_PAGES_H
#define SERVE_PAGES_H

#include <stdbool.h>
#include <stdint.h>

/* Can each of these bytes (at least 1, not past the end of 64 bits) be read, or with `write` be written, now?
 * 0; -EFAULT: not all; -EMFILE, -ENFILE, -ENOMEM: it cannot be found out. */
int pages_check(uint64_t addr, uint64_t length, bool write);

/* The same; without `may_ask` as on a kernel that must be read. */
int pages_check_so(uint64_t addr, uint64_t length, bool write, bool may_ask);

#endif
