# SPDX-License-Identifier: BSD-3-Clause
"""Datagrams of Linux Soft-RoCE, for replay.py: the transport gets them, or sends the same ones."""
from capture import IMM, messages
from driven import Completion, Differs

RIGHTS, RETRIES, QPT_UD = 7, 7, 4
SEND, SEND_IMM = 2, 3                   # enum ibv_wr_opcode
WC_GRH, WC_WITH_IMM = 1, 2
AREA, SLOT, SLOTS = 40, 8192, 64
SECOND = 1000000000


def datagrams(flow):
    return [p for _, p in flow.events]


def start_qp(host, flow, psn, qkey, ours):
    """ours: whether the host takes the place of the QP that gets them."""
    ends = [(flow.qpn, flow.gid), (flow.peer, flow.peer_gid)]
    (qpn, gid), (peer, peer_gid) = ends if ours else reversed(ends)
    host.do('qp', qpn, peer, 0, psn, flow.mtu, RIGHTS, RETRIES, QPT_UD, gid.hex(), peer_gid.hex(), qkey)


class Responder:
    """A host that gets the datagrams of a flow, and each of them once more with another Q_Key."""

    def __init__(self, host, _, flow):
        self.host, self.flow = host, flow
        start_qp(host, flow, 0x123456, datagrams(flow)[0].qkey, True)

    def check(self, n, p):
        at, size = n % SLOTS * SLOT, AREA + len(p.payload)
        flags = WC_GRH | (WC_WITH_IMM if p.op in IMM else 0)
        want = Completion('recv', n, 0, size, p.src_qpn, flags, p.imm or 0)
        if self.host.completions[n:] != [want]:
            raise Differs('completions %s, not %s' % (self.host.completions[n:], want))
        data = bytes(AREA - len(p.ip)) + p.ip + p.payload + b'\xee'
        have = self.host.do('mem', at, size + 1)
        if have != data.hex():
            raise Differs('receive %d holds\n%s, not\n%s' % (n, have, data.hex()))

    def run(self):
        for n, p in enumerate(datagrams(self.flow)):
            self.host.do('fill', n % SLOTS * SLOT, (b'\xee' * SLOT).hex())
            self.host.do('recv', n, n % SLOTS * SLOT, SLOT)
            self.host.do('frame', p.with_qkey(p.qkey ^ 1).hex())
            if len(self.host.completions) != n:
                raise Differs('another Q_Key is taken')
            self.host.do('frame', p.frame.hex())
            self.check(n, p)
        if self.host.frames:
            raise Differs('a datagram is answered: %s' % self.host.frames[0])
        return '%d datagrams received' % len(datagrams(self.flow))


class Requester:
    """A host that sends what the flow tells of. Its frames must be Soft-RoCE's, byte by byte; but MigReq is
    N2, and the IPv4 identification is a sender's choice (A7). The address handle has Soft-RoCE's source port."""

    def __init__(self, host, _, flow):
        self.host, self.flow = host, flow
        first = datagrams(flow)[0]
        start_qp(host, flow, first.psn, first.qkey, False)
        host.do('ah', first.sport, first.tos, first.ttl, first.flow_label, first.frame[6:12].hex(),
                first.frame[0:6].hex())

    def send(self, n, p):
        if p.payload:
            self.host.do('fill', n % SLOTS * SLOT, p.payload.hex())
        self.host.do('dgram', n, SEND_IMM if p.op in IMM else SEND, n % SLOTS * SLOT, len(p.payload), p.dqpn,
                     p.qkey, p.imm or 0)
        frames = self.host.take_frames()
        if len(frames) != 1:
            raise Differs('%d frames for a datagram' % len(frames))
        if p.as_if_by(frames[0]) != frames[0].frame:
            raise Differs('Soft-RoCE sent, but for what may differ,\n%s\nPollux sent\n%s' % (
                p.as_if_by(frames[0]).hex(), frames[0].frame.hex()))

    def run(self):
        found, again = messages(self.flow)
        if again or any(len(m) != 1 for m in found):
            raise Differs('no datagrams in order')
        for n, (p,) in enumerate(found):
            self.send(n, p)
        want = [('send', n, 0) for n in range(len(found))]
        if [c[:3] for c in self.host.completions] != want:
            raise Differs('completions %s, not %s' % (self.host.completions, want))
        return '%d datagrams sent' % len(found)
