#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Every byte of a volume of messages of 0 to 1 MiB, between two processes over a memif:
#
#     verify.sh POLLUX-RUN PLX-PERF [--long]
#
# 200 MB in all, with --long (or TEST_MATRIX=long) 10 GB: a quarter each by SEND, WRITE, WRITE with
# immediate and READ; then atomics. Needs no privilege. The timeout leaves room for a machine whose CPUs
# have other work.
set -u
launcher=$1
perf=$2
volume=50M
atomics=20000
if [ "${3-}" = --long ] || [ "${TEST_MATRIX-}" = long ]; then
	volume=2560M
	atomics=500000
fi
dir=$(mktemp -d) || exit 1
port=$((20000 + $$ % 10000))
server=
failed=0

clean_up() {
	[ -z "$server" ] || kill -9 "$server" 2>/dev/null
	rm -rf "$dir"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# run OPTION...: one server and one client
run() {
	port=$((port + 1))
	"$launcher" --port "memif:$dir/s,server" --ip 10.11.0.1/16 -- "$perf" --port $port \
		>"$dir/server" 2>&1 &
	server=$!
	until grep -q waiting "$dir/server" || ! kill -0 "$server" 2>/dev/null; do
		sleep 0.05
	done
	"$launcher" --port "memif:$dir/s,client" --ip 10.11.0.2/16 -- "$perf" --port $port --verify \
		--timeout 16 --seed $port "$@" 127.0.0.1 >"$dir/client" 2>&1
	status=$?
	[ $status = 0 ] || kill "$server" 2>/dev/null
	wait "$server"
	[ $? = 0 ] || [ $status != 0 ] || status=1
	server=
	if [ $status = 0 ]; then
		echo "ok   $*: $(tail -n 1 "$dir/client")"
	else
		failed=$((failed + 1))
		echo "FAIL $* (status $status)"
		sed 's/^/  client: /' "$dir/client"
		sed 's/^/  server: /' "$dir/server"
	fi
}

for op in send_imm write write_imm read; do
	run --op $op --bytes $volume --size random:0-1M --qps 2 --sges 3
done
run --op write --bytes 20M --size random:0-1M --bidirectional
run --op write --bytes 2M --size 0,1,64,4095-4097,65536
run --op send --bytes 20M --size random:0-64K --mtu 1024 --inline 200 --qps 8
for op in cmp_swap fetch_add; do
	run --op $op --iters $atomics --qps 2
done
[ $failed = 0 ]
