#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pollux against Linux Soft-RoCE: unmodified programs, one end over Pollux, the other in a virtual
machine over the kernel's rdma_rxe (rig.py).

    soft_roce.py POLLUX-RUN TOOLS DIRECTORY [WORD]...

Each program with Pollux as client and as server, over IPv4 and IPv6, with a path MTU of 1024 and of
4096: every two of these once, or with TEST_MATRIX=long all of them. TOOLS is the directory of our own
programs: peer.c looks at the bytes, and at what each end says to faults of the other, group.c at
multicast, window.c at memory windows. The image of the machine is kept in DIRECTORY. With WORDs only
cases whose line contains all of them run. One line for each case; the last line is the count. The
machine is emulated, so that an exchange takes milliseconds, and the figures that are printed are its,
not ours.
"""
import collections
import ipaddress
import itertools
import os
import re
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'stack'))

import image
import rig
import sandbox
import starved
from pair import measured
from process import Process
from starved import Failure, ended

TCP_PORT = 18515
HANG = 40               # seconds for a program, of which it needs one to three
BUDGET = 600            # seconds for all cases: what is left then fails
LONG_BUDGET = 2400
MTUS = {1024: 1500, 4096: 9000}         # path MTU, IP MTU of both ends

TOOLS = ('peer', 'group', 'window', 'joined')
GROUP = {4: '239.1.2.3', 6: 'ff15::77:1'}

Case = collections.namedtuple('Case', 'program args role family mtu status')

# 2^18 * 4.096 us is a second: an emulated machine is no lost packet.
PATIENCE = ['-u', '18']
# READs and atomics on their way: rxe would have 128, more than the other end takes.
DEPTH = ['-o', '16']
SIZES = {'bw': (65536,), 'lat': (3001,)}
ALL_SIZES = (1, 4096, 4097, 1 << 20)


def programs(few):
    yield ['ibv_rc_pingpong', '-c'] + (['-s', '20000', '-n', '24'] if few else ['-n', '200'])
    for op in ('send', 'write', 'read'):
        for kind in ('bw', 'lat'):
            for size in SIZES[kind] if few else ALL_SIZES:
                yield ['ib_%s_%s' % (op, kind), '-F', '-s', str(size), '-n', '24'] + PATIENCE + \
                    (DEPTH if op == 'read' else [])
    for kind in ('bw', 'lat'):
        for atomic in ('FETCH_AND_ADD', 'CMP_AND_SWAP'):
            yield ['ib_atomic_' + kind, '-F', '-n', '24', '-A', atomic] + PATIENCE + DEPTH


# What the other end's queues cannot take is lost, and who receives waits for all of it: little at a time. A
# datagram fits in a packet of the smaller path MTU.
SERVICES = (
    (['-c', 'UC', '-s', '3001'], ('send', 'write')),
    (['-c', 'UD', '-s', '1000'], ('send',)),
    (['--use-srq', '-s', '3001'] + PATIENCE, ('send',)),
)


def services():
    yield ['ibv_uc_pingpong', '-c', '-s', '20000', '-n', '24']
    yield ['ibv_ud_pingpong', '-c', '-s', '1000', '-n', '24']
    yield ['ibv_srq_pingpong', '-c', '-s', '20000', '-n', '8', '-q', '4']
    for words, ops in SERVICES:
        for op in ops:
            for kind in ('bw', 'lat'):
                yield ['ib_%s_%s' % (op, kind), '-F', '-n', '24'] + words


# Operation, fault, and the status that the client must see: from Pollux, and from rxe (N15).
FAULTS = (
    ('write', 'key', 10, 10), ('read', 'range', 10, 10), ('faa', 'key', 10, 10),
    ('write', 'rights', 10, 10), ('write', 'qp', 9, 9), ('read', 'qp', 9, 9),
    ('send', 'short', 9, 11), ('send', 'norecv', 13, 13), ('write_imm', 'norecv', 13, 13),
    ('send', 'late', 0, 0))


def checked(whole):
    """Words of peer.c: operation, bytes, messages, fault, and what the client must see."""
    for op in ('send', 'send_imm', 'write', 'write_imm', 'read', 'cas', 'faa'):
        for size in (8,) if op in ('cas', 'faa') else (0, 1, 4097, 20003) if whole else (20003,):
            yield op, size, 'none', (0, 0)
    for op, fault, ours, theirs in FAULTS:
        yield op, 8 if op == 'faa' else 2000, fault, (ours, theirs)


# Type of the window, how it ends, and the status of the access after that: by Pollux, and by rxe, which looks
# only whether the region holds the range.
WINDOWS = (
    (1, 'none', 0, 0), (2, 'none', 0, 0), (1, 'rebind', 10, 10), (2, 'send_inv', 10, 10),
    (2, 'local_inv', 10, 10), (1, 'dealloc', 10, 10), (2, 'dealloc', 10, 10), (1, 'range', 10, 0),
    (2, 'range', 10, 0), (2, 'rights', 10, 10))


def cases():
    """By MTU, for setting it takes a moment."""
    whole = os.environ.get('TEST_MATRIX') == 'long'
    for mtu in MTUS:
        for n, role in enumerate(('client', 'server')):
            for family in (4, 6):
                # of three choices of two, these four combinations hold every two once
                if whole or (mtu == 4096) ^ (family == 6) ^ n:
                    for words in itertools.chain(programs(not whole), services(), multicast(family, mtu)):
                        yield Case(words[0], words[1:], role, family, mtu, None)
                    for op, size, fault, seen in checked(whole):
                        yield Case('peer', [op, str(size), '8', str(mtu), str(rig.GID[family]), fault],
                                   role, family, mtu, seen[role == 'client'])
                    for kind, end, *seen in WINDOWS:
                        yield Case('window', [str(kind), end, str(mtu), str(rig.GID[family])],
                                   role, family, mtu, seen[role == 'client'])


def multicast(family, mtu):
    """perftest sends one way, `group` both ways and whole packets."""
    group = ipaddress.ip_address(GROUP[family])
    mgid = group.packed if family == 6 else bytes(10) + b'\xff\xff' + group.packed
    yield ['ib_send_bw', '-F', '-n', '24', '-c', 'UD', '-s', '1000', '-g', '-M', ':'.join(map(str, mgid))]
    yield ['group', GROUP[family], str(mtu), '8', str(rig.GID[family])]


def name(case):
    return 'as %s IPv%d MTU %d: %s' % (case.role, case.family, case.mtu,
                                       ' '.join([case.program] + case.args))


def command(case, mine):
    """The program with its port and device; as client, with the other end's address."""
    host = [rig.PEER[4] if mine else rig.HOST] if (case.role == 'client') == mine else []
    # Soft-RoCE hears those groups that the machine has joined besides
    member = ['joined', GROUP[case.family], 'eth0', '--'] if in_group(case) and not mine else []
    if case.program in TOOLS:
        program = os.path.join(os.environ['RIG_TOOLS'], case.program) if mine else case.program
        return member + [program] + case.args + host
    perftest = case.program.startswith('ib_')
    words = [case.program, '-x' if perftest else '-g', str(rig.GID[case.family])] + case.args
    if case.program != 'ibv_ud_pingpong':
        words += ['-m', str(case.mtu)]
    if not mine and not perftest:
        # the machine has one CPU, and a program that polls leaves less of it for rxe
        words.append('-e')
    return member + words + host


def in_group(case):
    return case.program == 'group' or '-g' in case.args


def ours(launcher, case):
    ips = [word for address in rig.OURS for word in ('--ip', address)]
    return Process([launcher, '--port', 'af_packet:' + rig.IFACE] + ips + ['--'] +
                   command(case, True))


def said(case, output):
    """What the client measured, or which status it saw; raises Failure when it is another."""
    if case.program == 'group':
        return output.strip()
    if case.program not in ('peer', 'window'):
        return measured(case.program, output)
    seen = re.search(r'^status (\d+)$', output, re.M)
    if not seen or int(seen.group(1)) != case.status:
        raise Failure('the client did not see status %d' % case.status)
    return seen.group(0)


def run_ends(makers, judge):
    """Starts the server and then the client; both must end well. What the judge says of the client's output."""
    ends = []
    try:
        ends.append(makers[0]())
        if not ends[0].listens(TCP_PORT, HANG):
            raise Failure('the server does not listen on TCP port %d' % TCP_PORT)
        ends.append(makers[1]())
        for who, p in (('client', ends[1]), ('server', ends[0])):
            status = p.wait(HANG)
            if status is None:
                raise Failure('the %s still runs after %d s' % (who, HANG))
            if status:
                raise ended('the ' + who, status)
        return judge(ends[1].output())
    except Failure as e:
        for p in ends:
            p.kill()
        raise e.saw('\n'.join('--- %s: %s\n%s' % (who, ' '.join(p.command), p.output())
                              for who, p in zip(('server', 'client'), ends))) from e
    finally:
        for p in ends:
            p.kill()


def kept(maker, processes):
    """As the maker; what it makes here and not in the machine is put into the list."""
    def make():
        end = maker()
        if isinstance(end, Process):
            processes.append(end)
        return end
    return make


def run_fairly(machine, title, makers, judge):
    """As run_ends; watched are QEMU and the end here. (Whether it passed, what the judge says or what is wrong)."""
    def play(processes):
        processes.append(machine.qemu)
        return run_ends([kept(m, processes) for m in makers], judge)
    try:
        return True, starved.fairly(title, play)
    except Failure as e:
        return False, str(e)


def run_case(launcher, machine, case):
    makers = [lambda: rig.Guest(machine, command(case, False), HANG), lambda: ours(launcher, case)]
    if case.role == 'server':
        makers.reverse()
    return run_fairly(machine, name(case), makers, lambda output: said(case, output))


def acquaint(launcher, machine):
    """The machine asks for Pollux's addresses until they are answered. rxe gives up after a second, however
    slow a machine is that runs for the first time what asks and answers."""
    host = ours(launcher, Case('peer', ['send', '8', '1', '1024', '1', 'none'], 'server', 4, 1024, 0))
    try:
        if not host.listens(TCP_PORT, HANG):
            raise rig.Broken('Pollux does not start:\n' + host.output())
        for ping, address in zip(('ping', 'ping6'), rig.OURS):
            machine.do('until %s -c 1 -w 1 %s; do :; done' % (ping, address.split('/')[0]), HANG)
    finally:
        host.kill()


def run_all(launcher, machine, words):
    end = time.monotonic() + (LONG_BUDGET if os.environ.get('TEST_MATRIX') == 'long' else BUDGET)
    passed = failed = 0
    mtu = None
    for case in cases():
        if not all(w in name(case) for w in words):
            continue
        start = time.monotonic()
        if start > end:
            ok, text = False, 'no time left'
        else:
            if mtu != case.mtu:
                mtu = case.mtu
                machine.set_mtu(MTUS[mtu])
            ok, text = run_case(launcher, machine, case)
        passed, failed = passed + ok, failed + (not ok)
        print('%s %s (%.1f s): %s' % ('ok  ' if ok else 'FAIL', name(case),
                                      time.monotonic() - start, text), flush=True)
    print('%d passed, %d failed, 0 skipped' % (passed, failed))
    return 1 if failed or not passed else 0


def main(launcher, tools, place, words):
    if not os.environ.get(sandbox.INSIDE):
        # outside, where there is a network
        try:
            rig.check()
            os.environ['RIG_TOOLS'] = tools
            os.environ['RIG_IMAGE'] = ' '.join(image.build(
                place, os.path.join(HERE, 'guest'), [os.path.join(tools, t) for t in TOOLS]))
        except (image.Unavailable, rig.Unavailable) as e:
            sandbox.skip(str(e))
    sandbox.enter()
    start = time.monotonic()
    machine = rig.Machine(*os.environ['RIG_IMAGE'].split(' '), place)
    print('the machine is up after %.1f s: %s' % (time.monotonic() - start,
                                                  machine.do('uname -r').strip()), flush=True)
    try:
        acquaint(launcher, machine)
        return run_all(launcher, machine, words)
    finally:
        machine.stop()


if __name__ == '__main__':
    sys.exit(main(*map(os.path.abspath, sys.argv[1:4]), sys.argv[4:]))
