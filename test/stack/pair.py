#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs unmodified verbs programs as client and server processes over Pollux.

    pair.py POLLUX-RUN pairs|kill [WORD]...

pairs: both programs end well; which ones run says TEST_MATRIX (quick, sanitize, default or long).
kill: one of them is killed, and the other must end with an error completion.

With WORDs only cases whose line contains all of them run. One line for each case; the last line is
the count.
"""
import os
import re
import sys
import tempfile
import time

import matrix
import sandbox
import starved
from process import Process
from starved import Failure, Wrong, ended

TCP_PORT = 18515
# Nothing here takes that long; it turns a hang into a failure.
HANG = 60
START = 60             # until data moves
# A drop-in that was built with a sanitizer needs the sanitizer's library in the program. What the
# programs themselves leak is not ours.
PRELOAD = ['env', 'LD_PRELOAD=' + os.environ['TEST_PRELOAD'], 'ASAN_OPTIONS=detect_leaks=0'] \
    if os.environ.get('TEST_PRELOAD') else []
ADDRESSES = ('10.11.0.1/24', '10.11.0.2/24')
# perftest: bytes, iterations, and then what it measured
FIGURES = re.compile(r'^ *\d+ +\d+ +[\d.]+')
PINGPONG = re.compile(r'= ([\d.]+) Mbit/sec\n.*= ([\d.]+) usec/iter')
# perftest found the CPU's clock too uneven to turn ticks into time: it moves all data, and every figure is 0.
NO_CLOCK = re.compile(r'^Correlation coefficient r\^2: \S+ < 0\.9', re.M)
INLINE = re.compile(r'^ Max inline data : (\d+)\[B\]', re.M)
RETRY_EXCEEDED = re.compile(r'status 12\b|\(12\)|transport retry counter exceeded', re.I)


class Pair:
    """A server and a client program, each under the launcher with its end of the port."""

    def __init__(self, launcher, hosts, case, processes):
        self.launcher = launcher
        self.hosts = hosts
        self.case = case
        self.dir = tempfile.mkdtemp(prefix='plx', dir='/run')
        self.processes = processes  # empty; those of the pair, for who watches them

    def port(self, n):
        if self.case.port == 'memif':
            return 'memif:%s/s,%s' % (self.dir, ('server', 'client')[n])
        if self.case.port == 'vhost':
            return '%s:%s/s' % (('vhost', 'virtio')[n], self.dir)
        if self.case.port == 'af_xdp':
            return 'af_xdp:' + self.hosts[n].page_iface
        return '%s:%s' % (self.case.port, self.hosts[n].iface)

    def command(self, n, extra):
        words = ['env', 'POLLUX_VENDOR_PART_ID=' + self.case.part] if self.case.part else []
        words += [self.launcher, '--port', self.port(n), '--ip', ADDRESSES[n]]
        if self.case.cores == 'dedicated':
            # one core for each end as far as there are two
            words += ['--cores', str(n % os.cpu_count())]
        elif self.case.cores == 'two cores':
            # both ends on the same two: that it works, not how fast
            words += ['--cores', '0,1']
        return self.hosts[n].command(*words, '--', *PRELOAD, self.case.program, *self.case.args,
                                     *extra)

    def start(self):
        """Server, then, when it listens, client."""
        server = Process(self.command(0, []))
        self.processes.append(server)
        if not server.listens(TCP_PORT, START):
            raise Failure('the server does not listen on TCP port %d' % TCP_PORT)
        client = Process(self.command(1, [self.hosts[0].address]))
        self.processes.append(client)
        return server, client

    def stop(self):
        for p in self.processes:
            p.kill()

    def remove_dir(self):
        """The directory goes when it is empty; what lies in it is left for leftovers()."""
        try:
            os.rmdir(self.dir)
        except OSError:
            pass

    def outputs(self):
        text = ''
        for who, p in zip(('server', 'client'), self.processes):
            text += '--- %s: %s\n%s' % (who, ' '.join(p.command), p.output())
        return text


def measured(program, output):
    """The last figure that the client printed; raises Failure when it measured nothing."""
    if program == 'ibv_xsrq_pingpong':      # this one has no figures
        if not re.search('^success$', output, re.M):
            raise Failure('the client did not succeed')
        return 'success'
    m = PINGPONG.search(output)
    if m:
        return '%s Mb/s, %s us an exchange' % m.groups()
    rows = [line.split() for line in output.splitlines() if FIGURES.match(line)]
    if not rows:
        raise Failure('the client printed no figures')
    row = rows[-1]
    # latency: t_min t_max t_typical, or t_avg rate with -D; bandwidth: peak, average, rate
    if program.endswith('_lat'):
        value = row[4 if len(row) > 5 else 2]
        text = '%s B: %s us' % (row[0], value)
    else:
        value = row[4]
        text = '%s B: %s MB/s, %s M/s' % (row[0], row[3], value)
    timed = float(value) > 0 or NO_CLOCK.search(output)
    if not timed or not int(row[1]):
        raise Failure('the client counted nothing')
    return text


def check_inline(case, output):
    """That perftest does what it was asked for: it turns inline data off for devices that it does not know."""
    if '-I' in case.args:
        want, got = case.args[case.args.index('-I') + 1], INLINE.search(output)
        if not got or got[1] != want:
            raise Failure('%s bytes may be inline, not %s' % (got and got[1], want))


def run_clean(pair):
    """Both programs end well."""
    server, client = pair.start()
    for who, p in (('client', client), ('server', server)):
        status = p.wait(HANG)
        if status is None:
            raise Failure('the %s still runs after %d s' % (who, HANG))
        if status:
            raise ended('the ' + who, status)
    check_inline(pair.case, client.output())
    return measured(pair.case.program, client.output())


def run_killed(pair, victim):
    """One end is killed while data moves; the other must end with an error completion."""
    server, client = pair.start()
    ends = {'server': server, 'client': client}
    other = ends['client' if victim == 'server' else 'server']
    for who, p in ends.items():
        # setting up takes some tenths of a second; what polls for longer moves data
        if not p.has_used(1.5, START) and p.wait(0) is None:
            raise Failure('the %s does not come to move data' % who)
    for who, p in ends.items():
        if p.wait(0) is not None:
            raise Failure('the %s ended before the kill' % who)
    ends[victim].kill()
    killed = time.monotonic()
    status = other.wait(HANG)
    if status is None:
        raise Failure('the other end still runs %d s after the kill' % HANG)
    if status == 0 or not RETRY_EXCEEDED.search(other.output()):
        raise Failure('the other end saw no error completion (status %d)' % status)
    return 'retries exceeded %.1f s after the kill' % (time.monotonic() - killed)


def kill_cases():
    """Programs that always have work outstanding at the end that survives: an RC end that waits to
    receive learns nothing of its peer's death, and ibv_rc_pingpong waits so a quarter of its time."""
    for port in matrix.PORTS:
        for victim in ('server', 'client'):
            for program in ('ib_read_bw', 'ib_write_bw'):
                endless = [program, '-F', '-x', str(matrix.GID), '-b', '-n', '50000000']
                yield matrix.case(port, endless), victim


def cases(which):
    if which == 'kill':
        for case, victim in kill_cases():
            yield case, victim
    else:
        for case in matrix.MATRICES[os.environ.get('TEST_MATRIX', 'quick')]():
            yield case, None


def name(case, victim):
    words = [case.port, case.program] + case.args
    words += [case.cores] if case.cores else []
    words += ['as part ' + case.part] if case.part else []
    words += ['kill -9 ' + victim] if victim else []
    return ' '.join(words)


def run_case(pair, victim):
    """What was measured."""
    before = sandbox.leftovers()
    try:
        text = run_killed(pair, victim) if victim else run_clean(pair)
        # a killed memif server cannot remove its socket
        if victim and os.path.exists(pair.dir + '/s'):
            os.unlink(pair.dir + '/s')
        left = sandbox.leftovers() - before
        if left:
            raise Wrong('left behind: ' + ', '.join(sorted(left)))
        return text
    except Failure as e:
        pair.stop()
        raise e.saw(pair.outputs()) from e
    finally:
        pair.stop()
        pair.remove_dir()


def main(launcher, which, words):
    sandbox.enter()
    hosts = sandbox.two_hosts()
    passed = failed = 0
    for case, victim in cases(which):
        line = name(case, victim)
        if not all(w in line for w in words):
            continue
        start = time.monotonic()
        ok = True
        try:
            text = starved.fairly(line, lambda processes, c=case, v=victim:
                                  run_case(Pair(launcher, hosts, c, processes), v))
        except Failure as e:
            ok, text = False, str(e)
        passed, failed = passed + ok, failed + (not ok)
        print('%s %s (%.1f s): %s' % ('ok  ' if ok else 'FAIL', line, time.monotonic() - start,
                                      text), flush=True)
    print('%d passed, %d failed, 0 skipped' % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main(os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:]))
