/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <gnuradio/cudaphy/kernels/interruption.h>

namespace gr::cudaphy {
namespace {

thread_local const interruption* current_of_this_thread = nullptr;

} // namespace

const interruption* interruption::current() { return current_of_this_thread; }

interruption::scope::scope(const interruption* under) : d_before(current_of_this_thread)
{
    current_of_this_thread = under;
}
interruption::scope::~scope() { current_of_this_thread = d_before; }

} // namespace gr::cudaphy
