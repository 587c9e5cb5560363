#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Replays captures of Linux Soft-RoCE to the transport (replay_host.c), once in the place of the
responder and once of the requester, and compares what it says with what Soft-RoCE said.

    replay.py REPLAY-HOST [WORD]...

As responder: the QP has the numbers of the capture's and gets its requests as they stand (but for the
R_Key, in whose place our region's is put); its answers must be those of the capture, when ACKs that a
later answer implies are left out. As requester: it is given the work that the requests tell of, must
send those requests, and the capture's answers must complete the work. How Soft-RoCE differs on
purpose (N1 to N17 of the catalogue) stands in `expected` and `key`. Datagrams: replay_ud.py.

The captures lie in $POLLUX_PCAPS, or in ../shared/pcaps beside the repository; without them the test
is skipped. One line for each capture and place; the last line is the count.
"""
import copy
import glob
import os
import sys

import capture
import replay_ud
from capture import ACK, ATOMIC, ATOMIC_ACK, FIRST, IMM, LAST, PSNS, READ, READ_RESP, SEND, WRITE, behind
from driven import Differs, Host

SKIP = 77
LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC = 1, 2, 4, 8
ALL = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC
SEQ, RNR, REM_INV, REM_ACCESS, REM_OP = 0x60, 0x20, 0x61, 0x62, 0x63
STATUS = {REM_INV: 9, REM_ACCESS: 10, REM_OP: 11}
RNR_RETRY_EXC = 13
OPCODE = {0: 2, 4: 2, 5: 3, 6: 0, 10: 0, 11: 1, 12: 4, 19: 5, 20: 6}    # enum ibv_wr_opcode
SECOND = 1000000000

# What a capture's responder had that its packets do not tell.
NO_KEY = ('err_rkey_write', 'err_rkey_read', 'err_rkey_atomic')
OUT_OF_BOUNDS = ('err_bounds_write',)
NO_RIGHT = ('err_perm_write',)
NO_QP_RIGHT = ('err_qp_noaccess',)
SMALL_RECEIVE = ('err_recv_too_small',)
# The network lost answers before they were captured.
LOST_ANSWERS = ('lost_acks', 'lost_read_resp')
GSI_QPN = 1
TYPE = {capture.RC: 2, capture.UC: 3}           # enum ibv_qp_type


def requests(flow):
    return [p for request, p in flow.events if request]


def answers(flow):
    return [p for request, p in flow.events if not request]


def payload(message):
    return b''.join(p.payload for p in message)


def start_qp(host, name, flow, rq_psn, sq_psn, ours):
    """ours: whether the host takes the place of the QP that gets the requests."""
    ends = [(flow.qpn, flow.gid), (flow.peer, flow.peer_gid)]
    (qpn, gid), (peer, peer_gid) = ends if ours else reversed(ends)
    rights = 0 if ours and name in NO_QP_RIGHT else ALL
    rnr = sum(p.syndrome == RNR | 12 for p in answers(flow))
    retries = max(0, rnr - 1) if name == 'err_rnr_exhaust' else 7
    host.do('qp', qpn, peer, rq_psn, sq_psn, flow.mtu, rights, retries, TYPE[flow.service], gid.hex(),
            peer_gid.hex())


# ---- as responder

def kind(p):
    if p.op in READ_RESP:
        return 'read'
    if p.op == ATOMIC_ACK:
        return 'atomic'
    return ('ack', 'rnr', 'reserved', 'nak')[p.syndrome >> 5 & 3]


def key(p):
    """What of an answer must agree. A READ's responses have an AETH or none, as they are cut (N17);
    the last one has it always."""
    if kind(p) == 'read':
        return 'read', p.psn, p.payload, p.msn if p.op in (15, 16) else None
    return kind(p), p.psn, p.syndrome, p.msn, p.orig


def expected(name, flow):
    """The capture's answers, but for what Soft-RoCE does and Pollux does not."""
    found = []
    rnr = None
    for p in answers(flow):
        if kind(p) == 'rnr':
            rnr = p.psn
        elif p.syndrome == SEQ and p.psn == rnr:
            continue            # N16
        elif kind(p) != 'read' and p.syndrome == REM_OP and name in SMALL_RECEIVE:
            p = copy.copy(p)
            p.syndrome = REM_INV        # N15
        else:
            rnr = None
        found.append(p)
    return found


def merged(found):
    """Without the ACKs that another answer implies, and those that are said again (N4)."""
    kept, top = [], None
    for p in found:
        if kind(p) == 'ack' and top is not None and not behind(p.psn, top):
            continue
        if kind(p) in ('ack', 'read', 'atomic') and (top is None or behind(p.psn, top)):
            top = p.psn
        kept.append(p)
    return [p for i, p in enumerate(kept)
            if kind(p) != 'ack' or not any(behind(later.psn, p.psn) for later in kept[i + 1:])]


def in_order(part, whole):
    rest = iter(whole)
    return all(any(p == w for w in rest) for p in part)


class Responder:
    """A host that gets the requests of a flow."""

    def __init__(self, host, name, flow):
        self.host, self.name, self.flow = host, name, flow
        self.said = []
        self.receives = []              # message for each
        self.written = {}               # address: bytes, by WRITEs
        first = answers(flow)[:1]
        # whose first packet is ahead says so in its first answer
        self.psn = first[0].psn if first and first[0].syndrome == SEQ else requests(flow)[0].psn
        start_qp(host, name, flow, self.psn, 0x123456, True)
        self.rnr = [p.psn for p in answers(flow) if kind(p) == 'rnr']
        self.fatal = any(p.syndrome in STATUS for p in answers(flow) if kind(p) == 'nak')
        self.keys = self.regions()
        self.atomics = set()

    def regions(self):
        keys = {}
        if self.name in NO_KEY:
            return keys
        for k in {p.key for p in requests(self.flow) if p.key is not None}:
            spans = [(p.va, p.va + p.length) for p in requests(self.flow) if p.key == k]
            low, high = min(s[0] for s in spans), max(s[1] for s in spans)
            if self.name in OUT_OF_BOUNDS:
                low, high = low - 4096, low
            rights = LOCAL_WRITE if self.name in NO_RIGHT else ALL
            keys[k] = int(self.host.do('mr', low, max(1, high - low), rights), 16)
        return keys

    def prepare_memory(self, p):
        """What a READ or the first atomic found there."""
        if p.op in ATOMIC and p.va not in self.atomics and not self.fatal:
            orig = [a.orig for a in answers(self.flow) if a.op == ATOMIC_ACK and a.psn == p.psn]
            self.host.do('fill', p.va, orig[0].to_bytes(8, 'little').hex())
            self.atomics.add(p.va)
        if p.op in READ:
            for a in answers(self.flow):
                at = (a.psn - p.psn) % PSNS * self.flow.mtu
                if a.op in READ_RESP and at < p.length:
                    self.host.do('fill', p.va + at, a.payload.hex())

    def prepare_receive(self, p, message):
        """A receive for a SEND that begins or an immediate that comes, when the capture had one."""
        if not (p.op in SEND & FIRST or p.op in WRITE & IMM):
            return True
        if p.psn in self.rnr:
            self.rnr.remove(p.psn)
            return False
        size = len(payload(message)) if p.op in SEND else 0
        if self.name in SMALL_RECEIVE:
            size //= 2
        if len(self.receives) % 256 == 255:
            raise Differs('more receives than there is room')
        self.host.do('recv', len(self.receives), len(self.receives) % 64 * 8192, size)
        self.receives.append(message)
        return True

    def hand(self, p, message_of):
        message = message_of.get(p.psn)
        if p.psn == self.psn and message and self.prepare_receive(p, message):
            self.psn += max(1, -(-p.length // self.flow.mtu)) if p.op in READ else 1
            self.psn %= PSNS
            if p.op in WRITE & LAST and not self.fatal:
                self.written[message[0].va] = payload(message)
        if not self.fatal or p.op not in READ:
            self.prepare_memory(p)
        self.host.do('frame', (p.with_key(self.keys[p.key]) if p.key in self.keys else p.frame).hex())
        self.said += self.host.take_frames()

    def check_answers(self):
        theirs, ours = expected(self.name, self.flow), self.said
        if self.name in LOST_ANSWERS:
            if not in_order([key(p) for p in theirs], [key(p) for p in ours]):
                raise Differs(side_by_side(theirs, ours))
            return
        if [key(p) for p in merged(theirs)] != [key(p) for p in merged(ours)]:
            raise Differs(side_by_side(merged(theirs), merged(ours)))
        msn = {p.psn: p.msn for p in theirs if kind(p) == 'ack'}
        for p in ours:
            if kind(p) == 'ack' and msn.get(p.psn, p.msn) != p.msn:
                raise Differs('another MSN than Soft-RoCE\'s in ' + str(p))

    def check_memory(self):
        done = [c for c in self.host.completions if c[0] == 'recv']
        if not self.fatal and len(done) != len(self.receives):
            raise Differs('%d receives completed, not %d' % (len(done), len(self.receives)))
        for n, (_, wr, status, size, *_) in enumerate(done):
            data = payload(self.receives[wr])
            if self.fatal:
                continue
            if wr != n or status or size != len(data):
                raise Differs('receive %d completed with status %d, %d bytes' % (wr, status, size))
            if self.receives[wr][0].op in SEND and wr >= len(self.receives) - 64 and size and \
                    self.host.do('mem', wr % 64 * 8192, size) != data.hex():
                raise Differs('receive %d has other bytes' % wr)
        for va, data in self.written.items():
            if data and self.host.do('mem', va, len(data)) != data.hex():
                raise Differs('a WRITE left other bytes')

    def run(self):
        found, _ = capture.messages(self.flow)
        message_of = {p.psn: m for m in found for p in m}
        for p in requests(self.flow):
            self.hand(p, message_of)
        self.check_answers()
        self.check_memory()
        return '%d requests, %d answers of ours, %d of theirs' % (
            len(requests(self.flow)), len(self.said), len(answers(self.flow)))


def side_by_side(theirs, ours):
    rows = []
    for n in range(max(len(theirs), len(ours))):
        a, b = (str(s[n]) if n < len(s) else '-' for s in (theirs, ours))
        rows.append('%s %-58s | %s' % (' ' if a == b else '*', a, b))
    return 'Soft-RoCE | Pollux\n' + '\n'.join(rows)


# ---- as requester

def sent_alike(p, ours):
    """AckReq is the sender's choice (B5); MigReq is N2."""
    return all(getattr(p, what) == getattr(ours, what) for what in (
        'opcode', 'psn', 'dqpn', 'solicited', 'va', 'key', 'length', 'imm', 'swap_add', 'compare', 'payload'))


class Requester:
    """A host that does the work that the requests of a flow tell of."""

    def __init__(self, host, name, flow):
        self.host, self.name, self.flow = host, name, flow
        start_qp(host, name, flow, 0x123456, requests(flow)[0].psn, False)
        self.messages, self.again = capture.messages(flow)

    def post(self, n, message):
        p = message[0]
        data = payload(message)
        size = p.length if p.op in READ | ATOMIC else len(data)
        if data:
            self.host.do('fill', n % 64 * 8192, data.hex())
        swap, other = (p.swap_add, p.compare) if p.op == 19 else (0, p.swap_add or 0)
        opcode = OPCODE[p.op] + (len(message) > 1 and message[-1].op in IMM)
        self.host.do('post', n, opcode, n % 64 * 8192, size, p.va or 0, p.key or 0,
                     message[-1].imm or 0, swap or 0, other)

    def expect(self, p):
        if not self.host.frames:
            self.host.do('wait', SECOND)
        ours = self.host.frames.pop(0) if self.host.frames else None
        if not ours or not sent_alike(p, ours):
            raise Differs('Soft-RoCE sent %s\nPollux sent    %s' % (p, ours))

    def check_completions(self):
        want = [('send', n, 0) for n in range(len(self.messages))]
        last = (answers(self.flow) or [None])[-1]
        if last and kind(last) in ('nak', 'rnr'):
            status = STATUS[last.syndrome] if kind(last) == 'nak' else RNR_RETRY_EXC
            want = [('send', n, status if not n else 5) for n in range(len(self.messages))]
        have = [c[:3] for c in self.host.completions]
        if have != want:
            raise Differs('completions %s, not %s' % (have, want))
        for n, message in enumerate(self.messages[-64:], max(0, len(self.messages) - 64)):
            self.check_result(n, message)

    def check_result(self, n, message):
        p = message[0]
        if p.op in READ:
            data = b''.join(a.payload for a in answers(self.flow)
                            if a.op in READ_RESP and (a.psn - p.psn) % PSNS * self.flow.mtu < p.length)
        elif p.op in ATOMIC:
            data = b''.join(a.orig.to_bytes(8, 'little') for a in answers(self.flow)
                            if a.op == ATOMIC_ACK and a.psn == p.psn)
        else:
            return
        if data and self.host.do('mem', n % 64 * 8192, len(data)) != data.hex():
            raise Differs('work request %d has another result' % n)

    def run(self):
        firsts = {m[0].psn: (n, m) for n, m in enumerate(self.messages)}
        for request, p in self.flow.events:
            if not request:
                self.host.do('frame', p.frame.hex())
                continue
            if p.psn in firsts:
                self.post(*firsts.pop(p.psn))
            self.expect(p)
        if self.host.frames:
            raise Differs('Pollux also sent %s' % self.host.frames[0])
        self.check_completions()
        return '%d work requests completed' % len(self.messages)


# ---- all of them

def places(name, flow):
    """(place, class, why it is not tried)"""
    if flow.service == capture.UD:
        if flow.qpn == GSI_QPN:
            yield 'either', None, 'management datagrams, for who manages connections'
            return
        yield 'responder', replay_ud.Responder, None
        yield 'requester', replay_ud.Requester, None
        return
    yield 'responder', Responder, None
    why = None
    if name in LOST_ANSWERS or name == 'reorder' or (capture.messages(flow)[1] and name != 'err_rnr_exhaust'):
        why = 'Soft-RoCE sends again by its own clock'
    yield 'requester', Requester, why


def run_flow(program, name, flow):
    """(passed, failed, skipped)"""
    count = [0, 0, 0]
    for place, make, why in places(name, flow):
        line = '%s QP 0x%x as %s' % (name, flow.qpn, place)
        if why:
            print('skipped %s: %s' % (line, why))
            count[2] += 1
            continue
        with Host(program) as host:
            try:
                print('ok   %s: %s' % (line, make(host, name, flow).run()))
                count[0] += 1
            except Differs as e:
                print('FAIL %s: %s' % (line, e))
                count[1] += 1
    return count


def main(program, words):
    place = os.environ.get('POLLUX_PCAPS') or os.path.join(
        os.path.dirname(os.path.realpath(__file__)), '../../../shared/pcaps')
    files = sorted(glob.glob(os.path.join(glob.escape(place), '*.pcap')))
    if not files:
        print('skipped: no captures in %s (set POLLUX_PCAPS)' % os.path.normpath(place))
        return SKIP
    total = [0, 0, 0]
    for path in files:
        name = os.path.basename(path)[:-5]
        if not all(w in name for w in words):
            continue
        for flow in capture.flows(path):
            total = [a + b for a, b in zip(total, run_flow(program, name, flow))]
    print('%d passed, %d failed, %d skipped' % tuple(total))
    return 1 if total[1] or not total[0] else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], sys.argv[2:]))
