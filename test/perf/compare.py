#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Is this build as fast as that one? Two build trees beside one another, in one run.

    compare.py BUILD-BEFORE BUILD-AFTER [--calib CALIB] [--repeats N] [--seconds S] [--json FILE]
               [--list] [WORD]...

Both trees are measured in turn, before-after, after-before and so on, for a machine drifts. A pair
counts when a cache line took about as long between the CPUs all the while; the table shows the median
of each tree's figures, and of the ratios after/before of the pairs the median and the middle half. Two
builds of the same sources are apart by the noise. CALIB is BUILD-AFTER's by default. A build that
became slower fails nothing: the figures are for who reads them. With WORDs only figures whose name
contains one of them are measured. Needs root or user namespaces; skips (77) without.
"""
import argparse
import copy
import json
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'stack'))
import sandbox  # noqa: E402
import bench  # noqa: E402
import floors  # noqa: E402

KINDS = ('memif', 'af_packet')
RUN = 'app/pollux-run/pollux-run'
PERF = 'app/plx-perf/plx-perf'
CALIB = 'test/perf/calib'


def figures(words):
    """name: (unit, function of a Bench)"""
    found = {}
    for kind in KINDS:
        found.update(floors.pollux_cases(kind, False))
    return {name: case for name, case in found.items() if not words or any(w in name for w in words)}


class Pair:
    def __init__(self, before, after, lines):
        self.before = before.median
        self.after = after.median
        self.alike = max(lines) < floors.TWO_STATES * min(lines)

    def ratio(self):
        return self.after / self.before


def ends_of(args, calib):
    """A Bench for each tree, with the same two hosts."""
    first = bench.Bench(os.path.join(args.before, RUN), os.path.join(args.before, PERF), calib,
                        args.seconds)
    second = copy.copy(first)
    second.launcher = os.path.abspath(os.path.join(args.after, RUN))
    second.perf = os.path.abspath(os.path.join(args.after, PERF))
    return [first, second]


def measure_pair(benches, run, turn):
    """One figure of each tree, in an order that changes with the turn."""
    found = [None, None]
    lines = [benches[0].line()]
    for n in (0, 1) if turn % 2 == 0 else (1, 0):
        found[n] = run(benches[n])
        lines.append(benches[0].line())
    return Pair(*found, lines)


def measure(benches, wanted, repeats):
    """{name: [Pair]}, {name: why} of what failed"""
    pairs, failed = {}, {}
    for turn in range(repeats):
        for name, (unit, run) in wanted.items():
            if name in failed:
                continue
            try:
                pair = measure_pair(benches, run, turn)
            except (bench.Failure, ValueError, KeyError) as e:
                failed[name] = str(e).strip()
                print('%d/%d %-36s FAILED' % (turn + 1, repeats, name), flush=True)
                continue
            pairs.setdefault(name, []).append(pair)
            print('%d/%d %-36s %9.2f %9.2f %-4s %.3f%s' %
                  (turn + 1, repeats, name, pair.before, pair.after, unit, pair.ratio(),
                   '' if pair.alike else '  (the CPUs moved)'), flush=True)
    return pairs, failed


def summary(pairs):
    """What the pairs of one figure say; None when the machine moved in all of them."""
    kept = [p for p in pairs if p.alike]
    if not kept:
        return None
    ratios = sorted(p.ratio() for p in kept)
    quarters = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else [ratios[0]] * 3
    return {'before': statistics.median(p.before for p in kept),
            'after': statistics.median(p.after for p in kept),
            'ratio': statistics.median(ratios),
            'middle': [quarters[0], quarters[2]],
            'pairs': len(kept), 'left_out': len(pairs) - len(kept)}


def show(wanted, found):
    print('\n%-36s %9s %9s %-4s %7s %15s %6s' %
          ('', 'before', 'after', '', 'ratio', 'middle half', 'pairs'))
    for name, s in found.items():
        unit = wanted[name][0]
        if s is None:
            print('%-36s the machine changed during every pair' % name)
            continue
        print('%-36s %9.2f %9.2f %-4s %7.3f   %5.3f - %5.3f %6d' %
              (name, s['before'], s['after'], unit, s['ratio'], *s['middle'], s['pairs']))
    print('\nA ratio above 1 is faster for Gb/s and M/s, slower for us.')


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('before')
    parser.add_argument('after')
    parser.add_argument('words', nargs='*')
    parser.add_argument('--calib')
    parser.add_argument('--repeats', type=int, default=6)
    parser.add_argument('--seconds', type=float, default=0.5)
    parser.add_argument('--json')
    parser.add_argument('--list', action='store_true')
    return parser.parse_intermixed_args()


def main():
    args = options()
    wanted = figures(args.words)
    if args.list:
        print('\n'.join(wanted))
        return 0
    if not wanted:
        print('no figure has one of these words in its name; --list shows the names')
        return 2
    for tree in (args.before, args.after):
        for part in (RUN, PERF):
            if not os.path.exists(os.path.join(tree, part)):
                print('%s: there is no %s; build it with ninja -C %s' % (tree, part, tree))
                return 2
    sandbox.enter()
    calib = args.calib or os.path.join(args.after, CALIB)
    benches = ends_of(args, calib)
    pairs, failed = measure(benches, wanted, args.repeats)
    found = {name: summary(p) for name, p in pairs.items()}
    show(wanted, found)
    for name, why in failed.items():
        print('%s: %s' % (name, why))
    if args.json:
        with open(args.json, 'w', encoding='utf-8') as f:
            json.dump({'before': args.before, 'after': args.after, 'figures': found,
                       'failed': failed}, f, indent=1)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
