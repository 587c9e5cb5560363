#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Does POLLUX_EXPLAIN=1 say why a queue pair failed?

    explain.py POLLUX-RUN

An unmodified program whose peer is killed ends at once; the sentence must come all the same, once for each
queue pair, and not without the variable.
"""
import os
import re
import shutil
import sys
import tempfile

import sandbox
from process import Process

HANG = 60
TCP_PORT = 18515
QPS = 3
# patient: an end that gets no CPU for a moment is not dead
PROGRAM = ['ib_write_bw', '-F', '-x', '1', '-n', '50000000', '-u', '14', '-q', str(QPS)]
SENTENCE = re.compile(
    r'^pollux: RC QP 0x([0-9a-f]{6}) of 10\.11\.0\.2 to QP 0x[0-9a-f]{6} of 10\.11\.0\.1: '
    r'the peer does not answer; RDMA WRITE wr_id 0x[0-9a-f]+, PSN \d+; 7 of 7 retries used, '
    r'timeout 14 \(67\.108 ms each\); (no NAK received|last NAK .*) \[status 12, code 0x13\]$', re.M)
# what perftest does with the others once one of them has failed
OTHERS = re.compile(r'^pollux: RC QP 0x([0-9a-f]{6}) of 10\.11\.0\.2 to ', re.M)


def killed(launcher, explain):
    """What the client of a server that was killed wrote."""
    where = tempfile.mkdtemp(prefix='plx', dir='/run')
    ends = [Process([launcher, '--port', 'memif:%s/s,server' % where, '--ip', '10.11.0.1/24', '--']
                    + PROGRAM)]
    try:
        if not ends[0].listens(TCP_PORT, HANG):
            return 'the server does not listen\n' + ends[0].output()
        ends.append(Process([launcher, '--port', 'memif:%s/s,client' % where, '--ip', '10.11.0.2/24',
                             '--'] + PROGRAM + ['127.0.0.1'], env={'POLLUX_EXPLAIN': explain}))
        for p in ends:
            if not p.has_used(1.5, HANG):
                return '\n'.join(['no data moves'] + [end.output() for end in ends])
        ends[0].kill()
        if ends[1].wait(HANG) is None:
            return 'the client goes on\n' + ends[1].output()
        return ends[1].output()
    finally:
        for p in ends:
            p.kill()
        shutil.rmtree(where)


def main(launcher):
    sandbox.enter()
    passed = failed = 0
    for explain in ('1', '0'):
        text = killed(launcher, explain)
        told, told_of = SENTENCE.findall(text), OTHERS.findall(text)
        if explain == '1':
            right = told and len(told_of) <= QPS and len(set(told_of)) == len(told_of)
        else:
            right = not told_of and 'status 12' in text.lower()
        passed, failed = passed + bool(right), failed + (not right)
        print('%s POLLUX_EXPLAIN=%s' % ('ok  ' if right else 'FAIL', explain), flush=True)
        if not right:
            print(text)
    print('%d passed, %d failed, 0 skipped' % (passed, failed))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(os.path.abspath(sys.argv[1])))
