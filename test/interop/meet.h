/* SPDX-License-Identifier: BSD-3-Clause */
/* How the two ends of a verbs program of soft_roce.py meet and keep step; see meet.c. */
#ifndef MEET_H
#define MEET_H

#include <stddef.h>
#include <stdint.h>

/* Prints what went wrong and errno's text, and ends the program with status 1. */
void die(const char *what) __attribute__((noreturn));

/* The TCP line to the other end: of the server's first caller with `host` NULL, else to that IPv4 address.
 * Dies when there is none. */
void meet(const char *host);

/* Gives the other end n bytes and takes as many from it. Dies when it is gone. */
void swap_words(const void *out, void *in, size_t n);

/* Returns when both ends have come here. */
void together(void);

/* What the message's byte i must be. */
uint8_t pattern(size_t i);

#endif
