/* SPDX-License-Identifier: GPL-3.0-or-later */
// Prints the best of the targets that Highway compiles kernels for and that this machine
// runs, and a mask of all of Highway's targets that it runs; 0 if there is no choice.
#include "../lib/kernels/common/highway_targets.h"
#include <cinttypes>
#include <cstdio>
#include <hwy/targets.h>

int main()
{
    const int64_t supported = hwy::SupportedTargets();
    const int64_t usable = supported & HWY_TARGETS;
    const bool has_choice = usable != 0 && HWY_TARGETS != HWY_STATIC_TARGET;
    std::printf("%s 0x%" PRIx64 "\n",
                hwy::TargetName(has_choice ? usable & -usable : HWY_STATIC_TARGET),
                has_choice ? static_cast<uint64_t>(supported) : 0);
}
