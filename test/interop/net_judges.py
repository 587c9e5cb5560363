#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""ARP, neighbour discovery, echo, IGMP and MLD of lib/net before two judges that are not ours.

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
                           ICMPv6MLDMultAddrRec, ICMPv6MLDone, ICMPv6MLQuery, ICMPv6MLQuery2,
                           ICMPv6MLReport, ICMPv6MLReport2, IPOption_Router_Alert, IPv6,
                           IPv6ExtHdrHopByHop, RouterAlert,
                           in6_getnsma, in6_getnsmac, inet_pton, inet_ntop, wrpcap)
    from scapy.contrib.igmp import IGMP
    from scapy.contrib.igmpv3 import IGMPv3, IGMPv3gr, IGMPv3mq, IGMPv3mr
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


GROUP_4, GROUP_6 = "239.129.2.3", "ff15::77:1"
IS_MEMBER, LEAVES, JOINS = 2, 3, 4


def igmp_to(dst, src, src_mac):
    octets = [int(x) for x in dst.split(".")]
    mac = "01:00:5e:%02x:%02x:%02x" % (octets[1] & 127, octets[2], octets[3])
    return Ether(dst=mac, src=src_mac) / IP(
        src=src, dst=dst, ttl=1, tos=0xC0, flags="DF", id=0, options=[IPOption_Router_Alert()])


def mld_to(dst, src, src_mac):
    mac = "33:33:" + ":".join("%02x" % b for b in inet_pton(socket.AF_INET6, dst)[12:])
    return Ether(dst=mac, src=src_mac) / IPv6(src=src, dst=dst, hlim=1) / IPv6ExtHdrHopByHop(
        options=[RouterAlert(value=0)])


def reports(word):
    return (igmp_to("224.0.0.22", OUR_4, OUR_MAC) / IGMPv3(type=0x22) / IGMPv3mr(
        records=[IGMPv3gr(rtype=word, maddr=GROUP_4)]),
        mld_to("ff02::16", OUR_LL, OUR_MAC) / ICMPv6MLReport2(
        records=[ICMPv6MLDMultAddrRec(rtype=word, dst=GROUP_6)]))


def old_reports(leaves):
    if leaves:
        return (igmp_to("224.0.0.2", OUR_4, OUR_MAC) / IGMP(type=0x17, mrcode=0, gaddr=GROUP_4),
                mld_to("ff02::2", OUR_LL, OUR_MAC) / ICMPv6MLDone(mladdr=GROUP_6, mrd=0))
    return (igmp_to(GROUP_4, OUR_4, OUR_MAC) / IGMP(type=0x16, mrcode=0, gaddr=GROUP_4),
            mld_to(GROUP_6, OUR_LL, OUR_MAC) / ICMPv6MLReport(mladdr=GROUP_6, mrd=0))


def queries():
    yield igmp_to("224.0.0.1", PEER_4, PEER_MAC) / IGMPv3(type=0x11, mrcode=100) / IGMPv3mq(
        qrv=2, qqic=125)
    yield igmp_to(GROUP_4, PEER_4, PEER_MAC) / IGMPv3(type=0x11, mrcode=10) / IGMPv3mq(
        gaddr=GROUP_4, srcaddrs=["10.9.9.9"], qrv=2, qqic=125)
    yield mld_to("ff02::1", PEER_LL, PEER_MAC) / ICMPv6MLQuery2(mrd=10000, QRV=2, QQIC=125)
    yield mld_to(GROUP_6, PEER_LL, PEER_MAC) / ICMPv6MLQuery2(mladdr=GROUP_6, mrd=1000)


def old_queries():
    yield igmp_to("224.0.0.1", PEER_4, PEER_MAC) / IGMP(type=0x11, mrcode=100)
    yield mld_to("ff02::1", PEER_LL, PEER_MAC) / ICMPv6MLQuery(mrd=10000)


def memberships(vlan):
    """(line for our program, frames that it then sends)"""
    def both(word, mine, second):
        for group, right in zip((GROUP_4, GROUP_6), mine):
            yield "%s %s" % (word, group), [right]
            yield "wait", [second[0] if group == GROUP_4 else second[1]]

    joins, leaves, member = reports(JOINS), reports(LEAVES), reports(IS_MEMBER)
    yield from both("join", joins, joins)
    for q in queries():
        yield tag(q, vlan).hex(), []
        yield "wait", [member[IP not in q]]
    yield from both("leave", leaves, leaves)
    for q in old_queries():
        yield tag(q, vlan).hex(), []
    joins, leaves = old_reports(False), old_reports(True)
    yield from both("join", joins, joins)
    for i, q in enumerate(old_queries()):
        yield tag(q, vlan).hex(), []
        yield "wait", [joins[i]]
    yield from both("leave", leaves, leaves)


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
          "ip.checksum.status", "icmpv6.type", "icmpv6.checksum.status", "vlan.id", "igmp.type",
          "igmp.checksum.status", "ip.opt.ra", "ipv6.opt.router_alert"]
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
        if not (got["arp.opcode"] or got["icmp.type"] or got["icmpv6.type"] or got["igmp.type"]):
            wrong.append("neither ARP nor ICMP nor IGMP")
        if got["igmp.type"] and (got["ip.checksum.status"], got["igmp.checksum.status"],
                                 got["ip.opt.ra"]) != (GOOD, GOOD, "0"):
            wrong.append("checksum or router alert")
        if got["icmpv6.type"] in ("131", "132", "143") and got["ipv6.opt.router_alert"] != "0":
            wrong.append("router alert")
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
        for line, frames in memberships(vlan):
            stdin += line + "\n"
            right += [("later" if line == "wait" else "group", tag(f, vlan)) for f in frames]
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
