#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Has what programs, libpollux and the stack share changed without a new CTL_ABI_VERSION?

    layout.py [--write] [ROOT]

layout.list holds the version and a digest of each header as of that version, comments left out. --write
notes a new version.
"""
import glob
import hashlib
import os
import re
import sys

import tree

LIST = 'test/lint/layout.list'
VERSION_FILE = 'lib/ctl/backend.h'
SHARED = ('include/pollux/abi/*.h', 'include/pollux/objects.h', 'lib/ctl/msg.h', VERSION_FILE)
VERSION = re.compile(r'^#define CTL_ABI_VERSION (\d+)u?$', re.M)
NOISE = re.compile(r'/\*.*?\*/|//[^\n]*', re.S)


def digest(text):
    words = NOISE.sub(' ', VERSION.sub('', text)).split()
    return hashlib.sha256(' '.join(words).encode()).hexdigest()[:16]


def state(root):
    """{header: digest, 'version': text} as it is now."""
    names = [os.path.relpath(p, root) for s in SHARED for p in glob.glob(os.path.join(root, s))]
    now = {name: digest(tree.read(root, name)) for name in names}
    version = VERSION.search(tree.read(root, VERSION_FILE))
    now['version'] = version.group(1) if version else '0'
    return now


def listed(now):
    """The text of layout.list for a state."""
    rows = ['version ' + now['version']] + ['%s %s' % r for r in sorted(now.items()) if r[0] != 'version']
    return '# SPDX-License-Identifier: BSD-3-Clause\n' + '\n'.join(rows) + '\n'


def compare(now, noted):
    """Complaints."""
    if now['version'] != noted.get('version'):
        return ['%s is not of version %s: run test/lint/layout.py --write' % (LIST, now['version'])]
    changed = [n for n in sorted(now.keys() | noted.keys()) if now.get(n) != noted.get(n)]
    return ['%s has changed: raise CTL_ABI_VERSION (%s) and PLX_ABI_VERSION (include/pollux/version.h.in), then '
            'run test/lint/layout.py --write' % (n, VERSION_FILE) for n in changed]


def main(words):
    roots = [w for w in words if w != '--write']
    root = os.path.realpath(roots[0] if roots else '.')
    now = state(root)
    noted = dict(line.split() for line in tree.read(root, LIST).splitlines() if not line.startswith('#'))
    complaints = compare(now, noted)
    if '--write' in words and int(now['version']) > int(noted.get('version', '0')):
        with open(os.path.join(root, LIST), 'w', encoding='utf-8') as f:
            f.write(listed(now))
        complaints = []
    tree.finish('layout', len(now) - 1, complaints)


if __name__ == '__main__':
    main(sys.argv[1:])
