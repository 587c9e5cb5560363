#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# How plx-perf ends: what it says and its status, when an option is wrong, when it is interrupted and
# when its peer is killed:
#
#     ends.sh POLLUX-RUN PLX-PERF
#
# Two processes over a memif; needs no privilege.
set -u
launcher=$1
perf=$2
dir=$(mktemp -d) || exit 1
port=$((20000 + $$ % 10000))
server=
client=
failed=0
passed=0

clean_up() {
	[ -z "$server" ] || kill -9 "$server" 2>/dev/null
	[ -z "$client" ] || kill -9 "$client" 2>/dev/null
	rm -rf "$dir"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# check NAME STATUS WANTED-STATUS FILE PATTERN
check() {
	if [ "$2" = "$3" ] && grep -q -e "$5" "$4"; then
		passed=$((passed + 1))
		echo "ok   $1"
	else
		failed=$((failed + 1))
		echo "FAIL $1: status $2, not $3, or no \"$5\" in:"
		sed 's/^/  /' "$4"
	fi
}

# refused PATTERN OPTION...: ends with status 2 before anything is opened
refused() {
	pattern=$1
	shift
	"$perf" "$@" >"$dir/out" 2>&1
	check "refuses $*" $? 2 "$dir/out" "$pattern"
}

# begin OPTION...: a server, and a client with these options, both under way
begin() {
	port=$((port + 1))
	"$launcher" --port "memif:$dir/s,server" --ip 10.11.0.1/16 -- "$perf" -p $port \
		>"$dir/server" 2>&1 &
	server=$!
	until grep -q waiting "$dir/server" || ! kill -0 $server 2>/dev/null; do
		sleep 0.05
	done
	"$launcher" --port "memif:$dir/s,client" --ip 10.11.0.2/16 -- "$perf" -p $port "$@" \
		127.0.0.1 >"$dir/client" 2>&1 &
	client=$!
	until grep -q messages "$dir/client" || ! kill -0 $client 2>/dev/null; do
		sleep 0.05
	done
	sleep 0.5
}

finish() {
	wait $client 2>/dev/null
	client_status=$?
	wait $server 2>/dev/null
	server_status=$?
	client=
	server=
}

refused 'is no option' --nonsense
refused 'one of: send' --op push
refused 'one of: cq, memory$' --poll foo
refused 'one of: poll, sleep$' --target foo
refused 'give N, N,N' --size 4x
refused 'number from 1 to' --qps 0
refused 'nothing would ever complete' --cq-mod 200 --depth 100
refused '256, 512, 1024' --mtu 1500
refused 'use --op write_imm' --mode lat --events
refused 'always 8 bytes' --op fetch_add --size 64
refused 'for --verify' --size random:0-1M
refused 'leave HOST out' --self host
"$launcher" --port loop -- "$perf" 127.0.0.1 -p 1 >"$dir/out" 2>&1
check 'no server' $? 2 "$dir/out" 'start .plx-perf. there first'
"$launcher" --port loop -- "$perf" --self --device none >"$dir/out" 2>&1
check 'no such device' $? 2 "$dir/out" 'no RDMA device none'
"$launcher" --port loop -- "$perf" --self --gid-index 200 >"$dir/out" 2>&1
check 'no such GID' $? 2 "$dir/out" 'has no GID 200'

begin --all --iters 50
finish
check 'all sizes, client' $client_status 0 "$dir/client" '^ *8388608 '
check 'all sizes, server' $server_status 0 "$dir/server" 'served .* 25 sizes'
begin --all --iters 50 --mode lat --op send
finish
check 'all sizes, latency' $client_status 0 "$dir/client" '^ *8388608 '
begin --duration 60
kill -INT $client
finish
check 'client interrupted: client' $client_status 0 "$dir/client" '^ *65536 '
check 'client interrupted: server' $server_status 0 "$dir/server" 'served'
begin --duration 60 --op send
kill -INT $server
finish
check 'server interrupted: client' $client_status 0 "$dir/client" '^ *65536 '
check 'server interrupted: server' $server_status 0 "$dir/server" 'served'
begin --verify --bytes 100G
kill -TERM $client
finish
check 'verification interrupted: client' $client_status 1 "$dir/client" 'interrupted: only'
check 'verification interrupted: server' $server_status 1 "$dir/server" 'interrupted: only'

# in between two messages nothing is outstanding that could end with an error
gone='no longer answers'
closed='closed its connection'
for options in "--op write" "--op read" "--op send --events" "--op send --mode lat"; do
	# shellcheck disable=SC2086
	begin --duration 60 $options
	kill -9 $server
	finish
	check "server killed, $options" $client_status 1 "$dir/client" "$gone\|$closed"
	rm -f "$dir/s"
done
begin --duration 60 --bidirectional
kill -9 $client
finish
check 'client killed, both send' $server_status 1 "$dir/server" "$gone"
begin --duration 60 --op send
kill -9 $client
finish
check 'client killed, server receives' $server_status 1 "$dir/server" "$closed"
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
