/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/decoder/makers.h"
#include <algorithm>
#include <gnuradio/cudaphy/kernels/ldpc_mixed_decoder.h>

namespace gr::cudaphy::kernels {
namespace {

void require(bool holds, const std::string& problem)
{
    if (!holds) {
        throw std::invalid_argument("ldpc_mixed_decoder: " + problem);
    }
}

class ldpc_mixed_decoder_impl : public ldpc_mixed_decoder
{
public:
    ldpc_mixed_decoder_impl(const std::vector<ldpc_code::sptr>& codes,
                            const ldpc_decoder::parameters& p,
                            const resolved_backend& on)
    {
        require(!codes.empty(), "there is no code");
        for (const auto& code : codes) {
            d_alone.push_back(ldpc_decoder::make(code, p, on.where, on.device));
            d_decodings.push_back({ code, p, ldpc_decoding::scales_of(*code, p) });
        }
#ifdef CUDAPHY_HAVE_CUDA
        if (on.where == backend::cuda) {
            std::vector<ldpc_decoding> in_int8;
            std::vector<int> numbers;
            for (size_t i = 0; i < codes.size(); ++i) {
                if (d_alone[i]->calculation() == ldpc_decoder::arithmetic::int8) {
                    in_int8.push_back(
                        d_decodings[i].with_steps(ldpc_decoding::steps_on_cuda));
                    numbers.push_back(static_cast<int>(i));
                }
            }
            if (numbers.size() > 1) {
                d_together = make_ldpc_mixed_launches_cuda(in_int8, numbers, on.device);
            }
        }
#endif
    }

    void run(const std::vector<part>& parts, queue& queue) override
    {
        std::vector<const part*> part_of(d_alone.size());
        for (const auto& one : parts) {
            require_known(one.code);
            require(!part_of[one.code],
                    "there are two parts of code " + std::to_string(one.code));
            part_of[one.code] = &one;
            d_decodings[one.code].batch(one.llr, one.out); // throws
        }
        for (auto& one : part_of) {
            if (one && one->llr.size == 0) {
                one = nullptr;
            }
        }
        for (const auto& launch : d_together) {
            std::vector<const part*> chosen;
            for (const int code : launch->codes()) {
                chosen.push_back(part_of[code]);
            }
            // While the common program is translated, each code has its own launch.
            if (chosen.size() - std::count(chosen.begin(), chosen.end(), nullptr) > 1 &&
                launch->is_ready()) {
                launch->run(chosen, queue);
                for (const int code : launch->codes()) {
                    part_of[code] = nullptr;
                }
            }
        }
        for (size_t code = 0; code < part_of.size(); ++code) {
            if (part_of[code]) {
                d_alone[code]->run(part_of[code]->llr, part_of[code]->out, queue);
            }
        }
    }

    void prepare() override
    {
        for (const auto& one : d_alone) {
            one->prepare();
        }
        for (const auto& one : d_together) {
            one->prepare();
        }
    }

    int launches(const std::vector<int>& codes) const override
    {
        std::vector<char> wanted(d_alone.size());
        for (const int code : codes) {
            require_known(code);
            wanted[code] = true;
        }
        auto out = std::count(wanted.begin(), wanted.end(), true);
        for (const auto& launch : d_together) {
            const auto here = std::count_if(launch->codes().begin(),
                                            launch->codes().end(),
                                            [&](int code) { return wanted[code]; });
            out -= std::max<std::ptrdiff_t>(here - 1, 0);
        }
        return static_cast<int>(out);
    }

private:
    void require_known(int code) const
    {
        require(code >= 0 && code < static_cast<int>(d_alone.size()),
                "there is no code " + std::to_string(code) + ", only 0 to " +
                    std::to_string(d_alone.size() - 1));
    }

    std::vector<ldpc_decoding> d_decodings;
    std::vector<std::unique_ptr<ldpc_decoder>> d_alone;
    std::vector<std::unique_ptr<ldpc_mixed_launch>> d_together;
};

} // namespace

std::unique_ptr<ldpc_mixed_decoder>
ldpc_mixed_decoder::make(const std::vector<ldpc_code::sptr>& codes,
                         const ldpc_decoder::parameters& p,
                         backend where,
                         int device)
{
    return std::make_unique<ldpc_mixed_decoder_impl>(codes, p, resolve(where, device));
}

} // namespace gr::cudaphy::kernels
