#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Has each exported function a manual page, each page of a verb its differences, each variable its place?

    pages.py [ROOT]

A page of section 3 names its functions under NAME and shows them under SYNOPSIS, and doc/man/meson.build installs
each. A page of a verb that rdma-core has too says under DIFFERENCES what is otherwise. pollux_verbs.7 names every
page, pollux-run.1 every variable that the stack reads.
"""
import os
import re
import sys

import tree

MAPS = ('lib/libpollux/libpollux.map', 'lib/libpollux-stack/stack.map')
OURS = ('plx_explain_qp', 'plx_stack_start')      # no verb of rdma-core


def section(page, name):
    """The text between .SH NAME and the next heading; '' when there is none."""
    found = re.search(r'^\.SH "?%s"?\n(.*?)(?=^\.SH |\Z)' % name, page, re.M | re.S)
    return found[1] if found else ''


def check_page(name, page, installed):
    functions = set(re.findall(r'\bplx_\w+', section(page, 'NAME')))
    for function in sorted(functions):
        if function + '(' not in section(page, 'SYNOPSIS'):
            yield '%s is not under SYNOPSIS' % function
        if function not in installed:
            yield '%s is not in doc/man/meson.build' % function
    if name not in OURS and not section(page, 'DIFFERENCES').strip():
        yield 'no DIFFERENCES'


def main(root):
    pages = {os.path.basename(p)[:-2]: tree.read(root, p)
             for p in tree.files(root, '.3') if p.startswith('doc/man/')}
    installed = set(re.findall(r"'(plx_\w+)'", tree.read(root, 'doc/man/meson.build')))
    overview = tree.read(root, 'doc/man/pollux_verbs.7')
    complaints = []
    for name, page in sorted(pages.items()):
        complaints += ['doc/man/%s.3: %s' % (name, c) for c in check_page(name, page, installed)]
        if not re.search(r'\b%s\b' % name, overview):
            complaints.append('doc/man/pollux_verbs.7: does not name %s(3)' % name)
    named = {f for page in pages.values() for f in re.findall(r'\bplx_\w+', section(page, 'NAME'))}
    exported = {f for m in MAPS for f in re.findall(r'^\t(plx_\w+);', tree.read(root, m), re.M)}
    complaints += ['doc/man: no page has %s' % f for f in sorted(exported - named)]
    complaints += ['doc/man: %s is not exported' % f for f in sorted(named - exported)]
    sources = ''.join(tree.read(root, p) for p in tree.files(root, ('.c', '.h')) if p.startswith('lib/'))
    for variable in sorted(set(re.findall(r'"(POLLUX_\w+)"', sources))):
        if not re.search(r'\b%s\b' % variable, tree.read(root, 'doc/man/pollux-run.1')):
            complaints.append('doc/man/pollux-run.1: does not name %s' % variable)
    tree.finish('pages', len(pages), complaints)


if __name__ == '__main__':
    main(os.path.realpath(sys.argv[1] if len(sys.argv) > 1 else '.'))
