#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# usage: with_gpu.sh PROGRAM ARGUMENTS...   Runs a test's program. Where the kernel's driver has no
# device file there is no GPU: then the test counts as skipped (77), without a start of Python.
for file in /dev/nvidiactl /dev/nvhost* /dev/nvgpu /dev/dxg; do # driver, Jetson's, Windows'
    if [ -e "$file" ]; then
        exec "$@"
    fi
done
exit 77
