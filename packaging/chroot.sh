# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash disable=SC2154
# A Debian in a chroot: what packaging/debian.sh and cmake/newer_debian.sh share. Both read this file.
# $root is the chroot that inside() enters.

# as_root_alone PROGRAM ARGUMENTS...: needs root; starts the program again with mounts that are
# private to it, and end with it.
as_root_alone() {
    if [ "$(id -u)" != 0 ]; then
        echo "chroot needs root: sudo $*" >&2
        exit 1
    fi
    if [ "${CUDAPHY_UNSHARED:-}" != 1 ]; then
        CUDAPHY_UNSHARED=1 exec unshare --mount -- "$@"
    fi
}

# Debian's mirror that this machine's own packages come from.
mirror() {
    cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | sed 's/#.*//' |
        grep -oE '(https?|file)://[^] ]+/debian/?( |$)' | head -n 1
}

# make_debian SUITE FOLDER PACKAGES (by commas): unless there is one. Into another folder first: an
# interrupted debootstrap must not pass for a Debian.
make_debian() {
    local from
    if [ ! -e "$2/etc/debian_version" ]; then
        command -v debootstrap >/dev/null || apt-get -y install debootstrap
        from=$(mirror || true)
        rm -rf "$2.new"
        mkdir -p "$(dirname "$2")"
        # The script is that of unstable: debootstrap may be older than the suite.
        debootstrap --variant=minbase --include="$3" "$1" "$2.new" \
            "${from:-http://deb.debian.org/debian}" sid
        mv "$2.new" "$2"
    fi
    # Packages must not start services in a chroot.
    printf '#!/bin/sh\nexit 101\n' >"$2/usr/sbin/policy-rc.d"
    chmod 755 "$2/usr/sbin/policy-rc.d"
    cp -L /etc/resolv.conf "$2/etc/resolv.conf"
}

mount_kernel_files() {
    mount -t proc proc "$root/proc"
    mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
}

inside() {
    chroot "$root" env -i HOME=/root PATH=/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin \
        LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive APT_LISTCHANGES_FRONTEND=none "$@"
}
