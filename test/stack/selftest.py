#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Can the process tests fail? Runs their machinery with programs that misbehave in known ways.

The launcher here is a script that drops its options, and the programs are this file, which as
client and server exchange a byte over TCP and then do what their arguments say.
"""
import contextlib
import io
import os
import socket
import subprocess
import sys
import time

import matrix
import pair
import rdma_core
import sandbox
import starved
from process import Process

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import report  # noqa: E402

LAUNCHER = '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n'
FIGURES = {
    'bw': ' #bytes #iterations BW peak BW average MsgRate\n 65536 200 900.0 850.5 0.01\n',
    'lat': ' #bytes #iterations t_min t_max t_typical t_avg t_stdev 99% 99.9%\n'
           ' 2 100 1.0 9.0 1.5 1.6 0.1 2 3\n',
    'zero': ' #bytes #iterations BW peak BW average MsgRate\n 65536 200 0.00 0.00 0.00\n',
    'clockless': 'Correlation coefficient r^2: 0.494295 < 0.9\n'
                 ' #bytes #iterations BW peak BW average MsgRate\n 65536 200 0.00 0.00 0.00\n',
    'none': 'nothing to report\n',
}


def exchange(address):
    if address is None:
        with socket.create_server(('', pair.TCP_PORT)) as s:
            connection = s.accept()[0]
    else:
        connection = socket.create_connection((address, pair.TCP_PORT))
    connection.sendall(b'x')
    connection.recv(1)
    connection.close()


def poll_for(seconds):
    """As programs do that wait for a completion, by using the CPU."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def misbehave(args):
    """The fake program; the last argument of a client is the server's address."""
    client = args[-1].startswith('192.')
    exchange(args.pop() if client else None)
    for word in args:
        who, _, what = word.rpartition('-')
        if who and who != ('client' if client else 'server'):
            continue
        if what in FIGURES and client:
            print(FIGURES[what])
        elif what == 'fails':
            sys.exit(3)
        elif what == 'hangs':
            poll_for(1000)
        elif what == 'file':
            with open('/dev/shm/forgotten', 'w', encoding='ascii'):
                pass
        elif what == 'process':
            left = subprocess.Popen(['sleep', '1000'], start_new_session=True)
            while sandbox.process_name(left.pid) is None:   # it has no name yet
                time.sleep(0.01)
        elif what == 'gives_up':
            poll_for(4)
            print('Failed status transport retry counter exceeded (12) for wr_id 2')
            sys.exit(1)


# program's words, who is killed, whether the case must pass, words that its line must hold
CASES = [
    (['bw'], None, True, '65536 B: 850.5 MB/s, 0.01 M/s'),
    (['lat'], None, True, '2 B: 1.5 us'),
    (['none'], None, False, 'no figures'),
    (['zero'], None, False, 'counted nothing'),
    (['clockless'], None, True, '65536 B: 0.00 MB/s'),
    (['bw', 'client-fails'], None, False, 'the client ended with status 3'),
    (['bw', 'server-fails'], None, False, 'the server ended with status 3'),
    (['bw', 'server-hangs'], None, False, 'still runs'),
    (['bw', 'client-file'], None, False, '/dev/shm/forgotten'),
    (['bw', 'server-process'], None, False, 'sleep 1000'),
    (['client-gives_up', 'server-hangs'], 'server', True, 'retries exceeded'),
    (['client-hangs', 'server-gives_up'], 'client', True, 'retries exceeded'),
    (['client-fails', 'server-hangs'], 'server', False, 'ended before the kill'),
    (['hangs'], 'server', False, 'still runs'),
]


def clean_up():
    """What the misbehaving program left."""
    if os.path.exists('/dev/shm/forgotten'):
        os.unlink('/dev/shm/forgotten')
    for pid in filter(str.isdigit, os.listdir('/proc')):
        if (sandbox.process_name(pid) or '').endswith('sleep 1000'):
            os.kill(int(pid), 9)


def script(path, text):
    with open(path, 'w', encoding='ascii') as f:
        f.write('#!/bin/sh\n' + text)
    os.chmod(path, 0o755)
    return path


def machinery(hosts):
    """The cases against pair.run_case."""
    launcher = script('/run/launcher', LAUNCHER)
    fake = 'exec %s %s fake "$@"\n' % (sys.executable, os.path.abspath(__file__))
    programs = [script('/run/fake_bw', fake), script('/run/fake_lat', fake)]
    for words, victim, want, text in CASES:
        case = matrix.Case('memif', programs['lat' in words], words, None)
        # short where a hang is what must be seen
        pair.HANG = 8 if text == 'still runs' else 60
        ok = True
        try:
            line = pair.run_case(pair.Pair(launcher, hosts, case, []), victim)
        except starved.Failure as e:
            ok, line = False, str(e).partition('\n')[0]
        clean_up()
        yield ' '.join(words), ok == want and text in line, line


def option(case):
    """A case's arguments without those that every case has."""
    return ' '.join(a for a in case.args
                    if a not in ('-F', '-c', '-x', '-g', '1', '-n', '20', '100', '200', '-u', '17'))


class Plenty(starved.Watch):
    """Of a machine where nobody ever waits."""

    def starved(self):
        return False


def starvation():
    """Four that spin on one CPU wait for it, and their game is played again. Not so where nobody waited, nor a crash."""
    for watch, status, games in ((starved.Watch, 1, starved.AGAIN), (Plenty, 1, 1), (starved.Watch, -11, 1)):
        played = []

        def play(processes, played=played, status=status):
            played.append(True)
            processes += [Process(['taskset', '-c', '0', 'sh', '-c', 'while :; do :; done']) for _ in range(4)]
            time.sleep(1.5)
            for p in processes:
                p.kill()
            raise starved.ended('game', status)
        try:
            starved.fairly('4 spinners', play, watch)
            yield 'a game that fails', False, 'passed'
        except starved.Failure:
            yield '%s, status %d' % (watch.__name__, status), len(played) == games, '%d games' % len(played)


def pairs_are_covered():
    """The default matrix has every pair of program and option, and inline of either with the port."""
    full = {(c.program, option(c)) for c in matrix.long()}
    some = list(matrix.default())
    yield 'program and option', full == {(c.program, option(c)) for c in some}, ''
    inline = [c for c in some if not c.cores]
    for what in (lambda c: c.program, option):
        want = {(port, what(c)) for port in matrix.PORTS for c in inline}
        got = {(c.port, what(c)) for c in inline}
        yield 'port and its partner', want <= got, str(sorted(want - got))


def counting():
    """What test/report.py makes of a test's result and last line."""
    rows = [('OK', 'ok a\n3 passed, 0 failed', (3, 0, 0)), ('OK', 'quiet', (1, 0, 0)),
            ('OK', '2 passed, 0 failed, 4 skipped\n', (2, 0, 4)),
            ('OK', '2 passed, 1 failed', (2, 1, 0)), ('OK', '0 passed, 0 failed', (0, 1, 0)),
            ('FAIL', '3 passed, 0 failed', (3, 1, 0)), ('FAIL', '3 passed, 2 failed', (3, 2, 0)),
            ('TIMEOUT', '', (0, 1, 0)), ('SKIP', 'skipped: no root', (0, 0, 1))]
    for result, out, want in rows:
        numbers, wrong = report.count({'result': result, 'stdout': out})
        yield '%s %r' % (result, out), numbers == want and bool(wrong) == bool(want[1]), numbers
    total = [0, 0, 0]
    with contextlib.redirect_stdout(io.StringIO()):
        report.report('/run/absent', ['unit'], total)
    yield 'a tree where nothing ran', total[1] == 1, total


SUITE = '''test_a (tests.test_x.T.test_a) ... ok
test_b (tests.test_x.T.test_b)
What b is about. ... it prints this
ok
test_c (tests.test_x.T.test_c) ... skipped 'There is no "c"'
test_d (tests.test_x.T.test_d) ... FAIL
test_e (tests.test_x.T.test_e) ... ERROR
test_f (tests.test_x.T.test_f) ... %s
======================================================================
FAIL: test_d (tests.test_x.T.test_d)
----------------------------------------------------------------------
Traceback (most recent call last):
AssertionError: no d

======================================================================
ERROR: test_e (tests.test_x.T.test_e)
----------------------------------------------------------------------
Traceback (most recent call last):
OSError: no e

----------------------------------------------------------------------
Ran 6 tests in 0.1s
'''


def suite():
    """What rdma_core.py makes of what unittest prints, and of a table."""
    row = rdma_core.Row
    table = {'test_x.T.test_' + name: value for name, value in {
        'a': row('pass', '', ''), 'b': row('pass', '', ''), 'c': row('skip', 'There is no "c"', 'no c'),
        'd': row('error', 'AssertionError: no d', 'no d'), 'e': row('error', 'OSError: no e', 'no e'),
        'f': row('pass', '', '')}.items()}
    for change, text, want in (
            ({}, SUITE % 'ok', ['test_d: fail']),
            ({}, SUITE.split('===')[0] % '', ['test_d: fail', 'test_e: error', 'test_f: none']),
            ({'c': row('skip', 'There is no c', 'no c')}, SUITE % 'ok', ['There is no "c"', 'test_d']),
            ({'a': row('skip', 'no a', 'no a')}, SUITE % 'ok', ['test_a: pass', 'test_d']),
            ({'c': row('pass', '', '')}, SUITE % 'ok', ['test_c: skip', 'test_d']),
            ({'g': row('pass', '', '')}, SUITE % 'ok', ['test_d', 'test_g has a row']),
            ({'e': row('error', 'OSError: other', 'e')}, SUITE % 'ok', ['test_d', 'OSError: no e'])):
        changed = dict(table, **{'test_x.T.test_' + name: value for name, value in change.items()})
        got = list(rdma_core.judge(changed, rdma_core.outcomes(text), text))
        yield 'suite: %s' % want, len(got) == len(want) and all(w in g for w, g in zip(want, got)), got
    without = {name: value for name, value in table.items() if not name.endswith('a')}
    got = list(rdma_core.judge(without, rdma_core.outcomes(SUITE % 'ok'), SUITE))
    yield 'suite: no row', 'test_a has no row: pass' in got[0], got


def main():
    sandbox.enter()
    hosts = sandbox.two_hosts()
    passed = failed = 0
    for part in (machinery(hosts), starvation(), pairs_are_covered(), counting(), suite()):
        for what, ok, detail in part:
            passed, failed = passed + ok, failed + (not ok)
            print('%s %s%s' % ('ok  ' if ok else 'FAIL', what, '' if ok else ': %s' % (detail,)),
                  flush=True)
    print('%d passed, %d failed, 0 skipped' % (passed, failed))
    return 1 if failed else 0


if __name__ == '__main__':
    if sys.argv[1:2] == ['fake']:
        sys.exit(misbehave(sys.argv[2:]))
    sys.exit(main())
