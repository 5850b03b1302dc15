# SPDX-License-Identifier: GPL-3.0-or-later
# Enables CUDA if an nvcc is found. Without nvcc, only the backend cuda is missing.
set(CUDAPHY_HAVE_CUDA OFF)
if(ENABLE_CUDA)
    include(CheckLanguage)
    if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
        find_program(CUDAPHY_NVCC nvcc HINTS /usr/local/cuda/bin /opt/cuda/bin)
        if(CUDAPHY_NVCC)
            set(CMAKE_CUDA_COMPILER ${CUDAPHY_NVCC})
        endif()
    endif()
    # Never `native`: it fails to configure on a machine without a GPU.
    if(NOT CMAKE_CUDA_ARCHITECTURES)
        set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 86-real 89-real 90
            CACHE STRING "GPU architectures to build for, for example 86" FORCE)
    endif()
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
        enable_language(CUDA)
        find_package(CUDAToolkit 12.4 REQUIRED)
        set(CMAKE_CUDA_STANDARD 17)
        set(CMAKE_CUDA_STANDARD_REQUIRED ON)
        set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
        # This is for the host's code, which launches kernels: -O1 takes up to 2 s of an object less,
        # and kernels stay the same.
        string(REGEX REPLACE "-O[23]" "-O1" CMAKE_CUDA_FLAGS_RELEASE "${CMAKE_CUDA_FLAGS_RELEASE}")
        set(CUDAPHY_HAVE_CUDA ON)
    endif()
endif()
if(CUDAPHY_HAVE_CUDA)
    message(STATUS "CUDA backend: ${CMAKE_CUDA_COMPILER_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}")
else()
    message(STATUS "CUDA backend: not built (no nvcc, or ENABLE_CUDA=OFF)")
endif()
