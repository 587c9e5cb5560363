#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts what meson's test logs say and prints what a reader needs: failures whole, skips with
their reason, and as the last line "N passed, N failed, N skipped".

    report.py [--broken N] TREE=[SUITE,SUITE...]...
    report.py --targets TREE=SUITE,SUITE...         only print what ninja must make for these tests

A test that ends with a line of that form counts as that many cases, any other as one. What did not
run cannot pass: a test of the suites (of all but the rig's, when none is named) that is not in their
log, a test that counts no case, and a tree without any test are failures.
"""
import json
import os
import re
import sys

COUNTS = re.compile(r'^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\s*$')
TAIL = 80
RIG = 'rig'         # the suite that runs by itself, at the end


def ran(tree, suites):
    """The tests in the log of the last run of these suites."""
    log = 'meson-logs/testlog-%s.json' % ('-'.join(suites) or 'all')
    try:
        with open(os.path.join(tree, log), encoding='utf-8') as f:
            return [json.loads(line) for line in f if line.strip()]
    except FileNotFoundError:
        return []


def introspect(tree, what):
    try:
        with open(os.path.join(tree, 'meson-info/intro-%s.json' % what), encoding='utf-8') as f:
            return json.load(f)
    except FileNotFoundError:
        return []


def expected(tree, suites):
    """The tests that the build has in those suites."""
    return [t for t in introspect(tree, 'tests')
            if (any(s in suites for s in suites_of(t)) if suites else RIG not in suites_of(t))]


def suites_of(test):
    """Introspection says "project:suite"."""
    return [s.rsplit(':', 1)[-1] for s in test['suite']]


def targets(tree, suites):
    """Files that the tests of those suites are made of, as ninja names them."""
    ids = {d for t in expected(tree, suites) for d in t['depends']}
    root = os.path.realpath(tree)
    return sorted(os.path.relpath(f, root) for t in introspect(tree, 'targets') if t['id'] in ids
                  for f in t['filename'])


def last_line(text):
    lines = (text or '').rstrip().splitlines()
    return lines[-1] if lines else ''


def count(test):
    """(passed, failed, skipped) of one test, and what is wrong with it, if anything."""
    out = test.get('stdout')
    result = test['result']
    m = COUNTS.match(last_line(out))
    passed, failed, skipped = (int(n or 0) for n in m.groups()) if m else (0, 0, 0)
    if result == 'SKIP':
        return (0, 0, 1), None
    if result not in ('OK', 'EXPECTEDFAIL'):
        return (passed, failed or 1, skipped), result
    if not m:
        return (1, 0, 0), None
    if failed:
        return (passed, failed, skipped), 'ended well, but counts failures'
    if not passed + skipped:
        return (0, 1, 0), 'ran no case'
    return (passed, failed, skipped), None


def show(tree, test, wrong):
    print('\n-- FAILED %s %s: %s' % (tree, test['name'], wrong))
    for stream in ('stdout', 'stderr'):
        lines = (test.get(stream) or '').splitlines()
        # a driver prints a line for each case: those that passed tell nothing here
        lines = [line for line in lines if not line.startswith('ok ')]
        for line in lines[-TAIL:]:
            print('   ' + line)


def base_name(test):
    """The log writes "project:suite / name"."""
    return test['name'].rsplit(' / ', 1)[-1]


def report(tree, suites, total):
    tests = ran(tree, suites)
    for test in tests:
        numbers, wrong = count(test)
        for i, n in enumerate(numbers):
            total[i] += n
        if wrong:
            show(tree, test, wrong)
        elif test['result'] == 'SKIP':
            print('skipped %s %s: %s' % (tree, test['name'], last_line(test.get('stdout'))))
        else:
            for line in (test.get('stdout') or '').splitlines():
                if line.startswith('skip'):
                    print('skipped %s %s: %s' % (tree, test['name'], line))
    missing = {t['name'] for t in expected(tree, suites)} - {base_name(t) for t in tests}
    for name in sorted(missing):
        print('\n-- FAILED %s %s: did not run' % (tree, name))
    if not tests:
        print('\n-- FAILED %s: no test ran' % tree)
    total[1] += len(missing) or not tests


def main(args):
    total = [0, 0, 0]
    if args[:1] == ['--targets']:
        tree, suites = args[1].split('=', 1)
        print('\n'.join(targets(tree, suites.split(','))))
        return 0
    if args[:1] == ['--broken']:
        total[1] += int(args[1])
        args = args[2:]
    for arg in args:
        tree, suites = arg.split('=', 1)
        report(tree, suites.split(',') if suites else [], total)
    if not total[0] + total[1]:
        print('no test ran')
        total[1] = 1
    print('%d passed, %d failed, %d skipped' % tuple(total))
    return 1 if total[1] else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
