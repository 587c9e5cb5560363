#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Do unmodified programs run where the network is more than a wire?

    networks.py POLLUX-RUN [WORD]...

vlan: tagged frames, and ends in different VLANs that must not meet. jumbo: packets of the largest path
MTU, and an echo of 8900 bytes for the kernel. router: a third host forwards between two networks.
With WORDs only cases whose line contains all of them run.
"""
import copy
import os
import re
import shutil
import socket
import struct
import sys
import time

import matrix
import pair
import sandbox
import starved
from process import Process
from starved import Failure

VLAN = ['--vlan', '5:3']
JUMBO = ['--mtu', '9000']
ECHO_REQUEST, ECHO_REPLY = 8, 0
IP_MTU_DISCOVER, IP_PMTUDISC_DO = 10, 2
ECHO_PATIENCE = 30
KERNEL = '10.11.0.9'        # an address of the kernel in the network of Pollux
# address and gateway of each end
SUBNETS = {
    'IPv4': (('10.20.1.2/24', '10.20.1.1/24'), ('10.20.2.2/24', '10.20.2.1/24')),
    'IPv6': (('fd20:1::2/64', 'fd20:1::1/64'), ('fd20:2::2/64', 'fd20:2::1/64')),
}


class Pair(pair.Pair):
    """A pair with an address, and options of the launcher, for each end."""

    def __init__(self, launcher, hosts, case, options, addresses, processes):
        super().__init__(launcher, hosts, case, processes)
        self.options = options
        self.addresses = addresses

    def command(self, n, extra):
        words = [self.launcher, '--port', self.port(n), '--ip', self.addresses[n], *self.options[n]]
        return self.hosts[n].command(*words, '--', *pair.PRELOAD, self.case.program, *self.case.args,
                                     *extra)


def pingpong(*args):
    return ['ibv_rc_pingpong', '-c', '-g', str(matrix.GID), *args]


def write_bw(*args):
    return ['ib_write_bw', '-F', '-x', str(matrix.GID), '-n', '200', *args]


def ends_well(pair_):
    return pair.run_clean(pair_)


def told(pair_, line):
    """The client ends with an error, and one of the two says why. The server may go on: an RC end that
    waits to receive learns nothing."""
    _, client = pair_.start()
    status = client.wait(pair.HANG)
    if status is None:
        raise Failure('the client still runs after %d s' % pair.HANG)
    if status == 0:
        raise Failure('the client reached a peer that it cannot reach')
    pair_.stop()
    said = [text for p in reversed(pair_.processes) for text in p.output().splitlines() if line in text]
    if not said:
        raise Failure('nobody says "%s"' % line)
    return said[0]


def echo(address, size):
    """Sends echo requests that may not be fragmented until one is answered; runs at the kernel's end."""
    s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    s.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
    s.settimeout(1)
    data = os.urandom(size)
    head = struct.pack('!BBHHH', ECHO_REQUEST, 0, 0, os.getpid() & 0xffff, 1)
    total = sum(struct.unpack('!%dH' % ((8 + size) // 2), head + data))
    total = (total & 0xffff) + (total >> 16)
    total = (total & 0xffff) + (total >> 16)
    request = head[:2] + struct.pack('!H', ~total & 0xffff) + head[4:] + data
    end = time.monotonic() + ECHO_PATIENCE
    while time.monotonic() < end:
        s.sendto(request, (address, 0))
        try:
            while True:
                packet, sender = s.recvfrom(65535)
                reply = packet[(packet[0] & 15) * 4:]
                if sender[0] == address and reply[0] == ECHO_REPLY and reply[4:] == request[4:]:
                    return 0
        except OSError:
            continue
    print('no answer from ' + address)
    return 1


def echoed(launcher, hosts, size, options):
    """Pollux at the second host answers the kernel of the first, which has an address there."""
    iface = hosts[0].iface
    hosts[0].ip('addr', 'add', KERNEL + '/24', 'dev', iface)
    rests = Process(hosts[1].command(launcher, '--port', 'af_packet:' + hosts[1].iface, '--ip',
                                     pair.ADDRESSES[1], *options, '--', *pair.PRELOAD,
                                     'ibv_asyncwatch'))
    asks = Process(hosts[0].command(sys.executable, os.path.abspath(__file__), 'echo',
                                    pair.ADDRESSES[1].split('/')[0], str(size)))
    try:
        if asks.wait(pair.HANG) != 0:
            raise Failure(asks.output() + rests.output())
        return '%d bytes answered' % size
    finally:
        for p in (asks, rests):
            p.kill()
        hosts[0].ip('addr', 'del', KERNEL + '/24', 'dev', iface)


def active_mtu(launcher, hosts):
    """The path MTU stays the largest that there is."""
    p = Process(hosts[0].command(launcher, '--port', 'af_packet:' + hosts[0].iface, *JUMBO, '--',
                                 *pair.PRELOAD, 'ibv_devinfo'))
    p.wait(pair.HANG)
    p.kill()
    if not re.search(r'active_mtu:\s+4096', p.output()):
        raise Failure('no active MTU of 4096:\n' + p.output())
    return 'an active MTU of 4096'


def routed(hosts):
    """The hosts with a data wire each to a router between them."""
    router = sandbox.Host('r')
    outer = []
    for n, host in enumerate(hosts):
        host = copy.copy(host)
        host.iface, far = 'net-' + host.name, 'to-' + host.name
        sandbox.run('ip', 'link', 'add', host.iface, 'netns', host.name, 'type', 'veth', 'peer', 'name',
                    far, 'netns', router.name)
        host.ip('link', 'set', host.iface, 'addrgenmode', 'none')
        host.ip('link', 'set', host.iface, 'mtu', '4200', 'up')
        router.ip('link', 'set', far, 'mtu', '4200', 'up')
        for subnet in SUBNETS.values():
            router.ip('addr', 'add', subnet[n][1], 'dev', far, *(['nodad'] if ':' in subnet[n][1] else []))
        outer.append(host)
    for switch in ('ipv4/ip_forward', 'ipv6/conf/all/forwarding'):
        sandbox.run(*router.command('sh', '-c', 'echo 1 >/proc/sys/net/' + switch))
    return outer


def vlan_cases():
    """Name, port, program, options of each end, judge."""
    for port in matrix.PORTS:
        for words in (pingpong('-n', '200'), write_bw('-m', '4096')):
            yield 'vlan', port, words, (VLAN, VLAN), ends_well
        yield ('vlan, another', port, pingpong(), (VLAN, ['--vlan', '6']),
               lambda p: told(p, 'no answer from 10.11.0.'))
        yield ('vlan, none', port, pingpong(), (VLAN, []),
               lambda p: told(p, 'no answer from 10.11.0.'))


def jumbo_cases():
    for port in matrix.PORTS:
        for words in (pingpong('-m', '4096', '-s', '100000', '-n', '200'), write_bw('-m', '4096')):
            yield 'jumbo', port, words, (JUMBO, JUMBO), ends_well


def router_cases():
    for family, ends in SUBNETS.items():
        gateways = [['--gw', gateway.split('/')[0]] for _, gateway in ends]
        yield 'router, ' + family, 'af_packet', pingpong('-n', '200'), gateways, ends_well
        yield ('router, ' + family, 'af_packet', write_bw('-m', '4096'), gateways, ends_well)
        yield ('router, %s, no --gw' % family, 'af_packet', pingpong(), ([], []),
               lambda p: told(p, 'no --gw for it'))


def cases(launcher, hosts):
    """Line, and what runs it: a Pair and its judge, or a function."""
    outer = routed(hosts)
    for found in (vlan_cases, jumbo_cases, router_cases):
        for name, port, words, options, judge in found():
            family = name.split(', ')[1] if found is router_cases else None
            who, addresses = hosts, pair.ADDRESSES
            if family:
                who, addresses = outer, [end[0] for end in SUBNETS[family]]
            line = '%s: %s %s' % (name, port, ' '.join(words))
            yield line, lambda t=line, p=(who, matrix.case(port, words), options, addresses), j=judge: \
                starved.fairly(t, lambda processes: run_pair(Pair(launcher, *p, processes), j))
    yield 'jumbo: af_packet ibv_devinfo', lambda: active_mtu(launcher, hosts)
    yield 'jumbo: af_packet echo', lambda: echoed(launcher, hosts, 8900, JUMBO)


def run_pair(pair_, judge):
    """What a judge says."""
    try:
        return judge(pair_)
    except Failure as e:
        pair_.stop()
        raise e.saw(pair_.outputs()) from e
    finally:
        pair_.stop()
        shutil.rmtree(pair_.dir)    # a killed memif server cannot remove its socket


def main(launcher, words):
    sandbox.enter()
    hosts = sandbox.two_hosts()
    passed = failed = 0
    for line, run in cases(launcher, hosts):
        if not all(w in line for w in words):
            continue
        start, ok = time.monotonic(), True
        try:
            text = run()
        except Failure as e:
            ok, text = False, str(e)
        passed, failed = passed + ok, failed + (not ok)
        print('%s %s (%.1f s): %s' % ('ok  ' if ok else 'FAIL', line, time.monotonic() - start, text),
              flush=True)
    print('%d passed, %d failed, 0 skipped' % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    if sys.argv[1] == 'echo':
        sys.exit(echo(sys.argv[2], int(sys.argv[3])))
    sys.exit(main(os.path.abspath(sys.argv[1]), sys.argv[2:]))
