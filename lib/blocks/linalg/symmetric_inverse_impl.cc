/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/linalg/symmetric_inverse_impl.h"
#include "blocks/linalg/matrix_items.h"
#include "kernels/common/sizes.h"
#include "runtime/device/page_lock.h"
#include "runtime/scheduler_port.h"
#include "runtime/stream/length_tag.h"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/symmetry.h>
#include <gnuradio/io_signature.h>
#include <iterator>

namespace gr::cudaphy {
namespace {

constexpr int max_order = 32768;
constexpr size_t batch_bytes = size_t{ 16 } << 20; // of a batch if max_batch is 0
constexpr int64_t most_bytes = int64_t{ 64 } << 30;
constexpr std::chrono::seconds quiet{ 5 }; // between two log messages on progress

int matrices_at_once(int wanted, int order, size_t element_bytes)
{
    const size_t matrix = element_bytes * order * order;
    if (wanted > 0) {
        checked_product(
            "symmetric_inverse: max_batch * order * order * bytes of an element",
            most_bytes,
            { wanted, order, order, int64_t(element_bytes) });
        return wanted;
    }
    return static_cast<int>(std::clamp<size_t>(batch_bytes / matrix, 1, 4096));
}

} // namespace

symmetric_inverse::sptr symmetric_inverse::make(int order,
                                                const std::string& type,
                                                const std::string& definite,
                                                const std::string& algorithm,
                                                bool check,
                                                const std::string& length_tag_key,
                                                const std::string& backend,
                                                int device,
                                                int max_batch)
{
    if (order < 1 || order > max_order) {
        throw std::invalid_argument("order " + std::to_string(order) +
                                    " is not in 1 to " + std::to_string(max_order));
    }
    if (max_batch < 0 || max_batch > 65536) {
        throw std::invalid_argument("max_batch " + std::to_string(max_batch) +
                                    " is not in 0 to 65536");
    }
    const auto where = resolve(backend_from_name(backend), device);
    const auto known = kernels::definiteness_from_name(definite);
    const auto way = kernels::symmetric_algorithm_from_name(algorithm);
    const auto made = [&](auto element) -> sptr {
        using T = decltype(element);
        typename kernels::symmetric_inverse<T>::parameters p;
        p.order = order;
        p.batch = matrices_at_once(max_batch, order, sizeof(T));
        p.algorithm = way;
        p.definite = known;
        return gnuradio::make_block_sptr<symmetric_inverse_impl<T>>(
            p, check, length_tag_key, where);
    };
    return is_complex(type) ? made(complex64()) : made(float());
}

template <typename T>
symmetric_inverse_impl<T>::symmetric_inverse_impl(
    const typename kernel::parameters& parameters,
    bool check,
    const std::string& length_tag_key,
    const resolved_backend& where)
    : gr::block("symmetric_inverse",
                gr::io_signature::make(1, 1, sizeof(T) * parameters.order),
                gr::io_signature::make(1, 1, sizeof(T) * parameters.order)),
      d_order(parameters.order), d_most(parameters.batch), d_check(check),
      d_key(length_tag_key), d_backend(where),
      d_counters(name_of(where.where), [this] { return d_failures.load(); }),
      d_queue(queue::make(where.where, where.device)), d_watch(*d_queue)
{
    auto p = parameters;
    p.progress = [this](double share) { tell_progress(share); };
    d_kernel = kernel::make(p, where.where, where.device);
    const size_t elements = d_most * d_order * d_order;
    d_workspace = array<unsigned char>(*d_queue, d_kernel->workspace_bytes());
    d_status = array<int>(*d_queue, d_most);
    if (where.where == backend::cuda) {
        d_on_device = array<T>(*d_queue, elements);
    }
    d_memory = make_locked_memory(elements * sizeof(T));
    d_values = static_cast<T*>(d_memory.get());
    set_tag_propagation_policy(TPP_DONT); // put_out() adds the tags, row by row
}

template <typename T>
bool symmetric_inverse_impl<T>::start()
{
    d_gathered = d_inverted = d_given = d_begun = 0;
    d_tags.clear();
    d_problem.clear();
    d_packets.reset();
    if (!d_key.empty()) {
        d_packets.emplace(d_key,
                          std::vector<int>{ static_cast<int>(d_order) },
                          scheduler_port(*this).block_before(0)->alias());
    }
    d_logger->info("runs on {}: {}", name_of(d_backend.where), d_backend.reason);
    return block::start();
}

template <typename T>
bool symmetric_inverse_impl<T>::stop()
{
    if (d_problem.empty() && d_gathered % d_order != 0) {
        d_logger->warn("the stream ended {} rows before its last matrix did",
                       d_order - d_gathered % d_order);
    } else if (d_problem.empty() && d_packets && d_packets->frames_missing()) {
        d_logger->warn("the stream ended {} matrices before its last packet did",
                       d_packets->frames_missing());
    }
    return block::stop();
}

template <typename T>
void symmetric_inverse_impl<T>::forecast(int, gr_vector_int& required)
{
    // Inverted matrices go out even after the stream before this block has ended.
    required[0] = d_inverted ? 0 : 1;
}

template <typename T>
int symmetric_inverse_impl<T>::general_work(int noutput_items,
                                            gr_vector_int& ninput_items,
                                            gr_vector_const_void_star& input_items,
                                            gr_vector_void_star& output_items)
{
    try {
        if (!d_inverted && d_problem.empty()) {
            const int taken =
                gather(static_cast<const T*>(input_items[0]), ninput_items[0]);
            consume(0, taken);
            // No matrix waits for a fuller batch.
            const bool full = d_gathered == d_most * d_order;
            if (full || (taken == ninput_items[0] && d_gathered >= d_order) ||
                !d_problem.empty()) {
                invert();
            }
        }
        if (d_inverted) {
            return put_out(static_cast<T*>(output_items[0]), noutput_items);
        }
        if (!d_problem.empty()) {
            d_logger->error("{}: the flowgraph ends here", d_problem);
            return WORK_DONE;
        }
        return 0;
    } catch (const std::exception& problem) {
        // An exception that leaves this method would end this block's thread, and the
        // other blocks would wait for ever.
        d_problem = problem.what();
        d_logger->error("{}: the flowgraph ends here", d_problem);
        return WORK_DONE;
    }
}

//! Takes rows until d_most matrices are full. Returns the number of rows.
template <typename T>
int symmetric_inverse_impl<T>::gather(const T* rows, int count)
{
    const uint64_t first = nitems_read(0);
    const auto key = pmt::intern(d_key);
    int taken = 0;
    while (taken < count && d_gathered < d_most * d_order) {
        if (d_packets && d_gathered % d_order == 0) {
            const auto read = [&, this](uint64_t item) {
                std::vector<tag_t> tags;
                get_tags_in_range(tags, 0, item, item + 1);
                packet_cutter::label found;
                found.length = packet_length(tags, key);
                return found;
            };
            if (d_packets->advance(first + taken, 1, read, d_problem) == 0) {
                break;
            }
            if (const auto head = d_packets->next_head(d_begun++, 1)) {
                tag_t length;
                length.offset = first + taken;
                length.key = key;
                length.value = pmt::from_long(static_cast<long>(head->frames * d_order));
                length.srcid = alias_pmt();
                d_tags.push_back(length);
            }
        }
        const size_t left = d_order - d_gathered % d_order;
        const size_t some = std::min<size_t>(left, count - taken);
        std::copy_n(
            rows + taken * d_order, some * d_order, d_values + d_gathered * d_order);
        d_gathered += some;
        taken += static_cast<int>(some);
    }
    std::vector<tag_t> tags;
    get_tags_in_range(tags, 0, first, first + taken);
    std::copy_if(tags.begin(),
                 tags.end(),
                 std::back_inserter(d_tags),
                 [&](const tag_t& tag) { return !d_packets || !pmt::eqv(tag.key, key); });
    return taken;
}

//! Inverts the complete matrices in place.
template <typename T>
void symmetric_inverse_impl<T>::invert()
{
    const size_t count = d_gathered / d_order, elements = d_order * d_order;
    if (count == 0) {
        return;
    }
    if (d_check) {
        for (size_t m = 0; m < count; ++m) {
            const view<T> a{ d_values + m * elements, elements };
            const auto pair = kernels::first_asymmetry<T>(a, static_cast<int>(d_order));
            if (pair) {
                const auto [i, j] = *pair;
                fail(m,
                     "asymmetric",
                     pmt::make_tuple(pmt::from_long(i), pmt::from_long(j)),
                     "is not symmetric: elements (" + std::to_string(i) + ", " +
                         std::to_string(j) + ") and (" + std::to_string(j) + ", " +
                         std::to_string(i) + ") differ");
                d_asymmetric.push_back(m);
                std::fill(a.begin(), a.end(), T());
                for (size_t k = 0; k < d_order; ++k) {
                    a[k * d_order + k] = 1; // the kernel then reports no second fault
                }
            }
        }
    }
    d_counters.queued(1);
    view<T> x{ d_values, count * elements };
    d_last_told = std::chrono::steady_clock::now();
    if (d_on_device.size()) {
        x = d_on_device.all().part(0, count * elements);
        d_queue->copy_in(x.data(), d_values, x.size() * sizeof(T));
    }
    typename kernel::results out;
    out.x = x;
    out.status = d_status.all().part(0, count);
    d_watch.begin();
    d_kernel->run(x, out, d_workspace, *d_queue);
    d_watch.end();
    std::vector<int> status(count);
    d_queue->copy_out(status.data(), d_status.data(), count * sizeof(int));
    if (d_on_device.size()) {
        d_queue->copy_out(d_values, x.data(), x.size() * sizeof(T));
    }
    d_queue->synchronize();
    d_counters.queued(0);
    d_counters.computed(count, d_watch.seconds());
    for (size_t m = 0; m < count; ++m) {
        if (status[m] != 0) {
            fail(m,
                 "singular",
                 pmt::from_long(status[m]),
                 status[m] < 0 ? "or its inverse is not finite"
                               : "is singular, or not positive definite (order " +
                                     std::to_string(status[m]) + ")");
        }
    }
    for (const size_t m : d_asymmetric) {
        std::fill_n(d_values + m * elements, elements, T());
    }
    d_asymmetric.clear();
    d_matrices += count;
    d_inverted = count * d_order;
}

//! Puts rows out with their tags. After the last row, makes room for new rows.
template <typename T>
int symmetric_inverse_impl<T>::put_out(T* rows, int most)
{
    const size_t some = std::min<size_t>(most, d_inverted - d_given);
    std::copy_n(d_values + d_given * d_order, some * d_order, rows);
    const uint64_t end = nitems_written(0) + some;
    const auto later = std::stable_partition(
        d_tags.begin(), d_tags.end(), [&](const tag_t& tag) { return tag.offset < end; });
    std::for_each(d_tags.begin(), later, [&](const tag_t& tag) { add_item_tag(0, tag); });
    d_tags.erase(d_tags.begin(), later);
    d_given += some;
    if (d_given == d_inverted) {
        std::copy(
            d_values + d_inverted * d_order, d_values + d_gathered * d_order, d_values);
        d_gathered -= d_inverted;
        d_inverted = d_given = 0;
    }
    return static_cast<int>(some);
}

//! Counts, tags and logs a matrix that was not inverted.
template <typename T>
void symmetric_inverse_impl<T>::fail(size_t matrix,
                                     const char* tag,
                                     pmt::pmt_t value,
                                     const std::string& text)
{
    ++d_failures;
    tag_t made;
    made.offset = nitems_written(0) + matrix * d_order;
    made.key = pmt::mp(tag);
    made.value = value;
    made.srcid = alias_pmt();
    d_tags.push_back(made);
    d_logger->warn("matrix {} {}", made.offset / d_order, text);
}

template <typename T>
void symmetric_inverse_impl<T>::tell_progress(double share)
{
    const auto now = std::chrono::steady_clock::now();
    if (now - d_last_told >= quiet) {
        d_last_told = now;
        d_logger->info("order {}: {} % done", d_order, std::lround(100 * share));
    }
}

template class symmetric_inverse_impl<float>;
template class symmetric_inverse_impl<complex64>;

} // namespace gr::cudaphy
