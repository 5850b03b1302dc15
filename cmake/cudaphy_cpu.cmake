# SPDX-License-Identifier: GPL-3.0-or-later
# CUDAPHY_CPU_TARGETS says which instruction sets the CPU's kernels are compiled for. all: those of
# kernels/common/highway_targets.h, and each machine takes its best one. native: the best one of this
# machine, in a third of the time; on a CPU without it the library says so and does nothing.
set(CUDAPHY_CPU_TARGETS all CACHE STRING "Instruction sets of the CPU's kernels: all, or native")
set_property(CACHE CUDAPHY_CPU_TARGETS PROPERTY STRINGS all native)
set(CUDAPHY_CPU_DEFINITIONS)
if(CUDAPHY_CPU_TARGETS STREQUAL native)
    # At each configuration, because a build folder may have come from another machine.
    unset(CUDAPHY_CPU_PROBE_RAN CACHE)
    try_run(CUDAPHY_CPU_PROBE_RAN CUDAPHY_CPU_PROBE_BUILT
        ${PROJECT_BINARY_DIR}/cpu_probe ${PROJECT_SOURCE_DIR}/cmake/cpu_targets.cc
        LINK_LIBRARIES PkgConfig::HWY
        COMPILE_OUTPUT_VARIABLE compiled RUN_OUTPUT_VARIABLE supported)
    if(NOT CUDAPHY_CPU_PROBE_BUILT OR NOT CUDAPHY_CPU_PROBE_RAN EQUAL 0)
        message(FATAL_ERROR "CUDAPHY_CPU_TARGETS=native: this machine's instruction sets can't be "
            "told. Take -DCUDAPHY_CPU_TARGETS=all.\n${compiled}${supported}")
    endif()
    string(REGEX MATCH "^([A-Z0-9_]+) (0x[0-9a-f]+)" matched "${supported}")
    # Highway takes the best enabled target of its baseline for a static one. Each source enables its
    # own, so that it gets the one that it would have chosen when it runs.
    if(NOT CMAKE_MATCH_2 STREQUAL 0x0)
        set(CUDAPHY_CPU_DEFINITIONS HWY_COMPILE_ONLY_STATIC HWY_BASELINE_TARGETS=${CMAKE_MATCH_2}LL)
    endif()
    message(STATUS "CPU backend: ${CMAKE_MATCH_1} alone, which this machine has")
elseif(CUDAPHY_CPU_TARGETS STREQUAL all)
    message(STATUS "CPU backend: all instruction sets")
else()
    message(FATAL_ERROR "CUDAPHY_CPU_TARGETS is \"all\" or \"native\", not \"${CUDAPHY_CPU_TARGETS}\".")
endif()
