# SPDX-License-Identifier: GPL-3.0-or-later
# What the module stands on. COMPONENTS fec needs blocks named beside it (GNU Radio 3.10.5).
find_package(Gnuradio 3.10.5 REQUIRED COMPONENTS blocks fec fft pdu)
# GNU Radio's own configuration raises and lowers these; the house's stand.
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_EXTENSIONS OFF)
if(ENABLE_TESTING)
    find_package(Boost 1.74 REQUIRED COMPONENTS unit_test_framework)
endif()
find_package(TBB REQUIRED)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(FFTW REQUIRED IMPORTED_TARGET fftw3f)
if(ENABLE_PYTHON)
    find_package(pybind11 2.10 REQUIRED)
endif()
