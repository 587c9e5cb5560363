#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Does one program serve several clients at once, each on a host of its own (FC66)?

    clients.py POLLUX-RUN EXAMPLE [WORD]...

Our XRC ping-pong with four clients, of ours and of rdma-core's: one shared queue at the server for all of them, and a
target and an initiator for each. The hosts hang on a switch. The directory of EXAMPLE holds xsrq_pingpong. With
WORDs only cases whose line contains all of them run.
"""
import os
import sys

import sandbox
import starved
from examples import HANG, TCP_PORT, Ours, Theirs, run_cases
from process import Process
from starved import Failure, ended

PROGRAM = 'xsrq_pingpong'
CLIENTS = 4
OPTIONS = ['-e', '-s', '9000', '-m', '4096', '-n', '50']
SWITCH = 'w'
MTU = '9000'


def switch(hosts):
    """A bridge for the programs' TCP, and one for Pollux, where the kernel has no address."""
    middle = sandbox.Host(SWITCH)
    for wire in ('tcp', 'data'):
        middle.ip('link', 'add', 'br-' + wire, 'type', 'bridge')
        middle.ip('link', 'set', 'br-' + wire, 'addrgenmode', 'none')
        for host in hosts:
            here, there = wire + '-' + host.name, wire[0] + '-' + host.name
            sandbox.run('ip', 'link', 'add', here, 'netns', host.name, 'type', 'veth', 'peer', 'name', there,
                        'netns', SWITCH)
            for who, iface in ((host, here), (middle, there)):
                who.ip('link', 'set', iface, 'addrgenmode', 'none')
                who.ip('link', 'set', iface, 'mtu', MTU, 'up')
            middle.ip('link', 'set', there, 'master', 'br-' + wire)
        middle.ip('link', 'set', 'br-' + wire, 'up')
    for n, host in enumerate(hosts, 1):
        host.address = '192.168.77.%d' % n
        host.ip('addr', 'add', host.address + '/24', 'dev', 'tcp-' + host.name)


def start(launcher, hosts, n, end, args):
    host = hosts[n]
    words = [launcher, '--port', 'af_packet:' + host.iface, '--ip', '10.11.0.%d/24' % (n + 1), '--']
    return Process(host.command(*words, *end.command(PROGRAM, args)))


def play_once(launcher, hosts, ends, processes):
    """The first end serves, each other one is a client."""
    processes.append(start(launcher, hosts, 0, ends[0], OPTIONS + ['-c', str(CLIENTS)]))
    try:
        if not processes[0].listens(TCP_PORT, HANG):
            raise Failure('the server does not listen')
        for n in range(1, CLIENTS + 1):
            processes.append(start(launcher, hosts, n, ends[n], OPTIONS + [hosts[0].address]))
        for n, p in enumerate(processes):
            status = p.wait(HANG)
            if status is None:
                raise Failure('process %d still runs after %d s' % (n, HANG))
            if status or 'success' not in p.output():
                raise ended('process %d' % n, status)
    except Failure as e:
        raise e.saw(''.join('--- %s\n%s' % (' '.join(p.command), p.output()) for p in processes)) from e
    finally:
        for p in processes:
            p.kill()


def cases(launcher, where, hosts):
    """Who serves, and who the clients are. rdma-core's server is for clients in several processes of one host: it
    sends what is for one of them on the connection of another."""
    ours, theirs = Ours(where), Theirs()
    for line, ends in (('ours serves four of ours', [ours] * 5),
                       ('ours serves two of ours and two of rdma-core', [ours, ours, theirs, ours, theirs])):
        yield line, lambda t=line, e=ends: starved.fairly(t, lambda processes: play_once(launcher, hosts, e, processes))


def main(launcher, where, words):
    sandbox.enter()
    hosts = [sandbox.Host(name) for name in ('s', 'c1', 'c2', 'c3', 'c4')]
    switch(hosts)
    return run_cases(cases(launcher, where, hosts), words)


if __name__ == '__main__':
    sys.exit(main(os.path.abspath(sys.argv[1]), os.path.dirname(os.path.abspath(sys.argv[2])), sys.argv[3:]))
