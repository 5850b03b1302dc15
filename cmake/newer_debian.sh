#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Builds, tests, installs and uninstalls HEAD on a newer Debian, on the CPU alone, in a chroot: by
# root, before a release. usage: cmake/newer_debian.sh [SUITE [FOLDER]]
#   SUITE   trixie (Debian 13, the default), or forky: compilers and Python that other systems have
#   FOLDER  of the chroot; default: build-SUITE
# A chroot that is there already is used again, with what was built in it.
set -euo pipefail
source=$(dirname "$(dirname "$(readlink -f "$0")")")
suite=${1:-trixie}
root=$(readlink -m "${2:-$source/build-$suite}")
# shellcheck source=packaging/chroot.sh
source "$source/packaging/chroot.sh"
clone=root/gr-cudaphy # below the chroot

as_root_alone "$0" "$suite" "$root"
make_debian "$suite" "$root" ca-certificates,ccache,git
mount_kernel_files

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
echo "$suite: built, tested, installed and uninstalled."
