/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdint>

// The structures of DLPack before its version 1, which every library still exchanges
// unless asked for more: https://dmlc.github.io/dlpack/latest/c_api.html

namespace gr::cudaphy::bindings::dlpack {

enum device_type : int32_t { cpu = 1, cuda = 2, cuda_managed = 13 };
enum type_code : uint8_t { integer = 0, natural = 1, real = 2, complex = 5, boolean = 6 };

struct device {
    int32_t type;
    int32_t number;
};
struct kind {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
};
struct tensor {
    void* data;
    dlpack::device device;
    int32_t dimensions;
    dlpack::kind kind;
    int64_t* shape;
    int64_t* strides; //!< in items; null: C order
    uint64_t byte_offset;
};
struct managed_tensor {
    dlpack::tensor tensor;
    void* context;
    void (*release)(managed_tensor*);
};

constexpr const char* fresh = "dltensor";
constexpr const char* taken = "used_dltensor";

} // namespace gr::cudaphy::bindings::dlpack
