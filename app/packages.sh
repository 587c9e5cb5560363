# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by the scripts that need Debian packages: need_packages NAME... installs those that are
# missing, with apt-get, and touches nothing when none is.

BUILD_PACKAGES="gcc libc6-dev linux-libc-dev meson ninja-build pkg-config python3
	libdpdk-dev libisal-dev libnuma-dev libibverbs-dev librdmacm-dev"
TRAFFIC_PACKAGES="ibverbs-utils perftest iproute2 iperf3 sockperf"
TEST_PACKAGES="rdmacm-utils python3-pyverbs python3-scapy tshark"
# for test/interop/rig.py
RIG_PACKAGES="qemu-system-x86 busybox-static ibverbs-providers iproute2"

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		sudo "$@"
	fi
}

missing_packages() {
	for package in "$@"; do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
			echo "$package"
	done
}

# need_packages LOG NAME...
need_packages() {
	log=$1
	shift
	missing=$(missing_packages "$@" | tr '\n' ' ')
	[ -n "$missing" ] || return 0
	if ! command -v apt-get >/dev/null; then
		echo "This is no Debian system. Install what these packages hold, then run this again:"
		echo "  $missing"
		return 1
	fi
	echo "Installing packages: $missing"
	export DEBIAN_FRONTEND=noninteractive
	if ! as_root apt-get update >"$log" 2>&1 ||
	   ! as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y \
		--no-install-recommends $missing >>"$log" 2>&1; then
		tail -n 20 "$log"
		echo "Packages could not be installed; the whole log is $log"
		return 1
	fi
}
