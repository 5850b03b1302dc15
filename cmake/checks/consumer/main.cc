/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <gnuradio/cudaphy/kernels/inverse.h>

using namespace gr::cudaphy;

//! Inverts 2 I, and answers 0 where every backend that is usable here gives I / 2.
int main()
{
    for (const auto where : backends()) {
        const auto work = queue::make(where);
        const auto kernel = kernels::inverse<complex64>::make({ 2 }, where);
        array<complex64> a(*work, std::vector<complex64>{ 2, 0, 0, 2 });
        array<complex64> x(*work, 4);
        array<int> status(*work, 1);
        kernel->run(a, x, status, *work);
        if (x.to_host() != std::vector<complex64>{ 0.5f, 0, 0, 0.5f }) {
            return 1;
        }
    }
    return backends().empty();
}
