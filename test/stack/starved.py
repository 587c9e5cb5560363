# SPDX-License-Identifier: BSD-3-Clause
"""Did a process wait for a CPU for so long that what it did says nothing? Then it is played again.

perftest's default ACK timeout and retries are spent after 0.54 s. A thread of the peer that the
kernel leaves waiting for a CPU for much of that time cannot answer, whatever it runs: then the
machine was measured, not the program.
"""
import glob
import os
import threading
import time

STEP = 0.1
WINDOW = 0.5
# of the window; the other threads of the same process may have run meanwhile
MUCH = 0.2
AGAIN = 3       # times that a game is played which a starved machine broke


class Failure(Exception):
    """A game that went wrong: a line that says why, then what its processes printed."""

    def saw(self, output):
        """The same, with what they printed behind it."""
        return type(self)('%s\n%s' % (self, output))


class Wrong(Failure):
    """No want of CPUs explains it: wrong data, a crash, something that is left."""


def ended(who, status):
    """The Failure of a program that ended so."""
    crashed = status < 0 or status > 128    # by a signal, or as a shell tells of one
    return (Wrong if crashed else Failure)('%s ended with status %d' % (who, status))


def stolen():
    """For each CPU, the seconds that the machine's own host took from it."""
    with open('/proc/stat', encoding='ascii') as f:
        rows = [line.split() for line in f if line.startswith('cpu')]
    return {row[0]: int(row[8]) / os.sysconf('SC_CLK_TCK') for row in rows[1:]}


def waits(pid):
    """For each thread, the seconds that it was ready to run and did not."""
    found = {}
    for path in glob.glob('/proc/%d/task/*/schedstat' % pid):
        try:
            with open(path, encoding='ascii') as f:
                found[path] = int(f.read().split()[1]) / 1e9
        except (OSError, IndexError):
            continue
    return found


class Watch:
    """From `with` to its end looks at these processes; `longest` is the worst wait in a window."""

    def __init__(self, processes):
        self.processes = processes
        self.longest = 0.0
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()

    def look(self):
        seen = []
        while not self.done.wait(STEP):
            now = stolen()
            for p in list(self.processes):
                now.update(waits(p.popen.pid))
            seen.append((time.monotonic(), now))
            while seen[0][0] < seen[-1][0] - WINDOW:
                seen.pop(0)
            old = seen[0][1]
            worst = max((now[t] - old[t] for t in now if t in old), default=0.0)
            self.longest = max(self.longest, worst)

    def starved(self):
        return self.longest >= MUCH


def fairly(title, play, watch_of=Watch):
    """What play(processes) returns, which puts the processes it starts into that list. A Failure while one of their
    threads waited for a CPU says nothing of the programs, unless it is Wrong: it is told, and played again."""
    for left in reversed(range(AGAIN)):
        processes = []
        with watch_of(processes) as watch:
            try:
                return play(processes)
            except Wrong:
                raise
            except Failure as e:
                if not left or not watch.starved():
                    raise
                why = str(e).partition('\n')[0]
        print('again %s: %s; a thread waited %.2f s of %.1f s for a CPU' % (title, why, watch.longest, WINDOW),
              flush=True)
