#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The launcher as its user meets it: what it refuses, in which words, and what it hands on.

    launcher.py POLLUX-RUN LIBDIR-RELATIVE-TO-PREFIX

The launcher is copied to an installed tree of its own with an empty drop-in: nothing of the stack
is needed, and the tree lies where nobody built it for.
"""
import os
import shutil
import socket
import subprocess
import sys
import tempfile

import sandbox

LONG_PATH = '/run/' + 'x' * 103         # 108 bytes: one more than fits

# options, words that the one line must hold
REFUSED = [
    ([], 'no program is given'),
    (['--', ], 'no program is given'),
    (['env'], 'put -- before the program'),
    (['--colour', 'red', '--', 'env'], 'there is no option --colour'),
    (['-v', '--', 'env'], 'there is no option -v'),
    (['--por', 'loop', '--', 'env'], 'there is no option --por'),
    (['--port', '--', 'env'], '--port needs a value'),
    (['--port=', '--', 'env'], '--port needs a value'),
    (['--port', 'memif', '--', 'env'], 'memif:SOCKET,server'),
    (['--port', 'memif:@,client', '--', 'env'], 'memif:SOCKET,server'),
    (['--port', 'memif:/run/s,client,zcc', '--', 'env'], 'memif:SOCKET,server'),
    (['--port', 'loop:x', '--', 'env'], 'takes nothing'),
    (['--port', 'vdev:', '--', 'env'], 'write vdev:'),
    (['--port', 'af_packet:', '--', 'env'], 'write af_packet:IFACE'),
    (['--mtu', '1500', '--mtu', '1500', '--', 'env'], '--mtu is given twice'),
    (['--port', 'eth0', '--', 'env'], 'there are loop, memif, af_packet, af_xdp, vhost'),
    (['--port', 'af_xdp:absent', '--', 'env'], 'no interface "absent"'),
    (['--port', 'vhost:run/v', '--', 'env'], 'write vhost:SOCKET'),
    (['--port', 'virtio:', '--', 'env'], 'write virtio:SOCKET'),
    (['--port', 'pci:eth0', '--', 'env'], 'write pci:DOMAIN'),
    (['--impair', 'drop=2', '--', 'env'], 'P is a fraction'),
    (['--impair', 'jam=1', '--', 'env'], 'write drop=P'),
    (['--record', '/run', '--', 'env'], 'is no plain file'),
    (['--record', '/run/absent/a.pcapng', '--', 'env'], 'choose another file'),
    (['--counters', '/run/absent/a', '--', 'env'], 'choose another file'),
    (['--attach', '--', 'env'], '--attach: not in this version'),
    (['--attach', '/run/p', '--', 'env'], '--attach /run/p: not in this version'),
    (['--attach', '--port', 'loop', '--', 'env'], '--attach: not in this version'),
    (['--cores', '4000', '--', 'env'], 'CPU 4000'),
    (['--cores', '0,4000', '--', 'env'], "'0,4000' names CPU 4000"),
    (['--cores', '0-', '--', 'env'], 'taskset'),
    (['--cores', '0,', '--', 'env'], 'taskset'),
    (['--ip', '10.0.0.1', '--', 'env'], 'give ADDR/LEN'),
    (['--ip', '10.0.0.1/33', '--', 'env'], 'prefix length'),
    (['--ip', '127.0.0.1/8', '--', 'env'], 'loopback address'),
    (['--ip', '10.0.0.1/24', '--ip', '10.0.0.1/16', '--', 'env'], 'twice'),
    (['--ip', '10.0.0.1/24', '--gw', '10.0.1.1', '--', 'env'], 'in no network of --ip'),
    (['--ip', '10.0.0.1/24', '--gw', '10.0.0.1', '--', 'env'], 'own address'),
    (['--gw', 'router', '--', 'env'], 'give an address'),
    (['--mtu', '575', '--', 'env'], '576 to 9216'),
    (['--mtu', '9217', '--', 'env'], '576 to 9216'),
    (['--mac', '01:00:5e:00:00:01', '--', 'env'], 'one station'),
    (['--vlan', '4095', '--', 'env'], 'ID 1 to 4094'),
    (['--vlan', '1:8', '--', 'env'], 'PCP 0 to 7'),
    (['--port', 'memif:/run/s', '--', 'env'], 'memif:SOCKET,server'),
    (['--port', 'memif:/run/absent/s,server', '--', 'env'], 'directory /run/absent'),
    (['--port', 'memif:/dev/null/s,server', '--', 'env'], '/dev/null'),
    (['--port', 'memif:/run/file,client', '--', 'env'], 'is no socket'),
    (['--port', 'memif:/run/busy,server', '--', 'env'], 'a server has /run/busy already'),
    (['--port', 'memif:@busy,server', '--', 'env'], 'a server has @busy already'),
    (['--port', 'memif:%s,server' % LONG_PATH, '--', 'env'], 'at most 107'),
    (['--port', 'af_packet:absent', '--', 'env'], 'no interface "absent"'),
    (['--port', 'af_packet:lo', '--', 'env'], 'is not Ethernet'),
    (['--port', 'af_packet:low0', '--', 'env'], 'ip link set low0 up'),
    (['--port', 'af_packet:net0', '--mtu', '1501', '--', 'env'], 'carries 1500 bytes'),
    (['--port', 'af_packet:net0', '--ip', '10.9.9.9/24', '--', 'env'], 'the kernel holds'),
    (['--mtu', '1\n2', '--', 'env'], '--mtu 1?2'),
]
# variable, value, words
REFUSED_VARIABLES = [
    ('POLLUX_PORT', 'token-ring:0', 'POLLUX_PORT token-ring:0: no such kind'),
    ('POLLUX_IP', '10.0.0.1/24,x/1', 'POLLUX_IP'),
    ('POLLUX_GW', 'x', 'POLLUX_GW x'),
    ('POLLUX_MTU', '1', '576 to 9216'),
    ('POLLUX_MAC', '00:00:00:00:00:00', 'one station'),
    ('POLLUX_VLAN', '0', 'ID 1 to 4094'),
    ('POLLUX_CORES', 'all', 'taskset'),
    ('POLLUX_IMPAIR', 'x', 'write drop=P'),
    ('POLLUX_RECORD', '/dev/null/x', 'choose another file'),
    ('POLLUX_SOCKET', '/run/x', 'POLLUX_SOCKET /run/x: not in this version'),
    ('POLLUX_VENDOR_ID', '0x1ffffffff', '0xffffffff'),
    ('POLLUX_VENDOR_PART_ID', '-1', '0xffffffff'),
    ('POLLUX_ZERO_COPY', 'no', 'it is 0 or 1'),
    ('POLLUX_DM_SIZE', '16M', 'a number of MiB'),
    ('POLLUX_EXPLAIN', 'yes', 'it is 0 or 1'),
]
# environment, options, what the program must find in its environment
HANDED_ON = [
    ({}, [], {'POLLUX_PORT': 'loop', 'POLLUX_LAUNCHED': '1'}),
    ({}, ['--port', 'memif:/run/m,server', '--ip', '10.0.0.1/24', '--ip=fd00::1/64',
          '--gw', '10.0.0.254', '--mtu', '4200', '--mac', '02:00:00:00:00:01', '--vlan', '5:3',
          '--cores', '0'],
     {'POLLUX_PORT': 'memif:/run/m,server', 'POLLUX_IP': '10.0.0.1/24,fd00::1/64',
      'POLLUX_GW': '10.0.0.254', 'POLLUX_MTU': '4200', 'POLLUX_MAC': '02:00:00:00:00:01',
      'POLLUX_VLAN': '5:3', 'POLLUX_CORES': '0'}),
    ({}, ['--port', 'memif:@m,client'], {'POLLUX_PORT': 'memif:@m,client'}),
    ({}, ['--port', 'memif:/run/busy,client'], {'POLLUX_PORT': 'memif:/run/busy,client'}),
    ({}, ['--port', 'af_packet:net0', '--mtu', '1500'], {'POLLUX_PORT': 'af_packet:net0'}),
    ({}, ['--port', 'vdev:net_ring0'], {'POLLUX_PORT': 'vdev:net_ring0'}),
    ({'POLLUX_MTU': '1500', 'POLLUX_VENDOR_ID': '0x2c9'}, [],
     {'POLLUX_MTU': '1500', 'POLLUX_VENDOR_ID': '0x2c9'}),
    ({'POLLUX_MTU': 'wrong'}, ['--mtu', '2000'], {'POLLUX_MTU': '2000'}),
    ({'POLLUX_SOCKET': '', 'POLLUX_PORT': ''}, [], {'POLLUX_SOCKET': None, 'POLLUX_PORT': 'loop'}),
    ({}, ['--impair', 'drop=0.01,seed=1'], {'POLLUX_IMPAIR': 'drop=0.01,seed=1'}),
    ({}, ['--record', '/run/r', '--counters', '/run/c'],
     {'POLLUX_RECORD': '/run/r', 'POLLUX_COUNTERS': '/run/c'}),
    # a name without a directory is one of where the launcher was called
    ({}, ['--record', 'r', '--counters', 'c'],
     {'POLLUX_RECORD': '/run/r', 'POLLUX_COUNTERS': '/run/c'}),
    ({'LD_LIBRARY_PATH': '/opt/a:/opt/b'}, [], {'LD_LIBRARY_PATH': 'DROPIN:DROPIN/..:/opt/a:/opt/b'}),
    ({'LD_LIBRARY_PATH': ''}, [], {'LD_LIBRARY_PATH': 'DROPIN:DROPIN/..'}),
]


class Test:
    def __init__(self, launcher, libdir):
        self.prefix = tempfile.mkdtemp(dir='/run')
        self.launcher = os.path.join(self.prefix, 'bin/pollux-run')
        self.dropin = os.path.join(self.prefix, libdir, 'pollux')
        os.makedirs(os.path.dirname(self.launcher))
        os.makedirs(self.dropin)
        shutil.copy(launcher, self.launcher)
        self.file = os.path.join(self.dropin, 'libibverbs.so.1')
        with open(self.file, 'w', encoding='ascii'):
            pass
        self.passed = self.failed = 0

    def run(self, args, env=None, launcher=None):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(('POLLUX_', 'LD_'))}
        return subprocess.run([launcher or self.launcher] + args, env=dict(clean, **(env or {})),
                              capture_output=True, text=True, timeout=20, check=False, cwd='/run')

    def check(self, what, ok, detail=''):
        self.passed, self.failed = self.passed + ok, self.failed + (not ok)
        print('%s %s%s' % ('ok  ' if ok else 'FAIL', what, '' if ok else ': %s' % detail))

    def refuses(self, args, words, env=None):
        r = self.run(args, env)
        lines = r.stderr.splitlines()
        self.check('refuses %s%s' % (env or '', ' '.join(args).replace('\n', '?')),
                   r.returncode == 2 and len(lines) == 1 and not r.stdout and words in r.stderr
                   and r.stderr.startswith('pollux-run: '),
                   'status %d, %r' % (r.returncode, r.stderr))

    def hands_on(self, env, args, want):
        r = self.run(args + ['--', 'env', '-0'], env)
        got = dict(e.split('=', 1) for e in r.stdout.split('\0') if e)
        wrong = {k: got.get(k) for k, v in want.items()
                 if got.get(k) != (v and v.replace('DROPIN', self.dropin))}
        self.check('hands on %s %s' % (env, ' '.join(args)), r.returncode == 0 and not wrong,
                   'status %d, %s, %r' % (r.returncode, wrong, r.stderr))

    def status(self, what, args, want, words=''):
        r = self.run(args)
        self.check(what, r.returncode == want and words in r.stdout + r.stderr,
                   'status %d, %r' % (r.returncode, r.stderr))

    def without_rights(self):
        """No packet sockets for who may not have them."""
        r = subprocess.run(['setpriv', '--inh-caps=-net_raw', '--bounding-set=-net_raw',
                            self.launcher, '--port', 'af_packet:net0', '--', 'env'],
                           capture_output=True, text=True, timeout=20, check=False)
        self.check('af_packet without CAP_NET_RAW', r.returncode == 2 and
                   'needs CAP_NET_RAW: run as root' in r.stderr,
                   'status %d, %r' % (r.returncode, r.stderr))

    def several_cores(self):
        """Lists as taskset has them; who may not run on one of them hears which."""
        cpus = sorted(os.sched_getaffinity(0))
        text = ','.join(str(c) for c in cpus)
        self.hands_on({}, ['--cores', text], {'POLLUX_CORES': text})
        self.hands_on({'POLLUX_CORES': text}, [], {'POLLUX_CORES': text})
        if len(cpus) < 2:
            return
        r = subprocess.run(['taskset', '-c', str(cpus[0]), self.launcher, '--cores', text, '--',
                            'env'], capture_output=True, text=True, timeout=20, check=False)
        self.check('refuses a CPU that we may not run on', r.returncode == 2 and
                   'CPU %d is not among those we may run on' % cpus[1] in r.stderr,
                   'status %d, %r' % (r.returncode, r.stderr))

    def relocated(self):
        """A copy elsewhere uses its own drop-in; one without refuses."""
        other = os.path.join('/run', 'moved here')
        shutil.copytree(self.prefix, other)
        r = self.run(['--', 'env'], launcher=other + '/bin/pollux-run')
        self.check('runs from a moved tree', 'LD_LIBRARY_PATH=%s/' % other in r.stdout, r.stderr)
        os.unlink(self.file)
        self.refuses(['--', 'env'], 'no libibverbs.so.1')


def furnish():
    """Interfaces, files and sockets that the cases name."""
    def ip(*args):
        sandbox.run('ip', *args)
    ip('link', 'add', 'net0', 'mtu', '1500', 'type', 'veth', 'peer', 'name', 'low0')
    ip('link', 'set', 'net0', 'up')
    ip('addr', 'add', '10.9.9.9/24', 'dev', 'net0')
    with open('/run/file', 'w', encoding='ascii'):
        pass
    servers = []
    for name in ('/run/busy', '\0busy'):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.bind(name)
        s.listen()
        servers.append(s)
    return servers


def main(launcher, libdir):
    sandbox.enter()
    servers = furnish()
    t = Test(launcher, libdir)
    for args, words in REFUSED:
        t.refuses(args, words)
    for variable, value, words in REFUSED_VARIABLES:
        t.refuses(['--', 'env'], words, {variable: value})
    for env, args, want in HANDED_ON:
        t.hands_on(env, args, want)
    t.status('passes the status on', ['--', 'sh', '-c', 'exit 7'], 7)
    t.status('no such program', ['--', '/run/absent'], 127, '/run/absent')
    t.status('not a program', ['--', '/run/file'], 126, '/run/file')
    t.status('--help', ['--help'], 0, '--cores LIST|inline')
    t.status('--version', ['--version'], 0, 'pollux-run ')
    t.without_rights()
    t.several_cores()
    t.relocated()
    for s in servers:
        s.close()
    print('%d passed, %d failed, 0 skipped' % (t.passed, t.failed))
    return 1 if t.failed else 0


if __name__ == '__main__':
    sys.exit(main(os.path.abspath(sys.argv[1]), sys.argv[2]))
