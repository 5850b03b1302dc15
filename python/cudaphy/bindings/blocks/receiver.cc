/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/receiver_arguments.h"
#include "block_arguments.h"
#include <gnuradio/cudaphy/mimo_receiver.h>

namespace gr::cudaphy::bindings {

void bind_receiver_blocks(py::module& m)
{
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
