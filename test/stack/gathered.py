#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Payloads that are sent from where the program put them.

    gathered.py POLLUX-RUN PLX-PERF

Pairs of processes over a vhost-user wire. The vhost end reads what it sends with the CPU, so its SEND
and WRITE payloads are not copied before; the virtio end lends DPDK's memory alone, and copies. Both
send, so that both are seen; how many frames were sent in which way, the counters tell.
"""
import os
import shutil
import sys
import tempfile

import sandbox
from process import Process

TCP_PORT = 18534
HANG = 120
BAD = ['--impair', 'drop=0.01,dup=0.01,reorder=0.01:5']
VERIFY = ['--verify', '--bidirectional', '--bytes', '16M', '--size']
# What POLLUX_ZERO_COPY says, what happens to frames, what runs; None: plx-perf
CASES = (
    ('1', [], None, ['--op', 'write', *VERIFY, '64K']),
    ('1', [], None, ['--op', 'send', *VERIFY, '64K']),
    ('1', BAD, None, ['--op', 'write', *VERIFY, 'random:1-1M']),
    ('1', BAD, None, ['--op', 'send', *VERIFY, 'random:1-64K', '--sges', '3']),
    ('0', [], None, ['--op', 'write', *VERIFY, '64K']),
    ('1', [], 'ib_write_bw', ['-F', '-x', '1', '-b', '-s', '65536', '-n', '2000']),
    ('1', [], 'ib_send_bw', ['-F', '-x', '1', '-b', '-s', '65536', '-n', '2000']),
)


def counter(path, name):
    with open(path, encoding='ascii') as f:
        for words in (line.split() for line in f):
            if words[0] == name:
                return int(words[1])
    return -1


def start(launcher, perf, hosts, where, case):
    zero_copy, bad, program, args = case
    processes = []
    for n, kind in enumerate(('vhost', 'virtio')):
        words = [launcher, '--port', '%s:%s/s' % (kind, where), '--ip', '10.11.0.%d/24' % (n + 1),
                 '--counters', '%s/%d.txt' % (where, n), *bad, '--', program or perf,
                 '-p', str(TCP_PORT)]
        if program or n:
            words += args
        if n:
            words.append(hosts[0].address)
        processes.append(Process(hosts[n].command(*words), env={'POLLUX_ZERO_COPY': zero_copy}))
        if not processes[0].listens(TCP_PORT, HANG):
            break
    return processes


def run(launcher, perf, hosts, case):
    """What was wrong, and how many frames went out uncopied."""
    where = tempfile.mkdtemp(prefix='plx', dir='/run')
    wrong, sent = [], [0, 0]
    processes = start(launcher, perf, hosts, where, case)
    for p in reversed(processes):
        status = p.wait(HANG)
        p.kill()
        if status != 0:
            wrong.append('%s ended with %s:\n%s' % (p.command[-1], status, p.output()))
    if not wrong:
        sent = [counter('%s/%d.txt' % (where, n), 'tx_external') for n in (0, 1)]
        if (sent[0] > 0) != (case[0] == '1') or sent[1] != 0:
            wrong.append('payloads sent from where they lie: %d and %d' % tuple(sent))
    shutil.rmtree(where)
    return wrong, sent[0]


def main(launcher, perf):
    sandbox.enter()
    hosts = sandbox.two_hosts()
    passed = failed = 0
    for case in CASES:
        wrong, sent = run(launcher, perf, hosts, case)
        passed, failed = passed + (not wrong), failed + bool(wrong)
        print('%s POLLUX_ZERO_COPY=%s %s %s: %d payloads not copied'
              % ('FAIL' if wrong else 'ok  ', case[0], ' '.join(case[1]),
                 ' '.join([case[2] or 'plx-perf', *case[3]]), sent), flush=True)
        for line in wrong:
            print('     ' + line, flush=True)
    print('%d passed, %d failed, 0 skipped' % (passed, failed))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(*map(os.path.abspath, sys.argv[1:3])))
