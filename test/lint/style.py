#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Is the text of every file in the house's style, as far as a script can tell?

Sizes of files and functions, the SPDX line, tabs, columns, words that mark unfinished work,
paths of somebody's own machine.

    style.py [ROOT]
"""
import os
import re
import sys

import tree

MAX_FILE = 500
MAX_FUNCTION = 60
# Step loops: one dispatch over a list of steps, which reads best in one piece.
STEP_LOOPS = set()
MAX_STEP_LOOP = 120
# The style is 100; what is a word longer is not worth a worse break.
COLUMNS = 110
# Scripts hold tables of other files' text.
PYTHON_COLUMNS = 130

C = ('.c', '.h', '.h.in')
SCRIPTS = ('.py', '.sh', 'meson.build', 'meson_options.txt')
TEXTS = ('.md', '.ini', '.1', '.3', '.7', '.map', '.script')
SPDX = 'SPDX-License-Identifier: BSD-3-Clause'
UNFINISHED = re.compile(r'\b(%s)\b' % '|'.join(('TO' 'DO', 'FIX' 'ME', 'X' 'XX', 'HA' 'CK')))
OWN_PATH = re.compile(r'(?:^|[\s"\'=(`:])/(?:home|root|work|farm|mnt|Users)/')
NAME = re.compile(r'(\w+)\s*\(')


def width(line):
    return len(line.expandtabs(8))


def spdx_line(path, text):
    """The first line, or the second after #!; in C a comment of its own."""
    first = text[1:2] if text and text[0].startswith('#!') else text[:1]
    want = '/* %s */' % SPDX if path.endswith(C) else SPDX
    return bool(first) and (first[0] == want if path.endswith(C) else want in first[0])


def functions(text):
    """(name, line, length of the body) of every function; bodies open and close at column 0."""
    start = None
    for n, line in enumerate(text, 1):
        if line == '{':
            start = n
        elif line.startswith('}') and start:
            yield function_name(text, start), start, n - start - 1
            start = None


def function_name(text, start):
    head = ''
    for line in reversed(text[max(0, start - 12):start - 1]):
        if not line or line.startswith(('}', '#', '/*', ' */')):
            break
        head = line + ' ' + head
    m = NAME.search(head)
    return m.group(1) if m else '?'


def check_c(path, text):
    if len(text) > MAX_FILE:
        yield '%s:%d: the file has %d lines, %d are the limit' % (path, MAX_FILE, len(text),
                                                                  MAX_FILE)
    for name, n, length in functions(text):
        limit = MAX_STEP_LOOP if name in STEP_LOOPS else MAX_FUNCTION
        if length > limit:
            yield '%s:%d: %s() has %d lines, %d are the limit' % (path, n, name, length, limit)


def check_lines(path, text, tabs):
    columns = PYTHON_COLUMNS if path.endswith('.py') else COLUMNS
    for n, line in enumerate(text, 1):
        if UNFINISHED.search(line):
            yield '%s:%d: a word of unfinished work: finish it or leave it out' % (path, n)
        if OWN_PATH.search(line):
            yield '%s:%d: a path of somebody\'s own machine' % (path, n)
        if line != line.rstrip():
            yield '%s:%d: blanks at the end of the line' % (path, n)
        if tabs is not None and width(line) > columns:
            yield '%s:%d: %d columns, %d are the limit' % (path, n, width(line), columns)
        if tabs and re.match(r'\t* {8}', line):
            yield '%s:%d: indented with spaces; use tabs' % (path, n)


def check(path, text):
    if path.endswith(C + SCRIPTS) and not spdx_line(path, text):
        yield '%s:1: the first line is not the SPDX line' % path
    if path.endswith(C):
        yield from check_c(path, text)
    tabs = None if path.endswith(TEXTS) else not path.endswith('.py')
    yield from check_lines(path, text, tabs)


def main(root):
    complaints = []
    paths = tree.files(root, C + SCRIPTS + TEXTS)
    for path in paths:
        text = tree.lines(root, path)
        if text:
            complaints += check(path, text)
    tree.finish('style', len(paths), complaints)


if __name__ == '__main__':
    main(os.path.realpath(sys.argv[1] if len(sys.argv) > 1 else '.'))
