#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Every operation between two QPs of one process over a loop port, with the options that change how
# it is sent, and a verified run of each:
#
#     loop.sh POLLUX-RUN PLX-PERF
#
# Needs no privilege and no peer.
set -u
launcher=$1
perf=$2
failed=0
passed=0

# run OPTION...: both ends in one process; prints the last line
run() {
	text=$(timeout 100 "$launcher" --port loop -- "$perf" --self "$@" 2>&1)
	status=$?
	if [ $status = 0 ]; then
		passed=$((passed + 1))
		echo "ok   $*: $(echo "$text" | tail -n 1 | sed 's/^ *//')"
	else
		failed=$((failed + 1))
		echo "FAIL $* (status $status)"
		echo "$text" | sed 's/^/  /'
	fi
}

for op in send send_imm write write_imm read cmp_swap fetch_add; do
	run --op $op --iters 5000
	run --op $op --iters 2000 --qps 16
	run --op $op --iters 2000 --bidirectional --events
	run --op $op --duration 0.2 --mtu 1024 --post-list 16 --cq-mod 16
	run --op $op --mode lat --iters 2000
	case $op in
	cmp_swap | fetch_add) run --op $op --verify --iters 5000 --qps 3 --bidirectional ;;
	*)
		run --op $op --all --iters 20
		run --op $op --verify --bytes 10M --qps 3 --sges 4 --bidirectional
		run --op $op --verify --bytes 5M --mtu 256 --inline 512
		;;
	esac
done
for op in send send_imm write_imm read fetch_add; do
	run --op $op --mode lat --events --iters 1000
done
run --op write --mode lat --all --iters 50
run --op write --mode lat --poll memory --iters 200
run --op send --verify --size 0,1,4095-4097,65536 --bytes 1M
run --mode rate --iters 100000 --inline 64 --json
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
