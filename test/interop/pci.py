#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pollux on cards of the PCI bus: unmodified programs over `--port pci:ADDRESS` in the virtual
machine of rig.py, where QEMU emulates the cards and the kernel gives them to DPDK.

    pci.py POLLUX-RUN DIRECTORY [WORD]...

Two cards by two ways: an Intel one behind an IOMMU by vfio-pci, first without hugepages, and a
virtio one by uio_pci_generic, which needs them. The other end is Pollux on af_packet outside the
machine, or the machine's own Soft-RoCE. The image is kept in DIRECTORY; with WORDs only cases whose line
contains all of them run. One line for each case; the last line is the count.
"""
import collections
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'stack'))

import image
import rig
import sandbox
from pair import measured
from process import Process
from soft_roce import DEPTH, HANG, PATIENCE, run_fairly

# what of a build tree a program needs; it lies in the machine where it lies here
BUILT = ('app/pollux-run/pollux-run', 'lib/compat/ibverbs/libibverbs.so.1',
         'lib/libpollux/libpollux.so.0', 'lib/libpollux-stack/libpollux-stack-private.so')
MEMORY = 768            # MiB, of which the hugepages are a third
HUGE_PAGES = 128
IOMMU = ['-device', 'intel-iommu,aw-bits=48,intremap=on']
IP = '10.99.0.3/24'     # of the card

Card = collections.namedtuple('Card', 'device address driver')
CARDS = {
    'e1000e': Card('e1000e,addr=0x11', '0000:00:11.0', 'vfio-pci'),
    'virtio': Card(rig.VIRTIO + ',addr=0x10', '0000:00:10.0', 'uio_pci_generic'),
}

Case = collections.namedtuple('Case', 'card huge program args role peer mtu')

PINGPONG = ['-g', '1', '-c', '-s', '20000', '-n', '24']
PERFTEST = ['-x', '1', '-F', '-n', '24'] + PATIENCE

# In order of hugepages: the machine has none before the first case that wants some.
CASES = (
    Case('e1000e', False, 'ibv_rc_pingpong', PINGPONG, 'server', 'Pollux', 1500),
    Case('e1000e', True, 'ib_write_bw', PERFTEST, 'client', 'Pollux', 1500),
    Case('e1000e', True, 'ib_read_bw', PERFTEST + DEPTH, 'server', 'Pollux', 9000),
    Case('e1000e', True, 'ibv_rc_pingpong', PINGPONG, 'client', 'Soft-RoCE', 1500),
    Case('virtio', True, 'ibv_rc_pingpong', PINGPONG, 'server', 'Pollux', 1500),
    Case('virtio', True, 'ib_send_bw', PERFTEST, 'client', 'Pollux', 9000),
    Case('virtio', True, 'ib_read_bw', PERFTEST + DEPTH, 'client', 'Pollux', 1500),
    Case('virtio', True, 'ib_write_bw', PERFTEST, 'client', 'Soft-RoCE', 1500),
)


def name(case):
    return '%s by %s, %s hugepages, as %s of %s, MTU %d: %s' % (
        case.card, CARDS[case.card].driver, 'with' if case.huge else 'without', case.role,
        case.peer, case.mtu, ' '.join([case.program] + case.args))


def give_cards(machine):
    """To the drivers that hand them to a program."""
    for card in CARDS.values():
        place = '/sys/bus/pci/devices/' + card.address
        machine.do('echo %s >%s/driver_override; [ ! -e %s/driver ] || echo %s >%s/driver/unbind; '
                   'echo %s >/sys/bus/pci/drivers_probe; [ -e /sys/bus/pci/drivers/%s/%s ]'
                   % (card.driver, place, place, card.address, place, card.address, card.driver,
                      card.address))


def ends(launcher, machine, case):
    """Makers of the server and of the client."""
    client = case.role == 'client'
    program = [case.program] + case.args + ['-m', '4096' if case.mtu == 9000 else '1024']
    launch = [launcher, '--mtu', str(case.mtu)]
    kernels = case.peer == 'Soft-RoCE'
    on_card = launch + ['--port', 'pci:' + CARDS[case.card].address, '--ip', IP, '--'] + program
    other = program + ([] if client else [rig.PEER[4]])
    if client:
        on_card.append(rig.PEER[4] if kernels else rig.HOST)
    if not kernels:
        other = launch + ['--port', 'af_packet:' + rig.IFACE, '--ip', rig.OURS[0], '--'] + other
    makers = [lambda: rig.Guest(machine, on_card, HANG),
              lambda: rig.Guest(machine, other, HANG) if kernels else Process(other)]
    return makers[::-1] if client else makers


def run_all(launcher, machine, words):
    passed = failed = 0
    mtu = None
    huge = False
    for case in CASES:
        if not all(w in name(case) for w in words):
            continue
        start = time.monotonic()
        if case.huge and not huge:
            machine.do('echo %d >/proc/sys/vm/nr_hugepages' % HUGE_PAGES)
            huge = True
        if mtu != case.mtu:
            mtu = case.mtu
            machine.set_mtu(mtu)
        ok, text = run_fairly(machine, name(case), ends(launcher, machine, case),
                              lambda output: measured(case.program, output))
        passed, failed = passed + ok, failed + (not ok)
        print('%s %s (%.1f s): %s' % ('ok  ' if ok else 'FAIL', name(case),
                                      time.monotonic() - start, text), flush=True)
    print('%d passed, %d failed, 0 skipped' % (passed, failed))
    return 1 if failed or not passed else 0


def main(launcher, place, words):
    if not os.environ.get(sandbox.INSIDE):
        # outside, where there is a network
        build = os.path.normpath(os.path.join(os.path.dirname(launcher), '..', '..'))
        try:
            rig.check()
            os.environ['RIG_IMAGE'] = ' '.join(image.build(
                place, os.path.join(HERE, 'guest'), [], [os.path.join(build, b) for b in BUILT],
                image.CARD_MODULES, 'initramfs.pci'))
        except (image.Unavailable, rig.Unavailable) as e:
            sandbox.skip(str(e))
    sandbox.enter()
    start = time.monotonic()
    machine = rig.Machine(*os.environ['RIG_IMAGE'].split(' '), place, MEMORY,
                          [card.device for card in CARDS.values()], IOMMU, 'intel_iommu=on')
    try:
        give_cards(machine)
        print('the machine is up after %.1f s: %s' % (time.monotonic() - start,
                                                      machine.do('uname -r').strip()), flush=True)
        return run_all(launcher, machine, words)
    finally:
        machine.stop()


if __name__ == '__main__':
    sys.exit(main(*map(os.path.abspath, sys.argv[1:3]), sys.argv[3:]))
