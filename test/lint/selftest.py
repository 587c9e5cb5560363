#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Can the lints fail? Gives each a small tree that breaks one rule and expects that complaint."""
import os
import subprocess
import sys
import tempfile

import layout

HERE = os.path.dirname(os.path.abspath(__file__))
HEAD = '/* SPDX-License-Identifier: BSD-3-Clause */\n'
LINTS = ('deps', 'style', 'features', 'codes', 'layout', 'pages')
PAGE = '.\\" SPDX-License-Identifier: BSD-3-Clause\n.SH NAME\nplx_a\n.SH SYNOPSIS\nplx_a()\n.SH DIFFERENCES\nnone\n'
TREE = {
    'lib/base/meson.build': '# SPDX-License-Identifier: BSD-3-Clause\ndeps = []\n',
    'lib/wire/meson.build': "# SPDX-License-Identifier: BSD-3-Clause\ndeps = ['base']\n",
    'lib/port/meson.build': "# SPDX-License-Identifier: BSD-3-Clause\ndeps = ['base']\n",
    'lib/mem/meson.build': "# SPDX-License-Identifier: BSD-3-Clause\ndeps = ['base']\n",
    'lib/base/log.h': HEAD,
    'lib/wire/hdr.h': HEAD + '#include <stdint.h>\n#include "base/log.h"\n',
    'lib/port/port.h': HEAD + '#include <rte_mbuf.h>\n',
    'lib/port/port_driver.h': HEAD,
    'lib/mem/key.h': HEAD + '#include <pollux/abi/wqe.h>\n',
    'lib/mem/arena.c': HEAD + '#include <rte_memzone.h>\n',
    'include/pollux/abi/wqe.h': HEAD + '#include <pollux/abi/ring.h>\n',
    'include/pollux/verbs.h': HEAD + '#include <infiniband/verbs.h>\n',
    'drivers/net/loop/loop.c': HEAD + '#include "port/port_driver.h"\n#include "wire/hdr.h"\n',
    'app/perf/main.c': HEAD + '#include "perf.h"\n#include <pollux/verbs.h>\n',
    'app/perf/perf.h': HEAD,
    'test/stack/pair.py': '# SPDX-License-Identifier: BSD-3-Clause\nib_send\n',
    'doc/features.ini': '[A]\nUD = no\n',
    'lib/transport/meson.build': '# SPDX-License-Identifier: BSD-3-Clause\ndeps = []\n',
    'lib/transport/status.h': HEAD + '\tX(0x00, NONE, 0)\n\tX(0x01, KEY, 0)\n\tX(0x03, LONG, 0)\n',
    'lib/ctl/meson.build': '# SPDX-License-Identifier: BSD-3-Clause\ndeps = []\n',
    'lib/ctl/backend.h': HEAD + '#define CTL_ABI_VERSION 7u\n',
    'lib/ctl/msg.h': HEAD + 'struct a { int b; };\n',
    'lib/libpollux/libpollux.map': '\tplx_a;\n',
    'doc/man/meson.build': "# SPDX-License-Identifier: BSD-3-Clause\n'plx_a'\n",
    'doc/man/plx_a.3': PAGE,
    'doc/man/pollux_verbs.7': '.\\" SPDX-License-Identifier: BSD-3-Clause\nplx_a(3)\n',
    'doc/man/pollux-run.1': '.\\" SPDX-License-Identifier: BSD-3-Clause\nPOLLUX_A\n',
    'doc/guides/why.md': '| 0x01 | KEY | look |\n| 0x03 | LONG | look |\n',
}


def write(root, path, text):
    full = os.path.join(root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, 'w', encoding='utf-8') as f:
        f.write(text)


def lay(root):
    for p, t in TREE.items():
        write(root, p, t)


with tempfile.TemporaryDirectory() as sound:
    lay(sound)
    TREE[layout.LIST] = layout.listed(layout.state(sound))


def function(name, lines):
    return 'static int\n%s(void)\n{\n%s}\n' % (name, '\treturn 0;\n' * lines)


# lint, file, its text, a part of the complaint
BREAKS = [
    ('deps', 'lib/wire/a.c', '#include "mem/key.h"\n', 'may not include mem'),
    ('deps', 'lib/base/a.c', '#include "wire/hdr.h"\n', 'may not include wire'),
    ('deps', 'lib/wire/a.c', '#include <rte_mbuf.h>\n', 'no DPDK'),
    ('deps', 'lib/mem/a.c', '#include <rte_memzone.h>\n', 'no DPDK'),
    ('deps', 'lib/mem/arena.c', '#include <rte_mbuf.h>\n', 'no DPDK'),
    ('deps', 'lib/wire/a.c', '#include <pollux/abi/wqe.h>\n', 'shared layouts'),
    ('deps', 'lib/mem/a.c', '#include <pollux/verbs.h>\n', 'public headers'),
    ('deps', 'lib/mem/a.c', '#include <infiniband/verbs.h>\n', 'rdma-core'),
    ('deps', 'lib/wire/a.c', '#include "hdr.h"\n', 'names no room'),
    ('deps', 'lib/wire/a.c', '#include "base/absent.h"\n', 'does not exist'),
    ('deps', 'lib/attic/a.c', '#include "base/log.h"\n', 'is no room'),
    ('deps', 'drivers/net/loop/a.c', '#include "port/port.h"\n', 'may not include port'),
    ('deps', 'drivers/net/loop/a.c', '#include "mem/key.h"\n', 'may not include mem'),
    ('deps', 'app/perf/a.c', '#include "wire/hdr.h"\n', 'may not include wire'),
    ('deps', 'app/perf/a.c', '#include <rte_eal.h>\n', 'no DPDK'),
    ('deps', 'include/pollux/abi/a.h', '#include <pollux/verbs.h>\n', 'public headers'),
    ('deps', 'include/pollux/a.h', '#include "wire/hdr.h"\n', 'public header'),
    ('style', 'lib/base/a.c', function('f', 61), 'f() has 61 lines'),
    ('style', 'lib/base/a.c', 'int a;\n' * 500, 'has 501 lines'),
    ('style', 'lib/base/a.c', '        int a;\n', 'use tabs'),
    ('style', 'lib/base/a.c', '/* ' + 'x' * 105 + ' */\n', '111 columns'),
    ('style', 'lib/base/a.c', '\t' * 13 + 'int abc;\n', '112 columns'),
    ('style', 'lib/base/a.c', '/* TO' 'DO */\n', 'unfinished'),
    ('style', 'doc/a.md', 'FIX' 'ME\n', 'unfinished'),
    ('style', 'doc/a.md', 'see /ho' 'me/me/notes\n', 'own machine'),
    ('style', 'test/a.sh', 'cd /wo' 'rk/tree\n', 'own machine'),
    ('style', 'lib/base/a.c', 'int a; \n', 'blanks at the end'),
    ('style', 'lib/base/a.c', None, 'SPDX'),
    ('style', 'test/a.sh', None, 'SPDX'),
    ('features', 'doc/features.ini', '[A]\nRC = perhaps\n', 'say yes or no'),
    ('features', 'doc/features.ini', '[A]\nRC = yes\n', 'name the test'),
    ('features', 'doc/features.ini', '[A]\nRC = yes; stack/absent.py\n', 'does not exist'),
    ('features', 'doc/features.ini', '[A]\nRC = yes; stack/pair.py:ib_read\n', 'has no ib_read'),
    ('features', 'doc/features.ini', '[A]\nRC = no; stack/pair.py\n', 'proves nothing'),
    ('features', 'doc/field-cases.md', '| FC01 | pads | script/absent.pkt |\n', 'does not exist'),
    ('features', 'doc/field-cases.md', '| FC01 | pads | |\n', 'name the test'),
    ('layout', 'lib/ctl/msg.h', 'struct a { long b; };\n', 'raise CTL_ABI_VERSION'),
    ('layout', 'include/pollux/abi/new.h', 'struct a { int b; };\n', 'raise CTL_ABI_VERSION'),
    ('layout', 'lib/ctl/backend.h', '#define CTL_ABI_VERSION 8u\n', 'not of version 8'),
    ('pages', 'doc/man/plx_a.3', PAGE.replace('plx_a()', 'plx_b()'), 'not under SYNOPSIS'),
    ('pages', 'doc/man/plx_a.3', PAGE.replace('none', ''), 'no DIFFERENCES'),
    ('pages', 'doc/man/plx_b.3', PAGE.replace('plx_a', 'plx_b'), 'plx_b is not exported'),
    ('pages', 'doc/man/meson.build', "'plx_b'\n", 'plx_a is not in doc/man/meson.build'),
    ('pages', 'doc/man/pollux_verbs.7', 'plx_ab(3)\n', 'does not name plx_a'),
    ('pages', 'lib/libpollux/libpollux.map', '\tplx_a;\n\tplx_b;\n', 'no page has plx_b'),
    ('pages', 'lib/base/a.c', 'getenv("POLLUX_B");\n', 'does not name POLLUX_B'),
    ('codes', 'doc/guides/why.md', '| 0x01 | KEY | look |\n', 'is not in doc'),
    ('codes', 'doc/guides/why.md', '| 0x01 | KEY | |\n| 0x03 | LONG | |\n| 0x04 | NEW | |\n',
     'is not in lib'),
    ('codes', 'lib/transport/status.h', '\tX(0x00, NONE, 0)\n\tX(0x03, LONG, 0)\n\tX(0x01, KEY, 0)\n',
     'not above'),
    ('codes', 'lib/transport/status.h', '\tX(KEY, 0)\n', 'has no code'),
]
# These must pass: what a lint wrongly complains of is as bad.
SOUND = [
    ('style', 'lib/base/a.c', function('f', 60)),
    ('style', 'lib/base/a.c', 'int a;\n' * 499),
    ('layout', 'lib/ctl/msg.h', '/* said in other words */\nstruct a {\n\tint b;\n};\n'),
    ('deps', 'lib/port/a.c', '#include <rte_ethdev.h>\n#include "base/log.h"\n'),
    ('features', 'doc/features.ini', '[A]\nRC = yes; stack/pair.py:ib_send\nUD = no\n'),
]


def run(lint, path=None, text=None):
    """Exit status and output of the lint over the sound tree with one file laid over it."""
    with tempfile.TemporaryDirectory() as root:
        lay(root)
        if path:
            head = HEAD if path.endswith(('.c', '.h')) else '# ' + HEAD[3:-4] + '\n'
            write(root, path, 'int a;\n' if text is None else head + text)
        r = subprocess.run([sys.executable, os.path.join(HERE, lint + '.py'), root],
                           stdout=subprocess.PIPE, text=True, check=False)
        return r.returncode, r.stdout


def empty_tree(lint):
    with tempfile.TemporaryDirectory() as root:
        return subprocess.run([sys.executable, os.path.join(HERE, lint + '.py'), root],
                              stdout=subprocess.DEVNULL, check=False).returncode


def main():
    failed = 0
    cases = [(lint, None, None, None) for lint in LINTS]
    cases += BREAKS + [(lint, path, text, None) for lint, path, text in SOUND]
    for lint, path, text, want in cases:
        status, out = run(lint, path, text)
        ok = status == 0 if want is None else status == 1 and want in out
        if not ok:
            failed += 1
            print('FAIL %s, %s: expected %s, got status %d:\n%s' %
                  (lint, path or 'the sound tree', want or 'no complaint', status, out))
    for lint in LINTS:
        if empty_tree(lint) == 0:
            failed += 1
            print('FAIL %s passes an empty tree' % lint)
    print('%d passed, %d failed' % (len(cases) + len(LINTS) - failed, failed))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
