#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Is the memory that both ends of a memif map there before the first frame?

    warm.py POLLUX-RUN

Otherwise each slot of a ring costs its first frame a page fault, at both ends.
"""
import os
import re
import shutil
import sys
import tempfile
import time

import sandbox
from process import Process

LINK = 10
OPENS = 'ibv_asyncwatch'    # the device, and then waits


def shares(pid):
    """[(size, of which in memory)] of memif's mappings, KiB."""
    found, here = [], False
    with open('/proc/%d/smaps' % pid, encoding='utf-8') as f:
        for line in f:
            if re.match(r'[0-9a-f]+-', line):
                here = 'memif_region' in line
            elif here and line.startswith('Size:'):
                size = int(line.split()[1])
            elif here and line.startswith('Rss:'):
                found.append((size, int(line.split()[1])))
    return found


def is_warm(found):
    return bool(found) and all(rss == size for size, rss in found)


def main(launcher):
    sandbox.enter()
    if not shutil.which(OPENS):
        sandbox.skip('there is no program %s here' % OPENS)
    where = tempfile.mkdtemp(prefix='plx', dir='/run')
    ends = []
    passed = failed = 0
    for n, role in enumerate(('server', 'client')):
        ends.append(Process([launcher, '--port', 'memif:%s/s,%s' % (where, role), '--ip',
                             '10.11.0.%d/24' % (n + 1), '--', OPENS]))
    until = time.monotonic() + LINK
    while time.monotonic() < until and not all(is_warm(shares(p.popen.pid)) for p in ends):
        time.sleep(0.1)
    for p, found in [(p, shares(p.popen.pid)) for p in ends]:
        if is_warm(found):
            passed += 1
        else:
            failed += 1
            print('KiB mapped and in memory: %s\n%s' % (found, p.output()))
        p.kill()
    shutil.rmtree(where)
    print('%d passed, %d failed, 0 skipped' % (passed, failed))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(*map(os.path.abspath, sys.argv[1:2])))
