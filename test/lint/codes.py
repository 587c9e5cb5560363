#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Does doc/guides/why.md list exactly the codes of FAULT_LIST, and does none of them move?

    codes.py [ROOT]
"""
import os
import re
import sys

import tree

SOURCE = 'lib/transport/status.h'
GUIDE = 'doc/guides/why.md'
ROW = re.compile(r'^\tX\((0x[0-9a-f]{2}), (\w+),', re.M)
LINE = re.compile(r'^\| (0x[0-9a-f]{2}) \| (\w+) \|', re.M)


def main(root):
    text = tree.read(root, SOURCE)
    rows = ROW.findall(text)
    told = LINE.findall(tree.read(root, GUIDE))
    complaints = ['%s %s is not in %s' % (*r, GUIDE) for r in rows if r not in told and r[1] != 'NONE']
    complaints += ['%s: %s %s is not in %s' % (GUIDE, *r, SOURCE) for r in told if r not in rows]
    complaints += ['%s: %s is not above the code before it' % (SOURCE, b[0])
                   for a, b in zip(rows, rows[1:]) if b[0] <= a[0]]
    if text.count('\tX(') != len(rows):
        complaints.append('%s: a row of FAULT_LIST has no code' % SOURCE)
    tree.finish('codes', len(rows), complaints)


if __name__ == '__main__':
    main(os.path.realpath(sys.argv[1] if len(sys.argv) > 1 else '.'))
