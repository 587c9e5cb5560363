/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file that frames are recorded in, with a bounded buffer in front of it. Opened on the control
 * thread, filled on the owning core, closed on the control thread when the core is silent.
 */
#ifndef RECORD_FILE_H
#define RECORD_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILE_BUF (512u << 10)

struct rec_file {
	int fd;
	bool stopped;		/* something went wrong, and was said */
	uint8_t *buf;		/* FILE_BUF bytes; starts with a block */
	size_t used;
	uint64_t written;	/* bytes in the file */
	uint64_t limit;		/* how long this process may make a file */
	const char *name;	/* the caller's */
};

/* 0, or -errno with a line in `why`. */
int rec_file_open(struct rec_file *f, const char *name, const char *iface, char *why, size_t why_len);
/* Writes what the buffer holds, and closes. */
void rec_file_close(struct rec_file *f);

/* Writes what the buffer holds. A file that cannot take it is left with the whole blocks that it
 * took, and nothing is written any more. */
void rec_file_flush(struct rec_file *f);

/* Room for a block of at most `len` bytes at buf + used, after a flush if need be. False: stopped, or
 * longer than the whole buffer. */
bool rec_file_room(struct rec_file *f, size_t len);

#endif
