# SPDX-License-Identifier: GPL-3.0-or-later
# Functions that every folder's CMakeLists.txt calls.

# Options of C++ that seldom runs. With -O1 alone GCC 14.2 compiles FDTD's partition wrongly.
set(cudaphy_light -O1)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 11)
    list(APPEND cudaphy_light -fno-ipa-modref)
endif()

# Headers compiled once. Under ccache only with that sloppiness, as in ./run: else it would not keep
# what they take part in. The kernels' only for one instruction set, because Highway reads its own
# once for each.
set(CUDAPHY_PRECOMPILE OFF)
set(CUDAPHY_PRECOMPILE_KERNELS OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND (NOT CMAKE_CXX_COMPILER_LAUNCHER
        OR "${CMAKE_CXX_COMPILER_LAUNCHER}" MATCHES "pch_defines"))
    set(CUDAPHY_PRECOMPILE ON)
    if(CUDAPHY_CPU_DEFINITIONS)
        set(CUDAPHY_PRECOMPILE_KERNELS ON)
    endif()
endif()

add_library(cudaphy_options INTERFACE)
target_include_directories(cudaphy_options INTERFACE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/lib)
target_compile_options(cudaphy_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra>
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${ENABLE_WERROR}>>:-Werror>
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>
    $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${ENABLE_WERROR}>>:-Werror=all-warnings>)
target_compile_definitions(cudaphy_options INTERFACE
    $<$<BOOL:${CUDAPHY_HAVE_CUDA}>:CUDAPHY_HAVE_CUDA>)
if(CUDAPHY_HAVE_CUDA)
    target_include_directories(cudaphy_options SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
endif()

# cudaphy_compile_together(target sources...): compiles these sources of the target as one, because
# the headers take most of their time. Their anonymous namespaces are one too, so no name may stand
# in two of them. -DCMAKE_UNITY_BUILD=OFF compiles each alone. CUDA sources are included by a file
# written here, because CMake joins them from 3.31 on only; without CUDA they are left out.
function(cudaphy_compile_together target first)
    set(sources ${first} ${ARGN})
    set(is_cuda OFF)
    if(first MATCHES "[.]cu$")
        set(is_cuda ON)
    endif()
    if(is_cuda AND NOT CUDAPHY_HAVE_CUDA)
        return()
    endif()
    if(is_cuda)
        cudaphy_write_joined(sources ${sources})
        target_sources(${target} PRIVATE ${sources})
    else()
        string(MAKE_C_IDENTIFIER ${first} group)
        target_sources(${target} PRIVATE ${sources})
        if(DEFINED CMAKE_UNITY_BUILD AND NOT CMAKE_UNITY_BUILD)
            return()
        endif()
        set_source_files_properties(${sources} PROPERTIES UNITY_GROUP ${group})
        set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    endif()
endfunction()

# cudaphy_compile_lightly(target sources...): the same with -O1 for C++ sources that check, make or
# plan, or are a reference, so that little time passes in them: 0.7 of the time that -O3 takes. CMake
# does not join sources with options of their own, so a file written here includes them.
function(cudaphy_compile_lightly target)
    cudaphy_write_joined(files ${ARGN})
    target_sources(${target} PRIVATE ${files})
    # GCC 12 may crash with a header that was precompiled with another optimization.
    set_source_files_properties(${files} PROPERTIES
        COMPILE_OPTIONS "${cudaphy_light}" SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# Sets `out` to the name of a file, written here, that includes the sources; to the sources
# themselves with -DCMAKE_UNITY_BUILD=OFF.
function(cudaphy_write_joined out first)
    set(sources ${first} ${ARGN})
    if(DEFINED CMAKE_UNITY_BUILD AND NOT CMAKE_UNITY_BUILD)
        set(${out} ${sources} PARENT_SCOPE)
        return()
    endif()
    string(MAKE_C_IDENTIFIER ${first} group)
    get_filename_component(extension ${first} LAST_EXT)
    list(TRANSFORM sources REPLACE "(.+)" "#include \"${CMAKE_CURRENT_SOURCE_DIR}/\\1\"")
    list(JOIN sources "\n" text)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/together_${group}${extension})
    file(CONFIGURE OUTPUT ${file} CONTENT "${text}\n" @ONLY)
    set(${out} ${file} PARENT_SCOPE)
endfunction()

# cudaphy_kernel_folder(NAME SOURCES ... CUDA ... USES ...)
# Builds one folder of lib/kernels as the object library cudaphy_NAME; CUDA files only if CUDA is on.
# The compiler may not contract a*b+c: every instruction set then gives the same bits, and a kernel
# writes a fused multiply-add if it wants one. A Debug build has -O1 too, because at -O0 Highway
# does not inline the choice of a table's entry, and one file's list of targets holds for all files.
function(cudaphy_kernel_folder name)
    cmake_parse_arguments(ARG "" "" "SOURCES;CUDA;USES" ${ARGN})
    add_library(cudaphy_${name} OBJECT ${ARG_SOURCES})
    if(CUDAPHY_HAVE_CUDA)
        target_sources(cudaphy_${name} PRIVATE ${ARG_CUDA})
    endif()
    target_compile_options(cudaphy_${name} PRIVATE
        $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Debug>>:-O1>
        $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off> $<$<COMPILE_LANGUAGE:CUDA>:--fmad=false>)
    target_compile_definitions(cudaphy_${name} PUBLIC
        "$<$<COMPILE_LANGUAGE:CXX>:${CUDAPHY_CPU_DEFINITIONS}>")
    if(CUDAPHY_PRECOMPILE_KERNELS)
        # GCC forgets that its own headers switch these off for AVX-512's undefined vectors.
        target_compile_options(cudaphy_${name} PRIVATE
            $<$<COMPILE_LANGUAGE:CXX>:-Wno-uninitialized$<SEMICOLON>-Wno-maybe-uninitialized>)
        if(NOT name STREQUAL common)
            target_precompile_headers(cudaphy_${name} REUSE_FROM cudaphy_common)
        endif()
    endif()
    target_link_libraries(cudaphy_${name} PUBLIC
        cudaphy_options PkgConfig::HWY TBB::tbb Threads::Threads)
    if(CUDAPHY_HAVE_CUDA)
        target_link_libraries(cudaphy_${name} PUBLIC CUDA::cudart_static)
    endif()
    foreach(used ${ARG_USES})
        target_link_libraries(cudaphy_${name} PUBLIC cudaphy_${used})
    endforeach()
endfunction()

# cudaphy_link_kernels(target folders...): name every folder that the target needs, because an object
# library does not pass on the objects of the libraries that it uses.
function(cudaphy_link_kernels target)
    foreach(folder ${ARGN})
        target_link_libraries(${target} PRIVATE cudaphy_${folder})
    endforeach()
endfunction()

# cudaphy_kernel_test(folder/qa_x folders...): builds qa_x from folder/qa_x.cc. CTest runs qa_x once
# a backend: qa_x.reference, qa_x.cpu, qa_x.cuda. Exit status 77 means skipped.
function(cudaphy_kernel_test source)
    if(NOT ENABLE_TESTING)
        return()
    endif()
    cudaphy_test_program(${source} ${ARGN})
    get_filename_component(name ${source} NAME)
    foreach(where reference cpu cuda)
        add_test(NAME ${name}.${where} COMMAND ${name})
        cudaphy_test_backend(${name}.${where} ${where})
    endforeach()
endfunction()

# cudaphy_plain_test(folder/qa_x folders...): as cudaphy_kernel_test, for what no backend computes. CTest
# runs qa_x once.
function(cudaphy_plain_test source)
    if(NOT ENABLE_TESTING)
        return()
    endif()
    cudaphy_test_program(${source} ${ARGN})
    get_filename_component(name ${source} NAME)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT 300)
endfunction()

function(cudaphy_test_program source)
    get_filename_component(name ${source} NAME)
    add_executable(${name} ${source}.cc)
    # The second gives it a main() even if Boost.Test's configuration is read before the module's name.
    target_compile_definitions(${name} PRIVATE BOOST_TEST_DYN_LINK BOOST_TEST_MAIN)
    # Tests are templates that run once: -O3 costs more time to compile than it saves.
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O1>)
    cudaphy_link_kernels(${name} ${ARGN})
    target_link_libraries(${name} PRIVATE Boost::unit_test_framework)
    if(CUDAPHY_PRECOMPILE)
        # The first test has them for all. Not unit_test.hpp: it depends on the module's name.
        get_property(first GLOBAL PROPERTY cudaphy_first_test)
        if(first)
            target_precompile_headers(${name} REUSE_FROM ${first})
        else()
            target_precompile_headers(${name} PRIVATE
                <boost/test/framework.hpp> <boost/test/test_tools.hpp>
                <boost/test/tree/test_unit.hpp>
                <algorithm> <complex> <functional> <random> <string> <vector>)
            set_property(GLOBAL PROPERTY cudaphy_first_test ${name})
        endif()
    endif()
endfunction()

function(cudaphy_test_backend test where)
    set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT CUDAPHY_TEST_BACKEND=${where})
    set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
    if(where STREQUAL cuda)
        set_tests_properties(${test} PROPERTIES LABELS gpu RESOURCE_LOCK gpu)
    endif()
endfunction()

# cudaphy_python_test(name program.py arguments...): runs a Python program with the package of the
# build tree. CUDAPHY_TEST_PRELOAD names a sanitizer's library for Python alone: CTest under the
# thread sanitizer does not see that a test has ended. detect_leaks is off because Python keeps memory
# to its end. The quarantine is small because soak would take its 256 MB for growth. A name.cuda needs a GPU.
set(CUDAPHY_TEST_PRELOAD "" CACHE STRING "Sanitizer's library, loaded before Python in tests")
function(cudaphy_python_test name program)
    get_filename_component(program ${program} ABSOLUTE)
    set(tests ${PROJECT_SOURCE_DIR}/python/cudaphy/tests)
    set(path ${PROJECT_BINARY_DIR}/test_modules:${tests})
    if(NOT ENABLE_GNURADIO)
        set(path ${tests}/without_gnuradio:${path})
    endif()
    if(CUDAPHY_TEST_PRELOAD)
        set(preload LD_PRELOAD=${CUDAPHY_TEST_PRELOAD}
            ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=4)
    endif()
    if(name MATCHES "\\.cuda$")
        set(with_gpu ${PROJECT_SOURCE_DIR}/cmake/with_gpu.sh)
    endif()
    add_test(NAME ${name} COMMAND ${with_gpu} ${CMAKE_COMMAND} -E env
        PYTHONPATH=${path}
        PYTHONDONTWRITEBYTECODE=1
        CUDAPHY_TEST_GRC_CACHE=${PROJECT_BINARY_DIR}/grc_cache.json
        GR_CONF_CONTROLPORT_ON=False ${preload} ${PYTHON_EXECUTABLE} ${program} ${ARGN})
endfunction()
