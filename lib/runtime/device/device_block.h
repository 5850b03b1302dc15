/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/backend.h>
#include <optional>

namespace gr::cudaphy {

//! A block whose streams may stay in a device's memory (device_edge.h). Both blocks at a
//! stream ask both, while they start: so answers are fixed once a block is made.
class device_block
{
public:
    struct place {
        backend where;
        int device;
    };
    virtual ~device_block() = default;
    //! Where its kernels work; none: in the host's memory.
    virtual std::optional<place> works_on() const = 0;
    //! Whether inputs may lie there.
    virtual bool reads_there() const { return true; }
    //! Whether it can put outputs out there.
    virtual bool writes_there() const { return true; }
};

//! Whether a stream between these blocks, which may be null, stays in a device's memory.
inline bool stays_on_device(const device_block* from, const device_block* to)
{
    if (!from || !to || !from->writes_there() || !to->reads_there()) {
        return false;
    }
    const auto before = from->works_on(), behind = to->works_on();
    return before && behind && before->where == behind->where &&
           before->device == behind->device;
}

} // namespace gr::cudaphy
