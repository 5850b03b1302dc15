# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints where this Python looks for packages below an installation prefix, relative to it."""

import os
import sys
import sysconfig


def site_packages(prefix):
    prefix = os.path.normpath(prefix)
    scheme = sysconfig.get_default_scheme()
    base = prefix
    if scheme == "posix_local":  # Debian: what is not its own stands below /usr/local
        if prefix == os.path.normpath(sys.base_prefix):
            scheme = "deb_system"
        else:
            base = os.path.join(prefix, "local")
    names = ("base", "platbase", "installed_base", "installed_platbase")
    found = sysconfig.get_path("platlib", scheme, dict.fromkeys(names, prefix))
    return os.path.relpath(found, base)


if __name__ == "__main__":
    print(site_packages(sys.argv[1]))
