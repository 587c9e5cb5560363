/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How does DPDK start inside a program that knows nothing of it? Control thread, once a process.
 *
 * rte_eal_init() pins its caller and makes threads that inherit its signal mask: it is called on a
 * thread of its own, with all signals blocked, that ends afterwards. Nothing is left in the file
 * system: memory without files, no shared configuration, no telemetry socket.
 */
#include "engine/eal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>

#include "base/log.h"
#include "port/port_driver.h"

#define MAX_ARGS 16

static bool started;	/* by us; the control side's lock guards it */

struct start {
	int argc;
	char *argv[MAX_ARGS];
	char lcores[32], mem[16];
	int rc, err;
};

/* A line of DPDK's: for people who ask for all there is. */
static ssize_t
log_write(void *cookie, const char *buf, size_t len)
{
	size_t n = len;

	(void)cookie;
	while (n && (buf[n - 1] == '\n' || buf[n - 1] == '\r'))
		n--;
	if (n)
		log_line(PLX_LOG_DBG, "dpdk: %.*s", (int)n, buf);
	return (ssize_t)len;
}

static void
take_logs(void)
{
	FILE *f = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = log_write });

	if (!f)
		return;
	setvbuf(f, NULL, _IOLBF, BUFSIZ);
	rte_openlog_stream(f);
}

/* Free hugepages of the default size, in MB. */
static uint64_t
free_huge_mb(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	unsigned long long pages = 0, kb = 0;
	char line[128];

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		sscanf(line, "HugePages_Free: %llu", &pages);
		sscanf(line, "Hugepagesize: %llu", &kb);
	}
	fclose(f);
	return pages * kb / 1024;
}

/* The lcore of EAL's own thread may float over whatever CPUs the program has. */
static int
first_cpu(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
			if (CPU_ISSET(cpu, &set))
				return cpu;
	return 0;
}

static void
add(struct start *s, const char *arg)
{
	s->argv[s->argc++] = (char *)(uintptr_t)arg;
}

static void
make_args(struct start *s, const char *port_arg, uint32_t mem_mb)
{
	snprintf(s->lcores, sizeof(s->lcores), "--lcores=0@%d", first_cpu());
	snprintf(s->mem, sizeof(s->mem), "%u", mem_mb);
	add(s, "pollux");
	add(s, s->lcores);
	add(s, "--file-prefix=pollux");
	add(s, "--no-telemetry");
	/* a card may need physical addresses: EAL finds out */
	if (strncmp(port_arg, PORT_EAL_PCI, sizeof(PORT_EAL_PCI) - 1) != 0) {
		add(s, "--no-pci");
		add(s, "--iova-mode=va");
	}
	add(s, "--single-file-segments");	/* zero-copy memif wants it */
	if (free_huge_mb() >= mem_mb) {
		add(s, "--in-memory");
	} else {
		add(s, "--no-huge");
		add(s, "--no-shconf");
		add(s, "-m");
		add(s, s->mem);
	}
	if (port_arg[0])
		add(s, port_arg);
}

/* EAL makes a directory for files that it then does not write. It is Pollux' by its prefix; one name
 * for all processes, so that those killed at this moment leave one at most. The directory above goes
 * too when nobody else has anything there. */
static void
remove_dir(void)
{
	char dir[256];
	char *slash;

	snprintf(dir, sizeof(dir), "%s", rte_eal_get_runtime_dir());
	if (rmdir(dir) < 0)
		return;
	slash = strrchr(dir, '/');
	if (slash)
		*slash = 0;
	rmdir(dir);
}

static void *
init_main(void *arg)
{
	struct start *s = arg;

	s->rc = rte_eal_init(s->argc, s->argv);
	s->err = rte_errno;
	remove_dir();
	return NULL;
}

static int
on_own_thread(struct start *s)
{
	sigset_t all, before;
	pthread_t thread;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, NULL, init_main, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		return -err;
	pthread_join(thread, NULL);
	if (s->rc >= 0)
		return 0;
	return s->err > 0 ? -s->err : -EIO;
}

/* EAL ends the process when its threads find no free file descriptor; so they are counted before. */
#define FILES_NEEDED 16

static int
check_files(char *why, size_t why_len)
{
	int fds[FILES_NEEDED], n = 0;

	while (n < FILES_NEEDED && (fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		n++;
	for (int i = 0; i < n; i++)
		close(fds[i]);
	if (n == FILES_NEEDED)
		return 0;
	snprintf(why, why_len, "DPDK needs %d more file descriptors and there are %d: raise the limit "
		 "(ulimit -n)", FILES_NEEDED, n);
	return -EMFILE;
}

int
eal_start(const char *port_arg, uint32_t mem_mb, char *why, size_t why_len)
{
	struct start s = { .argc = 0 };
	int rc;

	if (started)
		return 0;
	rc = check_files(why, why_len);
	if (rc < 0)
		return rc;
	take_logs();
	make_args(&s, port_arg, mem_mb);
	rc = on_own_thread(&s);
	if (rc == -EALREADY)
		snprintf(why, why_len, "this program started DPDK itself: link libpollux-stack and set "
			 "eal_running, or run it with its own port");
	else if (rc < 0)
		snprintf(why, why_len, "DPDK does not start: %s (POLLUX_LOG=debug says more)",
			 strerror(-rc));
	started = rc == 0;
	return rc;
}
