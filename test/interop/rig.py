# SPDX-License-Identifier: BSD-3-Clause
"""Linux Soft-RoCE as a peer: a virtual machine with rdma_rxe, without KVM, on a bridge with a port
that Pollux may have.

    br0 (10.99.0.254) --- tap --- eth0 of the machine, rxe0 (10.99.0.1, fd99::1)
        |--- p0br === p0       for Pollux (10.99.0.2, fd99::2)
        \\--- tap1 …           further cards of the machine, when a test wants some

All of it lives in the sandbox of test/stack/sandbox.py and is gone with it. The kernel's address on
the bridge carries the programs' own TCP; the kernel has none on p0.
"""
import os
import re
import select
import shutil
import socket
import time

from process import Process
from sandbox import run

PEER = {4: '10.99.0.1', 6: 'fd99::1'}
HOST = '10.99.0.254'
OURS = ('10.99.0.2/24', 'fd99::2/64')
GID = {4: 1, 6: 2}      # the same at both ends: 0 is link-local, then as the addresses were given
IFACE = 'p0'
LINK_MTU = 9216         # of what connects both; the MTU that counts is that of the ends
MEMORY = 256            # MiB
BOOT = 120              # seconds; some ten on an idle machine
# What leaves the machine is what would stand on a wire.
OFFLOADS = ','.join(name + '=off' for name in (
    'csum', 'gso', 'guest_csum', 'guest_tso4', 'guest_tso6', 'guest_ecn', 'guest_ufo', 'host_tso4',
    'host_tso6', 'host_ecn', 'host_ufo'))
VIRTIO = 'virtio-net-pci,mrg_rxbuf=on,' + OFFLOADS
QEMU = 'qemu-system-x86_64'
CPU = 'qemu64,+rdrand,+ssse3,+sse4.1,+sse4.2,+popcnt'
APPEND = ('console=ttyS0 quiet panic=-1 mitigations=off nokaslr audit=0 lsm= preempt=none '
          'cryptomgr.notests=1 random.trust_cpu=on no_timer_check 8250.nr_uarts=1')
EXIT = re.compile(r'^RIG (\w+) (\d+)\n', re.M)


class Unavailable(Exception):
    """Why there can be no machine here."""


class Broken(Exception):
    """The machine is not what it should be."""


def check():
    """Raises Unavailable."""
    if not shutil.which(QEMU):
        raise Unavailable('there is no program %s here' % QEMU)
    if not os.access('/dev/net/tun', os.R_OK | os.W_OK):
        raise Unavailable('no network interfaces for programs may be made here: /dev/net/tun')


def make_network():
    def ip(*args):
        run('ip', 'link', *args)

    for name in ('all', 'default'):
        with open('/proc/sys/net/ipv6/conf/%s/disable_ipv6' % name, 'w', encoding='ascii') as f:
            f.write('1')
    ip('add', 'br0', 'type', 'bridge', 'stp_state', '0', 'forward_delay', '0', 'mcast_snooping', '0')
    make_tap('tap')
    ip('add', IFACE, 'type', 'veth', 'peer', 'name', 'p0br')
    ip('set', 'p0br', 'mtu', str(LINK_MTU))
    ip('set', 'p0br', 'master', 'br0', 'up')
    # or the kernel would answer there for HOST, as it does on all interfaces
    ip('set', IFACE, 'arp', 'off', 'up')
    # perftest's words go in segments that the machine can always take
    ip('set', 'br0', 'mtu', '1500', 'up')
    run('ip', 'addr', 'add', HOST + '/24', 'dev', 'br0')


def make_tap(name):
    """A port of the bridge for a card of the machine."""
    run('ip', 'tuntap', 'add', name, 'mode', 'tap')
    run('ip', 'link', 'set', name, 'mtu', str(LINK_MTU))
    run('ip', 'link', 'set', name, 'master', 'br0', 'up')


def card(tap, device):
    """QEMU's words for a card on that tap."""
    return ['-netdev', 'tap,id=%s,ifname=%s,script=no,downscript=no,vhost=off' % (tap, tap),
            '-device', device + ',romfile=,netdev=' + tap]


class Machine:
    def __init__(self, kernel, initramfs, place, memory=MEMORY, cards=(), more=(), append=''):
        """`cards`: further ones on the bridge, as `-device` has them; `more`: further words for QEMU;
        `append`: for the kernel."""
        make_network()
        self.memory, self.append = memory, append
        self.devices = list(more) + card('tap', VIRTIO + ',mac=02:52:49:47:00:01')
        for n, device in enumerate(cards, 1):
            make_tap('tap%d' % n)
            self.devices += card('tap%d' % n, '%s,mac=02:52:49:47:01:%02x' % (device, n))
        self.console = os.path.join(place, 'console.log')
        self.tokens = 0
        self.heard = ''
        self.done = {}          # token: (status, output)
        self.line, theirs = socket.socketpair()
        with theirs:
            self.qemu = Process(self.command(kernel, initramfs, theirs.fileno()),
                                keep=[theirs.fileno()])
        status, said = self.wait('start', BOOT)
        if status != 0:
            self.broken('the machine does not come up: status %s %s' % (status, said))

    def command(self, kernel, initramfs, fd):
        return [QEMU, '-machine', 'q35', '-accel', 'tcg,thread=multi', '-cpu', CPU,
                '-m', str(self.memory), '-nodefaults', '-no-user-config', '-display', 'none',
                '-no-reboot', '-serial', 'file:' + self.console,
                '-kernel', kernel, '-initrd', initramfs,
                '-append', ' '.join((APPEND, self.append)), *self.devices,
                '-chardev', 'socket,id=line,fd=%d' % fd, '-device', 'virtio-serial-pci',
                '-device', 'virtserialport,chardev=line']

    def broken(self, why):
        """Raises Broken with what QEMU and the machine's console said last."""
        with open(self.console, encoding='utf-8', errors='replace') as f:
            console = f.read()[-2000:]
        raise Broken('%s\n%s%s' % (why, self.qemu.output(), console))

    def start(self, command, seconds):
        """Starts a shell command in the machine, to be killed after so long; returns its token."""
        self.tokens += 1
        token = 't%d' % self.tokens
        self.line.sendall(('%s %d %s\n' % (token, seconds, command)).encode())
        return token

    def wait(self, token, seconds):
        """(status, what was printed); status None when it still runs after so long."""
        end = time.monotonic() + seconds
        while token not in self.done:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.line], [], [], left)[0]:
                return None, self.heard
            self.hear()
        return self.done.pop(token)

    def hear(self):
        """Takes in what the machine says. Output belongs to the command that ends first after it."""
        more = self.line.recv(65536)
        if not more:
            self.broken('the machine is gone')
        self.heard += more.decode(errors='replace').replace('\r', '')
        while True:
            m = EXIT.search(self.heard)
            if not m:
                return
            self.done[m.group(1)] = int(m.group(2)), self.heard[:m.start()]
            self.heard = self.heard[m.end():]

    def do(self, command, seconds=20):
        """Runs a command that must end well; what it printed."""
        status, text = self.wait(self.start(command, seconds), seconds + 5)
        if status:
            self.broken('%s: status %s\n%s' % (command, status, text))
        return text

    def set_mtu(self, mtu):
        """The IP MTU of both ends."""
        run('ip', 'link', 'set', IFACE, 'mtu', str(mtu))
        self.do('ip link set eth0 mtu %d' % mtu)

    def listens(self, port, seconds):
        """Waits until something in the machine listens on the TCP port."""
        command = 'for i in $(seq %d); do grep -q ":%04X .* 0A " /proc/net/tcp /proc/net/tcp6 && ' \
            'exit 0; usleep 100000; done; exit 1' % (seconds * 10, port)
        return self.wait(self.start(command, seconds), seconds + 5)[0] == 0

    def kill(self, program):
        self.do('killall -9 %s || true' % program)

    def stop(self):
        self.qemu.kill()


class Guest:
    """A program in the machine, with the face of a Process. What it prints is kept there: several
    may run at a time."""

    def __init__(self, machine, command, seconds):
        self.machine = machine
        self.command = command
        self.file = '/tmp/said%d' % machine.tokens
        self.token = machine.start('%s >%s 2>&1' % (' '.join(command), self.file), seconds)
        self.status = None

    def wait(self, seconds):
        if self.status is None:
            self.status, _ = self.machine.wait(self.token, seconds)
        return self.status

    def listens(self, port, seconds):
        """Whether something in the machine listens on that TCP port."""
        return self.wait(0) is None and self.machine.listens(port, seconds)

    def kill(self):
        if self.wait(0) is None:
            # a launcher becomes the program behind its --
            at = self.command.index('--') + 1 if '--' in self.command else 0
            self.machine.kill(self.command[at])
            self.wait(5)

    def output(self):
        return self.machine.do('cat ' + self.file)
