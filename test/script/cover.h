/* SPDX-License-Identifier: BSD-3-Clause */
/* The statements of the catalogue: A1-A32 B1-B30 C1-C33 D1-D10 E1-E8 F1-F23 H1-H18. One thread. */
#ifndef SCRIPT_COVER_H
#define SCRIPT_COVER_H

#include <stdbool.h>

#define COVER_TOTAL 154

/* "A19" or "D-2". False: no such statement. */
bool cover_valid(const char *id);
void cover_mark(const char *id);
void cover_partly(const char *id);
/* Three lines: the ids, those that are covered in part only, and "covered N / 154". */
void cover_print(void);

#endif
