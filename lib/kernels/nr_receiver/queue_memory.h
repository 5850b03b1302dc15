/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/queue.h>

namespace gr::cudaphy::kernels::nr {

//! Host memory that a kernel reads: a copy on the device with CUDA, else itself.
template <typename T>
class queue_input
{
public:
    queue_input(queue& of, const std::vector<T>& host)
        : d_host(host),
          d_copy(of.where() == backend::cuda ? array<T>(of, view<const T>(host))
                                             : array<T>())
    {
    }
    view<const T> data() const
    {
        return d_copy.size() ? view<const T>(d_copy.data(), d_copy.size()) : d_host;
    }

private:
    view<const T> d_host;
    array<T> d_copy;
};

//! Host memory that a kernel writes; there after fetch().
template <typename T>
class queue_output
{
public:
    queue_output(queue& of, std::vector<T>& host)
        : d_queue(of), d_host(host),
          d_copy(of.where() == backend::cuda ? array<T>(of, host.size()) : array<T>())
    {
    }
    view<T> data() { return d_copy.size() ? d_copy.all() : d_host; }
    void fetch()
    {
        if (d_copy.size()) {
            d_queue.copy_out(d_host.data(), d_copy.data(), d_host.size() * sizeof(T));
            d_queue.synchronize();
        }
    }

private:
    queue& d_queue;
    view<T> d_host;
    array<T> d_copy;
};

} // namespace gr::cudaphy::kernels::nr
