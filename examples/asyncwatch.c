/* SPDX-License-Identifier: BSD-3-Clause */
/* What happens to a device? Prints its asynchronous events as they come, as rdma-core's ibv_asyncwatch. */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <infiniband/verbs.h>

static int
usage(const char *program, FILE *out)
{
	fprintf(out, "Usage:\n  %s            start an asyncwatch process\n\nOptions:\n"
		"  -d, --ib-dev=<dev>     use device <dev> (default first device found)\n"
		"  -h, --help             print this and exit\n", program);
	return out == stderr;
}

static struct ibv_context *
open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL), **d = list;
	struct ibv_context *ctx;

	if (!list) {
		perror("Failed to get IB devices list");
		return NULL;
	}
	while (*d && name && strcmp(ibv_get_device_name(*d), name) != 0)
		d++;
	ctx = *d ? ibv_open_device(*d) : NULL;
	if (!*d)
		fprintf(stderr, "IB device %s not found\n", name ? name : "(any)");
	else if (!ctx)
		fprintf(stderr, "Couldn't get context for %s\n", ibv_get_device_name(*d));
	ibv_free_device_list(list);
	return ctx;
}

/* X(name, whether it is about a port) */
#define EVENTS(X) \
	X(CQ_ERR, 0) X(QP_FATAL, 0) X(QP_REQ_ERR, 0) X(QP_ACCESS_ERR, 0) X(COMM_EST, 0) X(SQ_DRAINED, 0) \
	X(PATH_MIG, 0) X(PATH_MIG_ERR, 0) X(DEVICE_FATAL, 0) X(PORT_ACTIVE, 1) X(PORT_ERR, 1) \
	X(LID_CHANGE, 1) X(PKEY_CHANGE, 1) X(SM_CHANGE, 1) X(SRQ_ERR, 0) X(SRQ_LIMIT_REACHED, 0) \
	X(QP_LAST_WQE_REACHED, 0) X(CLIENT_REREGISTER, 1) X(GID_CHANGE, 1) X(WQ_FATAL, 0)

static const struct {
	const char *name;
	bool port;
} events[] = {
#define EVENT(name, port) [IBV_EVENT_##name] = { "IBV_EVENT_" #name, port },
	EVENTS(EVENT)
#undef EVENT
};

static void
print_event(const struct ibv_async_event *ev)
{
	unsigned int type = (unsigned int)ev->event_type;
	bool known = type < sizeof(events) / sizeof(events[0]) && events[type].name;

	printf("  event_type %s (%u)", known ? events[type].name : "unknown", type);
	if (known && events[type].port)
		printf(", port %d", ev->element.port_num);
	printf("\n");
}

static int
watch(struct ibv_context *ctx)
{
	struct ibv_async_event ev;

	printf("%s: async event FD %d\n", ibv_get_device_name(ctx->device), ctx->async_fd);
	while (ibv_get_async_event(ctx, &ev) == 0) {
		print_event(&ev);
		ibv_ack_async_event(&ev);
	}
	perror("Failed to get an event");
	ibv_close_device(ctx);
	return 1;
}

int
main(int argc, char **argv)
{
	static const struct option words[] = {
		{ "ib-dev", required_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *name = NULL;
	struct ibv_context *ctx;
	int c;

	while ((c = getopt_long(argc, argv, "d:h", words, NULL)) != -1) {
		if (c == 'h')
			return usage(argv[0], stdout);
		if (c != 'd')
			return usage(argv[0], stderr);
		name = optarg;
	}
	if (optind < argc)
		return usage(argv[0], stderr);
	setvbuf(stdout, NULL, _IOLBF, 0);
	ctx = open_device(name);
	return ctx ? watch(ctx) : 1;
}
