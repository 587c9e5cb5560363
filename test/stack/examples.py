#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Do the examples work, with each other and with rdma-core's programs of the same name?

    examples.py POLLUX-RUN EXAMPLE [WORD]...

The directory of EXAMPLE holds each program NAME, which has the inline path, and plain_NAME, built of the same source
against rdma-core's library. With WORDs only cases whose line contains all of them run.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import sandbox
import starved
from process import Process
from starved import Failure, Wrong, ended

TCP_PORT = 18515
HANG = 60
MEET = 4        # two ends of a memif find each other in some tenths of a second, on a busy machine later
ADDRESSES = ('10.11.0.1/24', '10.11.0.2/24')
ADDRESS_LINE = re.compile(r'^  (local|remote) address: +(LID 0x.*)$', re.M)
FIGURES = re.compile(r'^(\d+) bytes in .* = [\d.]+ Mbit/sec\n(\d+) iters in .* = [\d.]+ usec/iter$', re.M)
PRELOAD = ['env', 'LD_PRELOAD=' + os.environ['TEST_PRELOAD'], 'ASAN_OPTIONS=detect_leaks=0'] \
    if os.environ.get('TEST_PRELOAD') else []

# What each ping-pong is run with beside -n, and by which ends.
OPTIONS = {
    'rc_pingpong': (['-s', '9000', '-m', '4096'], ['-e', '-s', '1'], ['-g', '1', '-r', '10']),
    'uc_pingpong': (['-s', '9000', '-m', '4096'], ['-e', '-s', '1']),
    'ud_pingpong': ([], ['-s', '4096'], ['-e', '-s', '1']),
    'xsrq_pingpong': (['-s', '9000', '-m', '4096'], ['-e', '-s', '100']),
    'srq_pingpong': (['-s', '9000', '-m', '4096'], ['-e', '-s', '1', '-q', '3', '-r', '5']),
    'window': (['-s', '9000', '-m', '4096'], ['-s', '1']),
}
OURS_ALONE = ('window',)    # rdma-core has none of that name
ITERS = 100
# rdma-core's programs want to be told the GID; ours find it
THEIR_GID = ['-g', '1']


class Ours:
    name = 'ours'

    def __init__(self, where, prefix=''):
        self.where, self.prefix = where, prefix

    def command(self, program, args):
        return PRELOAD + [os.path.join(self.where, self.prefix + program)] + args


class Theirs:
    name = 'rdma-core'

    def command(self, program, args):
        return PRELOAD + ['ibv_' + program] + args + ([] if '-g' in args else THEIR_GID)


def games(where):
    """Server, client, program, options."""
    ours, plain, theirs = Ours(where), Ours(where, 'plain_'), Theirs()
    plain.name = 'plain'
    for program, options in OPTIONS.items():
        for args in options:
            for ends in ((ours, ours),) if program in OURS_ALONE else ((ours, ours), (ours, theirs), (theirs, ours)):
                yield ends, program, args
        if os.path.exists(os.path.join(where, 'plain_' + program)):
            yield (plain, plain), program, options[0]


def started(launcher, end, port, program, args, n):
    words = [launcher, '--port', port + ('server', 'client')[n], '--ip', ADDRESSES[n], '--']
    return Process(words + end.command(program, args))


def check_output(server, client, program, args):
    """Each saw the other's address (the commas are ibv_ud_pingpong's own), and both counted what was asked for."""
    if 'success' in server.output() and 'success' in client.output():
        return  # the programs for XRC count nothing, nor does window
    said = [dict((who, re.sub(r'[\s,:]+', ' ', what)) for who, what in ADDRESS_LINE.findall(p.output()))
            for p in (server, client)]
    if not all(len(s) == 2 for s in said):
        raise Wrong('they did not say both addresses')
    if said[0]['local'] != said[1]['remote'] or said[0]['remote'] != said[1]['local']:
        raise Wrong('they did not see the same addresses')
    size = int(args[args.index('-s') + 1]) if '-s' in args else 1024 if program == 'ud_pingpong' else 4096
    for p in (server, client):
        m = FIGURES.search(p.output())
        if not m or int(m[1]) != size * int(m[2]) * 2 or int(m[2]) % ITERS:
            raise Wrong('it counted something else')


def play_once(launcher, where, ends, program, args, processes):
    port = 'memif:%s/s,' % where
    args = args + ['-n', str(ITERS)] + ([] if program == 'xsrq_pingpong' else ['-c'])
    processes.append(started(launcher, ends[0], port, program, args, 0))
    try:
        if not processes[0].listens(TCP_PORT, HANG):
            raise Failure('the server does not listen')
        processes.append(started(launcher, ends[1], port, program, args + ['127.0.0.1'], 1))
        for who, p in zip(('client', 'server'), reversed(processes)):
            status = p.wait(HANG)
            if status is None:
                raise Failure('the %s still runs after %d s' % (who, HANG))
            if 'invalid data' in p.output():
                raise Wrong('the %s received invalid data' % who)
            if status:
                raise ended('the ' + who, status)
        check_output(*processes, program, args)
    except Failure as e:
        raise e.saw(''.join('--- %s\n%s' % (' '.join(p.command), p.output()) for p in processes)) from e
    finally:
        for p in processes:
            p.kill()
        if os.path.exists(where + '/s'):
            os.unlink(where + '/s')


def run(command):
    return subprocess.run(command, capture_output=True, text=True, timeout=HANG, check=False)


def same_words(launcher, where):
    """device_list and devinfo say what rdma-core's programs say."""
    words = [launcher, '--mac', '02:00:00:00:00:01', '--ip', ADDRESSES[0], '--']
    for ours, theirs in (('device_list', 'ibv_devices'), ('devinfo', 'ibv_devinfo'),
                         ('devinfo -l', 'ibv_devinfo -l'), ('devinfo -v', 'ibv_devinfo -v')):
        for prefix in ('', 'plain_'):
            name, *args = (prefix + ours).split()
            if not os.path.exists(os.path.join(where, name)):
                continue
            a = run(words + PRELOAD + [os.path.join(where, name)] + args)
            b = run(words + PRELOAD + theirs.split())
            if '-v' not in args and a.stdout != b.stdout or a.returncode or not a.stdout:
                raise Failure('%s%s: %s%s, not %s' % (prefix, ours, a.stdout, a.stderr, b.stdout))
            strange = set(a.stdout.splitlines()) - set(b.stdout.splitlines())
            strange = [s for s in strange if not s.startswith('\tmax_srq')]
            if strange:
                raise Failure('%s%s says %s' % (prefix, ours, strange))


def programs(where):
    return sorted(n for n in os.listdir(where) if os.access(os.path.join(where, n), os.X_OK) and
                  os.path.isfile(os.path.join(where, n)))


def helps(_, where):
    """Every program prints its usage for -h and --help, and refuses what it does not know."""
    for name in programs(where):
        for word, status, stream in (('-h', 0, 'stdout'), ('--help', 0, 'stdout'),
                                     ('--no-such', 1, 'stderr')):
            r = run(PRELOAD + [os.path.join(where, name), word])
            if r.returncode != status or 'Usage:' not in getattr(r, stream):
                raise Failure('%s %s: status %d\n%s%s' % (name, word, r.returncode, r.stdout, r.stderr))


def no_device(_, where):
    """Without Pollux in front and without hardware, rdma-core's library finds no device."""
    for name in programs(where):
        if not name.startswith('plain_'):
            continue
        r = run(PRELOAD + [os.path.join(where, name)])
        if r.returncode == 0 or 'devices' not in r.stderr:
            raise Failure('%s: status %d\n%s%s' % (name, r.returncode, r.stdout, r.stderr))


def empty_gid(launcher, where):
    """A ping-pong that is told a GID that is none says so, and does not wait for a peer."""
    for name in programs(where):
        if not name.endswith('pingpong'):
            continue
        r = run([launcher, '--'] + PRELOAD + [os.path.join(where, name), '-g', '7'])
        if r.returncode != 1 or 'GID index 7 is empty' not in r.stderr:
            raise Failure('%s: status %d\n%s%s' % (name, r.returncode, r.stdout, r.stderr))


def watches(launcher, where):
    """asyncwatch tells of a link that goes and comes back."""
    for name in ('asyncwatch', 'plain_asyncwatch'):
        if not os.path.exists(os.path.join(where, name)):
            continue
        one, two = ['--port', 'memif:/run/w,server'], ['--port', 'memif:/run/w,client']
        watch = Process([launcher] + one + ['--'] + PRELOAD + [os.path.join(where, name)])
        try:
            if not says(watch, 'async event FD'):
                raise Failure('%s does not begin: %s' % (name, watch.output()))
            peer = Process([launcher] + two + ['--'] + PRELOAD + [os.path.join(where, 'rc_pingpong')])
            listens = peer.listens(TCP_PORT, HANG)
            time.sleep(MEET)
            peer.kill()
            if not listens or not says(watch, 'EVENT_PORT_ERR'):
                raise Failure('%s: %s%s' % (name, watch.output(), peer.output()))
        finally:
            watch.kill()
            os.unlink('/run/w')


def says(process, words):
    end = process.started + HANG
    while words not in process.output():
        if process.wait(0.05) is not None or time.monotonic() > end:
            return False
    return True


def cases(launcher, where, directory):
    for check in (same_words, helps, no_device, empty_gid, watches):
        yield check.__name__, lambda check=check: check(launcher, where)
    for ends, program, args in games(where):
        line = '%s %s: %s serves %s' % (program, ' '.join(args), ends[0].name, ends[1].name)
        yield line, lambda t=line, g=(ends, program, args): starved.fairly(
            t, lambda processes: play_once(launcher, directory, *g, processes))


def run_cases(all_cases, words):
    """Those whose line contains all WORDs. Exit status."""
    before = sandbox.leftovers()
    passed = failed = 0
    for line, case in all_cases:
        if not all(w in line for w in words):
            continue
        try:
            case()
            passed += 1
            print('ok   ' + line, flush=True)
        except Failure as e:
            failed += 1
            print('FAIL %s: %s' % (line, e), flush=True)
    left = sandbox.leftovers() - before
    if left:
        failed += 1
        print('FAIL left behind: ' + ', '.join(sorted(left)))
    print('%d passed, %d failed, 0 skipped' % (passed, failed))
    return 1 if failed or not passed else 0


def main(launcher, where, words):
    sandbox.enter()
    directory = tempfile.mkdtemp(dir='/run')
    status = run_cases(cases(launcher, where, directory), words)
    shutil.rmtree(directory)
    return status


if __name__ == '__main__':
    sys.exit(main(os.path.abspath(sys.argv[1]), os.path.dirname(os.path.abspath(sys.argv[2])), sys.argv[3:]))
