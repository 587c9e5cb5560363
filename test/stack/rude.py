#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Does a memif server live on when callers hang up before they are greeted?

    rude.py POLLUX-RUN PLX-PERF

DPDK's memif ended the server: see drivers/net/ethdev/intr_mend.c.
"""
import os
import shutil
import socket
import sys
import tempfile
import time

import sandbox
from process import Process

ROUNDS = 2
CALLS = 50


def one_round(launcher, perf, where):
    """What was wrong, or None."""
    port = '--port', 'memif:%s/s' % where
    server = Process([launcher, port[0], port[1] + ',server', '--ip', '10.11.0.1/24', '--', perf,
                      '-p', '18531'])
    if not server.listens(18531, 60):
        return 'the server does not start:\n' + server.output()
    for _ in range(CALLS):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as caller:
            try:
                caller.connect(where + '/s')
            except OSError:
                break   # nobody is there any more: seen below
        time.sleep(0.005)
    status = server.wait(0.3)
    server.kill()
    return None if status is None else 'the server ended with %d:\n%s' % (status, server.output())


def main(launcher, perf):
    sandbox.enter()
    where = tempfile.mkdtemp(prefix='plx', dir='/run')
    passed = failed = 0
    for _ in range(ROUNDS):
        wrong = one_round(launcher, perf, where)
        passed, failed = passed + (not wrong), failed + bool(wrong)
        if wrong:
            print(wrong, flush=True)
    shutil.rmtree(where)
    print('%d passed, %d failed, 0 skipped' % (passed, failed))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(*map(os.path.abspath, sys.argv[1:3])))
