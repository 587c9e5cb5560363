#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Do the stack's counters say what the recorded frames show?

    counted.py POLLUX-RUN PLX-PERF

Pairs of processes over memif and af_packet, and one process on a loop, with a bad network on every
end, recorded and counted. The recordings are read by tshark; the ICRC is computed here, for tshark
does not check it.
"""
import collections
import os
import shutil
import subprocess
import sys
import tempfile
import zlib

import sandbox
from process import Process

TCP_PORT = 18533
HANG = 120
BAD = 'drop=0.01,dup=0.01,reorder=0.01:5,delay=20:10'
WORSE = BAD + ',corrupt=0.01'
# name, port, what happens to frames, what moves
CASES = (
    ('memif', BAD, ['--op', 'write', '--size', '4K', '--iters', '5000']),
    ('memif', WORSE, ['--op', 'send', '--verify', '--bytes', '4M', '--qps', '3', '--bidirectional']),
    ('memif', WORSE, ['--op', 'read', '--size', '64K', '--iters', '300', '--mtu', '1024']),
    ('memif', BAD, ['--op', 'fetch_add', '--iters', '2000']),
    ('af_packet', WORSE, ['--op', 'write', '--size', '4K', '--iters', '3000']),
    ('af_packet', BAD, ['--op', 'read', '--verify', '--bytes', '2M']),
    ('loop', WORSE, ['--op', 'send', '--size', '4K', '--iters', '3000', '--self']),
)
READ, ACK, ATOMICS = 0x0c, 0x11, (0x13, 0x14)
RESPONSES = (0x0d, 0x0e, 0x0f, 0x10, 0x12)
NAKS = {0x60: 'tx_nak_seq', 0x61: 'tx_nak_inv', 0x62: 'tx_nak_access', 0x63: 'tx_nak_op'}
FIELDS = ('frame.packet_flags_direction', 'frame.len', 'eth.type', 'ip.src', 'ipv6.src',
          'infiniband.bth.opcode', 'infiniband.bth.destqp', 'infiniband.bth.psn',
          'infiniband.aeth.syndrome', 'infiniband.reth.dmalen', 'infiniband.bth.a')
PSN_HALF, PSN_ALL = 1 << 23, 1 << 24
# Reasons for which a frame that the network changed is dropped, whichever bit it was.
CHANGED = ('short', 'l2', 'l3', 'fragment', 'length', 'tver', 'opcode', 'icrc', 'dst_gid', 'not_roce')

Frame = collections.namedtuple('Frame', 'out len op qpn psn syndrome dmalen')


def number(text):
    return int(text, 0) if text else None


def read_frames(path):
    """Frames as tshark understands them; op is None for what is not RoCE."""
    command = ['tshark', '-n', '-r', path, '--disable-protocol', 'rpcordma', '-T', 'fields',
               '-E', 'separator=;', '-E', 'occurrence=f']
    for field in FIELDS:
        command += ['-e', field]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for line in out.stdout.decode().splitlines():
        f = dict(zip(FIELDS, line.split(';')))
        yield Frame(number(f['frame.packet_flags_direction']) == 2, int(f['frame.len']),
                    number(f['infiniband.bth.opcode']), number(f['infiniband.bth.destqp']),
                    number(f['infiniband.bth.psn']), number(f['infiniband.aeth.syndrome']),
                    number(f['infiniband.reth.dmalen']))


def raw_frames(path):
    """(out, bytes) of each frame: the blocks of a pcapng file, read here."""
    with open(path, 'rb') as f:
        data = f.read()
    at = 0
    while at < len(data):
        kind, size = (int.from_bytes(data[at + i:at + i + 4], 'little') for i in (0, 4))
        if kind == 6:
            length = int.from_bytes(data[at + 20:at + 24], 'little')
            options = at + 28 + (length + 3) // 4 * 4
            assert data[options:options + 4] == b'\2\0\4\0'         # flags: the direction
            yield data[options + 4] & 3 == 2, data[at + 28:at + 28 + length]
        at += size


def icrc_ok(frame):
    """Whether the frame is RoCE and its ICRC says that nothing under it was changed."""
    if frame[12:14] == b'\x08\x00' and frame[14] == 0x45:
        end = 14 + int.from_bytes(frame[16:18], 'big')
        ip, udp = bytearray(frame[14:34]), 34
        for i in (1, 8, 10, 11):        # what routers may change
            ip[i] = 0xff
        is_udp = frame[23] == 17
    elif frame[12:14] == b'\x86\xdd':
        end = 54 + int.from_bytes(frame[18:20], 'big')
        ip, udp = bytearray(frame[14:54]), 54
        ip[0:4] = bytes([ip[0] | 0x0f, 0xff, 0xff, 0xff])
        ip[7] = 0xff
        is_udp = frame[20] == 17
    else:
        return False
    if not is_udp or frame[udp + 2:udp + 4] != b'\x12\xb7' or end > len(frame) or end < udp + 24:
        return False
    rest = bytearray(frame[udp:end - 4])
    rest[6:8] = b'\xff\xff'             # the UDP checksum
    rest[8 + 4] = 0xff                  # resv8a
    crc = zlib.crc32(b'\xff' * 8 + ip + rest)
    return crc == int.from_bytes(frame[end - 4:end], 'little')


class Judge:
    """Counts what a recording shows, and complains where the counters say otherwise."""

    def __init__(self, path, counters, pmtu):
        self.c = counters
        self.pmtu = pmtu
        self.wrong = []
        self.frames = list(read_frames(path))
        self.raw = list(raw_frames(path))

    def same(self, what, shown, counted):
        if shown != counted:
            self.wrong.append('%s: %d frames show it, %d are counted' % (what, shown, counted))

    def port(self):
        for out, frames, size in ((False, 'rx_frames', 'rx_bytes'), (True, 'tx_frames', 'tx_bytes')):
            lens = [f.len for f in self.frames if f.out == out]
            self.same(frames, len(lens), self.c[frames])
            self.same(size, sum(lens), self.c[size])
            self.same(frames + ' (by our own reader)', sum(o == out for o, _ in self.raw),
                      self.c[frames])
        self.same('recorded', len(self.frames),
                  self.c['recorded_received'] + self.c['recorded_sent'])
        self.same('recorded_missed', 0, self.c['recorded_missed'])

    def answers(self):
        """ACKs and NAKs that were sent."""
        sent = collections.Counter(f.syndrome for f in self.frames if f.out and f.op == ACK)
        self.same('tx_acks', sum(n for s, n in sent.items() if s < 0x20), self.c['tx_acks'])
        self.same('tx_nak_rnr', sum(n for s, n in sent.items() if 0x20 <= s < 0x40),
                  self.c['tx_nak_rnr'])
        for syndrome, name in NAKS.items():
            self.same(name, sent[syndrome], self.c[name])

    def psns_of(self, frame):
        if frame.op != READ:
            return 1
        return max(1, -(-frame.dmalen // self.pmtu))

    def requests(self):
        """Requests that were sent, and those of them whose PSN had been sent before."""
        expected, first, again = {}, 0, 0
        for f in self.frames:
            if not f.out or f.op is None or f.op == ACK or f.op in RESPONSES:
                continue
            ahead = (f.psn - expected.get(f.qpn, f.psn)) % PSN_ALL
            if ahead < PSN_HALF:
                first += 1
                expected[f.qpn] = (f.psn + self.psns_of(f)) % PSN_ALL
            else:
                again += 1
        self.same('tx_requests', first, self.c['tx_requests'])
        self.same('tx_retrans', again, self.c['tx_retrans'])

    def received(self):
        """Every received frame has one fate, and what was changed on its way is not believed."""
        c = self.c
        # a duplicate that cannot be answered is dropped as what it was, and is a duplicate
        drops = sum(n for name, n in c.items()
                    if name.startswith('drop_') and not name.startswith('drop_dup_'))
        fates = sum(c[n] for n in ('rx_requests', 'rx_duplicates', 'rx_acks', 'rx_acks_again',
                                   'rx_nak_seq', 'rx_nak_err', 'rx_nak_rnr', 'rx_responses',
                                   'rx_arp', 'rx_nd', 'rx_echo'))
        got = [raw for out, raw in self.raw if not out]
        self.same('fates of received frames', len(got), fates + drops)
        roce = sum(icrc_ok(raw) for raw in got)
        others = c['rx_arp'] + c['rx_nd'] + c['rx_echo']
        self.same('received frames of RoCE', roce,
                  len(got) - others - sum(c['drop_' + n] for n in CHANGED))

    def network(self):
        """What the bad network counted itself."""
        c = self.c
        if c['impair_received'] > 2000 and not c['impair_dropped']:
            self.wrong.append('the bad network lost nothing')
        shown = sum(not f.out for f in self.frames)
        waiting = c['impair_received'] - c['impair_dropped'] + c['impair_duplicated'] - shown
        if not 0 <= waiting <= 64:
            self.wrong.append('%d frames are still in the bad network' % waiting)

    def judge(self):
        self.port()
        self.answers()
        self.requests()
        self.received()
        self.network()
        return self.wrong


def read_counters(path):
    with open(path, encoding='ascii') as f:
        return {words[0]: int(words[1]) for words in (line.split() for line in f)}


def command(launcher, where, port, n, bad, program):
    return [launcher, '--port', port, '--ip', '10.11.0.%d/24' % n, '--impair',
            bad + ',seed=%d' % n, '--record', '%s/%d.pcapng' % (where, n), '--counters',
            '%s/%d.txt' % (where, n), '--', *program]


def start(launcher, perf, hosts, where, case):
    """The processes of a case, by their number."""
    port, bad, args = case
    if port == 'loop':
        return [Process(hosts[0].command(*command(launcher, where, port, 1, bad, [perf, *args])))]
    ports = ['memif:%s/s,%s' % (where, role) for role in ('server', 'client')] \
        if port == 'memif' else ['af_packet:' + h.iface for h in hosts]
    # beside a bad network nobody must give up because the peer waits for a CPU as well
    tcp = ['-p', str(TCP_PORT), '--timeout', '16']
    server = Process(hosts[0].command(*command(launcher, where, ports[0], 1, bad, [perf, *tcp])))
    if not server.listens(TCP_PORT, HANG):
        return [server]
    client = Process(hosts[1].command(*command(launcher, where, ports[1], 2, bad,
                                               [perf, *tcp, *args, hosts[0].address])))
    return [server, client]


def run(launcher, perf, hosts, case):
    """What was wrong, and what was compared."""
    where = tempfile.mkdtemp(prefix='plx', dir='/run')
    pmtu = 1024 if '1024' in case[2] else 4096
    processes = start(launcher, perf, hosts, where, case)
    wrong, frames = [], 0
    for p in reversed(processes):
        status = p.wait(HANG)
        p.kill()
        if status != 0:
            wrong.append('%s ended with %s:\n%s' % (p.command[-1], status, p.output()))
    if len(processes) != (1 if case[0] == 'loop' else 2):
        wrong.append('the server does not listen')
    for n in range(1, len(processes) + 1 if not wrong else 0):
        judge = Judge('%s/%d.pcapng' % (where, n), read_counters('%s/%d.txt' % (where, n)), pmtu)
        wrong += ['end %d: %s' % (n, line) for line in judge.judge()]
        frames += len(judge.frames)
    if os.environ.get('TEST_KEEP'):
        print('kept: ' + where)
    else:
        shutil.rmtree(where)
    return wrong, frames


def full_disk(launcher):
    """A file that cannot hold the counters is told of, in one line."""
    p = Process([launcher, '--counters', '/dev/full', '--', 'ibv_devices'])
    status = p.wait(HANG)
    lines = p.output().count('No space left on device')
    return ['status %s, %d lines: %s' % (status, lines, p.output())] if status or lines != 1 else []


def main(launcher, perf):
    if not shutil.which('tshark'):
        sandbox.skip('there is no tshark here')
    sandbox.enter()
    hosts = sandbox.two_hosts()
    passed = failed = 0
    for case in CASES:
        wrong, frames = run(launcher, perf, hosts, case)
        passed, failed = passed + (not wrong), failed + bool(wrong)
        print('%s %s %s: %d frames' % ('FAIL' if wrong else 'ok  ', case[0], ' '.join(case[2]), frames),
              flush=True)
        for line in wrong:
            print('     ' + line, flush=True)
    wrong = full_disk(launcher)
    passed, failed = passed + (not wrong), failed + bool(wrong)
    print('%s full disk %s' % ('FAIL' if wrong else 'ok  ', ' '.join(wrong)))
    print('%d passed, %d failed, 0 skipped' % (passed, failed))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(*map(os.path.abspath, sys.argv[1:3])))
