#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# From a fresh Debian 12 to RDMA between two hosts: installs what is missing, builds Pollux in
# build/, runs unmodified RDMA programs as client and server processes joined by a memif, with the
# kernel's TCP beside them, and prints one table. Needs root only for what it installs, and for a
# pair of interfaces to measure TCP on; without it TCP is measured over the loopback interface.
set -u
[ $# -eq 0 ] || { echo "usage: sh app/quickstart.sh (no arguments; its head says what it does)"; exit 2; }
cd "$(dirname "$0")/.." || exit 1
. app/packages.sh

run=$PWD/build/app/pollux-run/pollux-run
log=build/quickstart.log
port=$((20000 + $$ % 10000))
server_ip=10.11.0.1/16
client_ip=10.11.0.2/16
net_a=plx-a-$$
net_b=plx-b-$$
server=
have_net=

say() {
	echo "$*"
	echo "== $*" >>"$log"
}

fail() {
	echo "quickstart: $1"
	tail -n 15 "$log" | sed 's/^/    /'
	echo "The whole log is $PWD/$log"
	exit 1
}

clean_up() {
	[ -z "$server" ] || kill "$server" 2>/dev/null
	if [ -n "$have_net" ]; then
		ip netns del "$net_a" 2>/dev/null
		ip netns del "$net_b" 2>/dev/null
	fi
	[ -z "${dir-}" ] || rm -rf "$dir"
}

build() {
	say "Building in build/ (about a minute)"
	if [ ! -f build/build.ninja ]; then
		meson setup build . >>"$log" 2>&1 || fail "meson setup failed"
	fi
	ninja -C build programs >>"$log" 2>&1 || fail "the build failed"
}

# Waits until something listens on a TCP port. listens PREFIX PORT
listens() {
	hex=$(printf '%04X' "$2")
	for _ in $(seq 100); do
		$1 cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
			awk -v p=":$hex" '$4 == "0A" && index($2, p) { found = 1 }
				END { exit !found }' && return 0
		kill -0 "$server" 2>/dev/null || return 1
		sleep 0.1
	done
	return 1
}

# rdma PROGRAM ARG...: server and client over the memif; the client's output is in $dir/client
rdma() {
	say "Running $*"
	port=$((port + 1))
	"$run" --port "memif:$dir/memif,server" --ip $server_ip -- "$@" -p $port \
		>"$dir/server" 2>&1 &
	server=$!
	if listens "" $port; then
		timeout 60 "$run" --port "memif:$dir/memif,client" --ip $client_ip -- "$@" -p $port \
			127.0.0.1 >"$dir/client" 2>&1
		status=$?
	else
		status=1
		: >"$dir/client"
	fi
	[ $status = 0 ] || kill $server 2>/dev/null
	wait $server
	server=
	cat "$dir/server" "$dir/client" >>"$log"
	[ $status = 0 ] || fail "$1 did not run"
}

# The last row of perftest's table: bandwidth in Gb/s, rate in M/s, latency in us.
bandwidth() {
	awk '/^ *[0-9]+ +[0-9]+ / { bw = $4 } END { printf "%.1f", bw }' "$dir/client"
}

rate() {
	awk '/^ *[0-9]+ +[0-9]+ / { rate = $5 } END { printf "%.2f", rate }' "$dir/client"
}

latency() {
	awk '/^ *[0-9]+ +[0-9]+ / { t = $5 } END { printf "%.2f", t }' "$dir/client"
}

# Two network namespaces joined by a pair of interfaces, for the kernel's TCP.
make_net() {
	have_net=yes
	ip netns add "$net_a" && ip netns add "$net_b" &&
		ip link add plx0 netns "$net_a" type veth peer name plx0 netns "$net_b" &&
		ip -n "$net_a" addr add 192.168.77.1/24 dev plx0 &&
		ip -n "$net_b" addr add 192.168.77.2/24 dev plx0 &&
		ip -n "$net_a" link set plx0 up && ip -n "$net_b" link set plx0 up
}

place_tcp() {
	in_a=
	in_b=
	tcp_ip=127.0.0.1
	tcp_where=loopback
	if [ "$(id -u)" = 0 ] && make_net >>"$log" 2>&1; then
		in_a="ip netns exec $net_a"
		in_b="ip netns exec $net_b"
		tcp_ip=192.168.77.1
		tcp_where=veth
	fi
}

# The kernel's TCP: Gb/s of 64 KiB writes, us of half a round trip of 64 bytes.
measure_tcp() {
	say "Running iperf3 and sockperf over kernel TCP ($tcp_where)"
	port=$((port + 1))
	$in_a iperf3 -s -1 -p $port >>"$log" 2>&1 &
	server=$!
	listens "$in_a" $port || fail "iperf3 does not start"
	$in_b timeout 30 iperf3 -c $tcp_ip -p $port -t 3 -l 64K -f g >"$dir/tcp" 2>&1 ||
		fail "iperf3 did not run"
	wait $server
	tcp_bw=$(awk '/receiver/ { for (i = 1; i < NF; i++) if ($(i + 1) == "Gbits/sec")
		printf "%.1f", $i }' "$dir/tcp")
	cat "$dir/tcp" >>"$log"
	port=$((port + 1))
	$in_a sockperf server --tcp --nonblocked -i $tcp_ip -p $port >>"$log" 2>&1 &
	server=$!
	listens "$in_a" $port || fail "sockperf does not start"
	$in_b timeout 30 sockperf ping-pong --tcp --nonblocked -i $tcp_ip -p $port -m 64 -t 3 \
		>"$dir/tcp" 2>&1 || fail "sockperf did not run"
	kill $server
	wait $server 2>/dev/null
	server=
	tcp_lat=$(sed -n 's/.*percentile 50\.000 = *\([0-9.]*\).*/\1/p' "$dir/tcp")
	cat "$dir/tcp" >>"$log"
}

row() {
	printf '  %-16s %8s   %-24s %s\n' "$@" >>"$dir/table"
}

measure_rdma() {
	rdma ibv_rc_pingpong -g 1 -n 10000 -s 64
	row ibv_rc_pingpong "64 B" "$(awk '/usec\/iter/ { printf "%.2f", $(NF - 1) / 2 }' \
		"$dir/client") us" "$tcp_lat us"
	for op in send write read; do
		rdma ib_${op}_bw -F --report_gbits -n 20000
		row ib_${op}_bw "64 KiB" "$(bandwidth) Gb/s" "$tcp_bw Gb/s"
	done
	rdma ib_atomic_bw -F --report_gbits -n 50000
	row ib_atomic_bw "8 B" "$(rate) M/s" "-"
	rdma ib_send_lat -F -s 64 -n 10000
	row ib_send_lat "64 B" "$(latency) us" "$tcp_lat us"
}

mkdir -p build && : >"$log" 2>/dev/null || {
	echo "quickstart: $PWD/build cannot be written; run as the user that made it"
	exit 1
}
trap clean_up EXIT
trap 'exit 130' INT TERM
# shellcheck disable=SC2086
need_packages "$log" $BUILD_PACKAGES $TRAFFIC_PACKAGES || exit 1
build
dir=$(mktemp -d) || fail "no temporary directory"
place_tcp
measure_tcp
measure_rdma

printf '\n  %-16s %8s   %-24s %s\n' test size "Pollux, memif" "kernel TCP, $tcp_where"
cat "$dir/table"
cat <<END

us are half a round trip; TCP's are iperf3 with 64 KiB writes and sockperf polling with 64 B.
Both sides ran on $(nproc) CPUs of this machine.

What to try next:
  build/app/pollux-run/pollux-run --help
  build/app/pollux-run/pollux-run -- ibv_devinfo -v
      any verbs program runs behind the --, here with a port that talks to itself
  build/app/pollux-run/pollux-run --port af_packet:IFACE --ip ADDR/LEN -- ib_write_bw
      the same on a network interface; the peer is another Pollux or any RoCEv2 device
  build/app/pollux-run/pollux-run -- build/app/plx-perf/plx-perf --self
      Pollux's own benchmark; --verify checks every byte, --help has the rest
  sh test/run.sh --quick
      the tests
  doc/tour.md
      how it is built
END
