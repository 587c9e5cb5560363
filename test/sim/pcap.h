/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of a simulation in a file that Wireshark reads, with virtual times. */
#ifndef SIM_PCAP_H
#define SIM_PCAP_H

#include <stdint.h>

struct pcap;

/* NULL, and a line on stderr, when the file cannot be made. */
struct pcap *pcap_open(const char *file);
void pcap_add(struct pcap *p, uint64_t ns, const uint8_t *frame, uint32_t len);
void pcap_close(struct pcap *p);

#endif
