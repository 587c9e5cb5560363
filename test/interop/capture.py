# SPDX-License-Identifier: BSD-3-Clause
"""What a pcap file of RoCEv2 frames says: packets, and the requests that one QP got with the answers
that it gave. Written from the catalogue's section 1.A, for tests; for RC, UC and UD."""
import collections
import struct
import zlib

SEND, WRITE, READ, ATOMIC, IMM = {0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10, 11}, {12}, {19, 20}, {3, 5, 9, 11}
FIRST, LAST = {0, 4, 5, 6, 10, 11, 12, 19, 20}, {2, 3, 4, 5, 8, 9, 10, 11, 12, 19, 20}
READ_RESP, ACK, ATOMIC_ACK = {13, 14, 15, 16}, 17, 18
RETH, AETH = {6, 10, 11, 12}, {13, 15, 16, 17, 18}
RC, UC, UD = 0, 1, 3    # bits 7 to 5 of an opcode
BTH, MIG_REQ = 12, 0x40
PSNS = 1 << 24

Flow = collections.namedtuple('Flow', 'service qpn peer gid peer_gid mtu events')


class Packet:
    """One frame; `start` is where its BTH lies."""

    def __init__(self, frame, start):
        self.frame = frame
        self.start = start
        self.opcode, flags, _, dqpn, psn = struct.unpack_from('>BBHII', frame, start)
        self.op = self.opcode & 31
        self.dqpn, self.psn, self.ackreq = dqpn & 0xffffff, psn & 0xffffff, psn >> 31
        self.pad = flags >> 4 & 3
        self.solicited = flags >> 7
        self.va = self.key = self.length = self.imm = self.orig = self.qkey = self.src_qpn = None
        self.swap_add = self.compare = self.syndrome = self.msn = None
        if start == 42:
            self.src, self.dst = (b'\0' * 10 + b'\xff\xff' + frame[n:n + 4] for n in (26, 30))
            self.end = 14 + struct.unpack_from('>H', frame, 16)[0] - 4
        else:
            self.src, self.dst = frame[22:38], frame[38:54]
            self.end = 54 + struct.unpack_from('>H', frame, 18)[0] - 4
        self.ip = frame[14:start - 8]
        self.payload = frame[self.headers(start + BTH):self.end - self.pad]

    def headers(self, at):
        """Reads the extension headers; where they end."""
        frame, op = self.frame, self.op
        if self.opcode >> 5 == UD:
            self.qkey, self.src_qpn = struct.unpack_from('>II', frame, at)
            at += 8
        if op in RETH:
            self.va, self.key, self.length = struct.unpack_from('>QII', frame, at)
            at += 16
        if op in ATOMIC:
            self.va, self.key, self.swap_add, self.compare = struct.unpack_from('>QIQQ', frame, at)
            self.length = 8
            at += 28
        if op in AETH:
            self.msn = struct.unpack_from('>I', frame, at)[0]
            self.syndrome, self.msn = self.msn >> 24, self.msn & 0xffffff
            at += 4
        if op == ATOMIC_ACK:
            self.orig = struct.unpack_from('>Q', frame, at)[0]
            at += 8
        if op in IMM:
            self.imm = struct.unpack_from('>I', frame, at)[0]
            at += 4
        return at

    def is_request(self):
        return self.op in SEND | WRITE | READ | ATOMIC

    @property
    def sport(self):
        return struct.unpack_from('>H', self.frame, self.start - 8)[0]

    @property
    def tos(self):
        return self.ip[1] if self.start == 42 else struct.unpack_from('>H', self.ip)[0] >> 4 & 0xff

    @property
    def ttl(self):
        return self.ip[8] if self.start == 42 else self.ip[7]

    @property
    def flow_label(self):
        return 0 if self.start == 42 else struct.unpack_from('>I', self.ip)[0] & 0xfffff

    def sealed(self, frame):
        """Bytes of this one's form, with a right ICRC."""
        masked = bytearray(frame[14:self.end])
        udp = self.start - 14 - 8
        if self.start == 42:
            masked[1] = masked[8] = masked[10] = masked[11] = 0xff
        else:
            masked[0] |= 0x0f
            masked[1:4] = b'\xff' * 3
            masked[7] = 0xff
        masked[udp + 6:udp + 8] = b'\xff\xff'
        masked[udp + 8 + 4] = 0xff
        struct.pack_into('<I', frame, self.end, zlib.crc32(b'\xff' * 8 + masked))
        return bytes(frame)

    def with_key(self, key):
        """The frame with another R_Key."""
        frame = bytearray(self.frame)
        struct.pack_into('>I', frame, self.start + BTH + 8, key)
        return self.sealed(frame)

    def with_qkey(self, qkey):
        """The frame of a datagram with another Q_Key."""
        frame = bytearray(self.frame)
        struct.pack_into('>I', frame, self.start + BTH, qkey)
        return self.sealed(frame)

    def as_if_by(self, other):
        """The frame, but with MigReq and the IPv4 identification as another sender chose them."""
        frame = bytearray(self.frame)
        frame[self.start + 1] = frame[self.start + 1] & ~MIG_REQ | other.frame[other.start + 1] & MIG_REQ
        if self.start == 42:
            frame[18:20] = other.frame[18:20]
            frame[24:26] = b'\0\0'
            total = sum(struct.unpack_from('>10H', frame, 14))
            total = (total & 0xffff) + (total >> 16)
            struct.pack_into('>H', frame, 24, ~((total & 0xffff) + (total >> 16)) & 0xffff)
        return self.sealed(frame)

    def __str__(self):
        text = 'opcode %d psn 0x%06x' % (self.op, self.psn)
        for what in ('va', 'key', 'length', 'imm', 'orig', 'syndrome', 'msn'):
            if getattr(self, what) is not None:
                text += ' %s 0x%x' % (what, getattr(self, what))
        return text + ' payload %d' % len(self.payload)


def parse(frame):
    """A Packet, or None when it is no RoCEv2 frame."""
    kind = frame[12:14]
    start = {b'\x08\x00': 42, b'\x86\xdd': 62}.get(kind)
    if not start or len(frame) < start + BTH + 4 or frame[start - 6:start - 4] != b'\x12\xb7':
        return None
    return Packet(frame, start)


def frames(path):
    with open(path, 'rb') as f:
        data = f.read()
    at = 24
    while at < len(data):
        size = struct.unpack_from('<I', data, at + 8)[0]
        yield data[at + 16:at + 16 + size]
        at += 16 + size


def behind(a, b):
    """Whether PSN a comes after b."""
    return 0 < (a - b) % PSNS < PSNS // 2


def flows(path):
    """For each RC or UC QP that got requests a Flow: its service, its number and GID, its peer's, the path
    MTU, and in order (True, request that it got) and (False, answer that it gave). For each UD QP that got
    datagrams one for each sender."""
    all_of_it = [p for p in map(parse, frames(path)) if p]
    return [f for service in (RC, UC)
            for f in flows_of(service, [p for p in all_of_it if p.opcode >> 5 == service])
            ] + datagrams_of([p for p in all_of_it if p.opcode >> 5 == UD])


def datagrams_of(packets):
    found = {}
    for p in packets:
        found.setdefault((p.dqpn, p.src_qpn, p.dst, p.src), []).append((True, p))
    return [Flow(UD, *ends, 1024, events) for ends, events in found.items()]


def flows_of(service, packets):
    found = []
    for qpn, dst, src in dict.fromkeys((p.dqpn, p.dst, p.src) for p in packets if p.is_request()):
        requests = [p for p in packets if p.is_request() and (p.dqpn, p.dst) == (qpn, dst)]
        answers = [p for p in packets if not p.is_request() and p.src == dst]
        # an answer does not say whose it is: the peer's QP is the one that gets these PSNs
        base = requests[0].psn
        peers = collections.Counter(p.dqpn for p in answers if (p.psn - base + 64) % PSNS < 4096)
        peer = peers.most_common(1)[0][0] if peers else 1
        mtu = max([len(p.payload) for p in packets if p.op in (0, 1, 6, 7, 13, 14)], default=1024)
        events = [(p.is_request(), p) for p in packets
                  if p in requests or (p in answers and p.dqpn == peer)]
        found.append(Flow(service, qpn, peer, dst, src, mtu, events))
    return found


def messages(flow):
    """The messages of the requests, each a list of its packets, by PSN; and whether any request came
    again, or out of order."""
    requests = [p for request, p in flow.events if request]
    base = requests[0].psn - PSNS // 2
    by_psn = {}
    for p in requests:
        # a READ asked for again from inside is no new one: the first has the PSNs
        if not any(r.op in READ and behind(p.psn, r.psn) and
                   (p.psn - r.psn) % PSNS * flow.mtu < r.length for r in by_psn.values()):
            by_psn.setdefault(p.psn, p)
    ordered = sorted(by_psn.values(), key=lambda p: (p.psn - base) % PSNS)
    found = []
    for p in ordered:
        if p.op in FIRST:
            found.append([])
        found[-1].append(p)
    return found, ordered != requests
