# SPDX-License-Identifier: GPL-3.0-or-later
# Libraries that the module uses. GNU Radio 3.10.5 finds the component fec only if blocks is named too.
if(POLICY CMP0167)
    cmake_policy(SET CMP0167 NEW) # Boost's own configuration, because FindBoost is deprecated
endif()
if(ENABLE_GNURADIO)
    find_package(Gnuradio 3.10.5 REQUIRED COMPONENTS blocks fec pdu)
endif()
# GnuradioConfig.cmake overwrites CMAKE_CXX_STANDARD and _EXTENSIONS; set ours again.
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_EXTENSIONS OFF)
if(ENABLE_TESTING)
    find_package(Boost 1.74 REQUIRED COMPONENTS unit_test_framework)
endif()
find_package(TBB REQUIRED)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)
if(ENABLE_PYTHON)
    if(NOT ENABLE_GNURADIO)
        set(PYBIND11_FINDPYTHON ON) # GNU Radio looks for Python itself, in the older way
        set(Python_EXECUTABLE ${PYTHON_EXECUTABLE})
    endif()
    find_package(pybind11 2.10 REQUIRED)
endif()
