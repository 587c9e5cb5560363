#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""One frame of each RC opcode, as lib/wire builds it, before two judges that are not ours.

tshark dissects every frame, IPv4 and IPv6: no malformed packet, and each field has the value that
this script computes from the opcode. scapy recomputes the ICRC of the IPv4 frames; it has none for
IPv6, so those rest on the known answers of test/unit/wire_icrc.c.

    wire_judges.py WIRE_FRAMES

Exits 0, 1 (a judge objects), or 77 with the reason when a judge is not installed.
"""

import os
import shutil
import subprocess
import sys
import tempfile

SKIP = 77
MTU = 256

# Read out of the specification's table, kept apart from lib/wire/opcode.c:
# opcode -> (extension headers, may carry payload, a FIRST or MIDDLE packet)
RETH, ATOMIC, AETH, ORIG, IMM, IETH = "reth", "atomic", "aeth", "orig", "imm", "ieth"
OPCODES = {
    0x00: ((), True, True), 0x01: ((), True, True), 0x02: ((), True, False),
    0x03: ((IMM,), True, False), 0x04: ((), True, False), 0x05: ((IMM,), True, False),
    0x06: ((RETH,), True, True), 0x07: ((), True, True), 0x08: ((), True, False),
    0x09: ((IMM,), True, False), 0x0A: ((RETH,), True, False), 0x0B: ((RETH, IMM), True, False),
    0x0C: ((RETH,), False, False),
    0x0D: ((AETH,), True, True), 0x0E: ((), True, True), 0x0F: ((AETH,), True, False),
    0x10: ((AETH,), True, False), 0x11: ((AETH,), False, False),
    0x12: ((AETH, ORIG), False, False),
    0x13: ((ATOMIC,), False, False), 0x14: ((ATOMIC,), False, False),
    0x16: ((IETH,), True, False), 0x17: ((IETH,), True, False),
    # newer than the judges: the dissector sees no more than their BTH, and the ICRC is judged as ever
    0x1C: ((), False, False), 0x1D: ((), False, False),
}

# what tshark calls the fields that we compare
BTH_FIELDS = ["opcode", "se", "m", "padcnt", "tver", "p_key", "destqp", "a", "psn"]
FIELDS = (
    ["infiniband.bth." + f for f in BTH_FIELDS]
    + ["infiniband.reth.va", "infiniband.reth.r_key", "infiniband.reth.dmalen",
       "infiniband.atomiceth.swapdt", "infiniband.atomiceth.cmpdt",
       "infiniband.aeth.syndrome", "infiniband.aeth.msn",
       "infiniband.atomicacketh.origremdt", "infiniband.immdt", "infiniband.ieth",
       "ip.checksum.status", "ip.ttl", "ip.dsfield", "ipv6.hlim", "ipv6.tclass", "ipv6.flow",
       "udp.srcport", "udp.dstport", "data.data", "_ws.malformed"]
)


def skip(why):
    print("skipped:", why)
    sys.exit(SKIP)


def expected(op, ip6):
    """Field -> value, or None for a field that must not be there."""
    ext, carries, whole = OPCODES[op]
    size = (MTU if whole else op + 1) if carries else 0
    va = 0x1122334455667700 + op
    rkey = 0xDEAD0000 + op
    want = dict.fromkeys(FIELDS)
    want.update({
        "infiniband.bth.opcode": op, "infiniband.bth.se": op & 1, "infiniband.bth.m": 1,
        "infiniband.bth.padcnt": -size & 3, "infiniband.bth.tver": 0,
        "infiniband.bth.p_key": 0xFFFF, "infiniband.bth.destqp": 0x654300 + op,
        "infiniband.bth.a": op >> 1 & 1, "infiniband.bth.psn": 0xFFFF00 + op,
        "udp.srcport": 0xC0DE, "udp.dstport": 4791,
    })
    if ip6:
        want.update({"ipv6.hlim": 63, "ipv6.tclass": 0x6A, "ipv6.flow": 0x12345})
    else:
        want.update({"ip.ttl": 63, "ip.dsfield": 0x6A, "ip.checksum.status": 1})
    if RETH in ext:
        want.update({"infiniband.reth.va": va, "infiniband.reth.r_key": rkey,
                     "infiniband.reth.dmalen": 0x01020300 + op})
    if ATOMIC in ext:
        want.update({"infiniband.reth.va": va, "infiniband.reth.r_key": rkey,
                     "infiniband.atomiceth.swapdt": 0xA0A1A2A3A4A5A600 + op,
                     "infiniband.atomiceth.cmpdt": 0xB0B1B2B3B4B5B600 + op})
    if AETH in ext:
        want.update({"infiniband.aeth.syndrome": 0x1F, "infiniband.aeth.msn": 0xABCD00 + op})
    if ORIG in ext:
        want["infiniband.atomicacketh.origremdt"] = 0xC0C1C2C3C4C5C600 + op
    if IMM in ext:
        want["infiniband.immdt"] = "%08x" % (0x11223300 + op)
    if IETH in ext:
        want["infiniband.ieth"] = "%08x" % (0xBEEF0000 + op)
    if size:
        payload = bytes((op + i) & 0xFF for i in range(size))
        want["data.data"] = (payload + bytes(-size & 3)).hex()      # tshark shows the pad too
    return want


def tshark_rows(path):
    # its guess that any payload might be RPC over RDMA would take ours for malformed
    cmd = ["tshark", "-n", "-r", path, "-o", "ip.check_checksum:TRUE",
           "--disable-protocol", "rpcordma",
           "-T", "fields", "-E", "separator=;", "-E", "occurrence=f"]
    for field in FIELDS:
        cmd += ["-e", field]
    out = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return [line.split(";") for line in out.stdout.decode().splitlines()]


def same(got, want):
    if want is None:
        return got == ""
    if isinstance(want, str):
        return got.replace(":", "") == want
    if got in ("True", "False"):
        return (got == "True") == bool(want)
    return got != "" and int(got, 0) == want


def judge_tshark(path, order):
    rows = tshark_rows(path)
    wrong = 0
    if len(rows) != len(order):
        print("tshark saw %d frames, not %d" % (len(rows), len(order)))
        return 1
    for (op, ip6), row in zip(order, rows):
        want = expected(op, ip6)
        for field, got in zip(FIELDS, row):
            if not same(got, want[field]):
                print("tshark: opcode 0x%02x over IPv%d: %s is %r, not %r"
                      % (op, 6 if ip6 else 4, field, got, want[field]))
                wrong += 1
    return wrong


def judge_scapy(path, order):
    from scapy.utils import rdpcap
    from scapy.contrib import roce
    wrong = 0
    for (op, ip6), frame in zip(order, rdpcap(path)):
        if ip6:
            continue
        sent = bytes(frame)
        frame[roce.BTH].icrc = None
        again = bytes(frame)
        if again != sent:
            print("scapy: opcode 0x%02x: ICRC %s, not %s%s"
                  % (op, sent[-4:].hex(), again[-4:].hex(),
                     "" if again[:-4] == sent[:-4] else " (and other bytes differ)"))
            wrong += 1
    return wrong


def self_check(path, order):
    """A judge that takes anything is none: each must object to one flipped bit."""
    with open(path, "rb") as f:
        data = bytearray(f.read())
    data[24 + 16 + 14 + 20 + 8 + 5] ^= 1        # the first frame's DestQP
    with open(path, "wb") as f:
        f.write(data)
    sys.stdout.flush()
    real, sys.stdout = sys.stdout, open(os.devnull, "w")
    try:
        objections = (judge_tshark(path, order), judge_scapy(path, order))
    finally:
        sys.stdout.close()
        sys.stdout = real
    if objections != (1, 1):
        print("a flipped bit got %d objections of tshark and %d of scapy, not 1 and 1" % objections)
        return 1
    return 0


def main():
    if not shutil.which("tshark"):
        skip("tshark is not installed (package tshark)")
    try:
        import scapy.contrib.roce  # noqa: F401
    except ImportError:
        skip("scapy with contrib.roce is not installed (package python3-scapy)")

    order = [(op, ip6) for ip6 in (False, True) for op in sorted(OPCODES)]
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "frames.pcap")
        subprocess.run([sys.argv[1], path], check=True)
        wrong = judge_tshark(path, order) + judge_scapy(path, order)
        wrong += self_check(path, order)
    print("tshark: %d frames; scapy: ICRC of %d IPv4 frames (it has none for IPv6); %d objections"
          % (len(order), len(OPCODES), wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
