/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the ping-pong examples share: options, a device with what every program needs of it, the words
 * that two programs exchange by TCP before they can by RDMA, and the game itself. One thread. Functions
 * print a line and return false when something fails.
 */
#ifndef EXAMPLES_PINGPONG_H
#define EXAMPLES_PINGPONG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

/* ---- options.c ---- */

struct pp_options {
	const char *server;		/* NULL: this is the server */
	const char *ib_dev;		/* NULL: the first one */
	unsigned int tcp_port;
	unsigned int ib_port;
	unsigned int size;		/* bytes of a message */
	unsigned int mtu;		/* bytes */
	unsigned int rx_depth;
	unsigned int iters;		/* of every QP */
	unsigned int sl;
	unsigned int num_qp;
	unsigned int clients;
	int gid_idx;			/* -1: to be chosen */
	bool events, odp, check;
};

/* What may be set is in `have`, a letter of pp_rows for each option; the rest keeps what it is. Prints
 * the usage and ends the program for --help, and for words that it does not know. */
void pp_options_read(struct pp_options *o, const char *have, int argc, char **argv);

/* ---- pingpong.c ---- */

#define PP_GRH 40u		/* bytes in front of a datagram */
#define PP_QKEY 0x11111111u	/* of datagrams: both ends know it */

struct pp {
	struct pp_options opt;
	struct ibv_context *ctx;
	struct ibv_port_attr port;
	union ibv_gid gid;		/* ours, at opt.gid_idx; zero without one */
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;	/* NULL: poll */
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *buf;			/* what is sent, then the slots that are received into */
	size_t slot;			/* bytes of each */
	unsigned int headroom;		/* in front of what is received */
	unsigned int num_events;	/* got and not acknowledged */
	int fd;				/* TCP to the peer, or -1 */
};

/* Opens the device and makes PD, CQ for `cqe` completions, and memory with `slots` places to receive into.
 * opt.gid_idx is chosen if it was not given and the port is an Ethernet. */
bool pp_open(struct pp *pp, unsigned int cqe, unsigned int slots, unsigned int headroom);
void pp_close(struct pp *pp);

/* enum ibv_mtu, or 0 and a line when there is no MTU of so many bytes. */
enum ibv_mtu pp_mtu(unsigned int bytes);
/* The way to the peer, for a QP or an address handle. */
struct ibv_ah_attr pp_path(const struct pp *pp, unsigned int lid, const union ibv_gid *gid);

/* Waits for completions: at least one, at most `max`; 0 after an error. */
int pp_wait(struct pp *pp, struct ibv_wc *wc, int max);
/* False and a line for a completion with an error. */
bool pp_succeeded(const struct ibv_wc *wc);

/* The SGE of what is sent, and of receive slot n. */
struct ibv_sge pp_out(const struct pp *pp);
struct ibv_sge pp_in(const struct pp *pp, unsigned int n);
/* With -c: whether every byte of the message in slot n is right; then the slot is wiped. */
bool pp_check(struct pp *pp, unsigned int n);

struct timespec;
void pp_report(const struct pp *pp, unsigned int exchanges, const struct timespec *start);

/* ---- exchange.c: "LID:QPN:PSN:GID" in hexadecimal, as the programs of rdma-core send it ---- */

struct pp_address {
	unsigned int lid, qpn, psn;
	union ibv_gid gid;
};

/* Connects, or listens and takes one caller. -1: failed. */
int pp_connect(const struct pp_options *o);
int pp_listen(const struct pp_options *o);
int pp_accept(int listener);
/* pp->fd: to the server, or the first caller. */
bool pp_call(struct pp *pp);
/* Exactly so many bytes. */
bool pp_write(int fd, const void *data, size_t len);
bool pp_read(int fd, void *data, size_t len);

bool pp_tell(int fd, const struct pp_address *a);
bool pp_hear(int fd, struct pp_address *a);
/* Hears at the client that the server is ready, and the other way round. */
bool pp_tell_done(int fd);
bool pp_hear_done(int fd);
/* Stays until the peer has all that it waits for too, and closes. */
void pp_part(struct pp *pp);
/* For the words in hexadecimal. */
#define PP_GID_TEXT 33
void pp_gid_text(const union ibv_gid *gid, char text[PP_GID_TEXT]);
bool pp_gid_read(const char text[PP_GID_TEXT], union ibv_gid *gid);
/* `  local address:  LID ...` */
void pp_print(const char *whose, const struct pp_address *a);
/* A new start of the packet sequence. */
unsigned int pp_psn(void);

/* ---- exchange_xrc.c: "LID:RECV:SEND:PSN:SRQN:GID"; both print too ---- */

struct pp_xrc_address {
	unsigned int lid, recv_qpn, send_qpn, psn, srqn;
	union ibv_gid gid;
};

bool pp_xrc_tell(int fd, const struct pp_xrc_address *a);
bool pp_xrc_hear(int fd, struct pp_xrc_address *a);

/* ---- play.c ---- */

enum pp_wr_id {
	PP_RECV = 1,
	PP_SEND = 2,
};

struct pp_peer {
	struct ibv_qp *qp;
	struct ibv_ah *ah;		/* of a datagram QP, else NULL */
	struct pp_address local, remote;
};

bool pp_post_send(struct pp *pp, const struct pp_peer *peer, uint64_t wr_id);
bool pp_post_recvs(struct pp *pp, const struct pp_peer *peer, unsigned int n);

/*
 * The server's and the client's half of getting to know each other, for programs with one QP. `ready` brings
 * the QP to where it receives and sends: the client sends first, so the server's is ready before it
 * answers.
 */
bool pp_meet(struct pp *pp, struct pp_peer *peer, bool (*ready)(struct pp *pp, struct pp_peer *peer));
/* opt.iters messages each way; the client begins. Receives are posted already. */
bool pp_play(struct pp *pp, const struct pp_peer *peer);

#endif
