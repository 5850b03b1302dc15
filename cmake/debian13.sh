#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Builds, tests, installs and uninstalls HEAD on Debian 13, on the CPU alone, in a chroot: by root,
# before a release. usage: cmake/debian13.sh [FOLDER]  (of the chroot; default: build-debian13)
# A chroot that is there already is used again, with what was built in it.
set -euo pipefail
source=$(dirname "$(dirname "$(readlink -f "$0")")")
root=$(readlink -m "${1:-$source/build-debian13}")
clone=root/gr-cudaphy # below the chroot

if [ "$(id -u)" != 0 ]; then
    echo "chroot needs root: sudo $0 $*" >&2
    exit 1
fi
if [ "${CUDAPHY_UNSHARED:-}" != 1 ]; then
    # Mounts below are private to this script, and end with it.
    CUDAPHY_UNSHARED=1 exec unshare --mount -- "$0" "$root"
fi

# Debian's mirror that this machine's own packages come from.
mirror() {
    sed 's/#.*//' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
        grep -oE '(https?|file)://[^] ]+/debian/?( |$)' | head -n 1
}

inside() {
    chroot "$root" env -i HOME=/root PATH=/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin \
        LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}

if [ ! -e "$root/etc/debian_version" ]; then
    command -v debootstrap >/dev/null || apt-get -y install debootstrap
    mirror=$(mirror || true)
    # Into another folder first: an interrupted debootstrap must not pass for a Debian.
    rm -rf "$root.new"
    debootstrap --variant=minbase --include=ca-certificates,ccache,git trixie "$root.new" \
        "${mirror:-http://deb.debian.org/debian}"
    # Packages must not start services in a chroot.
    printf '#!/bin/sh\nexit 101\n' >"$root.new/usr/sbin/policy-rc.d"
    chmod 755 "$root.new/usr/sbin/policy-rc.d"
    mkdir -p "$(dirname "$root")"
    mv "$root.new" "$root"
fi
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=1777 shm "$root/dev/shm"

if [ ! -e "$root/$clone" ]; then
    git clone --quiet --no-hardlinks "$source" "$root/$clone"
fi
git -C "$root/$clone" fetch --quiet "$source" HEAD
git -C "$root/$clone" checkout --quiet --force --detach FETCH_HEAD
git -C "$root/$clone" clean -dfq
git -C "$root/$clone" log -1 --oneline

# From a plain shell, outside the source, as a user would.
try_installed() {
    inside sh -ec "cd / && cudaphy_info --version && cudaphy_ber --version
        cudaphy_info --no-test >/dev/null
        python3 -W error -c 'from gnuradio import cudaphy
print(cudaphy.__version__, cudaphy.__file__, cudaphy.backends())'"
}

in_clone() {
    inside sh -ec "cd /$clone && $*"
}

in_clone ./run test
for prefix in /usr/local /usr; do
    in_clone "cmake -B build -DCMAKE_INSTALL_PREFIX=$prefix >build/prefix.log && ./run install"
    try_installed
    in_clone "cmake --build build --target uninstall"
    left=$(find "$root/usr" -name '*cudaphy*')
    if [ -n "$left" ]; then
        printf 'Left after uninstall:\n%s\n' "$left" >&2
        exit 1
    fi
done
echo "Debian 13: built, tested, installed and uninstalled."
