#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# usage: packaging/wheel/libraries.sh PREFIX [ARCHIVES]
#
# Builds what a wheel bundles, Highway and oneTBB, into PREFIX: manylinux's own are too old, or
# missing. ARCHIVES: a folder with the archives, which are else fetched, and checked, into it.
# CUDAPHY_WHEEL_CUDA=12-9 installs NVIDIA's compiler of that version on AlmaLinux, too.
set -euo pipefail
prefix=$(mkdir -p "$1" && cd "$1" && pwd)
archives=$(mkdir -p "${2:-/tmp/archives}" && cd "${2:-/tmp/archives}" && pwd)
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
jobs=${CUDAPHY_JOBS:-$(nproc)}

highway=1.2.0
tbb=2022.1.0

# unpack FILE SHA256 ADDRESS: into $build/FILE, without the archive's own top folder
unpack() {
    if [ ! -f "$archives/$1" ]; then
        curl --fail --location --retry 5 --output "$archives/$1.part" "$3"
        mv "$archives/$1.part" "$archives/$1"
    fi
    echo "$2  $archives/$1" | sha256sum --check --quiet
    mkdir "$build/$1"
    tar -xf "$archives/$1" -C "$build/$1" --strip-components=1
}

# with_cmake FILE options...
with_cmake() {
    local source=$build/$1
    shift
    cmake -S "$source" -B "$source/build" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON \
        -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib "$@"
    cmake --build "$source/build" -j "$jobs"
    cmake --install "$source/build"
}

unpack "highway-$highway.tar.gz" \
    7e0be78b8318e8bdbf6fa545d2ecb4c90f947df03f7aadc42c1967f019e63343 \
    "https://github.com/google/highway/archive/refs/tags/$highway.tar.gz"
with_cmake "highway-$highway.tar.gz" -DBUILD_TESTING=OFF -DHWY_ENABLE_TESTS=OFF \
    -DHWY_ENABLE_EXAMPLES=OFF -DHWY_ENABLE_CONTRIB=OFF

unpack "onetbb-$tbb.tar.gz" \
    ed067603ece0dc832d2881ba5c516625ac2522c665d95f767ef6304e34f961b5 \
    "https://github.com/uxlfoundation/oneTBB/archive/refs/tags/v$tbb.tar.gz"
with_cmake "onetbb-$tbb.tar.gz" -DTBB_TEST=OFF -DTBBMALLOC_BUILD=OFF -DTBB_STRICT=OFF

if [ -n "${CUDAPHY_WHEEL_CUDA:-}" ]; then
    dnf -y install dnf-plugins-core
    dnf config-manager --add-repo \
        https://developer.download.nvidia.com/compute/cuda/repos/rhel8/x86_64/cuda-rhel8.repo
    # cuBLAS and cuSOLVER are loaded at run time: their headers alone are used.
    dnf -y install "cuda-nvcc-$CUDAPHY_WHEEL_CUDA" "cuda-cudart-devel-$CUDAPHY_WHEEL_CUDA" \
        "libcublas-devel-$CUDAPHY_WHEEL_CUDA" "libcusolver-devel-$CUDAPHY_WHEEL_CUDA"
fi
