# SPDX-License-Identifier: BSD-3-Clause
"""The transport as a process that is driven line by line (replay_host.c), for the replays of captures."""
import collections
import subprocess

import capture

# queue: 'send' or 'recv'; status, flags: of a verbs completion
Completion = collections.namedtuple('Completion', 'queue wr status size src_qpn flags imm')


class Differs(Exception):
    pass


class Host:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.frames = []
        self.completions = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def do(self, *words):
        """One line; returns the value that it printed, if any. Frames and completions pile up."""
        value = None
        self.process.stdin.write(' '.join('%x' % w if isinstance(w, int) else w for w in words) + '\n')
        self.process.stdin.flush()
        for line in iter(self.process.stdout.readline, ''):
            what, _, rest = line.strip().partition(' ')
            if what == '.':
                return value
            if what == 'frame':
                self.frames.append(capture.parse(bytes.fromhex(rest)))
            elif what == 'cqe':
                queue, *numbers = rest.split()
                self.completions.append(Completion(queue, *(int(n, 16) for n in numbers)))
            else:
                value = rest
        raise Differs('the host ended')

    def take_frames(self):
        taken, self.frames = self.frames, []
        return taken
