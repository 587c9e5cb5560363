#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Does every file include only what its room may?

A room may include itself and the rooms that `deps` in its meson.build names; what else it may see
(the shared layouts, the public headers, DPDK, rdma-core's headers) stands in ROOMS below. Drivers,
programs and examples have rules of their own.

    deps.py [ROOT]
"""
import os
import re
import sys

import tree

# What a room may see besides the rooms in its deps.
#   abi     include/pollux/abi
#   public  include/pollux and rdma-core's headers, or the set that is named
#   dpdk    any header of DPDK, or the set that is named
ROOMS = {
    'base': {},
    'telemetry': {'dpdk': {'rte_telemetry.h'}},
    'wire': {},
    'mem': {'abi': True, 'dpdk': {'rte_memory.h', 'rte_memzone.h', 'rte_malloc.h'}},
    'queue': {'abi': True},
    'transport': {'abi': True},
    'port': {'dpdk': True},
    'net': {},
    'engine': {'abi': True, 'dpdk': True},
    'cm': {},
    'ctl': {'abi': True},
    # embed.c is <pollux/stack.h>'s other side
    'serve': {'abi': True, 'public': {'pollux/stack.h'}},
    'verbs': {'abi': True, 'public': True},
    'compat/ibverbs': {'abi': True, 'public': True},
    'compat/ucma': {'public': True},
}
# Only this file of the room may see that header of DPDK.
ONLY_IN = {'rte_telemetry.h': 'export.c', 'rte_memory.h': 'arena.c', 'rte_memzone.h': 'arena.c',
           'rte_malloc.h': 'arena.c'}
DRIVER_ROOMS = {'base', 'wire', 'telemetry'}
DRIVER_HEADERS = {'port/port_driver.h'}
# Programs see the public headers; beyond that only what stands here.
# the launcher reads values with the code that the stack reads them with
APP_ROOMS = {'pollux-run': {'base', 'port'}}

INCLUDE = re.compile(r'^\s*#\s*include(?:_next)?\s*(["<])([^">]+)[">]')
DEPS = re.compile(r'^deps\s*\+?=\s*\[(.*?)\]', re.M | re.S)


def room_deps(root, room):
    try:
        with open(os.path.join(root, 'lib', room, 'meson.build'), encoding='utf-8') as f:
            text = f.read()
    except FileNotFoundError:
        return set()
    return set(re.findall(r"'([^']+)'", ' '.join(DEPS.findall(text))))


def room_of(path):
    """The room of a path below lib/, or None."""
    for depth in (2, 1):
        name = '/'.join(path.split('/')[1:1 + depth])
        if name in ROOMS:
            return name
    return None


def is_dpdk(header):
    return header.startswith('rte_')


def may_see(header, allowed):
    return allowed is True or header in (allowed or ())


def may_see_dpdk(path, header, allowed):
    if allowed is True:
        return True
    return header in (allowed or ()) and os.path.basename(path) == ONLY_IN[header]


class Lint:
    def __init__(self, root):
        self.root = root
        self.complaints = []
        self.checked = 0
        self.deps = {room: room_deps(root, room) for room in ROOMS}

    def complain(self, path, n, text):
        self.complaints.append('%s:%d: %s' % (path, n, text))

    def exists(self, header):
        return any(os.path.exists(os.path.join(self.root, base, header + end))
                   for base in ('lib', 'include') for end in ('', '.in'))

    def own_header(self, path, n, header, rooms, headers=()):
        """A quoted include of `path`: must name a room in `rooms` or one of `headers`."""
        room = room_of('lib/' + header)
        if room is None:
            self.complain(path, n, '"%s" names no room; write "room/file.h"' % header)
        elif not self.exists(header):
            self.complain(path, n, '"%s" does not exist' % header)
        elif room not in rooms and header not in headers:
            self.complain(path, n, '"%s": this room may not include %s' % (header, room))

    def foreign_header(self, path, n, header, see):
        """An include in angle brackets."""
        if is_dpdk(header) and not may_see_dpdk(path, header, see.get('dpdk')):
            self.complain(path, n, '<%s>: no DPDK here' % header)
        elif header.startswith('pollux/abi/') and not (see.get('abi') or see.get('public') is True):
            self.complain(path, n, '<%s>: this room may not see the shared layouts' % header)
        elif header.startswith('pollux/') and not header.startswith('pollux/abi/') \
                and not may_see(header, see.get('public')):
            self.complain(path, n, '<%s>: this room may not see the public headers' % header)
        elif header.startswith(('infiniband/', 'rdma/')) and not may_see(header, see.get('public')):
            self.complain(path, n, '<%s>: this room may not see rdma-core\'s headers' % header)

    def room_file(self, path, n, quote, header):
        room = room_of(path)
        if room is None:
            self.complain(path, n, 'this directory is no room; name it in ROOMS')
        elif header.startswith('pollux/') or quote == '<':
            self.foreign_header(path, n, header, ROOMS[room])
        elif not (room.startswith('compat/') and self.beside(path, header)):
            self.own_header(path, n, header, self.deps[room] | {room})

    def driver_file(self, path, n, quote, header):
        if quote == '<':
            self.foreign_header(path, n, header, {'dpdk': True})
        elif not self.beside(path, header):
            self.own_header(path, n, header, DRIVER_ROOMS, DRIVER_HEADERS)

    def app_file(self, path, n, quote, header):
        if quote == '<':
            self.foreign_header(path, n, header, {'public': True})
        elif not self.beside(path, header):
            self.own_header(path, n, header, APP_ROOMS.get(path.split('/')[1], set()))

    def example_file(self, path, n, quote, header):
        # what they share must be found by who copies the folder and compiles
        if not (header.startswith('common/') and
                os.path.exists(os.path.join(self.root, 'examples', header))):
            self.app_file(path, n, quote, header)

    def public_file(self, path, n, quote, header):
        if quote == '"':
            self.complain(path, n, '"%s": a public header names <pollux/...>' % header)
        else:
            abi = path.startswith('include/pollux/abi/')
            self.foreign_header(path, n, header, {'abi': True} if abi else {'public': True})

    def beside(self, path, header):
        return '/' not in header and \
            os.path.exists(os.path.join(self.root, os.path.dirname(path), header))

    def run(self):
        rules = {'lib': self.room_file, 'drivers': self.driver_file, 'app': self.app_file,
                 'examples': self.example_file, 'include': self.public_file}
        for path in tree.files(self.root, ('.c', '.h', '.h.in')):
            rule = rules.get(path.split('/')[0])
            if not rule:
                continue
            self.checked += 1
            for n, line in enumerate(tree.lines(self.root, path), 1):
                m = INCLUDE.match(line)
                if m:
                    rule(path, n, m.group(1), m.group(2))
        tree.finish('deps', self.checked, self.complaints)


if __name__ == '__main__':
    Lint(os.path.realpath(sys.argv[1] if len(sys.argv) > 1 else '.')).run()
