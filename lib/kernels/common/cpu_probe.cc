/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cpu_probe.h"
#include "kernels/common/highway_targets.h"
#include <hwy/targets.h>

namespace gr::cudaphy {

std::string problem_of_cpu()
{
#ifdef HWY_COMPILE_ONLY_STATIC
    if ((hwy::SupportedTargets() & HWY_BASELINE_TARGETS) != HWY_BASELINE_TARGETS) {
        return std::string("gr-cudaphy was built for one CPU alone, with ") +
               hwy::TargetName(HWY_STATIC_TARGET) +
               ", and this CPU lacks some of its instructions: build it again on this "
               "machine, or with -DCUDAPHY_CPU_TARGETS=all";
    }
#endif
    return {};
}

} // namespace gr::cudaphy
