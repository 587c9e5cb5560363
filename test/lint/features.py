#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Do the features that doc/features.ini claims and the rows of doc/field-cases.md name tests that exist?

    features.py [ROOT]

A line is `NAME = yes; TEST...` or `NAME = no`, a row `| NAME | ... | TEST... |`. A test is a path under
test/, with a case behind a colon where it holds many.
"""
import configparser
import os
import sys

import tree


def missing(root, where, tests):
    for test in tests.split():
        path, _, case = test.partition(':')
        full = os.path.join(root, 'test', path)
        if not os.path.exists(full):
            return '%s: test/%s does not exist' % (where, path)
        if case:
            with open(full, encoding='utf-8') as f:
                if case not in f.read():
                    return '%s: test/%s has no %s' % (where, path, case)
    return None


def check(root, where, value):
    said, _, tests = (part.strip() for part in value.partition(';'))
    if said not in ('yes', 'no'):
        return '%s: say yes or no, not %r' % (where, said)
    if said == 'no':
        return '%s: a feature that is not there proves nothing' % where if tests else None
    if not tests:
        return '%s: name the test that proves it' % where
    return missing(root, where, tests)


def rows(path):
    """Name and tests of each row; those of a heading and its line are no row."""
    if not os.path.exists(path):
        return
    with open(path, encoding='utf-8') as f:
        for line in f:
            cells = [cell.strip() for cell in line.strip().strip('|').split('|')]
            if line.startswith('|') and cells[0] != 'row' and not cells[0].startswith('-'):
                yield cells[0], cells[-1]


def main(root):
    ini = configparser.ConfigParser(delimiters=('=',), comment_prefixes=('#',))
    ini.optionxform = str
    ini.read(os.path.join(root, 'doc/features.ini'), encoding='utf-8')
    complaints = []
    count = 0
    for section in ini.sections():
        for name, value in ini[section].items():
            count += 1
            complaint = check(root, 'doc/features.ini [%s] %s' % (section, name), value)
            complaints += [complaint] if complaint else []
    for name, tests in rows(os.path.join(root, 'doc/field-cases.md')):
        count += 1
        where = 'doc/field-cases.md %s' % name
        complaint = missing(root, where, tests) if tests else '%s: name the test' % where
        complaints += [complaint] if complaint else []
    tree.finish('features', count, complaints)


if __name__ == '__main__':
    main(os.path.realpath(sys.argv[1] if len(sys.argv) > 1 else '.'))
