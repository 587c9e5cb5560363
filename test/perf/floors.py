#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pollux beside what the same machine does without it, in one run, and the floors between them.

    floors.py POLLUX-RUN PLX-PERF --calib CALIB [--repeats N] [--seconds S] [--json FILE]
              [--smoke] [--list] [WORD]...

Everything runs N times in turn, for a machine drifts; the table shows medians of windows of 5 ms, and
the best window. A ratio is taken from the medians, and beside it from the bests: what holds for the
bests alone is the scheduler's doing. The two CPUs of a virtual machine may be neighbours on one core of
the host now and lie far apart a minute later, by a factor of four; so what a cache line takes from one
to the other is looked at before and after each measurement, and only what was measured in the same
state, near or far, is compared. A floor that is missed fails nothing. With WORDs only figures
whose name contains one of them are measured ("memif", "TCP"). Needs root or user namespaces; skips
(77) without.
"""
import argparse
import json
import os
import shutil
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'stack'))
import sandbox  # noqa: E402
import bench  # noqa: E402

FRAME_4K = 4154     # WRITE of 4096 bytes in one packet over IPv4
FRAME_64 = 122      # WRITE of 64 bytes
FRAME_8 = 82        # WRITE of 8 bytes
TWO_STATES = 1.7    # a cache line takes so much longer when the CPUs lie far apart
EXTRA_TURNS = 3
TRIES = 4
NOISY = 20          # forced switches or gaps a second, above which a figure is the scheduler's

WRITE_1M = ['--op', 'write', '--size', '1M', '--mtu', '4096']
WRITE_64 = ['--mode', 'rate', '--size', '64']
WRITE_64_LIST = ['--mode', 'rate', '--size', '64', '--post-list', '16']


def cases(kinds, extra):
    """name: (unit, function of a Bench)"""
    found = {
        'write -> copy, 4 KiB': ('Gb/s', lambda b: b.memory('copy')),
        'copy and CRC, 4 KiB': ('Gb/s', lambda b: b.memory('crc')),
        'raw ring, 64 B': ('M/s', lambda b: b.memory('ring')),
        'TCP, 128 KiB writes': ('Gb/s', lambda b: b.iperf('128K')),
        'TCP, 1 MiB writes': ('Gb/s', lambda b: b.iperf('1M')),
        'TCP half round trip': ('us', lambda b: b.sockperf()),
    }
    for kind in kinds:
        found.update(raw_cases(kind))
        found.update(pollux_cases(kind, False))
        if extra and os.cpu_count() >= 4:   # two pollers an end
            found.update(pollux_cases(kind, True))
    return found


def raw_cases(kind):
    return {
        kind + ' raw port': ('Gb/s', lambda b: b.port(kind, FRAME_4K)),
        kind + ' raw port, small': ('M/s', lambda b: b.port(kind, FRAME_64)),
        kind + ' raw port half round trip':
            ('us', lambda b: b.port(kind, FRAME_8, roles=('pong', 'ping'))),
    }


def pollux_cases(kind, cores):
    name = kind + ' cores' if cores else kind
    return {
        name + ' WRITE 1 MiB': ('Gb/s', lambda b: b.plx_perf(kind, WRITE_1M, cores)),
        name + ' WRITE 64 B': ('M/s', lambda b: b.plx_perf(kind, WRITE_64, cores)),
        name + ' WRITE 64 B, lists': ('M/s', lambda b: b.plx_perf(kind, WRITE_64_LIST, cores)),
        name + ' WRITE 8 B half round trip': ('us', lambda b: b.plx_perf(kind, ['--mode', 'lat'], cores)),
        name + ' SEND 8 B half round trip':
            ('us', lambda b: b.plx_perf(kind, ['--mode', 'lat', '--op', 'send'], cores)),
        name + ' ib_send_lat 8 B': ('us', lambda b: b.perftest(kind, 'ib_send_lat', cores)),
    }


TCP_STREAM = ('TCP, 128 KiB writes', 'TCP, 1 MiB writes')
LATENCIES = ('memif WRITE 8 B half round trip', 'memif SEND 8 B half round trip',
             'memif ib_send_lat 8 B')


class Row:
    """A ratio of two figures, or with no second one a figure itself; `floor` is what it must reach.

    of: one name, or several of which the best counts. at_most: smaller is better. Rows with the same
    `either` are met together when one of them is.
    """
    def __init__(self, what, of, floor=None, at_most=False, either=None):
        self.what = what
        self.of = (of,) if isinstance(of, str) else of or ()
        self.floor = floor
        self.at_most = at_most
        self.either = either


ROWS = [
    Row('memif WRITE 1 MiB', 'write -> copy, 4 KiB', 0.45),
    Row('memif WRITE 1 MiB', TCP_STREAM, 1.5),
    Row('memif WRITE 1 MiB', 'memif raw port'),
    Row('memif WRITE 64 B', None, 3.0, either='rate'),
    Row('memif WRITE 64 B', 'raw ring, 64 B', 0.17, either='rate'),
    Row('memif WRITE 64 B, lists', None, 3.0, either='rate of lists'),
    Row('memif WRITE 64 B, lists', 'raw ring, 64 B', 0.17, either='rate of lists'),
    Row('memif WRITE 64 B', 'memif raw port, small'),
    *[Row(name, 'memif raw port half round trip', 2.0, at_most=True) for name in LATENCIES],
    *[Row(name, 'TCP half round trip', 0.25, at_most=True) for name in LATENCIES],
    Row('af_packet WRITE 1 MiB', 'af_packet raw port', 0.7),
    Row('af_packet WRITE 64 B', 'af_packet raw port, small'),
    Row('af_packet WRITE 8 B half round trip', 'af_packet raw port half round trip', at_most=True),
    Row('af_packet WRITE 1 MiB', TCP_STREAM),
    Row('vhost WRITE 1 MiB', 'vhost raw port'),
    Row('vhost WRITE 8 B half round trip', 'vhost raw port half round trip', at_most=True),
    Row('memif raw port', 'write -> copy, 4 KiB'),
    Row('copy and CRC, 4 KiB', 'write -> copy, 4 KiB'),
]


class Run:
    """What was found so far: {name: [Figure]} and {name: why} of what failed."""
    def __init__(self, b, wanted):
        self.bench = b
        self.wanted = wanted
        self.found = {}
        self.failed = {}

    def figure(self, run):
        """Once more when one of two threads had no CPU all the while: then there was nothing to count."""
        for _ in range(TRIES):
            f = run(self.bench)
            if f.median > 0 and f.best > 0:
                return f
        raise bench.Failure('nothing was counted, %d times: this machine is busy with something else' % TRIES)

    def measure(self, name, turn):
        unit, run = self.wanted[name]
        before = self.bench.line()
        try:
            f = self.figure(run)
        except (bench.Failure, ValueError, KeyError) as e:
            self.failed[name] = str(e).strip()
            print('%-6s %-36s FAILED' % (turn, name), flush=True)
            return
        f.lines = (before, self.bench.line())
        self.found.setdefault(name, []).append(f)
        print('%-6s %-36s %9.2f %-4s (best %.2f) %d switches, %d gaps, line %.0f-%.0f ns' %
              (turn, name, f.median, unit, f.best, f.nivcsw, f.gaps, *sorted(f.lines)), flush=True)

    def turns(self, repeats):
        for turn in range(repeats):
            for name in self.wanted:
                if name not in self.failed:
                    self.measure(name, '%d/%d' % (turn + 1, repeats))

    def summaries(self):
        """{state: {name: Summary}}"""
        return {state: {name: Summary(f, self.wanted[name][0]) for name, f in figures.items()}
                for state, figures in split(self.found).items()} if self.found else {}

    def unjudged(self):
        """Floors for which nothing was measured in one state."""
        states = self.summaries().values()
        return [row for row in ROWS if row.floor is not None and
                all(name in self.found for name in (row.what, *row.of)) and
                not any(ratios(row, summaries) for summaries in states)]

    def extra_turns(self):
        """What the floors need, close together, as often as there is hope."""
        for turn in range(EXTRA_TURNS):
            names = [name for row in self.unjudged() for name in (row.what, *row.of)]
            for name in dict.fromkeys(names):
                self.measure(name, 'extra')


def split(found):
    """{state: {name: [Figure]}}: 'near' and 'far', or 'one' when the machine was always the same.

    What was measured while it changed from one to the other is left out.
    """
    lines = [v for figures in found.values() for f in figures for v in f.lines]
    least, most = min(lines), statistics.quantiles(lines, n=10)[8] if len(lines) > 1 else lines[0]
    if most < TWO_STATES * least:
        return {'one': found}
    border = (least * most) ** 0.5
    states = {'near': {}, 'far': {}}
    for name, figures in found.items():
        for f in figures:
            sides = {'far' if v > border else 'near' for v in f.lines}
            if len(sides) == 1:
                states[sides.pop()].setdefault(name, []).append(f)
    return states


class Summary:
    def __init__(self, figures, unit):
        self.unit = unit
        self.runs = len(figures)
        self.median = statistics.median(f.median for f in figures)
        self.best = (min if unit == 'us' else max)(f.best for f in figures)
        self.switches = sum(f.nivcsw for f in figures)
        self.gaps = sum(f.gaps for f in figures)


def ratios(row, summaries):
    """By medians and by bests; None when something was not measured."""
    a = summaries.get(row.what)
    others = [summaries[name] for name in row.of if name in summaries]
    if not a or len(others) != len(row.of):
        return None
    if not others:
        return a.median, a.best
    return a.median / max(o.median for o in others), a.best / max(o.best for o in others)


def meets(row, value):
    return value <= row.floor if row.at_most else value >= row.floor


def judge(summaries, state):
    """[{row as JSON}]"""
    judged = []
    for row in ROWS:
        both = ratios(row, summaries)
        if not both:
            continue
        r = {'state': state, 'what': row.what, 'of': ' or '.join(row.of), 'ratio': both[0],
             'ratio_of_bests': both[1], 'floor': row.floor,
             'sense': 'at most' if row.at_most else 'at least', 'either': row.either}
        if row.floor is not None:
            r['met'], r['met_by_bests'] = meets(row, both[0]), meets(row, both[1])
        judged.append(r)
    for key in ('met', 'met_by_bests'):
        for r in judged:
            if r['either']:
                r[key] = any(o[key] for o in judged if o['either'] == r['either'])
    return judged


def verdict(r):
    if r['floor'] is None:
        return ''
    text = 'met' if r['met'] else 'met by bests' if r['met_by_bests'] else 'MISSED'
    return '%s %g: %s%s' % (r['sense'], r['floor'], text, ' (this or the other)' if r['either'] else '')


def print_table(state, summaries, judged):
    print('\n%-36s %10s %10s %-5s %5s %9s %6s   CPUs %s' % ('measured', 'median', 'best', '', 'runs',
                                                          'switches', 'gaps', state))
    for name, s in summaries.items():
        print('%-36s %10.2f %10.2f %-5s %5d %9d %6d' % (name, s.median, s.best, s.unit, s.runs, s.switches,
                                                        s.gaps))
    print('\n%-36s %-42s %7s %7s  %s' % ('ratio of', 'to', 'medians', 'bests', 'floor'))
    for r in judged:
        print('%-36s %-42s %7.2f %7.2f  %s' % (r['what'], r['of'] or '(itself)', r['ratio'],
                                               r['ratio_of_bests'], verdict(r)))


def noise(summaries, options):
    """Names of what was measured while the machine did something else, too."""
    return [name for name, s in summaries.items()
            if max(s.switches, s.gaps) > NOISY * options.seconds * s.runs]


def write_json(r, states, judged, options):
    figures = [{'name': name, 'state': state, 'unit': s.unit, 'median': s.median, 'best': s.best,
                'runs': s.runs, 'switches': s.switches, 'gaps': s.gaps}
               for state, summaries in states.items() for name, s in summaries.items()]
    runs = [{'name': name, 'median': f.median, 'best': f.best, 'line_ns': f.lines, 'details': f.details}
            for name, all_of_it in r.found.items() for f in all_of_it]
    with open(options.json, 'w', encoding='utf-8') as f:
        json.dump({'cpus': os.cpu_count(), 'kernel': os.uname().release, 'load': os.getloadavg(),
                   'repeats': options.repeats, 'seconds': options.seconds, 'figures': figures,
                   'rows': judged, 'runs': runs, 'failed': r.failed}, f, indent=1)


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('launcher')
    parser.add_argument('perf')
    parser.add_argument('--calib', required=True, help='the program of that name in the build tree')
    parser.add_argument('--repeats', type=int, default=3)
    parser.add_argument('--seconds', type=float, default=0.6, help='of each measurement')
    parser.add_argument('--json', help='file for all figures')
    parser.add_argument('--all', action='store_true', help='also vhost, and with four CPUs cores of their own')
    parser.add_argument('--smoke', action='store_true', help='everything once and shortly: does it work?')
    parser.add_argument('--list', action='store_true', help='names, for WORDs')
    parser.add_argument('words', nargs='*')
    options = parser.parse_intermixed_args()
    if options.json:
        options.json = os.path.abspath(options.json)
    if options.smoke:
        options.repeats, options.seconds = 1, 0.2
    return options


def check_json(options, wanted):
    """--smoke: all that was to be measured is in the file, with its fields."""
    with open(options.json, encoding='utf-8') as f:
        data = json.load(f)
    missing = set(wanted) - {r['name'] for r in data['runs'] if r['median'] and r['best'] and r['line_ns']}
    floors = [r for r in data['rows'] if r['floor'] is not None]
    ok = not missing and data['figures'] and all(r['ratio'] and 'met' in r for r in floors)
    if not ok:
        print('FAIL %s: not there: %s' % (options.json, ', '.join(missing) or 'fields of rows'))
    return ok


def main():
    options = read_options()
    kinds = [k for k in (bench.PORTS if options.all else ('memif', 'af_packet'))
             if bench.has_port(options.launcher, k)]
    wanted = {name: case for name, case in cases(kinds, options.all).items()
              if not options.words or any(w in name for w in options.words)}
    if options.list:
        print('\n'.join(wanted))
        return 0
    sandbox.enter()
    for tool in ('taskset', 'iperf3', 'sockperf', 'ib_send_lat'):
        if not shutil.which(tool):
            sandbox.skip('there is no program %s here' % tool)
    b = bench.Bench(options.launcher, options.perf, options.calib, options.seconds)
    r = Run(b, wanted)
    r.turns(options.repeats)
    if not options.smoke:
        r.extra_turns()
    states, judged = r.summaries(), []
    for state, summaries in states.items():
        rows = judge(summaries, state)
        print_table(state, summaries, rows)
        noisy = noise(summaries, options)
        if noisy:
            print('the CPU was taken away often, so look at the bests: ' + '; '.join(noisy))
        judged += rows
    print('\neach end on one of %d CPUs; load %s' % (os.cpu_count(), ' '.join('%.1f' % v for v in
                                                                             os.getloadavg())))
    ok = bool(r.found) and not r.failed
    if options.json:
        write_json(r, states, judged, options)
    if options.smoke and options.json and ok:
        ok = check_json(options, wanted)
    for name, why in r.failed.items():
        print('FAIL %s: %s' % (name, why))
    shutil.rmtree(b.dir, ignore_errors=True)
    return 0 if ok else 1


if __name__ == '__main__':
    sys.exit(main())
