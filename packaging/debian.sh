#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Debian packages of HEAD: source package, binary packages by dpkg-buildpackage, lintian; then in a
# clean Debian: installed by apt, used, purged, and looked for what is left. By root, on Debian.
# usage: packaging/debian.sh [--cuda] SUITE FOLDER     (bookworm or trixie; FOLDER for all of it)
#        packaging/debian.sh [--cuda] --try SUITE FOLDER    (only tries what FOLDER has already)
#        packaging/debian.sh --source FOLDER           (only the source, laid out in FOLDER/source)
# --cuda builds the library with CUDA, too, by this machine's /usr/local/cuda.
# A ccache in CCACHE_DIR is used where that is set. What is in FOLDER already is used again.
set -euo pipefail
top=$(dirname "$(dirname "$(readlink -f "$0")")")
# shellcheck source=packaging/chroot.sh
source "$top/packaging/chroot.sh"
address=$(cat "$top/packaging/address")
maintainer=${CUDAPHY_MAINTAINER:-$(cat "$top/packaging/maintainer")}

usage() {
    sed -n 's/^# \(usage:.*\)/\1/p; s/^#  *\(packaging.*\)/       \1/p' "$0" >&2
    exit 2
}

given=("$@")
cuda=""
if [ "${1:-}" = --cuda ]; then
    cuda=yes
    shift
fi
build=build
if [ "${1:-}" = --try ]; then
    build=""
    shift
fi
case "$# ${1:-}" in
"2 --source") suite="" ;;
"2 bookworm" | "2 trixie") suite=$1 ;;
*) usage ;;
esac
folder=$(readlink -m "$2")
mkdir -p "$folder"

version=$(git -C "$top" show HEAD:CMakeLists.txt |
    sed -n 's/^project(gr-cudaphy VERSION \([0-9.]*\).*/\1/p')
name=gr-cudaphy-$version

# The sources of HEAD, packed as they are, and beside them debian/ for this version.
lay_out() {
    local file
    rm -rf "$folder/source"
    mkdir -p "$folder/source"
    git -C "$top" archive --format=tar --prefix="$name/" HEAD |
        xz -T0 -3 >"$folder/source/gr-cudaphy_$version.orig.tar.xz"
    tar -C "$folder/source" -xf "$folder/source/gr-cudaphy_$version.orig.tar.xz"
    cp -r "$folder/source/$name/packaging/debian" "$folder/source/$name/debian"
    cd "$folder/source/$name/debian"
    find . -type f | while read -r file; do
        sed -i -e "s|@SOVERSION@|${version%.*}|g" -e "s|@VERSION@|$version|g" \
            -e "s|@ADDRESS@|$address|g" -e "s|@MAINTAINER@|$maintainer|g" "$file"
        if [[ $file = *@SOVERSION@* ]]; then
            mv "$file" "${file//@SOVERSION@/${version%.*}}"
        fi
    done
    {
        printf 'gr-cudaphy (%s-1%s) unstable; urgency=medium\n\n' "$version" "${suite:+~$suite}"
        printf '  * Packaged from commit %s.\n\n' "$(git -C "$top" rev-parse --short HEAD)"
        printf ' -- %s  %s\n' "$maintainer" "$(git -C "$top" log -1 --format=%cD)"
    } >changelog
}

# enter NAME: mounts a Debian, $root, that keeps its changes in FOLDER/SUITE-NAME.
enter() {
    root=$folder/$suite-$1-root
    mkdir -p "$root" "$folder/$suite-$1" "$folder/$suite-$1-overlay"
    mount -t overlay overlay "$root" -o \
        "lowerdir=$folder/$suite,upperdir=$folder/$suite-$1,workdir=$folder/$suite-$1-overlay"
    mount_kernel_files
    # Each package is fetched once.
    mount --bind "$folder/$suite-packages" "$root/var/cache/apt/archives"
    rm -f "$root/etc/apt/apt.conf.d/docker-clean"
}

apt() {
    inside apt-get -y -q -o APT::Keep-Downloaded-Packages=true --no-install-recommends "$@"
}

build() {
    local profile=() environment=()
    enter build
    rm -rf "${root:?}/work"
    cp -r "$folder/source" "$root/work"
    if [ -n "${CCACHE_DIR:-}" ]; then
        mkdir -p "$root/ccache"
        mount --bind "$CCACHE_DIR" "$root/ccache"
        environment+=(CCACHE_DIR=/ccache CMAKE_C_COMPILER_LAUNCHER=ccache
            CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_CUDA_COMPILER_LAUNCHER=ccache)
    fi
    if [ -n "$cuda" ]; then
        mkdir -p "$root/usr/local/cuda"
        mount --bind -o ro "$(readlink -f /usr/local/cuda)" "$root/usr/local/cuda"
        profile=(-Ppkg.gr-cudaphy.cuda)
        environment+=("CUDAPHY_CUDA_ARCHITECTURES=${CUDAPHY_CUDA_ARCHITECTURES:-}")
    fi
    apt update
    apt install build-essential lintian
    inside sh -ec "cd /work/$name && apt-get -y -q --no-install-recommends build-dep ."
    inside env "${environment[@]}" DEB_BUILD_OPTIONS="parallel=$(nproc)" \
        sh -ec "cd /work/$name && dpkg-buildpackage -us -uc ${profile[*]}"
    inside sh -ec "cd /work && lintian --allow-root --fail-on error gr-cudaphy_*.changes"
    rm -rf "$folder/$suite-made"
    mkdir -p "$folder/$suite-made"
    cp "$root"/work/*.{deb,dsc,changes,buildinfo} "$root"/work/*.tar.* \
        "$folder/$suite-made"
    leave
}

leave() {
    umount -R "$root"
}

# Paths named after the module, but for the packages themselves and apt's lists.
left() {
    find "$root" \( -path "$root/proc" -o -path "$root/debs" -o -path "$root/work" \
        -o -path "$root/var/cache/apt" \) -prune -o -name '*cudaphy*' -print
}

use() {
    inside sh -ec "cd /work && debian/tests/installed"
}

# In a Debian that has never seen the packages: by apt alone.
try() {
    local library=/debs/libgnuradio-cudaphy${version%.*} found
    rm -rf "$folder/$suite-try" "$folder/$suite-try-overlay"
    enter try
    mkdir -p "$root/debs" "$root/work/examples" "$root/work/debian/tests"
    cp "$folder/$suite-made"/*.deb "$root/debs"
    cp "$folder/source/$name/examples/qa_flowgraph.py" "$root/work/examples"
    cp "$folder/source/$name/debian/tests/installed" "$root/work/debian/tests"
    apt update
    inside sh -c "exec apt-get -y -q --no-install-recommends install ${library}_*.deb \
        /debs/python3-gnuradio-cudaphy_*.deb /debs/*-dev_*.deb /debs/*-doc_*.deb"
    use
    if [ -n "$cuda" ]; then # in place of the library for CPUs, which goes
        inside sh -c "exec apt-get -y -q install ${library}-cuda_*.deb"
        inside python3 -c "from gnuradio import cudaphy
print(cudaphy.cuda_versions())
assert cudaphy.cuda_versions()[0] >= 12040"
        use
    fi
    [ -n "$(left)" ] # so that an empty answer below means something
    apt purge 'gr-cudaphy-doc' 'python3-gnuradio-cudaphy' 'libgnuradio-cudaphy*'
    found=$(left)
    if [ -n "$found" ]; then
        printf 'Left after purge:\n%s\n' "$found" >&2
        exit 1
    fi
    leave
    rm -rf "$folder/$suite-try" "$folder/$suite-try-overlay"
}

if [ -z "$suite" ]; then
    lay_out
    echo "Laid out in $folder/source/$name"
    exit
fi
as_root_alone "$0" "${given[@]}"
lay_out
make_debian "$suite" "$folder/$suite" ca-certificates,ccache # as debootstrap makes it, below the others
mkdir -p "$folder/$suite-packages"
$build
try
echo "Debian $suite: ${build:+built, }installed, used and purged. Packages: $folder/$suite-made"
