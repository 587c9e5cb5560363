#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Does a program learn that its link is lost, and that it is back?

    link.py POLLUX-RUN

ibv_asyncwatch on a memif whose peer is killed and comes again, as server and as client, on an
interface whose cable is pulled out, and on one that has none in the beginning.
"""
import os
import shutil
import sys
import tempfile
import time

import sandbox
from process import Process

CYCLES = 3
PATIENCE = 30
SEEN = 1        # a link is looked at ten times a second, on a busy machine less often


def watch(launcher, host, port, n):
    return Process(host.command('stdbuf', '-oL', launcher, '--port', port, '--ip',
                                '10.11.0.%d/24' % n, '--', 'ibv_asyncwatch'))


def count(process, word):
    return process.output().count(word)


def wait_for(what):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.05)
    return False


def port_events(process):
    """(losses, returns)"""
    return count(process, 'EVENT_PORT_ERR'), count(process, 'EVENT_PORT_ACTIVE')


def is_mapped(process):
    """Whether it has a memif's memory; the client has it already when its call is taken, the server, which
    can be a second later, when it answers."""
    with open('/proc/%d/maps' % process.popen.pid, encoding='utf-8') as f:
        return 'memif_region' in f.read()


def cycles(watcher, lose, restore, is_up):
    """What was wrong, or None. `is_up`: whether there is a link, of which nobody tells in the beginning."""
    restore()
    if not wait_for(lambda: 'event FD' in watcher.output() and is_up()):
        return 'no link in the beginning:\n' + watcher.output()
    time.sleep(SEEN)
    if port_events(watcher) != (0, 0):
        return 'an event before anything was lost:\n' + watcher.output()
    for n in range(1, CYCLES + 1):
        lose()
        if not wait_for(lambda: port_events(watcher)[0] == n):
            return 'loss %d was not told:\n%s' % (n, watcher.output())
        restore()
        if not wait_for(lambda: port_events(watcher)[1] == n):
            return 'return %d was not told:\n%s' % (n, watcher.output())
    return None


def memif(launcher, host, role):
    where = tempfile.mkdtemp(prefix='plx', dir='/run')
    other = {'server': 'client', 'client': 'server'}[role]
    watcher = watch(launcher, host, 'memif:%s/s,%s' % (where, role), 1)
    peers = []

    def lose():
        peers.pop().kill()

    def restore():
        peers.append(watch(launcher, host, 'memif:%s/s,%s' % (where, other), 2))

    wrong = cycles(watcher, lose, restore, lambda: is_mapped(watcher) and is_mapped(peers[-1]))
    for p in [watcher] + peers:
        p.kill()
    shutil.rmtree(where)
    return wrong


def cable(launcher, hosts):
    watcher = watch(launcher, hosts[0], 'af_packet:' + hosts[0].iface, 1)
    wrong = cycles(watcher, lambda: hosts[1].ip('link', 'set', hosts[1].iface, 'down'),
                   lambda: hosts[1].ip('link', 'set', hosts[1].iface, 'up'), lambda: True)
    watcher.kill()
    return wrong


def no_cable(launcher, hosts):
    """The watcher is there before the link is: that it comes is news."""
    hosts[1].ip('link', 'set', hosts[1].iface, 'down')
    watcher = watch(launcher, hosts[0], 'af_packet:' + hosts[0].iface, 1)
    begun = wait_for(lambda: 'event FD' in watcher.output())
    time.sleep(SEEN)
    early = port_events(watcher)
    hosts[1].ip('link', 'set', hosts[1].iface, 'up')
    told = wait_for(lambda: port_events(watcher) == (0, 1))
    watcher.kill()
    return None if begun and early == (0, 0) and told else 'the first link was not told:\n' + watcher.output()


def main(launcher):
    if not shutil.which('ibv_asyncwatch'):
        sandbox.skip('there is no ibv_asyncwatch here')
    sandbox.enter()
    hosts = sandbox.two_hosts()
    passed = failed = 0
    for name, run in (('memif server', lambda: memif(launcher, hosts[0], 'server')),
                      ('memif client', lambda: memif(launcher, hosts[0], 'client')),
                      ('af_packet', lambda: cable(launcher, hosts)),
                      ('af_packet without a cable', lambda: no_cable(launcher, hosts))):
        wrong = run()
        passed, failed = passed + (not wrong), failed + bool(wrong)
        print('%s %s %s' % ('FAIL' if wrong else 'ok  ', name, wrong or ''), flush=True)
    print('%d passed, %d failed, 0 skipped' % (passed, failed))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(os.path.abspath(sys.argv[1])))
