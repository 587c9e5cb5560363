#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A DPDK program that would lose its Mellanox port to the drop-in is told so, and nobody else is.

    dpdk_port.py POLLUX-RUN PROGRAM

PROGRAM is dpdk_port.c. The machine's PCI drivers are hidden behind a directory of ours.
"""
import os
import subprocess
import sys

import sandbox

DRIVERS = '/sys/bus/pci/drivers'
# a device of that driver in the machine, whether the program runs DPDK, whether it must be told
CASES = [
    ('mlx5_core', 'dpdk', True),
    ('mlx4_core', 'dpdk', True),
    ('mlx5_core', 'plain', False),
    ('e1000e', 'dpdk', False),
    (None, 'dpdk', False),
]


def told(launcher, program, kind):
    done = subprocess.run([launcher, '--', program, kind], capture_output=True, text=True,
                          timeout=60, check=False)
    if done.returncode or '1 devices' not in done.stdout:
        sys.exit('FAIL %s: status %d\n%s%s' % (kind, done.returncode, done.stdout, done.stderr))
    return done.stderr.count('without pollux-run')


def main():
    launcher, program = map(os.path.abspath, sys.argv[1:])
    sandbox.enter()
    if not os.path.isdir(DRIVERS):
        sandbox.skip('no ' + DRIVERS + ' here')
    failed = 0
    for driver, kind, must in CASES:
        sandbox.run('mount', '-t', 'tmpfs', 'tmpfs', DRIVERS)
        if driver:
            os.makedirs('%s/%s/0000:01:00.0' % (DRIVERS, driver))
            open('%s/%s/bind' % (DRIVERS, driver), 'w', encoding='utf-8').close()
        lines = told(launcher, program, kind)
        sandbox.run('umount', DRIVERS)
        failed += lines != must
        print('%s %s, %s program: %d lines' % ('FAIL' if lines != must else 'ok  ', driver, kind,
                                               lines))
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
