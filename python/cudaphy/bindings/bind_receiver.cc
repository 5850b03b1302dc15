/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "block_arguments.h"
#include "estimator_arguments.h"
#include "interruptible.h"
#include "ldpc_arguments.h"
#include <algorithm>
#include <climits>
#include <gnuradio/cudaphy/mimo_receiver.h>

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

void bind_receiver(py::module& m)
{
    m.def("_receive_slots", &receive);

    using block = gr::cudaphy::mimo_receiver;
    block_class<block> receiver(
        m, "mimo_receiver", R"(MIMO receiver: tones in, bits out, on one device.

mimo_receiver(receive_antennas, layers, tones, symbols, pilots, pilot_symbols, constellation, code, length_tag_key="", backend="auto", device=0, max_batch=0, max_latency=0.0, *, put_channel=False, put_layers=False, put_noise=False, word_tags="all", data_beside_pilots=True, estimate="ls", delay_spread=0.02, first_delay=0.0, snr_db=20.0, window=64, times=(), doppler=0.0, tone_numbers=(), group_symbols=0, errors_as_noise=True, method="mmse", route="solve", unbiased=True, max_log=True, llr_type="int8", llr_steps=0.0, max_iterations=20, scale=0.0, early_stop=True, output="info", algorithm="normalized_min_sum", offset=0.5, schedule="layered", arithmetic="auto", packed=False, stop_crc="")

In: received tones, vectors of Nr complex, all tones of a symbol, then the next symbol: symbols * tones a slot. Out 0: bytes, a bit each, the information bits of the slot's codewords (output, packed: as ldpc_decoder). Then, each where wanted: put_channel: channel matrices, vectors of Nr*Nt complex, tones a slot (for each of `times`); put_layers: layers, vectors of Nt complex, one for each place with data; put_noise: their noise variance after equalisation, vectors of Nt floats. Tags on each word's first item, or with word_tags "failed" on those of words that failed alone: 'iterations' (long), 'ldpc_ok' (bool).

Data stands on every place of the slot where no layer sends a pilot, symbol by symbol, tone by tone, layer by layer, first-sent bit first; data_beside_pilots=False leaves silent tones of pilot symbols out. A slot holds as many whole codewords as fit, from its beginning on.

pilots: as in estimate_channel(); pilot_symbols: which symbols of the slot they are, counted from 0.
estimate: "ls" or "mmse", with delay_spread, first_delay, snr_db, window, times, doppler, tone_numbers, group_symbols, errors_as_noise (True) as in estimate_channel(); times count in the slot's symbols, and their number divides that of the symbols with data.
method: "mmse", "zf", "mmse_irc" or "mrc", with unbiased and route as mimo_equalizer.
constellation: one of constellation_names(); max_log.
code: an ldpc_code; max_iterations, scale, early_stop, output, algorithm, offset, schedule, arithmetic, packed, stop_crc as ldpc_decoder.
llr_type: of the soft bits in between: "int8", "float16" or "float"; llr_steps: steps of int8 in a unit of LLR, above 0 to 64; 0: 12 on CUDA, 6 elsewhere.
length_tag_key: names the tag with a packet's length in items of input 0; empty: a plain stream.
backend: "auto", "cuda", "cpu" or "reference"; device: index of the GPU.
max_batch: slots in one launch at most, 0: automatic; max_latency: seconds that a slot may wait for a fuller batch.

Raises ValueError for a parameter out of range, TypeError, BackendUnavailable.)");
    receiver
        .def(py::init([](int receive_antennas,
                         int layers,
                         int tones,
                         int symbols,
                         const py::object& pilots,
                         const std::vector<int>& pilot_symbols,
                         const std::string& constellation,
                         code_ptr code,
                         const std::string& length_tag_key,
                         const std::string& backend,
                         int device,
                         int max_batch,
                         double max_latency,
                         const py::kwargs& more) {
                 keywords left(more);
                 const auto p = receiver_parameters(receive_antennas,
                                                    layers,
                                                    tones,
                                                    symbols,
                                                    pilots,
                                                    pilot_symbols,
                                                    constellation,
                                                    code,
                                                    left);
                 mimo_receiver_outputs outputs;
                 left.take("put_channel", outputs.channel);
                 left.take("put_layers", outputs.layers);
                 left.take("put_noise", outputs.noise);
                 left.take("word_tags", outputs.word_tags);
                 left.finish();
                 return block::make(
                     p, outputs, length_tag_key, backend, device, max_batch, max_latency);
             }),
             py::arg("receive_antennas"),
             py::arg("layers"),
             py::arg("tones"),
             py::arg("symbols"),
             py::arg("pilots"),
             py::arg("pilot_symbols"),
             py::arg("constellation"),
             py::arg("code"),
             BATCH_ARGUMENTS)
        .def("backend", &block::backend, "The backend in use.")
        .def("words", &block::words, "Codewords of a slot.");
    bind_word_counters(receiver);
}

} // namespace gr::cudaphy::bindings
