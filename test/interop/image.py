# SPDX-License-Identifier: BSD-3-Clause
"""What the virtual machine of rig.py boots: Debian's own kernel, and a file system in memory with
rdma_rxe, busybox, and the verbs programs that are installed here.

The kernel package is downloaded with apt-get and kept, unpacked, in a directory below the build
tree; the file system is made anew each time (a second).
"""
import glob
import io
import lzma
import os
import re
import shutil
import subprocess
import tarfile

META_PACKAGE = 'linux-image-amd64'
MODULES = ('virtio_pci', 'virtio_net', 'virtio_console', 'crc32_generic', 'ib_uverbs', 'ib_umad',
           'rdma_ucm', 'rdma_rxe')
CARD_MODULES = ('uio_pci_generic', 'vfio_pci', 'vfio_iommu_type1')     # for who gives cards to programs
PROGRAMS = ['busybox', 'rdma', 'ibv_devinfo'] + \
    ['ibv_%s_pingpong' % kind for kind in ('rc', 'uc', 'ud', 'srq')] + \
    ['ib_%s_%s' % (op, kind) for op in ('send', 'write', 'read', 'atomic') for kind in ('bw', 'lat')]
PROVIDER = 'libibverbs/librxe-rdmav34.so'
DRIVER = '/etc/libibverbs.d/rxe.driver'
WANTED = re.compile(r'\./(boot/vmlinuz-|lib/modules/[^/]+/kernel/(%s)/)' % '|'.join((
    'drivers/(infiniband|net|virtio|char|uio|vfio)', 'virt', 'net', 'lib', 'crypto', 'arch', 'fs/configfs')))
XZ = b'\xfd7zXZ\0'
ELF = b'\x7fELF'


class Unavailable(Exception):
    """Why there is no image here."""


def output_of(*command):
    try:
        return subprocess.run(command, check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE).stdout.decode()
    except FileNotFoundError as e:
        raise Unavailable('there is no program %s here' % command[0]) from e
    except subprocess.CalledProcessError as e:
        line = (e.stderr.decode().strip().splitlines() or ['no reason given'])[-1]
        raise Unavailable('%s: %s' % (' '.join(command[:2]), line)) from e


def kernel_package():
    """The package of the newest kernel that apt knows of."""
    for line in output_of('apt-cache', 'depends', META_PACKAGE).splitlines():
        m = re.match(r' *Depends: (linux-image-\d\S*)', line)
        if m:
            return m.group(1)
    raise Unavailable('apt knows of no kernel behind %s' % META_PACKAGE)


def download(place):
    """Brings the kernel package into the directory; returns its file."""
    package = kernel_package()
    cwd = os.getcwd()
    os.chdir(place)
    try:
        output_of('apt-get', '-o', 'APT::Sandbox::User=root', 'download', '-qq', package)
    finally:
        os.chdir(cwd)
    return glob.glob(os.path.join(glob.escape(place), package + '_*.deb'))[0]


def elf_of(bzimage):
    """QEMU boots the kernel inside as it is; the guest need not unpack it under emulation."""
    for at in (m.start() for m in re.finditer(re.escape(XZ), bzimage)):
        try:
            kernel = lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(bzimage[at:])
        except lzma.LZMAError:
            continue
        if kernel.startswith(ELF):
            return kernel
    raise Unavailable('no kernel in the form of ELF in the kernel package')


def unpack(deb, place):
    """vmlinux, and the modules that matter flat in modules/."""
    modules = os.path.join(place, 'modules')
    os.makedirs(modules)
    with subprocess.Popen(['dpkg-deb', '--fsys-tarfile', deb], stdout=subprocess.PIPE) as p, \
            tarfile.open(fileobj=p.stdout, mode='r|') as tar:
        for member in tar:
            if not member.isfile() or not WANTED.match(member.name):
                continue
            data = tar.extractfile(member).read()
            name = os.path.basename(member.name)
            if name.startswith('vmlinuz'):
                path, data = os.path.join(place, 'vmlinux'), elf_of(data)
            else:
                path = os.path.join(modules, name.replace('-', '_'))
            with open(path, 'wb') as f:
                f.write(data)


def kernel(place):
    """Directory with vmlinux and modules/; made once, and again when other modules matter."""
    done = os.path.join(place, 'kernel')
    wanted = os.path.join(done, 'wanted')
    if os.path.exists(wanted):
        with open(wanted, encoding='ascii') as f:
            if f.read() == WANTED.pattern:
                return done
    new = done + '.new'
    shutil.rmtree(new, ignore_errors=True)
    os.makedirs(new)
    deb = download(new)
    unpack(deb, new)
    os.unlink(deb)
    with open(os.path.join(new, 'wanted'), 'w', encoding='ascii') as f:
        f.write(WANTED.pattern)
    shutil.rmtree(done, ignore_errors=True)
    os.rename(new, done)
    return done


def in_order(modules, names):
    """The files of these modules and of what they depend on, dependencies first."""
    order = []

    def add(name):
        path = os.path.join(modules, name.replace('-', '_') + '.ko')
        if not os.path.exists(path) or path in order:
            return      # built into the kernel, or had already
        with open(path, 'rb') as f:
            depends = re.search(rb'\0depends=([^\0]*)\0', f.read())
        for other in filter(None, depends.group(1).decode().split(',') if depends else []):
            add(other)
        order.append(path)

    for name in names:
        add(name)
    return order


def libraries(path):
    """Everything that the dynamic linker would load for it, in the machine: not what a build tree in
    LD_LIBRARY_PATH puts in front here."""
    env = {name: value for name, value in os.environ.items() if name != 'LD_LIBRARY_PATH'}
    # a static program makes ldd fail
    text = subprocess.run(['ldd', path], check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, env=env).stdout.decode()
    return [os.path.normpath(path) for path in re.findall(r'(/\S+) \(', text)]


class Archive:
    """A file system in the "newc" form of cpio, which the kernel unpacks into memory."""

    def __init__(self):
        self.out = io.BytesIO()
        self.names = set()

    def add(self, name, mode, data=b''):
        if name in self.names:
            return
        if os.path.dirname(name):
            self.add(os.path.dirname(name), 0o40755)
        self.names.add(name)
        path = name.encode() + b'\0'
        self.out.write(b'070701' + b'%08x' * 13 % (
            len(self.names), mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0) + path)
        self.pad()
        self.out.write(data)
        self.pad()

    def pad(self):
        self.out.write(b'\0' * (-self.out.tell() % 4))

    def add_file(self, path, to=None):
        with open(path, 'rb') as f:
            self.add((to or path).lstrip('/'), 0o100755, f.read())

    def add_program(self, path, to=None):
        self.add_file(path, to)
        for library in libraries(path):
            self.add_file(library)

    def write(self, path):
        self.add('TRAILER!!!', 0)
        with open(path, 'wb') as f:
            f.write(self.out.getvalue())


def build(place, guest, programs, kept=(), modules=(), name='initramfs'):
    """(kernel, file system `name`) in the directory. `guest` is where the files of the machine lie,
    `programs` and `modules` are more that it shall have; `kept` lie there where they lie here."""
    os.makedirs(place, exist_ok=True)
    home = kernel(place)
    archive = Archive()
    for directory in ('dev', 'proc', 'sys', 'tmp', 'run'):
        archive.add(directory, 0o40755)
    for program in PROGRAMS:
        path = shutil.which(program)
        if not path:
            raise Unavailable('there is no program %s here' % program)
        archive.add_program(os.path.realpath(path), '/bin/' + program)
    for path in programs:
        archive.add_program(path, '/bin/' + os.path.basename(path))
    for path in kept:
        archive.add_program(path)
    provider = glob.glob('/usr/lib/*/' + PROVIDER)
    if not provider or not os.path.exists(DRIVER):
        raise Unavailable('the package ibverbs-providers is not installed')
    archive.add_program(provider[0])
    archive.add_file(DRIVER)
    files = in_order(os.path.join(home, 'modules'), MODULES + tuple(modules))
    for path in files:
        archive.add_file(path, '/modules/' + os.path.basename(path))
    archive.add('modules/order', 0o100644,
                ''.join(os.path.basename(m) + '\n' for m in files).encode())
    archive.add_file(os.path.join(guest, 'init'), '/init')
    archive.write(os.path.join(place, name))
    return os.path.join(home, 'vmlinux'), os.path.join(place, name)
