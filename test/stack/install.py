#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Does an installed tree work from where nobody installed it to?

    install.py BUILD-DIR PREFIX LIBDIR

Installs to a staging directory, moves the tree elsewhere, and uses it there: the launcher, the
drop-in, the libraries by pkg-config.
"""
import os
import shutil
import subprocess
import sys
import tempfile

import sandbox

PROGRAM = r'''
#include <infiniband/verbs.h>
#include <stdio.h>

int
main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	struct ibv_port_attr port;

	if (!context || ibv_query_port(context, 1, &port))
		return 1;
	printf("%s %d\n", ibv_get_device_name(context->device), port.state);
	ibv_free_device_list(list);
	return ibv_close_device(context);
}
'''
PC_FILES = ('pollux', 'pollux-stack', 'pollux-verbs')
PROGRAMS = ('pollux-run', 'plx-perf')


class Test:
    def __init__(self, build, prefix, libdir):
        self.dir = tempfile.mkdtemp(dir='/run')
        self.build = build
        self.prefix = prefix
        self.libdir = libdir
        self.tree = os.path.join(self.dir, 'moved elsewhere')
        self.passed = self.failed = 0

    def path(self, *parts):
        return os.path.join(self.tree, *parts)

    def check(self, what, ok, detail=''):
        self.passed, self.failed = self.passed + bool(ok), self.failed + (not ok)
        print('%s %s%s' % ('ok  ' if ok else 'FAIL', what, '' if ok else ': %s' % detail))
        return ok

    def run(self, command, **env):
        return subprocess.run(command, env=dict(os.environ, **env), capture_output=True,
                              text=True, timeout=60, check=False)

    def succeeds(self, what, command, words='', **env):
        r = self.run(command, **env)
        self.check(what, r.returncode == 0 and words in r.stdout,
                   'status %d, %r, %r' % (r.returncode, r.stdout, r.stderr))
        return r.stdout

    def install(self):
        stage = os.path.join(self.dir, 'stage')
        self.succeeds('meson install', ['meson', 'install', '-C', self.build, '--no-rebuild',
                                        '--quiet', '--destdir', stage])
        staged = stage + self.prefix
        shutil.move(staged, self.tree)
        left = [os.path.join(b, n) for b, _, names in os.walk(stage) for n in names]
        self.check('everything lies under the prefix', not left, left)

    def no_build_paths(self):
        """What is installed must not look for its libraries in the build tree."""
        found = []
        for base, _, names in os.walk(self.tree):
            for name in names:
                path = os.path.join(base, name)
                out = self.run(['readelf', '-d', path]).stdout
                found += [path + line for line in out.splitlines()
                          if ('RPATH' in line or 'RUNPATH' in line) and '$ORIGIN' not in line]
        self.check('no run path but $ORIGIN', not found, found)

    def programs(self):
        for name in PROGRAMS:
            self.check('bin/' + name, os.access(self.path('bin', name), os.X_OK), 'is missing')
            page = self.path('share/man/man1', name + '.1')
            self.check(name + '(1)', os.path.exists(page), page + ' is missing')
        run = self.path('bin/pollux-run')
        self.succeeds('ibv_devices', [run, '--', 'ibv_devices'], 'pollux0')
        self.succeeds('ibv_devinfo', [run, '--ip', '10.1.2.3/24', '--', 'ibv_devinfo', '-v'],
                      '::ffff:10.1.2.3, RoCE v2')
        self.succeeds('plx-perf', [self.path('bin/plx-perf'), '--version'], 'plx-perf')

    def pkg_config(self, what, name):
        where = self.path(self.libdir, 'pkgconfig')
        return self.run(['pkg-config', what, name],
                        PKG_CONFIG_PATH=where).stdout.strip().replace('\\ ', ' ')

    def compile(self):
        """Unchanged verbs source, by what pkg-config says, in the moved tree."""
        for name in PC_FILES:
            self.check(name + '.pc', self.tree in self.pkg_config('--libs', name),
                       self.pkg_config('--libs', name) or 'is missing')
        source, program = os.path.join(self.dir, 'p.c'), os.path.join(self.dir, 'p')
        with open(source, 'w', encoding='ascii') as f:
            f.write(PROGRAM)
        words = [self.pkg_config(w, 'pollux-verbs') for w in ('--cflags', '--libs')]
        flags = ' '.join(words).replace(self.tree, self.dir + '/t').split()
        os.symlink(self.tree, self.dir + '/t')
        self.succeeds('compile verbs source', ['cc', source, '-o', program, '-Wall', '-Werror']
                      + flags)
        needed = self.run(['readelf', '-d', program]).stdout
        self.check('it links libpollux and no libibverbs',
                   'libpollux.so' in needed and 'libibverbs' not in needed, needed)
        self.succeeds('and runs it', [program], 'pollux0 4')


    def compile_in_the_build(self):
        """The same by the files that the build tree has for programs that need no installation."""
        source, program = os.path.join(self.dir, 'p.c'), os.path.join(self.dir, 'q')
        r = self.run(['pkg-config', '--cflags', '--libs', 'pollux-verbs'],
                     PKG_CONFIG_PATH=os.path.join(self.build, 'meson-uninstalled'))
        self.succeeds('compile against the build tree', ['cc', source, '-o', program, '-Wall', '-Werror']
                      + r.stdout.split())
        self.succeeds('and run that', [program], 'pollux0 4')


def main(build, prefix, libdir):
    sandbox.enter()
    before = sandbox.leftovers()
    t = Test(build, prefix, libdir)
    t.install()
    t.no_build_paths()
    t.programs()
    t.compile()
    t.compile_in_the_build()
    shutil.rmtree(t.dir)
    left = sandbox.leftovers() - before
    t.check('nothing is left behind', not left, left)
    print('%d passed, %d failed, 0 skipped' % (t.passed, t.failed))
    return 1 if t.failed else 0


if __name__ == '__main__':
    sys.exit(main(os.path.abspath(sys.argv[1]), *sys.argv[2:]))
