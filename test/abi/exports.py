#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares what the libraries export with what they should.

    exports.py libibverbs OURS [THEIRS]   every default symbol and node of the distribution's library
    exports.py libpollux OURS HEADER MAP  PLX_0 is what <pollux/verbs.h> declares, and the map agrees
    exports.py program PROGRAM            verbs source compiled against Pollux needs no ibv_ symbol
    exports.py man HEADER DIR             every declared call stands in one page's NAME and is installed

Exit status 0, 1 with a line for each difference, 77 when there is nothing to compare with.
"""
import os
import re
import subprocess
import sys

THEIRS = ["/usr/lib/x86_64-linux-gnu/libibverbs.so.1", "/usr/lib64/libibverbs.so.1",
          "/usr/lib/aarch64-linux-gnu/libibverbs.so.1"]
PRIVATE = {"__plx_backend_register"}


def readelf(option, lib):
    return subprocess.run(["readelf", "-W", option, lib], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def defaults(lib):
    """{name: (node, kind)} of the default symbols that a library defines."""
    found = {}
    for line in readelf("--dyn-syms", lib).splitlines():
        col = line.split()
        if len(col) < 8 or "@@" not in col[7] or col[6] in ("UND", "ABS"):
            continue
        name, node = col[7].split("@@")
        if name != node:
            found[name] = (node, col[3])
    return found


def parents(lib):
    """{node: parent node or None} of a library's version definitions."""
    tree, node = {}, None
    text = readelf("-V", lib)
    text = text[text.index("Version definition"):]
    for line in text.split("Version needs")[0].splitlines():
        if m := re.search(r"Index: \d+ .*Name: (\S+)", line):
            node = m[1]
            tree[node] = None
        elif m := re.search(r"Parent 1: (\S+)", line):
            tree[node] = m[1]
    return {n: p for n, p in tree.items() if not n.startswith("lib")}


def differences(what, ours, theirs):
    lines = []
    for name in sorted(set(ours) | set(theirs)):
        if ours.get(name) != theirs.get(name):
            lines.append(f"{what} {name}: is {ours.get(name)}, should be {theirs.get(name)}")
    return lines


def check_ibverbs(ours, theirs=None):
    theirs = theirs or next((p for p in THEIRS if os.path.exists(p)), None)
    if not theirs:
        print("no libibverbs.so.1 of the distribution to compare with")
        return 77
    want = defaults(theirs)
    if not any(node == "IBVERBS_PRIVATE_34" for node, _ in want.values()):
        print(f"{theirs} is not of rdma-core 44: its private node differs")
        return 77
    lines = differences("symbol", defaults(ours), want)
    lines += differences("node", parents(ours), parents(theirs))
    print(*lines, sep="\n", end="\n" if lines else "")
    print(f"libibverbs.so.1: {len(want)} symbols, {len(lines)} differences")
    return 1 if lines else 0


def declarations(header):
    """What a header declares, and what memory.h does, if it includes that."""
    text = re.sub(r"/\*.*?\*/", "", open(header).read(), flags=re.S)
    found = set(re.findall(r"\b((?:__)?plx_\w+)\(", text))
    if "#include <pollux/memory.h>" in text:
        found |= declarations(os.path.join(os.path.dirname(header), "memory.h"))
    return found


def check_pollux(ours, header, version_map):
    declared = declarations(header)
    mapped = set(re.findall(r"^\t(\w+);", open(version_map).read(), flags=re.M))
    want = {n: "PLX_0" for n in declared} | {n: "PLX_PRIVATE" for n in PRIVATE}
    have = {n: node for n, (node, _) in defaults(ours).items()}
    lines = differences("symbol", have, want)
    lines += [f"map {n}: named but not declared" for n in sorted(mapped - set(want))]
    lines += [f"map {n}: declared but not named" for n in sorted(set(want) - mapped)]
    print(*lines, sep="\n", end="\n" if lines else "")
    print(f"libpollux.so.0: {len(want)} symbols, {len(lines)} differences")
    return 1 if lines else 0


def check_program(program):
    wanted = [line.split()[7] for line in readelf("--dyn-syms", program).splitlines()
              if " UND " in line and len(line.split()) > 7]
    plx = [n for n in wanted if n.startswith(("plx_", "__plx_"))]
    wrong = [n for n in wanted if "ibv_" in n]
    print(*(f"{program} needs {n}" for n in wrong), sep="\n", end="\n" if wrong else "")
    print(f"{os.path.basename(program)}: {len(plx)} symbols of libpollux, {len(wrong)} of libibverbs")
    return 1 if wrong or not plx else 0


def check_man(header, folder):
    build = open(os.path.join(folder, "meson.build")).read()
    named, inner = [], []
    for page in sorted(os.listdir(folder)):
        if page.endswith(".3"):
            text = open(os.path.join(folder, page)).read()
            inner += [f"{page} tells of {n}" for n in re.findall(r"\b__plx_\w+", text)]
            names = re.search(r"\.SH NAME\n(.*?)\n\\-", text, flags=re.S)[1]
            named += re.findall(r"\w+", names)
    calls = {n for n in declarations(header) if not n.startswith("__")}
    lines = inner + [f"{n}: no page" for n in sorted(calls - set(named))]
    lines += [f"{n}: {named.count(n)} pages" for n in sorted(calls) if named.count(n) > 1]
    lines += [f"{n}: not installed" for n in sorted(calls) if f"'{n}'" not in build]
    print(*lines, sep="\n", end="\n" if lines else "")
    print(f"man pages: {len(calls)} calls, {len(lines)} differences")
    return 1 if lines else 0


if __name__ == "__main__":
    check = {"libibverbs": check_ibverbs, "libpollux": check_pollux, "program": check_program,
             "man": check_man}.get(
        sys.argv[1] if len(sys.argv) > 1 else "")
    if not check:
        sys.exit(__doc__)
    sys.exit(check(*sys.argv[2:]))
