/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Proofs that are no packet scripts: the list test/script/proofs.list, read by main. One thread.
 *
 *	proof ID... = unit/FILE.c:CASE	the case proves these statements; it must exist, and hold
 *	partly ID... = unit/FILE.c:CASE	or a part of them
 *	require ID|ID..ID...		these must be proved when everything was run
 *	reach ID WHY			as far as the part of it goes that is proved, and why no further
 */
#ifndef SCRIPT_PROOF_H
#define SCRIPT_PROOF_H

/*
 * Reads the list, prints a line for each proof and marks what holds. With `tests`, the directory of
 * the unit tests' programs, each case is run; without it a case only has to be in its file. Returns
 * the number of lines that do not hold. What must be proved is then asked of cover.h.
 */
unsigned int proof_read(const char *list, const char *tests);

#endif
