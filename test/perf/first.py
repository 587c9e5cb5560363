#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""First figures: RDMA over Pollux beside the kernel's TCP, in one run.

    first.py POLLUX-RUN PLX-PERF [--repeats N] [--seconds S] [--json FILE] [WORD]...

WRITE of 64 KiB in Gb/s, 64 B WRITEs a second and half a round trip of 8 B, by plx-perf over a loop
port, a memif and a pair of kernel interfaces, driven inline and by a core of its own; ib_write_lat
and ib_send_lat of the distribution on the same ports; iperf3 and sockperf over a pair of kernel
interfaces between two network namespaces. All of it runs N times in turn, for a machine drifts; the
table shows medians. Nothing is asserted about time. With WORDs only cases that contain all of them
run. Needs root or user namespaces; skips (77) without.
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'stack'))
import sandbox  # noqa: E402
from process import Process  # noqa: E402

TCP_PORT = 18525
HANG = 90
ADDRESSES = ('10.11.0.1/24', '10.11.0.2/24')
LATENCY_ITERATIONS = '4000'

# Rows of the table: name, unit, arguments of plx-perf, where its figures stand.
WRITE_64K = ('WRITE 64 KiB', 'Gb/s', ['--op', 'write', '--size', '64K'], ('rate', 'gbps'))
WRITE_64 = ('WRITE 64 B', 'M/s', ['--mode', 'rate', '--size', '64'], ('rate', 'mmsgs'))
WRITE_64_LIST = ('WRITE 64 B, lists of 16', 'M/s',
                 ['--mode', 'rate', '--size', '64', '--post-list', '16'], ('rate', 'mmsgs'))
WRITE_LAT = ('WRITE 8 B, half round trip', 'us', ['--mode', 'lat'], ('half_rtt_us', None))
WRITE_LAT_MEMORY = ('WRITE 8 B, polling memory only', 'us', ['--mode', 'lat', '--poll', 'memory'],
                    ('half_rtt_us', None))
SEND_LAT = ('SEND 8 B, half round trip', 'us', ['--mode', 'lat', '--op', 'send'],
            ('half_rtt_us', None))
OURS = (WRITE_64K, WRITE_64, WRITE_64_LIST, WRITE_LAT, WRITE_LAT_MEMORY, SEND_LAT)
PERFTEST = (('ib_write_lat 8 B', 'us', ['ib_write_lat', '-F', '-s', '8', '-n', LATENCY_ITERATIONS]),
            ('ib_send_lat 8 B', 'us', ['ib_send_lat', '-F', '-s', '8', '-n', LATENCY_ITERATIONS]))
IPERF = (('TCP 64 KiB writes', '64K'), ('TCP 1 MiB writes', '1M'))
SOCKPERF = 'TCP 14 B, half round trip'
# Columns: port and who drives the core.
PATHS = (('loop', 'inline'), ('memif', 'inline'), ('memif', 'cores'), ('af_packet', 'inline'),
         ('af_packet', 'cores'))
TCP = ('TCP over veth', '')


# Where the kernel shares CPUs between sessions, a larger share for what is measured; all alike.
FIRST = ['sh', '-c', 'echo -10 2>/dev/null >/proc/self/autogroup; exec "$@"', 'sh']


class Failure(Exception):
    pass


def cpu(n):
    return str(n % os.cpu_count())


def core(n):
    """A core for end n: one that no program is on as far as there are enough."""
    return str((n + 2) % os.cpu_count())


class Bench:
    def __init__(self, options):
        self.launcher = os.path.abspath(options.launcher)
        self.perf = os.path.abspath(options.perf)
        self.seconds = options.seconds
        self.hosts = sandbox.two_hosts()
        self.dir = tempfile.mkdtemp(prefix='plx', dir='/run')
        self.details = []

    def on(self, n, words):
        """The command at end n: in its namespace, on its CPU."""
        return self.hosts[n].command(*FIRST, 'taskset', '-c', cpu(n), *words)

    def launch(self, n, path, words):
        port, driven = path
        spec = {'loop': 'loop',
                'memif': 'memif:%s/s,%s' % (self.dir, ('server', 'client')[n]),
                'af_packet': 'af_packet:' + self.hosts[n].iface}[port]
        options = ['--port', spec, '--ip', ADDRESSES[n]]
        if driven == 'cores':
            options += ['--cores', core(n)]
            return self.hosts[n].command(*FIRST, self.launcher, *options, '--', *words)
        return self.on(n, [self.launcher, *options, '--', *words])

    def both(self, server_command, client_command, port, server_ends=True):
        """Output of the client; both must end well."""
        server = Process(server_command)
        client = None
        try:
            if not server.listens(port, HANG):
                raise Failure('the server does not listen: ' + server.output())
            client = Process(client_command)
            status = client.wait(HANG)
            if status != 0:
                raise Failure('status %s: %s' % (status, client.output() + server.output()))
            if server_ends and server.wait(HANG) != 0:
                raise Failure('the server: ' + server.output())
            return client.output()
        finally:
            for p in (server, client):
                if p:
                    p.kill()

    def ours(self, path, row):
        name, _, words, (group, field) = row
        words = [self.perf, '--json', '--duration', str(self.seconds), *words]
        if path[0] == 'loop':
            p = Process(self.launch(0, path, words + ['--self']))
            status = p.wait(HANG)
            p.kill()
            text = p.output()
            if status != 0:
                raise Failure('status %s: %s' % (status, text))
        else:
            text = self.both(self.launch(0, path, [self.perf]),
                             self.launch(1, path, words + [self.hosts[0].address]), TCP_PORT)
        result = json.loads(text[text.index('{'):])['results'][0]
        self.details.append({'path': path, 'name': name, 'result': result})
        figures = result[group]
        if field:
            return figures[field + '_median'], figures[field + '_best']
        return figures['window_median'], figures['window_best']

    def perftest(self, path, words):
        out = self.both(self.launch(0, path, words),
                        self.launch(1, path, words + [self.hosts[0].address]), 18515)
        rows = [line.split() for line in out.splitlines() if re.match(r'^ *\d+ +\d+ +[\d.]', line)]
        if not rows:
            raise Failure('no figures: ' + out)
        return float(rows[-1][4]), float(rows[-1][2])

    def iperf(self, length):
        address = self.hosts[0].address
        out = self.both(self.on(0, ['iperf3', '-s', '-1']),
                        self.on(1, ['iperf3', '-c', address, '-l', length, '-J', '-i', '0.1', '-t',
                                    str(max(1, round(self.seconds)))]), 5201)
        data = json.loads(out)
        windows = sorted(i['sum']['bits_per_second'] / 1e9 for i in data['intervals'])
        return statistics.median(windows), windows[-1]

    def sockperf(self):
        address = self.hosts[0].address
        out = self.both(self.on(0, ['sockperf', 'server', '--tcp', '--nonblocked', '-i', address]),
                        self.on(1, ['sockperf', 'ping-pong', '--tcp', '--nonblocked', '-i', address,
                                    '-m', '14', '-t', str(max(1, round(self.seconds)))]),
                        11111, server_ends=False)
        p50 = re.search(r'percentile 50\.000 = *([\d.]+)', out)
        least = re.search(r'<MIN> observation = *([\d.]+)', out)
        if not p50 or not least:
            raise Failure('no figures: ' + out)
        return float(p50.group(1)), float(least.group(1))


def cases(bench):
    """(row, unit, column, function that gives typical and best)"""
    for path in PATHS:
        for row in OURS:
            yield row[0], row[1], path, lambda p=path, r=row: bench.ours(p, r)
        for name, unit, words in PERFTEST if path[0] != 'loop' else ():
            yield name, unit, path, lambda p=path, w=words: bench.perftest(p, w)
    for name, length in IPERF:
        yield name, 'Gb/s', TCP, lambda n=length: bench.iperf(n)
    yield SOCKPERF, 'us', TCP, bench.sockperf


def measure(bench, options):
    """{(row, unit): {column: [(typical, best), ...]}}, and {case: why} of those that failed."""
    found, failed = {}, {}
    for turn in range(options.repeats):
        for name, unit, column, run in cases(bench):
            label = '%s, %s' % (name, ' '.join(column).strip())
            if label in failed or not all(w in label for w in options.words):
                continue
            try:
                typical, best = run()
            except (Failure, ValueError, KeyError) as e:
                failed[label] = str(e).strip()
                print('%d/%d %s: FAILED' % (turn + 1, options.repeats, label), flush=True)
                continue
            found.setdefault((name, unit), {}).setdefault(column, []).append((typical, best))
            print('%d/%d %s: %.2f %s (best %.2f)' % (turn + 1, options.repeats, label, typical, unit,
                                                     best), flush=True)
    return found, failed


def typical_and_best(values, unit):
    best = min if unit == 'us' else max
    return statistics.median(v[0] for v in values), best(v[1] for v in values)


def print_table(found):
    columns = PATHS + (TCP,)
    print('\n%-40s' % 'median (best)' + ''.join('%20s' % ' '.join(c).strip() for c in columns))
    for (name, unit), by_column in found.items():
        line = '%-34s %-5s' % (name, unit)
        for column in columns:
            text = '-'
            if column in by_column:
                text = '%.2f (%.2f)' % typical_and_best(by_column[column], unit)
            line += '%20s' % text
        print(line)


def ratio(found, ours, tcp, path):
    a = found.get(ours[:2], {}).get(path)
    b = found.get(tcp, {}).get(TCP)
    if not a or not b:
        return None
    return typical_and_best(a, ours[1])[0] / typical_and_best(b, tcp[1])[0]


def print_ratios(found):
    print()
    for path in PATHS:
        bw = ratio(found, WRITE_64K, (IPERF[0][0], 'Gb/s'), path)
        lat = ratio(found, WRITE_LAT, (SOCKPERF, 'us'), path)
        if bw and lat:
            print('%-17s WRITE 64 KiB is %.2f x TCP with writes of 64 KiB; 8 B take %.2f x as long as '
                  'TCP' % (' '.join(path), bw, lat))


def write_json(found, bench, options):
    rows = []
    for (name, unit), by_column in found.items():
        for column, values in by_column.items():
            median, best = typical_and_best(values, unit)
            rows.append({'name': name, 'unit': unit, 'port': column[0], 'driven': column[1],
                         'median': median, 'best': best, 'runs': values})
    with open(options.json, 'w', encoding='utf-8') as f:
        json.dump({'cpus': os.cpu_count(), 'kernel': os.uname().release, 'repeats': options.repeats,
                   'seconds': options.seconds, 'figures': rows, 'details': bench.details}, f, indent=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('launcher')
    parser.add_argument('perf')
    parser.add_argument('--repeats', type=int, default=3)
    parser.add_argument('--seconds', type=float, default=1.0)
    parser.add_argument('--json')
    parser.add_argument('words', nargs='*')
    options = parser.parse_intermixed_args()
    if options.json:
        options.json = os.path.abspath(options.json)
    sandbox.enter()
    for tool in ('taskset', 'iperf3', 'sockperf', 'ib_write_lat'):
        if not shutil.which(tool):
            sandbox.skip('there is no program %s here' % tool)
    bench = Bench(options)
    found, failed = measure(bench, options)
    print_table(found)
    print_ratios(found)
    print('both ends on %d CPUs; best: of 5 ms windows (ours), 100 ms (iperf3), one sample '
          '(perftest, sockperf)' % os.cpu_count())
    if options.json:
        write_json(found, bench, options)
    for label, why in failed.items():
        print('FAIL %s: %s' % (label, why))
    shutil.rmtree(bench.dir, ignore_errors=True)
    return 1 if failed or not found else 0


if __name__ == '__main__':
    sys.exit(main())
