/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

namespace gr::cudaphy {

//! Bytes that hold so many bits, one or eight a byte.
inline int bytes_of(int bits, bool packed) { return packed ? (bits + 7) / 8 : bits; }

} // namespace gr::cudaphy
