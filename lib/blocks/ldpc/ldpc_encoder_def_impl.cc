/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/ldpc/fec_work.h"
#include "blocks/ldpc/last_columns.h"
#include "blocks/ldpc/ldpc_code_choice.h"
#include "blocks/ldpc/ldpc_on_host.h"
#include <cstring>
#include <gnuradio/cudaphy/ldpc_encoder_def.h>

namespace gr::cudaphy {
namespace {

//! The code whose bit i is the given one's bit columns[i].
kernels::ldpc_code::sptr reordered(const kernels::ldpc_code& code,
                                   const std::vector<int>& columns)
{
    std::vector<int> place(columns.size());
    for (size_t i = 0; i < columns.size(); ++i) {
        place[columns[i]] = static_cast<int>(i);
    }
    std::vector<std::vector<int>> rows(code.checks());
    for (int r = 0; r < code.checks(); ++r) {
        for (int e = code.row_start()[r]; e < code.row_start()[r + 1]; ++e) {
            rows[r].push_back(place[code.columns()[e]]);
        }
    }
    return kernels::ldpc_code::from_rows(code.n(), rows, code.name());
}

//! `first`, then the other columns below n.
std::vector<int> with_the_others(std::vector<int> first, int n)
{
    std::vector<char> named(n);
    for (const int column : first) {
        named[column] = 1;
    }
    for (int column = 0; column < n; ++column) {
        if (!named[column]) {
            first.push_back(column);
        }
    }
    return first;
}

class ldpc_encoder_def_impl : public ldpc_encoder_def
{
public:
    ldpc_encoder_def_impl(const ldpc_code_choice& codes,
                          int batch,
                          const resolved_backend& where,
                          std::vector<int> columns)
        : d_code(codes.all()[0]), d_columns(std::move(columns)), d_backend(where),
          d_batch(batch),
          d_encoder(d_columns.empty() ? d_code : reordered(*d_code, d_columns),
                    {},
                    where,
                    std::max(batch, words_of_a_launch(0, codes.first())))
    {
        d_logger->info("runs on {}: {}", name_of(where.where), where.reason);
    }

    double rate() override { return static_cast<double>(d_code->n()) / d_code->k(); }
    int get_input_size() override { return d_batch * d_code->k(); }
    int get_output_size() override { return d_batch * d_code->n(); }

    bool set_frame_size(unsigned bits) override
    {
        const unsigned k = d_code->k(), most = most_fec_items / d_code->n();
        d_too_short = bits < k;
        d_batch = std::clamp(bits / k, 1u, std::max(1u, most));
        return !d_too_short && bits % k == 0 && bits / k <= most;
    }

    void generic_work(fec_work<decltype(&generic_encoder::generic_work)>::input in,
                      void* out) override
    {
        if (d_too_short) {
            std::memset(out, 0, get_output_size());
            d_logger->warn("a packet holds less than the {:d} information bits of a "
                           "codeword",
                           d_code->k());
            return;
        }
        encode(static_cast<const uint8_t*>(in), static_cast<uint8_t*>(out));
    }

    std::string backend() const override { return name_of(d_backend.where); }

private:
    void encode(const uint8_t* in, uint8_t* out)
    {
        if (d_columns.empty()) {
            d_encoder.run(in, d_batch, out);
            return;
        }
        d_words.resize(d_batch * d_columns.size());
        d_encoder.run(in, d_batch, d_words.data());
        for (auto bit = d_words.begin(); bit != d_words.end(); out += d_columns.size()) {
            for (const int column : d_columns) {
                out[column] = *bit++;
            }
        }
    }

    const kernels::ldpc_code::sptr d_code;
    //! For each bit of the encoder's word its place in the codeword; empty: the same
    //! place.
    const std::vector<int> d_columns;
    const resolved_backend d_backend;
    int d_batch;
    bool d_too_short = false;
    ldpc_on_host_encoder d_encoder;
    std::vector<uint8_t> d_words;
};

} // namespace

ldpc_encoder_def::sptr ldpc_encoder_def::make(kernels::ldpc_code::sptr code,
                                              int batch,
                                              const std::string& backend,
                                              int device,
                                              const std::string& info_bits)
{
    const ldpc_code_choice choice(code, {}, "");
    std::vector<int> columns;
    if (in_last_columns(info_bits)) {
        // A code's information bits come first where the others are independent.
        columns = with_the_others(last_columns(*code), code->n());
    }
    return std::make_shared<ldpc_encoder_def_impl>(
        choice,
        checked_fec_batch(batch, *code),
        resolve(backend_from_name(backend), device),
        std::move(columns));
}

} // namespace gr::cudaphy
