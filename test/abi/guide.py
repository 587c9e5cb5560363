#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Does the C of a guide compile, with the inline path and against rdma-core's header alone?

    guide.py GUIDE INCLUDE-DIR... -- COMPILER...

All of the guide's ```c blocks are one source.
"""
import re
import subprocess
import sys

HEAD = ''.join('#include <%s>\n' % h for h in ('errno.h', 'stdint.h', 'stdio.h', 'infiniband/verbs.h'))


def main(guide, rest):
    at = rest.index('--')
    with open(guide, encoding='utf-8') as f:
        blocks = re.findall(r'^```c\n(.*?)^```$', f.read(), re.M | re.S)
    failed = 0
    for where in (['-I' + d for d in rest[:at]], []):
        command = rest[at + 1:] + where + ['-Wall', '-Wextra', '-Werror', '-fsyntax-only', '-xc', '-']
        r = subprocess.run(command, input=HEAD + '\n'.join(blocks), text=True, check=False)
        failed += r.returncode != 0
    print('%d blocks, compiled in 2 ways, %d failed' % (len(blocks), failed))
    return 1 if failed or not blocks else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], sys.argv[2:]))
