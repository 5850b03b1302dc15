/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/batch_call.h"
#include "bindings/ldpc_arguments.h"
#include "bindings/spare_kernels.h"
#include <algorithm>
#include <gnuradio/cudaphy/kernels/ldpc_encoder.h>
#include <tuple>

namespace gr::cudaphy::bindings {
namespace {

//! A code, a kernel's parameters as text, backend (never automatic: a GPU may be lost),
//! device, and the stream. A kernel's runs must not overlap, and those on one stream do
//! not.
using kernel_key = std::tuple<code_ptr, std::string, backend, int, void*>;
constexpr size_t most_spare = 8;

kernel_key key_of(const code_ptr& code, const std::string& form, const placement& q)
{
    return {
        code, form, q->where(), q->device(), q.library() ? q.library()->stream : nullptr
    };
}

auto& encoders()
{
    static auto* spare = new spare_kernels<kernel_key, kernels::ldpc_encoder>(most_spare);
    return *spare;
}

auto& decoders()
{
    static auto* spare = new spare_kernels<kernel_key, kernels::ldpc_decoder>(most_spare);
    return *spare;
}

py::ssize_t bytes_of(int bits, bool packed) { return packed ? (bits + 7) / 8 : bits; }

py::object encoded(kernels::ldpc_encoder& kernel,
                   const array_argument<uint8_t>& info,
                   py::ssize_t bytes,
                   const placement& q)
{
    const auto batch = info.shape(0);
    batch_call call(q, batch);
    const auto from = call.input(info);
    const auto words = call.output<uint8_t>({ batch, bytes });
    call.run(double(info.size()) * 100, batch, [&](size_t first, size_t count) {
        kernel.run(call.part(from, first, count), call.part(words, first, count), q);
    });
    return call.array_of(words);
}

py::tuple decoded(kernels::ldpc_decoder& kernel,
                  const kernels::ldpc_decoder::parameters& p,
                  const kernels::ldpc_code& code,
                  const array_argument<uint8_t>& llr,
                  int length,
                  bool with_soft,
                  const placement& q)
{
    const auto batch = llr.shape(0);
    batch_call call(q, batch);
    const auto llrs = call.input(llr);
    const auto bits = call.output<uint8_t>({ batch, bytes_of(length, p.packed) });
    const auto iterations = call.output<int>({ batch }), ok = call.output<int>({ batch });
    const auto soft = call.output<float>({ with_soft ? batch : 0, length });
    const double work_a_word = double(code.n()) * p.max_iterations * 4;
    // A launch can't be interrupted: on a GPU one takes a third of a second at most.
    const auto most = static_cast<size_t>(
        q->where() == backend::cuda ? std::max(1.0, 1e10 / work_a_word) : batch);
    call.run(batch * work_a_word, most, [&](size_t first, size_t count) {
        kernel.run({ call.part(llrs, first, count).data(), count * code.n(), p.llr },
                   { call.part(bits, first, count),
                     call.part(iterations, first, count),
                     call.part(ok, first, count),
                     call.part(soft, first, count) },
                   q);
    });
    return py::make_tuple(call.array_of(bits),
                          call.array_of(iterations),
                          call.array_of(ok),
                          call.array_of(soft));
}

py::object encode(code_ptr code,
                  const array_argument<uint8_t>& info,
                  bool packed_input,
                  bool packed_output,
                  const std::string& where,
                  int device)
{
    const auto form = std::to_string(packed_input) + std::to_string(packed_output);
    const placement q(where, device, info);
    auto spare = encoders().take(key_of(code, form, q), [&] {
        return kernels::ldpc_encoder::make(
            code, { packed_input, packed_output }, q->where(), q->device());
    });
    auto words = encoded(*spare.kernel, info, bytes_of(code->n(), packed_output), q);
    encoders().give_back(std::move(spare));
    return words;
}

//! The LLRs' bytes, (batch, n · bytes of one), of the type that `options` name.
py::tuple decode(code_ptr code,
                 const array_argument<uint8_t>& llr,
                 bool with_soft,
                 const std::string& where,
                 int device,
                 const py::kwargs& options)
{
    const auto form = std::string(py::repr(options)); // before they are taken away
    ldpc_decoder_options decoding;
    keywords left(options);
    left.take("type", decoding.type);
    left.take_decoding(decoding);
    left.finish();
    const auto p = decoding.parameters();
    const placement q(where, device, llr);
    auto spare = decoders().take(key_of(code, form, q), [&] {
        return kernels::ldpc_decoder::make(code, p, q->where(), q->device());
    });
    const int length = p.whole_words ? code->n() : code->k();
    auto results = decoded(*spare.kernel, p, *code, llr, length, with_soft, q);
    decoders().give_back(std::move(spare));
    return results;
}

} // namespace

void bind_ldpc_functions(py::module& m)
{
    m.def("_ldpc_encode", &encode);
    m.def("_ldpc_decode", &decode);
}

} // namespace gr::cudaphy::bindings
