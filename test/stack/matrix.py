# SPDX-License-Identifier: BSD-3-Clause
"""Which programs run with which options over which port.

quick is a handful, sanitize less; default has every pair of (program, option), (port, program) and
(port, option) once, and what crosses between two cores; long is the whole product, inline and with
a dedicated core.
"""
import collections
import itertools

PORTS = ('memif', 'af_packet')
MORE_PORTS = ('vhost', 'af_xdp')        # vhost: with virtio at the other end
GID = 1         # GID 0 is the link-local one of the MAC, 1 the address given by --ip

# part: the vendor_part_id that the device says it has, or None
Case = collections.namedtuple('Case', 'port program args cores part', defaults=(None,))
# perftest has inline data, and posts by the extended API, only for devices that it knows: this one is a ConnectX-5.
KNOWN_PART = '4119'

OPS = ('send', 'write', 'read', 'atomic')
# Iterations of the default run; the long one takes the program's own numbers.
FEW = {'bw': '200', 'lat': '100'}
OPTIONS = (
    ('default', []),
    ('all sizes', ['-a']),
    ('16 QPs', ['-q', '16']),
    ('events', ['-e']),
    ('both ways', ['-b']),
    ('5 s', ['-D', '5']),
    ('MTU 1024', ['-m', '1024']),
    ('MTU 4096', ['-m', '4096']),
)
PINGPONG = ([], ['-e'], ['-s', '1'], ['-s', '1048576'])

# Besides RC's own queues: words of perftest, its operations, and whether what a port cannot take is lost.
Service = collections.namedtuple('Service', 'words ops loses')
SERVICES = (
    Service(['-c', 'UC'], ('send', 'write'), True),
    Service(['-c', 'UD'], ('send',), True),
    Service(['--use-srq'], ('send',), False),
    Service(['-c', 'UC', '--use-srq'], ('send',), True),
    Service(['-c', 'XRC'], OPS, False),
    Service(['-c', 'UD', '--use-srq'], ('send',), True),
)
SERVICE_OPTIONS = (('default', []), ('events', ['-e']), ('both ways', ['-b']), ('4 QPs', ['-q', '4']))
# Nobody holds a sender of these back, and who receives waits for all of them: messages of one packet, fewer
# in all than the 512 frames that af_packet keeps.
LOSES = ['-s', '2048', '-n', '100']
# To a group of IPv4: perftest's own is of IPv6, and wants such an address. It has groups for one QP and one
# direction; its latency would take what a group brings back of one's own for the answer.
MULTICAST = ['-c', 'UD', '-g', '-M', '0:' * 10 + '255:255:239:1:2:3']
# Other programs of libibverbs, and what makes them look at their bytes.
PINGPONGS = (
    ['ibv_uc_pingpong', '-c'],
    ['ibv_ud_pingpong', '-c'],
    ['ibv_srq_pingpong', '-c'],
    ['ibv_xsrq_pingpong'],
)


def takes(op, kind, option):
    """Whether perftest has that option for that program."""
    if kind == 'lat' and option in ('16 QPs', '4 QPs', 'both ways'):
        return False
    if op == 'atomic' and option == 'all sizes':
        return False
    # the receiver of a WRITE has no completion that it could sleep on
    return not (op == 'write' and option == 'events')


def perftest(op, kind, option, args, few):
    """Command of ib_OP_KIND; `few` iterations where the option does not set the length."""
    words = ['ib_%s_%s' % (op, kind), '-F', '-x', str(GID)] + args
    if few and option != '5 s':
        words += ['-n', '20' if option == 'all sizes' else FEW[kind]]
    return words


def pingpong(args, few):
    iters = ['-n', '100'] if few and '1048576' in args else []
    return ['ibv_rc_pingpong', '-c', '-g', str(GID)] + args + iters


def case(port, words, cores=None, part=None):
    # Two cores of their own and two programs that poll may be more threads than the machine has
    # CPUs: a peer that waits for its turn is not dead. 2^17 * 4.096 us is half a second.
    patience = ['-u', '17'] if cores and words[0].startswith('ib_') else []
    return Case(port, words[0], words[1:] + patience, cores, part)


def perftests(few):
    """Every program of perftest with every option that it has."""
    rows = []
    for option, args in OPTIONS:
        for op in OPS:
            for kind in ('bw', 'lat'):
                if takes(op, kind, option):
                    rows.append(perftest(op, kind, option, args, few))
    return rows


def services(few):
    """Every program of perftest over every service with every option that it has, and the pingpongs; each
    with the port that it takes when it takes one alone, so that every port meets every program and option."""
    rows = []
    for service in SERVICES:
        for n, (option, args) in enumerate(SERVICE_OPTIONS):
            # four senders whom nobody holds back, and a shared queue that holds what one of them sends
            if option == '4 QPs' and service.loses and '--use-srq' in service.words:
                continue
            some = [perftest(op, kind, option, service.words + args, few and not service.loses) +
                    (LOSES if service.loses else [])
                    for op, kind in itertools.product(service.ops, ('bw', 'lat')) if takes(op, kind, option)]
            if len(some) == 1:
                rows += [(port, some[0]) for port in PORTS]
            else:
                rows += [(PORTS[(n + m // 2 + m) % 2], words) for m, words in enumerate(some)]
    for port, args in itertools.product(PORTS, ([], ['-e'])):
        rows.append((port, perftest('send', 'bw', 'default', MULTICAST + args, False) + LOSES))
    for n, program in enumerate(PINGPONGS):
        for m, args in enumerate(([], ['-e'])):
            words = program + ['-g', str(GID)] + args + (['-n', '100'] if few else [])
            rows.append((PORTS[(n + m) % 2], words))
    return rows


def quick():
    for port in PORTS:
        yield case(port, pingpong([], True))
        for op in OPS:
            yield case(port, perftest(op, 'bw', 'default', [], True))
    yield case('memif', perftest('write', 'lat', 'default', [], True))
    yield case('memif', perftest('write', 'bw', 'default', [], True), 'dedicated')


def default():
    for args in PINGPONG:
        for port in PORTS:
            yield case(port, pingpong(args, True))
    # the rows lie option by option, so alternating covers the pairs with the port
    for n, words in enumerate(perftests(True)):
        yield case(PORTS[(n + n // 8) % 2], words)
    for port, words in services(True):
        yield case(port, words)
    # the other ports: some of everything; a page of af_xdp holds no path MTU of 4096
    for port in MORE_PORTS:
        yield case(port, pingpong([], True))
        for op in OPS:
            yield case(port, perftest(op, 'bw', 'default', [], True))
        yield case(port, perftest('write', 'lat', 'default', [], True))
        yield case(port, perftest('send', 'bw', 'events', ['-e'], True))
    # one of the ports without a GID index: the program chooses
    yield case('memif', ['ib_send_bw', '-F', '-n', '200'])
    for op in OPS:
        yield case('memif', perftest(op, 'bw', 'default', [], True), 'dedicated')
    yield case('memif', perftest('write', 'lat', 'default', [], True), 'dedicated')
    yield from chains()
    yield from inline_data()
    yield from builder()
    yield from two_cores()
    yield from multicast()


def chains():
    """Chains of posts, and completions for every seventh or 25th alone (FC60). With events, no more of those at
    a time than the program polls after one event (doc/guides/running.md)."""
    for port in PORTS:
        yield case(port, perftest('write', 'bw', 'default', ['--post_list=7', '-Q', '7'], False) +
                   ['-n', '1400'])
        yield case(port, perftest('send', 'bw', '16 QPs', ['--post_list=5', '-Q', '5', '-q', '16'], False) +
                   ['-n', '200'])
        yield case(port, perftest('send', 'bw', 'events', ['--post_list=25', '-Q', '25', '-e', '-b'], False) +
                   ['-n', '200'])


def multicast():
    """The programs' own group, of IPv6 and thus from GID 0."""
    for port, cores in (PORTS[0], None), (PORTS[1], None), (PORTS[0], 'two cores'):
        yield case(port, ['ib_send_bw', '-F', '-c', 'UD', '-g', '-x', '0'] + LOSES, cores)


# Messages that are inline to the last byte: what a program would take, and all that the device has.
INLINE_SIZES = ('64', '512')


def inline_data():
    """By the old calls, in every service that has some."""
    rows = [(words, op, kind) for words in ([], ['-c', 'UC'], ['-c', 'UD']) for op in ('send', 'write')
            for kind in ('bw', 'lat') if (words, op) != (['-c', 'UD'], 'write')]
    for n, (words, op, kind) in enumerate(rows):
        size = INLINE_SIZES[n // 2 % 2]
        yield case(PORTS[(n + n // 4) % 2], perftest(op, kind, 'default', words, True) +
                   ['--use_old_post_send', '-I', size, '-s', size], part=KNOWN_PART)


def builder():
    """By the work request builder (ibv_wr_*), in every service; where there is inline data, with and without."""
    rows = [(words, op) for words, ops in (([], OPS), (['-c', 'UC'], ('send', 'write')), (['-c', 'UD'], ('send',)),
                                           (['-c', 'XRC'], ('write',))) for op in ops]
    for n, (words, op) in enumerate(rows):
        for m, kind in enumerate(('bw', 'lat')):
            size = [] if op in ('read', 'atomic') or n % 2 else ['-I', '64', '-s', '64']
            args = LOSES if words and not size else size
            yield case(PORTS[(n + m) % 2], perftest(op, kind, 'default', words, args is not LOSES) + args,
                       part=KNOWN_PART)


def two_cores():
    """The QPs of an end are on both cores, and share a CQ."""
    for port in PORTS:
        yield case(port, pingpong(['-e', '-n', '100'], False), 'two cores')
        yield case(port, perftest('send', 'bw', '16 QPs', ['-q', '16'], True), 'two cores')
    yield case('memif', perftest('write', 'bw', '4 QPs', ['-q', '4'], True), 'two cores')
    yield case('memif', perftest('send', 'bw', 'events', ['-q', '4', '-e'], True), 'two cores')
    for op in ('read', 'atomic'):
        yield case('memif', perftest(op, 'bw', 'default', [], True), 'two cores')
    # QPs of both cores take from one queue
    yield case('memif', perftest('send', 'bw', '16 QPs', ['-q', '16', '--use-srq'], True), 'two cores')
    yield case('memif', ['ibv_srq_pingpong', '-e', '-g', str(GID), '-n', '100'], 'two cores')


def long():
    for words in [pingpong(args, False) for args in PINGPONG] + perftests(False) + \
            [words for _, words in services(False)]:
        for port in PORTS:
            for cores in (None, 'dedicated'):
                yield case(port, words, cores)
    yield case('memif', ['ib_send_bw', '-F'])
    yield from chains()
    yield from inline_data()
    yield from builder()
    yield from two_cores()
    yield from multicast()


def sanitize():
    for port in PORTS:
        yield case(port, pingpong([], True))
    for op in OPS:
        yield case('memif', perftest(op, 'bw', 'default', [], True))


MATRICES = {'quick': quick, 'sanitize': sanitize, 'default': default, 'long': long}
