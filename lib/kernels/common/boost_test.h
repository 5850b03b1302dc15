/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// Boost.Test reads the module's name where its configuration is read first, which may be
// in the precompiled header of all tests (cudaphy_test_program()).
#if defined(BOOST_TEST_MODULE) && !defined(BOOST_TEST_MAIN)
#define BOOST_TEST_MAIN
#endif
#include <boost/test/unit_test.hpp>
