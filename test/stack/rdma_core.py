#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""rdma-core's own tests, unmodified: does each end as doc/rdma-core-suite.md says?

    rdma_core.py POLLUX-RUN TABLE [WORD]...

They come with python3-pyverbs. Those for one vendor's devices are left out; all others run in one process on
the loop port, inline and with two cores. A test that fails, that skips without a row or in other words, or that
no longer skips as its row says fails this one. With WORDs only tests whose name contains one of them are judged.
"""
import gzip
import os
import re
import shutil
import sys
import tempfile

import sandbox
import starved
from process import Process

PACKAGED = '/usr/share/doc/rdma-core/tests'
FOR_ONE_VENDOR = re.compile(r'test_(mlx5|efa|cuda)')
TESTS = 170             # of rdma-core 44
LEAST = 124             # that pass
HANG = 600
PRELOAD = ['env', 'LD_PRELOAD=' + os.environ['TEST_PRELOAD'], 'ASAN_OPTIONS=detect_leaks=0'] \
    if os.environ.get('TEST_PRELOAD') else []
# pyverbs is Debian's, and so for Debian's python
PYTHON = '/usr/bin/python3'
RUNS = (('inline', []), ('two cores', ['--cores', '0,1']))

# What unittest prints: a name, perhaps a line about it, and, behind what the test itself prints, how it ended.
BEGINS = re.compile(r'^test\w* \(tests\.([\w.]+)\)', re.M)
ENDS = re.compile(r'(?:\.\.\. |^)(ok|FAIL|ERROR|skipped (?P<quote>[\'"])(?P<words>.*)(?P=quote))$', re.M)
REPORT = re.compile(r'^(?:={70}|-{70})$', re.M)
ROW = re.compile(r'^\| (test_\w+\.\w+\.\w+) \| (pass|skip|error)(?:: (.*?))? \| (.*?) \|$', re.M)

# A row may hold only where the machine lacks something; where it has it the test may pass as well.
MACHINE = {
    'no huge pages': lambda: not huge_pages(),
    'no DRM device': lambda: not os.path.exists('/dev/dri/renderD128'),
}


def huge_pages():
    with open('/proc/meminfo', encoding='ascii') as f:
        return int(re.search(r'HugePages_Free: +(\d+)', f.read())[1])


class Row:
    def __init__(self, outcome, words, why):
        self.outcome, self.words, self.why = outcome, words, why

    def allows(self, outcome, words):
        if (outcome, words) == (self.outcome, self.words):
            return True
        return outcome == 'pass' and any(name in self.why and not holds() for name, holds in MACHINE.items())

    def __str__(self):
        return self.outcome + (': ' + self.words if self.words else '')


PASS = Row('pass', '', '')


def read_table(path):
    with open(path, encoding='utf-8') as f:
        rows = ROW.findall(f.read())
    table = {name: Row(outcome, words, why) for name, outcome, words, why in rows}
    assert len(table) == len(rows), 'a test has two rows'
    for name, row in table.items():
        assert row.outcome == 'pass' or row.words and row.why, 'say why %s does not pass' % name
    return table


def unpack(where):
    """The packaged tests as their authors left them: some are packed."""
    for name in os.listdir(PACKAGED):
        if FOR_ONE_VENDOR.match(name):
            continue
        path = os.path.join(PACKAGED, name)
        if name.endswith('.gz'):
            with gzip.open(path) as packed, open(os.path.join(where, name[:-3]), 'wb') as f:
                shutil.copyfileobj(packed, f)
        else:
            shutil.copy(path, where)


def outcomes(text):
    """{test: (pass, skip, fail, error or none, words)} of what unittest printed."""
    begins = list(BEGINS.finditer(text))
    found = {}
    for n, begin in enumerate(begins):
        chunk = text[begin.end():begins[n + 1].start() if n + 1 < len(begins) else None]
        report = REPORT.search(chunk)
        end = None
        for end in ENDS.finditer(chunk[:report.start()] if report else chunk):
            pass
        if begin[1] in found:           # the heading of a failure in the report at the end
            continue
        if end is None:
            found[begin[1]] = ('none', 'the program ended in it')
        elif end['words'] is not None:
            found[begin[1]] = ('skip', end['words'])
        else:
            found[begin[1]] = ({'ok': 'pass'}.get(end[1], end[1].lower()), '')
    return found


def last_line(text, name):
    """Of the traceback in the report of a test that failed; '' when there is none."""
    report = re.search(r'^(?:FAIL|ERROR): \w+ \(tests\.%s\)\n(?:.*\n)*?-{70}\n((?:.+\n)+)' % re.escape(name), text,
                       re.M)
    return report[1].splitlines()[-1] if report else ''


def judge(table, found, text):
    """Complaints about one run."""
    for name, (outcome, words) in found.items():
        words = last_line(text, name) if outcome in ('fail', 'error') else words
        if name not in table:
            yield '%s has no row: %s' % (name, ': '.join(filter(None, (outcome, words))))
        elif not table[name].allows(outcome, words):
            yield '%s: %s, and its row says %s' % (name, ': '.join(filter(None, (outcome, words))), table[name])
    for name in sorted(set(table) - set(found)):
        yield '%s has a row and did not run' % name


def run_tests(launcher, where, args, names):
    """Exit status, what it printed, and whether it had to wait for a CPU. All tests when there are no names."""
    command = [launcher, *args, '--', *PRELOAD, PYTHON, '-B', os.path.join(where, 'run_tests.py'),
               '--dev', 'pollux0', '--gid', '1', '-v', *('tests.' + name for name in names)]
    process = Process(command)
    try:
        with starved.Watch([process]) as watch:
            status = process.wait(HANG)
        return status, process.output(), watch.starved()
    finally:
        process.kill()


def run_suite(launcher, where, args, table):
    """Statuses, what was printed, and the outcomes. The suite's retries are spent after half a second: tests that
    failed while a thread waited for a CPU, and should not, are run again alone."""
    status, text, hungry = run_tests(launcher, where, args, [])
    found, statuses = outcomes(text), {status}
    for _ in range(starved.AGAIN):
        names = [n for n, (o, _) in found.items() if o in ('fail', 'error') and table.get(n, PASS).outcome != o]
        if not hungry or not names:
            break
        print('again, for a thread waited for a CPU: ' + ' '.join(names), flush=True)
        status, more, hungry = run_tests(launcher, where, args, names)
        found.update({name: end for name, end in outcomes(more).items() if name in names})
        statuses.add(status)
        text += more
    return statuses, text, found


def main(launcher, path, words):
    if not os.path.isdir(PACKAGED):
        sandbox.skip('there is no %s here: install python3-pyverbs' % PACKAGED)
    sandbox.enter()
    table = read_table(path)
    before = sandbox.leftovers()
    failed = 0
    with tempfile.TemporaryDirectory() as where:
        unpack(where)
        for name, args in RUNS:
            statuses, text, found = run_suite(launcher, where, args, table)
            complaints = [c for c in judge(table, found, text) if not words or any(w in c for w in words)]
            passed = sum(outcome == 'pass' for outcome, _ in found.values())
            complaints += ['the program ended with status %s' % s for s in statuses - {0, 1}]
            if len(found) != TESTS or passed < LEAST:
                complaints.append('%d tests and %d passed; %d and at least %d are to' %
                                  (len(found), passed, TESTS, LEAST))
            print('%s %s: %d tests, %d passed' % ('FAIL' if complaints else 'ok  ', name, len(found), passed))
            print(''.join('    %s\n' % c for c in complaints) + (text if complaints else ''), flush=True)
            failed += bool(complaints)
    left = sandbox.leftovers() - before
    if left:
        failed += 1
        print('FAIL left behind: ' + ', '.join(sorted(left)))
    print('%d passed, %d failed, 0 skipped' % (max(0, len(RUNS) - failed), failed))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:]))
