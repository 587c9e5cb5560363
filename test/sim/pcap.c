/* SPDX-License-Identifier: BSD-3-Clause */
/* What crossed the wire, for people. See pcap.h. */
#include "pcap.h"

#include <stdio.h>
#include <stdlib.h>

#define MAGIC_NS 0xa1b23c4du	/* times in ns */
#define LINK_ETHERNET 1u
#define NS_PER_S UINT64_C(1000000000)

struct pcap {
	FILE *f;
};

struct pcap *
pcap_open(const char *file)
{
	uint32_t head[6] = { MAGIC_NS, 4u << 16 | 2, 0, 0, 65535, LINK_ETHERNET };
	struct pcap *p = malloc(sizeof(*p));

	if (!p)
		return NULL;
	p->f = fopen(file, "wb");
	if (!p->f) {
		perror(file);
		free(p);
		return NULL;
	}
	fwrite(head, sizeof(head), 1, p->f);
	return p;
}

void
pcap_add(struct pcap *p, uint64_t ns, const uint8_t *frame, uint32_t len)
{
	uint32_t head[4] = { (uint32_t)(ns / NS_PER_S), (uint32_t)(ns % NS_PER_S), len, len };

	fwrite(head, sizeof(head), 1, p->f);
	fwrite(frame, len, 1, p->f);
}

void
pcap_close(struct pcap *p)
{
	fclose(p->f);
	free(p);
}
