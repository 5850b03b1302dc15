/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/interruptible.h"
#include "bindings/receiver_arguments.h"
#include <algorithm>
#include <climits>

namespace gr::cudaphy::bindings {
namespace {

using kernels::mimo_receiver;

//! The LDPC decoder's options, of which the receiver's soft bits are int8 unless told
//! otherwise.
ldpc_decoder_options decoding_of(keywords& left)
{
    ldpc_decoder_options options;
    options.type = "int8";
    left.take("llr_type", options.type);
    left.take_decoding(options);
    return options;
}

} // namespace

mimo_receiver::parameters receiver_parameters(int receive_antennas,
                                              int layers,
                                              int tones,
                                              int symbols,
                                              const py::object& pilots,
                                              const std::vector<int>& pilot_symbols,
                                              const std::string& constellation,
                                              code_ptr code,
                                              keywords& left)
{
    estimator_arguments estimator{ pilots };
    estimator.errors_as_noise = true;
    left.take("estimate", estimator.method);
    estimator.take(left);
    mimo_receiver::parameters p{};
    p.symbols = symbols;
    p.pilots = estimator_parameters(receive_antennas, layers, tones, estimator);
    p.pilot_symbols = pilot_symbols;
    p.data_beside_pilots = true;
    left.take("data_beside_pilots", p.data_beside_pilots);
    std::string method = "mmse", route = "solve";
    left.take("method", method);
    left.take("route", route);
    p.method = kernels::detector_from_name(method);
    p.route = kernels::equalizer_route_from_name(route);
    p.unbiased = true;
    left.take("unbiased", p.unbiased);
    p.points = kernels::constellation::make(constellation);
    p.max_log = true;
    left.take("max_log", p.max_log);
    p.code = code;
    p.decoding = decoding_of(left).parameters();
    return p;
}

namespace {

py::object llrs_of(const mimo_receiver& plan,
                   mimo_receiver::number type,
                   const placement& q,
                   py::ssize_t slots,
                   const std::function<void(mimo_receiver::soft_view)>& run)
{
    const auto words = static_cast<py::ssize_t>(plan.slot().words);
    const auto n = static_cast<py::ssize_t>(plan.slot().soft_bits) / words;
    const auto filled = [&](auto number, auto element, const char* kind) -> py::object {
        using Number = decltype(number);
        using Element = decltype(element);
        output<Element> llr(q, { slots, words, n }, py::dtype(kind));
        const view<Element> to = llr;
        run(view<Number>(reinterpret_cast<Number*>(to.data()), to.size()));
        return llr.result();
    };
    return type == mimo_receiver::number::int8      ? filled(int8_t{}, int8_t{}, "b")
           : type == mimo_receiver::number::float16 ? filled(float16{}, uint16_t{}, "e")
                                                    : filled(float{}, float{}, "f");
}

//! \param received  (slots, symbols, tones, Nr)
py::dict receive(const array_argument<complex64>& received,
                 int layers,
                 const py::object& pilots,
                 const std::vector<int>& pilot_symbols,
                 const std::string& constellation,
                 code_ptr code,
                 const std::string& where,
                 int device,
                 const py::kwargs& more)
{
    keywords left(more);
    // What leaves an int is refused as too large, not cut.
    const auto size_of = [&](int axis) {
        return static_cast<int>(std::min<py::ssize_t>(received.shape(axis), INT_MAX));
    };
    const auto p = receiver_parameters(size_of(3),
                                       layers,
                                       size_of(2),
                                       size_of(1),
                                       pilots,
                                       pilot_symbols,
                                       constellation,
                                       code,
                                       left);
    left.finish();
    const placement q(where, device, received);
    auto plan = mimo_receiver::make(p, q->where(), q->device());
    const auto& s = plan->slot();
    const auto size = [](size_t n) { return static_cast<py::ssize_t>(n); };
    const auto slots = received.shape(0);
    const py::ssize_t words = size(s.words);
    input<complex64> from(*q, received);
    output<uint8_t> bits(q, { slots, words, size(s.word_bytes) });
    output<int> iterations(q, { slots, words }), ok(q, { slots, words }),
        status(q, { slots });
    output<complex64> h(
        q, { slots, size(s.estimates), received.shape(2), received.shape(3), layers });
    output<complex64> x(q, { slots, size(s.vectors), layers });
    output<float> n0(q, { slots, size(s.estimates) }),
        noise(q, { slots, size(s.vectors), layers });
    scratch workspace(q, plan->workspace_bytes(slots));
    py::dict out;
    out["llr"] =
        llrs_of(*plan, p.decoding.llr, q, slots, [&](mimo_receiver::soft_view llr) {
            run_interruptibly(double(received.size()) * 1000, [&] {
                plan->run(from,
                          { bits, iterations, ok, status, h, n0, x, noise, llr },
                          workspace,
                          *q);
                q.finish();
            });
        });
    out["bits"] = bits.result();
    out["iterations"] = iterations.result();
    out["ok"] = ok.result();
    out["status"] = status.result();
    out["h"] = h.result();
    out["n0"] = n0.result();
    out["x"] = x.result();
    out["noise"] = noise.result();
    return out;
}

} // namespace

void bind_receiver(py::module& m) { m.def("_receive_slots", &receive); }

} // namespace gr::cudaphy::bindings
