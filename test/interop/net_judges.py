#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""ARP, neighbour discovery and echo of lib/net before two judges that are not ours.

scapy makes the questions and, for each, the frame that it would have answered; ours must be the same
to the byte. tshark dissects every frame: nothing malformed, every checksum right. Untagged and in a
VLAN.

    net_judges.py NET_FRAMES

Exits 0, 1 (a judge objects), or 77 with the reason when a judge is not installed.
"""

import os
import shutil
import subprocess
import sys
import tempfile

SKIP = 77
OUR_MAC, PEER_MAC = "02:00:00:00:0a:02", "02:00:00:00:0a:03"
OUR_4, PEER_4 = "10.11.0.2", "10.11.0.3"
OUR_LL, PEER_LL = "fe80::ff:fe00:a02", "fe80::ff:fe00:a03"
OUR_6, PEER_6 = "fd00::2", "fd00::3"
EVERYBODY = "ff:ff:ff:ff:ff:ff"


def skip(why):
    print("skipped:", why)
    sys.exit(SKIP)


try:
    from scapy.all import (ARP, IP, ICMP, Dot1Q, Ether, ICMPv6EchoReply, ICMPv6EchoRequest,
                           ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6NDOptDstLLAddr, ICMPv6NDOptSrcLLAddr,
                           IPv6, in6_getnsma, in6_getnsmac, inet_pton, inet_ntop, wrpcap)
    import socket
except ImportError:
    skip("no scapy: install python3-scapy")
if not shutil.which("tshark"):
    skip("no tshark: install tshark")


def group_of(addr):
    """Solicited-node group of an address: (IPv6 address, MAC)."""
    group = in6_getnsma(inet_pton(socket.AF_INET6, addr))
    return inet_ntop(socket.AF_INET6, group), in6_getnsmac(group)


def announcements():
    for addr in (OUR_LL, None, OUR_6):
        if addr is None:
            yield Ether(dst=EVERYBODY, src=OUR_MAC) / ARP(
                op=1, hwsrc=OUR_MAC, psrc=OUR_4, hwdst="00:00:00:00:00:00", pdst=OUR_4)
        else:
            yield Ether(dst="33:33:00:00:00:01", src=OUR_MAC) / IPv6(
                src=addr, dst="ff02::1", hlim=255) / ICMPv6ND_NA(
                tgt=addr, R=0, S=0, O=1) / ICMPv6NDOptDstLLAddr(lladdr=OUR_MAC)


def questions_of_ours():
    yield Ether(dst=EVERYBODY, src=OUR_MAC) / ARP(
        op=1, hwsrc=OUR_MAC, psrc=OUR_4, hwdst="00:00:00:00:00:00", pdst=PEER_4)
    for src, target in ((OUR_LL, PEER_LL), (OUR_6, PEER_6)):
        group, mac = group_of(target)
        yield Ether(dst=mac, src=OUR_MAC) / IPv6(src=src, dst=group, hlim=255) / ICMPv6ND_NS(
            tgt=target) / ICMPv6NDOptSrcLLAddr(lladdr=OUR_MAC)


def exchanges():
    """(question to us, the answer that is right)"""
    for dst in (EVERYBODY, OUR_MAC):
        for psrc in (PEER_4, "0.0.0.0", "10.99.0.1"):
            yield (Ether(dst=dst, src=PEER_MAC) / ARP(
                op=1, hwsrc=PEER_MAC, psrc=psrc, hwdst="00:00:00:00:00:00", pdst=OUR_4),
                Ether(dst=PEER_MAC, src=OUR_MAC) / ARP(
                op=2, hwsrc=OUR_MAC, psrc=OUR_4, hwdst=PEER_MAC, pdst=psrc))
    for ours, peer in ((OUR_LL, PEER_LL), (OUR_6, PEER_6), (OUR_6, PEER_LL)):
        group, mac = group_of(ours)
        right = Ether(dst=PEER_MAC, src=OUR_MAC) / IPv6(src=ours, dst=peer, hlim=255) / ICMPv6ND_NA(
            tgt=ours, R=0, S=1, O=1) / ICMPv6NDOptDstLLAddr(lladdr=OUR_MAC)
        for dst, dst_mac in ((group, mac), (ours, OUR_MAC)):
            ask = Ether(dst=dst_mac, src=PEER_MAC) / IPv6(src=peer, dst=dst, hlim=255) / ICMPv6ND_NS(
                tgt=ours)
            yield ask / ICMPv6NDOptSrcLLAddr(lladdr=PEER_MAC), right
            yield ask, right
        yield (Ether(dst=mac, src=PEER_MAC) / IPv6(src="::", dst=group, hlim=255) / ICMPv6ND_NS(
            tgt=ours),
            Ether(dst="33:33:00:00:00:01", src=OUR_MAC) / IPv6(
            src=ours, dst="ff02::1", hlim=255) / ICMPv6ND_NA(
            tgt=ours, R=0, S=0, O=1) / ICMPv6NDOptDstLLAddr(lladdr=OUR_MAC))
    for size in (0, 1, 2, 56, 1471, 1472, 4152):
        data = bytes((i * 7 + size) & 0xFF for i in range(size))
        yield (Ether(dst=OUR_MAC, src=PEER_MAC) / IP(
            src=PEER_4, dst=OUR_4, id=size + 1, ttl=17, tos=0x10) / ICMP(id=77, seq=size) / data,
            Ether(dst=PEER_MAC, src=OUR_MAC) / IP(
            src=OUR_4, dst=PEER_4, id=0, flags="DF", ttl=64) / ICMP(
            type=0, id=77, seq=size) / data)
        for ours, peer in ((OUR_LL, PEER_LL), (OUR_6, PEER_6)):
            yield (Ether(dst=OUR_MAC, src=PEER_MAC) / IPv6(
                src=peer, dst=ours, hlim=9, tc=3, fl=9) / ICMPv6EchoRequest(
                id=78, seq=size, data=data),
                Ether(dst=PEER_MAC, src=OUR_MAC) / IPv6(
                src=ours, dst=peer, hlim=64) / ICMPv6EchoReply(id=78, seq=size, data=data))


def tag(frame, vlan):
    if not vlan:
        return bytes(frame)
    inner = frame.payload.copy()
    return bytes(Ether(dst=frame.dst, src=frame.src) / Dot1Q(vlan=5, prio=3) / inner)


def judge_bytes(lines, right):
    bad = 0
    if len(lines) != len(right):
        print("%d frames came, %d are right" % (len(lines), len(right)))
        bad += 1
    for i, (line, (kind, want)) in enumerate(zip(lines, right)):
        if line != (kind, want.hex()):
            print("frame %d (%s):\n  ours  %s\n  scapy %s" % (i, line[0], line[1], want.hex()))
            bad += 1
    return bad


FIELDS = ["_ws.malformed", "_ws.expert.severity", "arp.opcode", "icmp.type", "icmp.checksum.status",
          "ip.checksum.status", "icmpv6.type", "icmpv6.checksum.status", "vlan.id"]
GOOD = "1"  # tshark's "Good" for a checksum


def judge_tshark(frames, vlan):
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "net.pcap")
        wrpcap(path, [Ether(f) for f in frames])
        cmd = ["tshark", "-r", path, "-T", "fields", "-E", "separator=|", "-o",
               "ip.check_checksum:TRUE"]
        for f in FIELDS:
            cmd += ["-e", f]
        out = subprocess.run(cmd, capture_output=True, text=True, check=True).stdout.splitlines()
    bad = 0
    if len(out) != len(frames):
        print("tshark sees %d frames of %d" % (len(out), len(frames)))
        bad += 1
    for i, row in enumerate(out):
        got = dict(zip(FIELDS, row.split("|")))
        wrong = []
        if got["_ws.malformed"]:
            wrong.append("malformed")
        if not (got["arp.opcode"] or got["icmp.type"] or got["icmpv6.type"]):
            wrong.append("neither ARP nor ICMP")
        if got["icmp.type"] and (got["ip.checksum.status"], got["icmp.checksum.status"]) != (
                GOOD, GOOD):
            wrong.append("checksum")
        if got["icmpv6.type"] and got["icmpv6.checksum.status"] != GOOD:
            wrong.append("checksum")
        if got["vlan.id"] != ("5" if vlan else ""):
            wrong.append("VLAN")
        if wrong:
            print("tshark objects to frame %d: %s: %s" % (i, ", ".join(wrong), row))
            bad += 1
    return bad


def main():
    program = sys.argv[1]
    bad = count = 0
    for vlan in (False, True):
        pairs = [(tag(q, vlan), tag(a, vlan)) for q, a in exchanges()]
        right = [("announce", tag(f, vlan)) for f in announcements()]
        right += [("ask", tag(f, vlan)) for f in questions_of_ours()]
        right += [("answer", a) for _, a in pairs]
        stdin = "".join(q.hex() + "\n" for q, _ in pairs)
        out = subprocess.run([program] + (["vlan"] if vlan else []), input=stdin, check=True,
                             capture_output=True, text=True).stdout
        lines = [tuple(line.split(" ")) for line in out.splitlines()]
        bad += judge_bytes(lines, right)
        frames = [bytes.fromhex(h) for _, h in lines if h != "-"]
        bad += judge_tshark(frames, vlan)
        count += len(frames)
    print("%d frames judged, %d objections" % (count, bad))
    return 1 if bad else 0


sys.exit(main())
