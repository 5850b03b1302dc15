#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
set -euo pipefail
cuda=OFF
if [ "${cuda_compiler_version:-None}" != None ]; then
    cuda=ON
fi
# shellcheck disable=SC2086 # CMAKE_ARGS are several words
cmake -B build -G Ninja ${CMAKE_ARGS:-} \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$PREFIX" -DCMAKE_INSTALL_LIBDIR=lib \
    -DPYTHON_EXECUTABLE="$PYTHON" -DENABLE_CUDA=$cuda -DENABLE_TESTING=OFF
cmake --build build -j "${CPU_COUNT:-2}"
cmake --install build
