/* SPDX-License-Identifier: BSD-3-Clause */
/* The statements of the catalogue, which are proved, and which must be:
 * A1-A32 B1-B30 C1-C33 D1-D10 E1-E8 F1-F23 H1-H18; and the rows of table 1.G, from above: G1-G12. One
 * thread. */
#ifndef SCRIPT_COVER_H
#define SCRIPT_COVER_H

#include <stdbool.h>

#define COVER_TOTAL 154

/* "A19" or "D-2". False: no such statement. */
bool cover_valid(const char *id);
void cover_mark(const char *id);
void cover_partly(const char *id);
/* Four lines: the ids, those that are covered in part only, the rows of 1.G, and "covered N / 154". */
void cover_print(void);

/* "A1" or "A1..A28": must be covered. False: no such statements. */
bool cover_require(const char *ids);
/* Of this one, covered in part is enough. */
bool cover_reach(const char *id);
/* "required N of M", what is missing, and what goes only as far as something else reaches. Returns how
 * many are missing; 0 and no line when none was required. */
unsigned int cover_print_required(void);

#endif
