#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds Pollux and runs its tests.
#
#   sh test/run.sh            what a change must pass: three builds, every suite, and a real peer
#   sh test/run.sh --quick    one build, and tests of under two minutes in all
#   sh test/run.sh --long     also the whole matrices of programs, options and ports
#
# Trees: build/ (release), build-asan/ (address and undefined behaviour), build-tsan/ (threads).
# Missing Debian packages are installed first; while it runs Linux does not group tasks by session. The last
# line is "N passed, N failed, N skipped"; the status is 0 when none failed and something ran.
set -u
cd "$(dirname "$0")/.." || exit 1
. app/packages.sh

matrix=default
case ${1-} in
"") ;;
--quick) matrix=quick ;;
--long) matrix=long ;;
*)
	echo "usage: sh test/run.sh [--quick|--long]"
	exit 2
	;;
esac
[ $# -le 1 ] || { echo "usage: sh test/run.sh [--quick|--long]"; exit 2; }
export TEST_MATRIX=$matrix

# A finding of a sanitizer ends its test.
export ASAN_OPTIONS=abort_on_error=1:detect_leaks=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1

logs=build/run-logs
results=
broken=0

# Ends a run that could not get as far as its tests.
give_up() {
	echo "$1"
	echo "0 passed, 1 failed, 0 skipped"
	exit 1
}

# configure TREE [MESON-OPTION...]
configure() {
	tree=$1
	shift
	echo "== $tree: build"
	if [ -f "$tree/build.ninja" ]; then
		set -- meson setup --reconfigure "$tree" . "$@"
	else
		set -- meson setup "$tree" . "$@"
	fi
	if ! "$@" >"$logs/$tree-setup.log" 2>&1; then
		tail -n 30 "$logs/$tree-setup.log"
		return 1
	fi
}

# compile TREE [TARGET...]
compile() {
	tree=$1
	shift
	if ! ninja -C "$tree" "$@" >"$logs/$tree-build.log" 2>&1; then
		grep -A 12 -E 'FAILED|error' "$logs/$tree-build.log" | head -n 60
		tail -n 1 "$logs/$tree-build.log"
		return 1
	fi
}

# programs_of TREE SUITE,SUITE...: what ninja must make for these tests
programs_of() {
	/usr/bin/python3 test/report.py --targets "$1=$2"
}

# tests TREE MULTIPLIER [SUITE...]: runs these suites, or all but the rig's; one line for each test
tests() {
	tree=$1
	multiplier=$2
	shift 2
	suites=
	for suite in "$@"; do
		suites="$suites --suite $suite"
	done
	log=testlog-$(echo "${*:-all}" | tr ' ' -)
	echo "== $tree: ${*:-all} tests"
	rm -f "$tree/meson-logs/$log.json"
	# shellcheck disable=SC2086
	meson test -C "$tree" --no-rebuild --timeout-multiplier "$multiplier" \
		--logbase "$log" ${suites:---no-suite rig} 2>&1 |
		grep --line-buffered -E '^ *[0-9]+/[0-9]+ '
	results="$results $tree=$(echo "$*" | tr ' ' ,)"
}

# Where each session is a group of tasks (autogroup) Linux leaves a thread that is ready to run without a CPU
# for seconds, when the rest of its group is busy on another one. Off until the run ends.
autogroup=/proc/sys/kernel/sched_autogroup_enabled
without_autogroup() {
	[ "$(cat $autogroup 2>/dev/null)" = 1 ] || return 0
	{ echo 0 >$autogroup; } 2>/dev/null || return 0
	trap 'echo 1 >$autogroup' EXIT
	trap 'exit 130' INT TERM
}

mkdir -p build
[ -w build ] || give_up "build/ cannot be written; run as the user that made it"
mkdir -p "$logs"
# shellcheck disable=SC2086
need_packages "$logs/packages.log" $BUILD_PACKAGES $TRAFFIC_PACKAGES $TEST_PACKAGES ||
	give_up "the packages above are missing"

without_autogroup
configure build && compile build || give_up "build/ does not build"
if [ $matrix = quick ]; then
	tests build 1 lint unit script abi quick
else
	tests build 1
	# shellcheck disable=SC2046
	if configure build-asan --buildtype=debugoptimized -Db_sanitize=address,undefined \
		-Db_lundef=false &&
	   compile build-asan programs $(programs_of build-asan unit,script,port,sanitize); then
		export TEST_MATRIX=sanitize TEST_PRELOAD="$(cc -print-file-name=libasan.so)"
		tests build-asan 4 unit script port sanitize
	else
		broken=$((broken + 1))
	fi
	# shellcheck disable=SC2046
	if configure build-tsan --buildtype=debugoptimized -Db_sanitize=thread -Db_lundef=false &&
	   compile build-tsan $(programs_of build-tsan threads); then
		tests build-tsan 8 threads
	else
		broken=$((broken + 1))
	fi
	# a real peer; without what it needs the test is skipped, and says so
	export TEST_MATRIX=$matrix
	unset TEST_PRELOAD
	# shellcheck disable=SC2086
	need_packages "$logs/rig-packages.log" $RIG_PACKAGES || true
	tests build 1 rig
fi
# shellcheck disable=SC2086
/usr/bin/python3 test/report.py --broken $broken $results
