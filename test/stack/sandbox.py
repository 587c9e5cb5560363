# SPDX-License-Identifier: BSD-3-Clause
"""A place of its own for tests with real processes.

enter() starts the test again inside fresh mount, network and PID namespaces with an empty /run and
/dev/shm. Whatever a test leaves (processes, interfaces, namespaces, sockets) is therefore seen at
its end, and is gone with it, even when the test is killed. Needs root or user namespaces; where
neither is to be had the test says so and is skipped.
"""
import os
import shutil
import subprocess
import sys

SKIP = 77
INSIDE = 'TEST_SANDBOX'
# Where programs that share memory or run DPDK leave files.
WATCHED = ('/run', '/dev/shm', '/dev/hugepages')
UNSHARE = ['unshare', '--mount', '--net', '--pid', '--fork', '--kill-child', '--mount-proc']


def skip(reason):
    print('skipped: ' + reason)
    sys.exit(SKIP)


def enter():
    """Returns inside the sandbox; never returns outside it."""
    if os.environ.get(INSIDE):
        prepare()
        return
    command = UNSHARE[:]
    if os.geteuid() != 0:
        command.insert(1, '--map-root-user')
    for tool in ('unshare', 'ip'):
        if not shutil.which(tool):
            skip('there is no program %s here' % tool)
    if subprocess.run(command + ['true'], stderr=subprocess.DEVNULL, check=False).returncode:
        skip('no namespaces may be made here: run as root')
    os.environ[INSIDE] = '1'
    os.execvp(command[0], command + [sys.executable] + sys.argv)


def prepare():
    run('mount', '--make-rprivate', '/')
    for place in ('/run', '/dev/shm'):
        run('mount', '-t', 'tmpfs', 'tmpfs', place)
    os.makedirs('/run/netns')
    run('ip', 'link', 'set', 'lo', 'up')


def run(*command):
    subprocess.run(command, check=True)


def leftovers():
    """Files in the watched places and processes besides this one."""
    found = set()
    for place in WATCHED:
        for base, dirs, names in os.walk(place):
            if base == '/run':
                dirs[:] = [d for d in dirs if d != 'netns']
            found.update(os.path.join(base, n) for n in names)
    for pid in filter(str.isdigit, os.listdir('/proc')):
        if int(pid) != os.getpid():
            found.add(process_name(pid))
    found.discard(None)
    return found


def process_name(pid):
    """pid and command line; None when it is gone, or dead and not yet collected."""
    try:
        with open('/proc/%s/cmdline' % pid, 'rb') as f:
            words = f.read().split(b'\0')
    except OSError:
        return None
    return 'process %s: %s' % (pid, b' '.join(words[:4]).decode()) if words[0] else None


class Host:
    """A network namespace with an address on the wire that carries the programs' TCP."""

    def __init__(self, name):
        self.name = name
        self.iface = 'data-' + name
        self.page_iface = 'page-' + name
        run('ip', 'netns', 'add', name)
        self.ip('link', 'set', 'lo', 'up')

    def ip(self, *args):
        run('ip', '-n', self.name, *args)

    def command(self, *args):
        return ['ip', 'netns', 'exec', self.name, *args]


PAGE_MTU = 3400     # a frame fits a page, as XDP wants it


def two_hosts(data_mtu=9000):
    """Hosts a and b on three wires: one for the programs' TCP, and two that Pollux may have.

    A data wire has no address that the kernel holds, or the kernel would answer RoCE packets with
    ICMP errors.
    """
    a, b = Host('a'), Host('b')
    for wire in ('tcp', 'data', 'page'):
        run('ip', 'link', 'add', wire + '-a', 'netns', 'a', 'type', 'veth',
            'peer', 'name', wire + '-b', 'netns', 'b')
    for n, host in enumerate((a, b), 1):
        tcp = 'tcp-' + host.name
        host.address = '192.168.77.%d' % n
        host.ip('addr', 'add', host.address + '/24', 'dev', tcp)
        host.ip('link', 'set', tcp, 'up')
        for iface, mtu in ((host.iface, data_mtu), (host.page_iface, PAGE_MTU)):
            host.ip('link', 'set', iface, 'addrgenmode', 'none')
            host.ip('link', 'set', iface, 'mtu', str(mtu), 'up')
    return a, b
