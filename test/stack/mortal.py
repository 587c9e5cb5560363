#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Does a program outlive those that it talks to by UC, UD, a group and XRC, and talk to who comes next?

    mortal.py POLLUX-RUN MORTAL [WORD]...

Two programs over each port; one is killed in the midst of traffic and another one takes its place, on
the same port, again and again. When vhost's end dies virtio's has to be started again, too, and need
only end well. With WORDs only cases whose line contains all of them run.
"""
import itertools
import os
import re
import shutil
import signal
import sys
import tempfile
import time

import sandbox
import starved
from process import Process
from starved import Failure, ended

HANG = 60
ADDRESSES = ('10.11.0.1', '10.11.0.2')
NAMES = ('a', 'b')
KILLS = 4
PORTS = ('memif', 'af_packet', 'vhost')


class Game:
    def __init__(self, launcher, program, hosts, port, processes):
        self.launcher, self.program, self.hosts, self.kind = launcher, program, hosts, port
        self.dir = tempfile.mkdtemp(prefix='plx', dir='/run')
        self.ends = [None, None]
        self.processes = processes  # all that there were
        self.rounds = [0, 0]    # that each has to begin
        self.text = ''

    def port(self, n):
        if self.kind == 'memif':
            return 'memif:%s/s,%s' % (self.dir, ('server', 'client')[n])
        if self.kind == 'vhost':
            return '%s:%s/s' % (('vhost', 'virtio')[n], self.dir)
        return '%s:%s' % (self.kind, self.hosts[n].iface)

    def start(self, n):
        words = [self.launcher, '--port', self.port(n), '--ip', ADDRESSES[n] + '/24', '--', self.program,
                 self.dir, NAMES[n], NAMES[not n], ADDRESSES[not n]]
        self.rounds[n] = 0
        if self.kind == 'vhost' and n == 1:
            self.await_socket()
        self.ends[n] = Process(self.hosts[n].command(*words))
        self.processes.append(self.ends[n])

    def await_socket(self):
        """The virtio end calls, and somebody must hear it."""
        end = time.monotonic() + HANG
        while not os.path.exists(self.dir + '/s'):
            if time.monotonic() > end:
                raise Failure('no socket')
            time.sleep(0.02)

    def moves(self):
        """Something came by every way to both."""
        end = time.monotonic() + HANG
        for n, p in enumerate(self.ends):
            while not re.search('^moves %d ' % self.rounds[n], p.output(), re.M):
                if p.wait(0.02) is not None:
                    raise ended(NAMES[n], p.wait(0))
                if time.monotonic() > end:
                    raise Failure('nothing moves to ' + NAMES[n])

    def kill(self, n):
        self.text += '--- killed %s:\n%s' % (NAMES[n], self.ends[n].output())
        self.ends[n].kill()
        self.rounds[not n] += 1

    def stop(self):
        with open(self.dir + '/stop', 'w', encoding='ascii'):
            pass
        for n, p in enumerate(self.ends):
            status = p.wait(HANG)
            if status is None:
                raise Failure('%s still runs' % NAMES[n])
            if status not in (0, -signal.SIGKILL):
                raise ended(NAMES[n], status)

    def outputs(self):
        return self.text + ''.join('--- %s:\n%s' % (name, p.output())
                                   for name, p in zip(NAMES, self.ends) if p)


def play(game, victim):
    for n in (0, 1):
        game.start(n)
    game.moves()
    for _ in range(KILLS):
        game.kill(victim)
        time.sleep(0.3)         # the other one sends to nobody
        if game.kind == 'vhost' and victim == 0:
            break
        game.start(victim)
        game.moves()
    game.stop()


def play_game(game, victim):
    try:
        play(game, victim)
    except Failure as e:
        raise e.saw(game.outputs()) from e
    finally:
        for p in game.processes:
            p.kill()
        shutil.rmtree(game.dir)


def main(launcher, program, words):
    sandbox.enter()
    hosts = sandbox.two_hosts()
    passed = failed = 0
    for port, victim in itertools.product(PORTS, (0, 1)):
        line = '%s kill -9 %s' % (port, ('server', 'client')[victim])
        if not all(w in line for w in words):
            continue
        began = time.monotonic()
        try:
            starved.fairly(line, lambda processes, p=port, v=victim:
                           play_game(Game(launcher, program, hosts, p, processes), v))
            passed += 1
            print('ok   %s (%.1f s)' % (line, time.monotonic() - began), flush=True)
        except Failure as e:
            failed += 1
            print('FAIL %s: %s' % (line, e), flush=True)
    print('%d passed, %d failed, 0 skipped' % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:]))
