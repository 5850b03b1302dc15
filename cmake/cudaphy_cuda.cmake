# SPDX-License-Identifier: GPL-3.0-or-later
# Enables CUDA if an nvcc is found. Without nvcc, only the backend cuda is missing.
set(CUDAPHY_HAVE_CUDA OFF)
if(ENABLE_CUDA)
    # Never `native`: it fails to configure on a machine without a GPU.
    if(NOT CMAKE_CUDA_ARCHITECTURES)
        set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 86-real 89-real 90
            CACHE STRING "GPU architectures to build for, for example 86" FORCE)
    endif()
    if(NOT CMAKE_CUDA_COMPILER)
        find_program(CUDAPHY_NVCC nvcc HINTS /usr/local/cuda/bin /opt/cuda/bin)
        set(compiler ${CUDAPHY_NVCC})
        if(DEFINED ENV{CUDACXX})
            set(compiler $ENV{CUDACXX})
        endif()
        # Not check_language(), which takes seconds and does not say why. nvcc refuses a host compiler
        # that is too new when it reads its headers.
        set(host ${CMAKE_CUDA_HOST_COMPILER} $ENV{CUDAHOSTCXX})
        list(TRANSFORM host PREPEND -ccbin=)
        if(compiler)
            execute_process(COMMAND ${compiler} ${host} -E -x cu /dev/null
                RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE why)
            if(failed)
                message(WARNING "${compiler} does not work, so that the CUDA backend is not built: ${failed}\n${why}")
            else()
                set(CMAKE_CUDA_COMPILER ${compiler})
            endif()
        endif()
    endif()
    if(CMAKE_CUDA_COMPILER)
        enable_language(CUDA)
        find_package(CUDAToolkit 12.4 REQUIRED)
        set(CMAKE_CUDA_STANDARD 17)
        set(CMAKE_CUDA_STANDARD_REQUIRED ON)
        set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
        # This is for the host's code, which launches kernels: -O1 takes up to 2 s of an object less,
        # and kernels stay the same. cudaphy_targets.cmake says what -fno-ipa-modref is for.
        string(REGEX REPLACE "-O[23]" "-O1" CMAKE_CUDA_FLAGS_RELEASE "${CMAKE_CUDA_FLAGS_RELEASE}")
        if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 11)
            string(APPEND CMAKE_CUDA_FLAGS_RELEASE " -Xcompiler=-fno-ipa-modref")
        endif()
        set(CUDAPHY_HAVE_CUDA ON)
    endif()
endif()
if(CUDAPHY_HAVE_CUDA)
    message(STATUS "CUDA backend: ${CMAKE_CUDA_COMPILER_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}")
else()
    message(STATUS "CUDA backend: not built (no nvcc that works, or ENABLE_CUDA=OFF)")
endif()
