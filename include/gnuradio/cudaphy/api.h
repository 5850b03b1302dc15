/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#define CUDAPHY_API __attribute__((visibility("default")))
