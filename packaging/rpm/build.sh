#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Builds the rpm packages of HEAD. usage: packaging/rpm/build.sh FOLDER [options of rpmbuild]
# With -bs in place of the default -ba only the source package is made, on any system with rpmbuild.
set -euo pipefail
top=$(dirname "$(dirname "$(dirname "$(readlink -f "$0")")")")
if [ $# = 0 ]; then
    sed -n 's/^# .*\(usage:.*\)/\1/p' "$0" >&2
    exit 2
fi
folder=$(readlink -m "$1")
shift
version=$(sed -n 's/^project(gr-cudaphy VERSION \([0-9.]*\).*/\1/p' "$top/CMakeLists.txt")
mkdir -p "$folder/SOURCES"
git -C "$top" archive --format=tar.gz --prefix="gr-cudaphy-$version/" \
    -o "$folder/SOURCES/gr-cudaphy-$version.tar.gz" HEAD
if [ $# = 0 ]; then
    set -- -ba
fi
rpmbuild --define "_topdir $folder" "$@" "$top/packaging/rpm/gr-cudaphy.spec"
