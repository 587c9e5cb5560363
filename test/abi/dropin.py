#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Do unmodified programs load and list the device through the drop-in, on the mock stack?

    dropin.py DROPIN_DIR MOCK_STACK

Exit status 0, 1 with a line for each failure, 77 when no such program is installed.
"""
import os
import shutil
import subprocess
import sys

PERFTEST = [f"ib_{op}_{what}" for op in ("send", "write", "read", "atomic") for what in ("bw", "lat")]


def run(dropin, mock, *command, **env):
    env = {**os.environ, "LD_LIBRARY_PATH": dropin, "POLLUX_STACK_LIB": mock, **env}
    return subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=60)


def main(dropin, mock):
    failed, ran = [], 0

    def expect(command, status, *needles, **env):
        nonlocal ran
        if not shutil.which(command[0]):
            print(f"skipped: {command[0]} is not installed")
            return
        ran += 1
        r = run(dropin, mock, *command, **env)
        wrong = [n for n in needles if n not in r.stdout]
        if r.returncode != status or wrong:
            failed.append(f"{' '.join(command)}: status {r.returncode}, without {wrong}:\n{r.stdout}")

    expect(["ibv_devices"], 0, "pollux0", "0807060504030201")
    expect(["ibv_devinfo", "-v"], 0, "pollux0", "PORT_ACTIVE", "Ethernet", "RoCE v2", "max_sge:\t\t\t32")
    for program in PERFTEST:
        expect([program, "--version"], 1, "Version") # that is its status
    # how a stack that does not start ends a program that pollux-run started
    expect(["ibv_devices"], 2, "pollux: the mock was told to fail", POLLUX_MOCK_FAIL="1",
           POLLUX_LAUNCHED="1")
    expect(["ibv_devices"], 1, "Failed to get IB devices list", POLLUX_MOCK_FAIL="1",
           POLLUX_LAUNCHED="0")
    expect(["/usr/bin/python3", "-c",
            "import pyverbs.device as d; c = d.Context(name='pollux0'); print(c.query_port(1))"],
           0, "Ethernet") if have_pyverbs() else print("skipped: pyverbs is not installed")

    print(*failed, sep="\n", end="\n" if failed else "")
    print(f"drop-in: {ran} programs, {len(failed)} failures")
    return 77 if not ran else 1 if failed else 0


def have_pyverbs():
    return subprocess.run(["/usr/bin/python3", "-c", "import pyverbs.device"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*map(os.path.abspath, sys.argv[1:])))
