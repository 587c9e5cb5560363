#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What does Pollux cost when nothing happens?

    idle.py POLLUX-RUN REST [--seconds S] [--json FILE] [--smoke]

Two ends with a connected RC QP and nothing to do, and a process that has a device open and no QP. Each
figure is the CPU time of one process, user and kernel, in per cent of a core, beside its limit. A
limit that is missed fails nothing, but a program that does not come to rest does. Needs root or user
namespaces; skips (77) without.
"""
import argparse
import glob
import json
import os
import shutil
import socket
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'stack'))
import sandbox  # noqa: E402
from process import Process  # noqa: E402

PATIENCE = 60
SETTLE = 0.5        # the spinning that follows work, and the steps that grow
# Both ends; per cent of a core that each may take with a QP. With none: nothing.
WIRES = {
    'memif': (('memif:%s/s,server', 'memif:%s/s,client'), 6.0),
    'af_packet': (('af_packet:data-a', 'af_packet:data-b'), 1.0),
    'vhost': (('vhost:%s/s', 'virtio:%s/s'), 1.0),
}
NOTHING = 0.1


class Failure(Exception):
    pass


def nanoseconds(pid):
    """CPU time of a process. /proc/PID/stat counts in steps of 10 ms, schedstat of its threads in ns."""
    total = 0
    for path in glob.glob('/proc/%d/task/*/schedstat' % pid):
        with open(path, encoding='ascii') as f:
            total += int(f.read().split()[0])
    return total


def await_rest(process):
    end = time.monotonic() + PATIENCE
    while 'rests' not in process.output():
        if process.wait(0.02) is not None or time.monotonic() > end:
            raise Failure('it does not come to rest: %s\n%s'
                          % (' '.join(process.command), process.output()))


def start(launcher, rest, hosts, specs, connected):
    """One process for each spec."""
    ends = socket.socketpair()
    processes = []
    for n, spec in enumerate(specs):
        fd = ends[n].fileno()
        words = [launcher, '--port', spec, '--ip', '10.11.0.%d/24' % (n + 1), '--', rest]
        words += [str(fd)] if connected else []
        processes.append(Process(hosts[n].command(*words), keep=[fd]))
        if spec.startswith('vhost:'):    # its socket must be there before the other end looks for it
            end = time.monotonic() + PATIENCE
            while not os.path.exists(spec[6:]) and time.monotonic() < end:
                time.sleep(0.02)
    for e in ends:
        e.close()
    return processes


def measure(launcher, rest, hosts, kind, connected, seconds):
    """Per cent of a core for each end, by the name of its port."""
    where = tempfile.mkdtemp(prefix='plx', dir='/run')
    specs = [s % where if '%' in s else s for s in WIRES[kind][0]]
    processes = start(launcher, rest, hosts, specs, connected)
    try:
        for p in processes:
            await_rest(p)
        time.sleep(SETTLE)
        began = time.monotonic()
        before = [nanoseconds(p.popen.pid) for p in processes]
        time.sleep(seconds)
        after = [nanoseconds(p.popen.pid) for p in processes]
        took = time.monotonic() - began
        return [(s.split(':')[0] + (' ' + s.split(',')[1] if ',' in s else ''),
                 (b - a) / 1e7 / took) for s, a, b in zip(specs, before, after)]
    finally:
        for p in processes:
            p.kill()
        shutil.rmtree(where)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('launcher')
    parser.add_argument('rest')
    parser.add_argument('--seconds', type=float, default=5)
    parser.add_argument('--json')
    parser.add_argument('--smoke', action='store_true')
    o = parser.parse_args()
    sandbox.enter()
    hosts = sandbox.two_hosts()
    rows, failed = [], 0
    for kind in WIRES:
        for connected in (True, False):
            limit = WIRES[kind][1] if connected else NOTHING
            try:
                figures = measure(os.path.abspath(o.launcher), os.path.abspath(o.rest), hosts, kind,
                                  connected, 0.5 if o.smoke else o.seconds)
            except Failure as e:
                failed += 1
                print('FAIL %s: %s' % (kind, e), flush=True)
                continue
            for name, percent in figures:
                met = percent <= limit
                rows.append({'port': name, 'qps': int(connected), 'percent_of_a_core': round(percent, 3),
                             'limit': limit, 'met': met})
                print('%-14s %-12s %6.2f %% of a core   limit %4.1f %%   %s'
                      % (name, 'one RC QP' if connected else 'no QP', percent, limit,
                         'met' if met else 'missed'), flush=True)
    if o.json:
        with open(o.json, 'w', encoding='utf-8') as f:
            json.dump({'idle': rows}, f, indent=1)
    print('%d passed, %d failed, 0 skipped' % (len(rows), failed))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
