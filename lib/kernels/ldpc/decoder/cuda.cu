/* SPDX-License-Identifier: GPL-3.0-or-later */
// block.cuh has the kernel's idea and code. Here is where its data lies.
//
// A codeword's state is L (4 bytes for each bit) and the checks' states (16 bytes for
// each check: the two magnitudes of its messages, the bit with the least one, and the
// signs). It lies in shared memory if it fits: 23 KB for 802.11n 1944 1/2, 209 KB for a
// DVB-S2 short frame of rate 1/2; compute capability 9.0 has 227 KB for each block. Else
// the checks' states, and then L too (253 KB for a DVB-S2 normal frame), lie in a
// workspace in device memory. So do all messages of sum-product (4 bytes for each edge).
// As many blocks run as the workspace has room for, and each takes the next codewords of
// the batch.
//
// Columns are stored by slot, so that neighbouring threads read neighbouring entries, and
// in a quasi-cyclic code neighbouring L. Messages of sum-product are stored the same way.
#include "kernels/common/memory/device_memory.cuh"
#include "kernels/ldpc/decoder/block.cuh"
#include "kernels/ldpc/decoder/makers.h"
#include <algorithm>
#include <climits>

namespace gr::cudaphy::kernels {
namespace {

constexpr int most_resident = ldpc_decoder_tuned.most_resident;

//! The checks with the indices of their further sign words, and the number of these
//! words.
std::vector<check_entry> entries(const ldpc_schedule& schedule, size_t& further_words)
{
    std::vector<check_entry> out;
    further_words = 0;
    for (const auto& check : schedule.checks) {
        out.push_back(
            { check.first, check.stride, check.degree, static_cast<int>(further_words) });
        further_words += (check.degree - 1) / bits_a_word;
    }
    return out;
}

//! The telling checks; empty if all are, so that the kernel reads no index.
std::vector<int> telling_where_some(const ldpc_schedule& schedule)
{
    return schedule.telling.size() == schedule.checks.size() ? std::vector<int>()
                                                             : schedule.telling;
}

//! A workspace of `items` for each of `blocks`; null if `items` is 0.
template <typename T>
std::unique_ptr<device_memory<T>> workspace(size_t blocks, size_t items)
{
    return std::make_unique<device_memory<T>>(blocks * items);
}

//! The tables and the workspace of one plan. Its device must be current when it is made
//! and when it is destroyed.
template <typename Index>
class cuda_tables
{
    using kernel = void (*)(cuda_plan<Index>, cuda_batch);

public:
    cuda_tables(const ldpc_decoding& decoding, const ldpc_schedule& schedule, int device)
        : d_checks(entries(schedule, d_sign_words)), d_layer_start(schedule.layer_start),
          d_columns(schedule.columns), d_sources(decoding.sources()),
          d_positions(decoding.output_positions()), d_scales(decoding.scales),
          d_information(decoding.code->info_positions()),
          d_crc_terms(decoding.crc_terms()), d_telling(telling_where_some(schedule))
    {
        const auto& p = decoding.parameters;
        const bool sum_product = decoding.sum_product();
        const size_t checks = schedule.checks.size();
        const size_t variables = decoding.code->variables();
        const size_t l_size = decoding.flooding() ? 2 * variables : variables;
        const size_t states = sum_product ? 0 : checks;
        d_sign_words = sum_product ? 0 : d_sign_words;
        d_threads = std::min(most_threads, (schedule.max_layer + 31) / 32 * 32);
        d_threads = std::max(d_threads, 32);

        const shared_state where = choose_shared_state(
            l_size * sizeof(float), states * sizeof(check_state), device);
        choose_kernel(decoding, where);
        if (where != shared_state::l_and_states || sum_product || d_sign_words) {
            d_resident = resident_blocks(device);
        }
        const size_t edges = sum_product ? schedule.columns.size() : 0;
        const size_t known =
            sum_product ? static_cast<size_t>(schedule.max_degree) * d_threads : 0;
        d_l = workspace<float>(d_resident, where == shared_state::none ? l_size : 0);
        d_states = workspace<check_state>(
            d_resident, where == shared_state::l_and_states ? 0 : states);
        d_more_signs = workspace<unsigned>(d_resident, d_sign_words);
        d_messages = workspace<float>(d_resident, edges);
        d_known = workspace<float>(d_resident, known);

        d_plan.checks = d_checks.data();
        d_plan.layer_start = d_layer_start.data();
        d_plan.columns = d_columns.data();
        d_plan.sources = d_sources.data();
        d_plan.positions = d_positions.data();
        d_plan.scales = d_scales.data();
        d_plan.information = d_information.data();
        d_plan.crc_terms = d_crc_terms.data();
        d_plan.telling = d_telling.data();
        d_plan.check_count = static_cast<int>(checks);
        d_plan.telling_count = static_cast<int>(schedule.telling.size());
        d_plan.layers = static_cast<int>(schedule.layer_start.size()) - 1;
        d_plan.n = decoding.code->n();
        d_plan.variables = static_cast<int>(variables);
        d_plan.output_bits = decoding.output_bits();
        d_plan.output_bytes = static_cast<int>(decoding.output_bytes());
        d_plan.k = decoding.code->k();
        d_plan.crc_bits = p.stop_crc.bits;
        d_plan.max_iterations = p.max_iterations;
        d_plan.offset = decoding.offset();
        d_plan.llr_scale = p.llr_scale;
        d_plan.early_stop = p.early_stop;
        d_plan.positive_is_one = p.llr_positive == 1;
        d_plan.packed = p.packed;
        d_plan.type = p.llr;
        d_plan.l = d_l->data();
        d_plan.states = d_states->data();
        d_plan.more_signs = d_more_signs->data();
        d_plan.messages = d_messages->data();
        d_plan.known = d_known->data();
        d_plan.l_size = l_size;
        d_plan.sign_words = d_sign_words;
        d_plan.edges = edges;
        d_plan.known_size = known;
    }

    void launch(const cuda_batch& batch, cudaStream_t stream) const
    {
        const size_t most = d_resident ? d_resident : static_cast<size_t>(INT_MAX);
        d_kernel<<<static_cast<unsigned>(std::min(batch.words, most)),
                   d_threads,
                   d_shared_bytes,
                   stream>>>(d_plan, batch);
        cuda_check_launch("ldpc_decode");
    }

private:
    //! Chooses what lies in shared memory, and sets d_shared_bytes.
    shared_state choose_shared_state(size_t l_bytes, size_t state_bytes, int device)
    {
        cuda_check(cudaDeviceGetAttribute(
                       &d_room, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
                   "cudaDeviceGetAttribute");
        const size_t room = d_room;
        if (state_bytes > 0 && l_bytes + state_bytes <= room) {
            d_shared_bytes = l_bytes + state_bytes;
            return shared_state::l_and_states;
        }
        d_shared_bytes = l_bytes <= room ? l_bytes : 0;
        return l_bytes <= room ? shared_state::l_alone : shared_state::none;
    }

    void choose_kernel(const ldpc_decoding& decoding, shared_state where)
    {
        if constexpr (std::is_same_v<Index, int>) {
            d_kernel = decoding.sum_product() ? decoding.flooding()
                                                    ? among<true, true>(where)
                                                    : among<true, false>(where)
                       : decoding.flooding() ? among<false, true>(where)
                                              : among<false, false>(where);
        } else {
            d_kernel = among<false, false>(where);
        }
        // The limit belongs to the kernel, which other plans share: always the maximum.
        cuda_check(cudaFuncSetAttribute(
                       d_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, d_room),
                   "cudaFuncSetAttribute");
    }

    template <bool SumProduct, bool Flooding>
    static kernel among(shared_state where)
    {
        if constexpr (!SumProduct) { // only min-sum has check states
            if (where == shared_state::l_and_states) {
                return ldpc_decode<Index,
                                   shared_state::l_and_states,
                                   SumProduct,
                                   Flooding>;
            }
        }
        return where == shared_state::l_alone
                   ? ldpc_decode<Index, shared_state::l_alone, SumProduct, Flooding>
                   : ldpc_decode<Index, shared_state::none, SumProduct, Flooding>;
    }

    size_t resident_blocks(int device) const
    {
        int processors = 0;
        int blocks = 0;
        cuda_check(
            cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
            "cudaDeviceGetAttribute");
        cuda_check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                       &blocks, d_kernel, d_threads, d_shared_bytes),
                   "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
        return static_cast<size_t>(processors) * std::clamp(blocks, 1, most_resident);
    }

    size_t d_sign_words = 0;
    device_memory<check_entry> d_checks;
    device_memory<int> d_layer_start;
    device_memory<Index> d_columns;
    device_memory<int> d_sources;
    device_memory<int> d_positions;
    device_memory<float> d_scales;
    device_memory<int> d_information;
    device_memory<uint32_t> d_crc_terms;
    device_memory<int> d_telling; //!< empty: all checks
    int d_room = 0;               //!< shared memory that a block may have, bytes
    size_t d_shared_bytes = 0;
    kernel d_kernel = nullptr;
    int d_threads = 0;
    size_t d_resident = 0; //!< most blocks at a time; 0: any number
    std::unique_ptr<device_memory<float>> d_l;
    std::unique_ptr<device_memory<check_state>> d_states;
    std::unique_ptr<device_memory<unsigned>> d_more_signs;
    std::unique_ptr<device_memory<float>> d_messages;
    std::unique_ptr<device_memory<float>> d_known;
    cuda_plan<Index> d_plan{};
};

template <typename Index>
class ldpc_decoder_cuda : public ldpc_decoder
{
public:
    ldpc_decoder_cuda(const ldpc_decoding& decoding,
                      const ldpc_schedule& schedule,
                      int device)
        : d_decoding(decoding), d_device(device)
    {
        const cuda_device_scope scope(device);
        d_tables = std::make_unique<cuda_tables<Index>>(decoding, schedule, device);
    }
    ~ldpc_decoder_cuda() override
    {
        const cuda_device_scope scope(d_device, std::nothrow);
        d_tables.reset();
    }

    void run(const received& llr, const results& to, queue& queue) override
    {
        const size_t words = d_decoding.batch(llr, to);
        if (words > 0) {
            const cuda_device_scope scope(d_device);
            d_tables->launch({ llr.data,
                               to.bits.data(),
                               to.iterations.data(),
                               to.ok.data(),
                               to.soft.empty() ? nullptr : to.soft.data(),
                               words },
                             stream_of(queue));
        }
    }

    arithmetic calculation() const override { return arithmetic::float32; }

private:
    ldpc_decoding d_decoding;
    int d_device;
    std::unique_ptr<cuda_tables<Index>> d_tables;
};

} // namespace

std::unique_ptr<ldpc_decoder> make_ldpc_decoder_cuda(const ldpc_decoding& decoding,
                                                     int device)
{
    const ldpc_schedule schedule(*decoding.code, ldpc_schedule::layout::by_slot);
    // 16-bit indices halve the traffic of the tables.
    const bool fast = !decoding.flooding() && !decoding.sum_product();
    if (fast && decoding.code->variables() <= 65536) {
        return std::make_unique<ldpc_decoder_cuda<uint16_t>>(decoding, schedule, device);
    }
    return std::make_unique<ldpc_decoder_cuda<int>>(decoding, schedule, device);
}

} // namespace gr::cudaphy::kernels
