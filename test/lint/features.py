#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Does every feature that doc/features.ini claims name tests that exist?

    features.py [ROOT]

A line is `NAME = yes; TEST...` or `NAME = no`. A test is a path under test/, with a case behind a
colon where it holds many.
"""
import configparser
import os
import sys

import tree


def check(root, where, value):
    said, _, tests = (part.strip() for part in value.partition(';'))
    if said not in ('yes', 'no'):
        return '%s: say yes or no, not %r' % (where, said)
    if said == 'no':
        return '%s: a feature that is not there proves nothing' % where if tests else None
    if not tests:
        return '%s: name the test that proves it' % where
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
    tree.finish('features', count, complaints)


if __name__ == '__main__':
    main(os.path.realpath(sys.argv[1] if len(sys.argv) > 1 else '.'))
