# SPDX-License-Identifier: BSD-3-Clause
"""Runs one measurement: two ends in two namespaces, each on a CPU of its own.

Every measurement gives a Figure: the median and the best of short windows, and how often the machine
took the CPU away meanwhile. What cannot be had raises Failure with the reason.
"""
import json
import os
import re
import statistics
import tempfile
import time

import sandbox
from process import Process

TCP_PORT = 18525
IPERF_PORT = 5201
SOCKPERF_PORT = 11111
PERFTEST_PORT = 18515
HANG = 60
ADDRESSES = ('10.11.0.1/24', '10.11.0.2/24')
LATENCY_ITERATIONS = '5000'
LINK_TRIES = 3
LINE_MAX = 1000      # ns that no cache line takes

# A scheduling group of its own, and a larger share than other sessions' where the kernel allows it.
FIRST = ['sh', '-c', 'echo -15 2>/dev/null >/proc/self/autogroup; exec "$@"', 'sh']

# What the two ends of a port are, for Pollux and for DPDK itself. The sizes are those that Pollux asks
# for with its usual MTU.
PORTS = {
    'memif': (('memif:%(dir)s/m,server', 'memif:%(dir)s/m,client'),
              ('net_memif0,role=server,id=0,socket=%(dir)s/n,socket-abstract=no,bsize=4352,rsize=10',
               'net_memif0,role=client,id=0,socket=%(dir)s/n,socket-abstract=no,bsize=4352,rsize=10')),
    'af_packet': (('af_packet:data-a', 'af_packet:data-b'),
                  ('net_af_packet0,iface=data-a,blocksz=65536,framesz=16384,framecnt=512,qdisc_bypass=1',
                   'net_af_packet0,iface=data-b,blocksz=65536,framesz=16384,framecnt=512,qdisc_bypass=1')),
    'vhost': (('vhost:%(dir)s/v', 'virtio:%(dir)s/v'),
              ('net_vhost0,iface=%(dir)s/w', 'net_virtio_user0,path=%(dir)s/w,queue_size=1024')),
}


class Failure(Exception):
    pass


class Figure:
    lines = None                # what a cache line to the other CPU took before and after, ns

    def __init__(self, median, best, nivcsw=0, gaps=0, details=None):
        self.median = median
        self.best = best
        self.nivcsw = nivcsw    # of both ends as far as they tell
        self.gaps = gaps        # times of over 100 us in which a polling loop stood still
        self.details = details


def is_ready(server, ready):
    if isinstance(ready, int):
        return server.listens(ready, HANG)
    end = time.monotonic() + HANG
    while ready and not os.path.exists(ready):
        if time.monotonic() > end or server.wait(0.02) is not None:
            return False
    return True


def has_port(launcher, kind):
    """This version of Pollux knows the kind."""
    p = Process([os.path.abspath(launcher), '--port', kind + ':/none', '--', 'true'])
    p.wait(HANG)
    return 'not in this version' not in p.output()


def cpu(n):
    return str(sorted(os.sched_getaffinity(0))[n % len(os.sched_getaffinity(0))])


class Bench:
    def __init__(self, launcher, perf, calib, seconds):
        self.launcher = os.path.abspath(launcher)
        self.perf = os.path.abspath(perf)
        self.calib = os.path.abspath(calib)
        self.seconds = seconds
        self.hosts = sandbox.two_hosts()
        self.dir = tempfile.mkdtemp(prefix='plx', dir='/run')

    def on(self, n, words):
        """The command at end n: in its namespace, on its CPU."""
        return self.hosts[n].command(*FIRST, 'taskset', '-c', cpu(n), *words)

    def spec(self, kind, n, own):
        return PORTS[kind][own][n] % {'dir': self.dir}

    def alone(self, command):
        p = Process(command)
        try:
            status = p.wait(HANG)
            if status != 0:
                raise Failure('status %s: %s' % (status, p.output()))
            return p.output()
        finally:
            p.kill()

    def both(self, server_command, client_command, ready, server_ends=True):
        """Outputs of server and client, which must both end well. The server is ready when it listens
        on a TCP port, when a file is there, or (None) at once."""
        server = Process(server_command)
        client = None
        try:
            if not is_ready(server, ready):
                raise Failure('the server does not listen: ' + server.output())
            client = Process(client_command)
            status = client.wait(HANG)
            if status != 0:
                raise Failure('status %s: %s' % (status, client.output() + server.output()))
            if server_ends and server.wait(HANG) != 0:
                raise Failure('the server: ' + server.output())
            return server.output(), client.output()
        finally:
            for p in (server, client):
                if p:
                    p.kill()

    # The machine

    def line(self):
        """What a cache line to the other CPU takes, ns: guests are moved between CPUs of their host."""
        words = [*FIRST, self.calib, 'line', '--cpus', cpu(0) + ',' + cpu(1), '--seconds', '0.03']
        found = []
        while len(found) < 3 and (not found or found[-1] > LINE_MAX):   # neither thread was let alone
            found.append(json.loads(self.alone(words))['best'])
        return min(found)

    def memory(self, what):
        """calib's measurements within one process: two threads, two CPUs."""
        words = [self.calib, what, '--cpus', cpu(0) + ',' + cpu(1), '--seconds', str(self.seconds)]
        return calib_figure(self.alone([*FIRST, *words]))

    def port(self, kind, size, roles=('receive', 'send')):
        """DPDK's own bursts; the figure is the receiver's, or of who pings."""
        commands = [self.on(n, [self.calib, role, '--vdev', self.spec(kind, n, 1), '--size', str(size),
                                '--cpus', cpu(n), '--seconds', str(self.seconds)])
                    for n, role in enumerate(roles)]
        path = {'memif': self.dir + '/n', 'vhost': self.dir + '/w'}.get(kind)
        for turn in range(LINK_TRIES):
            if path and os.path.exists(path):
                os.unlink(path)
            try:
                outputs = self.both(*commands, ready=path)
                return calib_figure(outputs[0] or outputs[1])
            except Failure as e:    # two memifs that meet while one is busy elsewhere may never connect
                if 'no link' not in str(e) or turn + 1 == LINK_TRIES:
                    raise

    # Kernel TCP

    def iperf(self, length):
        address = self.hosts[0].address
        _, out = self.both(self.on(0, ['iperf3', '-s', '-1']),
                           self.on(1, ['iperf3', '-c', address, '-l', length, '-J', '-i', '0.1', '-t',
                                       str(max(1, round(self.seconds)))]), IPERF_PORT)
        windows = sorted(i['sum']['bits_per_second'] / 1e9 for i in json.loads(out)['intervals'])
        return Figure(statistics.median(windows), windows[-1])

    def sockperf(self):
        address = self.hosts[0].address
        _, out = self.both(self.on(0, ['sockperf', 'server', '--tcp', '--nonblocked', '-i', address]),
                           self.on(1, ['sockperf', 'ping-pong', '--tcp', '--nonblocked', '-i', address,
                                       '-m', '14', '-t', str(max(1, round(self.seconds)))]),
                           SOCKPERF_PORT, server_ends=False)
        p50 = re.search(r'percentile 50\.000 = *([\d.]+)', out)
        least = re.search(r'<MIN> observation = *([\d.]+)', out)
        if not p50 or not least:
            raise Failure('no figures: ' + out)
        return Figure(float(p50.group(1)), float(least.group(1)))

    # Pollux

    def pollux(self, kind, n, cores, words):
        options = ['--port', self.spec(kind, n, 0), '--ip', ADDRESSES[n]]
        if cores:
            # a core of its own on the end's CPU; the program has the others
            options += ['--cores', cpu(n)]
            return self.hosts[n].command(*FIRST, self.launcher, *options, '--', 'taskset', '-c',
                                         cpu(n + 2), *words)
        return self.on(n, [self.launcher, *options, '--', *words])

    def plx_perf(self, kind, words, cores=False):
        words = [self.perf, '--json', '--duration', str(self.seconds), *words, self.hosts[0].address]
        _, text = self.both(self.pollux(kind, 0, cores, [self.perf]),
                            self.pollux(kind, 1, cores, words), TCP_PORT)
        result = json.loads(text[text.index('{'):])['results'][0]
        switches = result['here']['nivcsw'] + result['there']['nivcsw']
        if 'rate' in result:
            unit = 'mmsgs' if '64' in words else 'gbps'
            return Figure(result['rate'][unit + '_median'], result['rate'][unit + '_best'], switches,
                          details=result)
        return Figure(result['half_rtt_us']['window_median'], result['half_rtt_us']['window_best'],
                      switches, details=result)

    def perftest(self, kind, program, cores=False):
        words = [program, '-F', '-s', '8', '-n', LATENCY_ITERATIONS]
        _, out = self.both(self.pollux(kind, 0, cores, words),
                           self.pollux(kind, 1, cores, words + [self.hosts[0].address]),
                           PERFTEST_PORT)
        rows = [line.split() for line in out.splitlines() if re.match(r'^ *\d+ +\d+ +[\d.]', line)]
        if not rows:
            raise Failure('no figures: ' + out)
        return Figure(float(rows[-1][4]), float(rows[-1][2]))


def calib_figure(text):
    lines = [line for line in text.splitlines() if line.startswith('{')]
    if not lines:
        raise Failure('no figures: ' + text)
    r = json.loads(lines[-1])
    if not r['windows']:
        raise Failure('no whole window: ' + text)
    return Figure(r['median'], r['best'], r['nivcsw'], r['gaps'], r)
