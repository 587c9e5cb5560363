# SPDX-License-Identifier: BSD-3-Clause
"""The files of a tree that the lints look at, and how they report."""
import os
import sys

SKIP_DIRS = {'.git', '__pycache__', '.cache'}


def files(root, suffixes):
    """Paths under root, relative to it, that end in one of suffixes; build trees left out."""
    found = []
    for base, dirs, names in os.walk(root):
        dirs[:] = sorted(d for d in dirs if d not in SKIP_DIRS and not is_build_tree(base, d, root))
        for name in sorted(names):
            if name.endswith(suffixes):
                found.append(os.path.relpath(os.path.join(base, name), root))
    return found


def is_build_tree(base, name, root):
    return base == root and name.startswith('build')


def lines(root, path):
    with open(os.path.join(root, path), encoding='utf-8') as f:
        return f.read().splitlines()


def read(root, path):
    """Nothing, when there is no such file."""
    if not os.path.exists(os.path.join(root, path)):
        return ''
    with open(os.path.join(root, path), encoding='utf-8') as f:
        return f.read()


def finish(what, checked, complaints):
    """Prints the complaints and ends the program: 1 when there are any or nothing was checked."""
    for c in complaints:
        print(c)
    print('%s: %d files checked, %d complaints' % (what, checked, len(complaints)))
    if not checked:
        print('%s: no file was checked, which proves nothing' % what)
    sys.exit(1 if complaints or not checked else 0)
