# SPDX-License-Identifier: BSD-3-Clause
"""A child process whose output is kept, that cannot outlive the test, and that is ended by pid."""
import ctypes
import os
import signal
import subprocess
import tempfile
import time

PR_SET_PDEATHSIG = 1
TCP_LISTEN = '0A'


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    def __init__(self, command, env=None, keep=()):
        """`keep`: file descriptors that it has too. Not a session of its own: for each of those Linux has a group
        of tasks (autogroup), and leaves a thread of one that is busy on another CPU without its own for seconds."""
        self.command = command
        self.out = tempfile.TemporaryFile('w+', encoding='utf-8', errors='replace')
        self.started = time.monotonic()
        self.popen = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.out,
                                      stderr=subprocess.STDOUT, process_group=0,
                                      preexec_fn=die_with_parent, pass_fds=keep,
                                      env=dict(os.environ, **(env or {})))

    def wait(self, seconds):
        """Exit status, or None when it still runs after so long."""
        try:
            return self.popen.wait(max(0.0, seconds))
        except subprocess.TimeoutExpired:
            return None

    def has_used(self, seconds, patience):
        """Waits until the process has used so much CPU time: programs that poll then move data."""
        end = time.monotonic() + patience
        while time.monotonic() < end and self.popen.poll() is None:
            if cpu_time(self.popen.pid) >= seconds:
                return True
            time.sleep(0.05)
        return False

    def kill(self):
        if self.popen.poll() is None:
            self.popen.kill()
            self.popen.wait()

    def output(self):
        self.out.seek(0)
        return self.out.read()

    def listens(self, port, seconds):
        """Waits until something in the process's network namespace listens on the TCP port."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.popen.poll() is None:
            if port in listening_ports(self.popen.pid):
                return True
            time.sleep(0.02)
        return False


def cpu_time(pid):
    """Seconds of CPU that the process has used, in user and kernel; 0 when it is gone."""
    try:
        with open('/proc/%d/stat' % pid, encoding='ascii') as f:
            field = f.read().rsplit(')', 1)[1].split()
    except OSError:
        return 0
    return (int(field[11]) + int(field[12])) / os.sysconf('SC_CLK_TCK')


def listening_ports(pid):
    ports = set()
    for table in ('tcp', 'tcp6'):
        try:
            with open('/proc/%d/net/%s' % (pid, table), encoding='ascii') as f:
                rows = f.read().splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            field = row.split()
            if field[3] == TCP_LISTEN:
                ports.add(int(field[1].rsplit(':', 1)[1], 16))
    return ports
