/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/arrays.h"
#include "bindings/ldpc_arguments.h"
#include "block_arguments.h"
#include <gnuradio/cudaphy/nr_pdsch_receiver.h>
#include <gnuradio/cudaphy/nr_pdsch_transmitter.h>
#include <gnuradio/cudaphy/nr_pusch_receiver.h>
#include <gnuradio/cudaphy/nr_pusch_transmitter.h>
#include <pybind11/stl.h>

namespace gr::cudaphy::bindings {
namespace {

using kernels::nr::shared_channel;

//! The C++ object of an nr_shared_channel of nr.py.
shared_channel::sptr channel_of(const py::handle& given)
{
    if (py::hasattr(given, "_channel") &&
        py::isinstance<shared_channel>(given.attr("_channel"))) {
        return given.attr("_channel").cast<std::shared_ptr<shared_channel>>();
    }
    throw py::type_error("channel " +
                         shortened(py::repr(py::reinterpret_borrow<py::object>(given))) +
                         " is no nr_shared_channel");
}

nr_shared_channel_receiver::channel_list channels_of(const py::object& given)
{
    if (!py::isinstance<py::list>(given) && !py::isinstance<py::tuple>(given)) {
        return { channel_of(given) };
    }
    nr_shared_channel_receiver::channel_list out;
    for (const auto& one : given) {
        out.push_back(channel_of(one));
    }
    return out;
}

#define RECEIVER_TEXT(NAME, CLAUSES)                                                     \
    "Receiver of " NAME " of 5G NR: resource grids to transport blocks (" CLAUSES        \
    ").\n\nInputs, one an antenna: packets of complex items, the resource grid of a "    \
    "slot, "                                                                             \
    "(symbols, subcarriers), as nr_ofdm_demodulator gives them, with the tags slot and " \
    "frame. Message ports ok and fail: a PDU for each transport block, by its CRC; its " \
    "vector has bytes, or bits; its metadata user, rnti, slot, frame, codeword, "        \
    "redundancy_version, new_data, process, ok, reason (of failures: not_finite, "       \
    "no_dmrs, "                                                                          \
    "crc), sinr_db, timing_offset (s, positive if late), frequency_offset (Hz; not "     \
    "with "                                                                              \
    "DM-RS at one position alone), noise_variance, delay_spread (s), doppler (Hz), "     \
    "dmrs_snr_db, irc, iterations (the most of a code block), code_blocks, "             \
    "failed_code_blocks, rx_time if known. Port status: a dictionary every "             \
    "status_period "                                                                     \
    "seconds with slots, transport_blocks, block_errors, bler, sinr_db, iterations, "    \
    "no_dmrs, not_finite, refused_packets, and problem if nothing is "                   \
    "received.\n\nEvery "                                                                \
    "channel is expected in every slot, or in those of `slots`, with redundancy "        \
    "version "                                                                           \
    "0, new data, without HARQ. A dictionary, or a PDU's metadata, at message port "     \
    "schedule or in the slot's tag nr_schedule says otherwise: user (index of the "      \
    "channel, 0), slot and frame (the one slot it is for; without slot from now on), "   \
    "active (bool), redundancy_version (long; s32vector for two codewords), process "    \
    "(long: combine by HARQ), new_data (bool); all else goes to the PDU's metadata. "    \
    "Several are a vector.\n\nchannels: nr_shared_channel, or a list of those that "     \
    "share "                                                                             \
    "the grid; equal rnti share HARQ processes. antennas: inputs, as many as "           \
    "the receiving function takes. slots: None, or for each channel a list of slots of " \
    "a frame; an empty one: only if scheduled. slot: of the first packet, if it has no " \
    "tag. estimator, interference, delay_spread, doppler, track_frequency, "             \
    "max_iterations, backend, device: as of the receiving function. processes: HARQ "    \
    "processes of a user, 1 to 32; harq_bytes: that they may hold; the least recently "  \
    "used one is forgotten for another. packed: eight bits a byte, the first one "       \
    "highest. status_period: seconds, 0: no status. length_tag_key: empty: slots "       \
    "follow "                                                                            \
    "each other without length tags.\n\nRaises ValueError, TypeError, "                  \
    "BackendUnavailable."

template <typename Block>
void bind_receiver_block(py::module& m, const char* name, const char* text)
{
    auto bound = block_class<Block>(m, name, text);
    bound
        .def(py::init([](const py::object& channels,
                         int antennas,
                         const std::optional<std::vector<std::vector<int>>>& slots,
                         int slot,
                         const std::string& estimator,
                         const std::string& interference,
                         std::optional<double> delay_spread,
                         std::optional<double> doppler,
                         bool track_frequency,
                         int max_iterations,
                         int processes,
                         uint64_t harq_bytes,
                         bool packed,
                         double status_period,
                         const std::string& length_tag_key,
                         const std::string& backend,
                         int device) {
                 nr_receiver_options o;
                 const auto list = channels_of(channels);
                 if (slots && slots->size() != list.size()) {
                     throw std::invalid_argument(
                         "slots has " + std::to_string(slots->size()) +
                         " lists; there are " + std::to_string(list.size()) +
                         " channels");
                 }
                 o.slots = slots.value_or(std::vector<std::vector<int>>());
                 o.slot = slot;
                 o.estimator = estimator;
                 o.interference = interference;
                 o.delay_spread = delay_spread.value_or(-1);
                 o.doppler = doppler.value_or(-1);
                 o.track_frequency = track_frequency;
                 o.max_iterations = max_iterations;
                 o.processes = processes;
                 o.harq_bytes = harq_bytes;
                 o.packed = packed;
                 o.status_period = status_period;
                 o.length_tag_key = length_tag_key;
                 o.backend = backend;
                 o.device = device;
                 return Block::make(list, antennas, o);
             }),
             py::arg("channels"),
             py::arg("antennas") = 1,
             py::kw_only(),
             py::arg("slots") = py::none(),
             py::arg("slot") = 0,
             py::arg("estimator") = "mmse",
             py::arg("interference") = "auto",
             py::arg("delay_spread") = py::none(),
             py::arg("doppler") = py::none(),
             py::arg("track_frequency") = true,
             py::arg("max_iterations") = 20,
             py::arg("processes") = 16,
             py::arg("harq_bytes") = uint64_t{ 1 } << 28,
             py::arg("packed") = true,
             py::arg("status_period") = 1.0,
             py::arg("length_tag_key") = "packet_len",
             py::arg("backend") = "auto",
             py::arg("device") = 0)
        .def(
            "set_channels",
            [](Block& block, const py::object& channels) {
                const auto list = channels_of(channels);
                py::gil_scoped_release others_may_run;
                block.set_channels(list);
            },
            py::arg("channels"),
            "Other channels from the next slot on, as many as before, of the same grid. "
            "Raises ValueError.")
        .def(
            "backend", [](const Block& b) { return b.backend(); }, "The backend in use.")
        .def(
            "slots", [](const Block& b) { return b.slots(); }, "Slots that came.")
        .def(
            "frames",
            [](const Block& b) { return b.frames(); },
            "Transport blocks that were expected.")
        .def(
            "frame_errors",
            [](const Block& b) { return b.frame_errors(); },
            "Of these, those whose CRC does not hold.")
        .def(
            "average_iterations",
            [](const Block& b) { return b.average_iterations(); },
            "Iterations of a code block, in the mean.")
        .def(
            "average_sinr_db",
            [](const Block& b) { return b.average_sinr_db(); },
            "SINR of a transport block in dB, in the mean; nan if there was none.")
        .def(
            "refused_schedules",
            [](const Block& b) { return b.refused_schedules(); },
            "Orders by message or tag that were wrong or late.")
        .def(
            "refused_packets",
            [](const Block& b) { return b.refused_packets(); },
            "Packets of another length than a slot's grid, and torn ones.")
        .def(
            "harq_bytes",
            [](const Block& b) { return b.harq_bytes(); },
            "Bytes that all HARQ processes hold.")
        .def(
            "forgotten_processes",
            [](const Block& b) { return b.forgotten_processes(); },
            "HARQ processes that were released for want of harq_bytes.");
}

#define TRANSMITTER_TEXT(NAME, CLAUSES, MORE)                                            \
    "Transmitter of " NAME " of 5G NR: transport blocks to resource grids (" CLAUSES     \
    ").\n\nMessage port pdus: transport blocks, u8 vectors of bytes, or of bits, which " \
    "the length tells; two codewords one after the other. Their metadata may have slot " \
    "(of the frame), frame, redundancy_version (long; s32vector for two codewords), "    \
    "process, new_data, tx_time. Outputs, one an antenna port: packets of complex "      \
    "items, "                                                                            \
    "the resource grid of a slot, (symbols, subcarriers), with the tags slot, frame, "   \
    "nr_schedule (the metadata and user, for a receiver behind a simulated channel) "    \
    "and "                                                                               \
    "tx_time. Without slot a block goes to the slot after the one before. Port fail: "   \
    "PDUs that can't be sent, with reason.\n\nchannel: nr_shared_channel. " MORE         \
    "user: the channel's index in the receiver. every_slot: a grid for every slot, "     \
    "zeros "                                                                             \
    "if there is no block for it; a block with slot waits for that slot. slot: the "     \
    "first "                                                                             \
    "one. backend, device: of the LDPC encoder. Raises ValueError, TypeError, "          \
    "BackendUnavailable."

template <typename Block, typename Class>
void bind_transmitter_methods(Class& bound)
{
    bound
        .def(
            "set_channel",
            [](Block& block, const py::object& channel) {
                block.set_channel(channel_of(channel));
            },
            py::arg("channel"),
            "Another channel from the next transport block on, of the same grid and "
            "ports. Raises ValueError.")
        .def(
            "backend", [](const Block& b) { return b.backend(); }, "The backend in use.")
        .def(
            "slots", [](const Block& b) { return b.slots(); }, "Slots that left.")
        .def(
            "frames",
            [](const Block& b) { return b.frames(); },
            "Transport blocks that were sent.")
        .def(
            "refused_packets",
            [](const Block& b) { return b.refused_packets(); },
            "PDUs that could not be sent.");
}

nr_transmitter_options options_of(int user,
                                  bool every_slot,
                                  int slot,
                                  const std::string& length_tag_key,
                                  const std::string& backend,
                                  int device)
{
    nr_transmitter_options o;
    o.user = user;
    o.every_slot = every_slot;
    o.slot = slot;
    o.length_tag_key = length_tag_key;
    o.backend = backend;
    o.device = device;
    return o;
}

#define TRANSMITTER_ARGUMENTS                                                \
    py::arg("user") = 0, py::arg("every_slot") = false, py::arg("slot") = 0, \
    py::arg("length_tag_key") = "packet_len", py::arg("backend") = "auto",   \
    py::arg("device") = 0

void bind_transmitters(py::module& m)
{
    auto up = block_class<nr_pusch_transmitter>(
        m,
        "nr_pusch_transmitter",
        TRANSMITTER_TEXT("PUSCH", "TS 38.212, 6.2; TS 38.211, 6.3.1 and 6.4.1", ""));
    up.def(py::init([](const py::object& channel,
                       int user,
                       bool every_slot,
                       int slot,
                       const std::string& length_tag_key,
                       const std::string& backend,
                       int device) {
               return nr_pusch_transmitter::make(
                   channel_of(channel),
                   options_of(user, every_slot, slot, length_tag_key, backend, device));
           }),
           py::arg("channel"),
           py::kw_only(),
           TRANSMITTER_ARGUMENTS);
    bind_transmitter_methods<nr_pusch_transmitter>(up);
    auto down = block_class<nr_pdsch_transmitter>(
        m,
        "nr_pdsch_transmitter",
        TRANSMITTER_TEXT("PDSCH",
                         "TS 38.212, 7.2; TS 38.211, 7.3.1 and 7.4.1",
                         "precoding: None, or the antennas' weights of the layers, "
                         "(antennas, layers): a stream an antenna. "));
    down.def(
        py::init([](const py::object& channel,
                    const py::object& precoding,
                    int user,
                    bool every_slot,
                    int slot,
                    const std::string& length_tag_key,
                    const std::string& backend,
                    int device) {
            auto o = options_of(user, every_slot, slot, length_tag_key, backend, device);
            const auto of = channel_of(channel);
            if (!precoding.is_none()) {
                const auto weights = precoding.cast<numpy_array<std::complex<float>>>();
                if (weights.ndim() != 2 || weights.shape(1) != of->parameters().layers) {
                    throw std::invalid_argument("precoding is (antennas, layers), with " +
                                                std::to_string(of->parameters().layers) +
                                                " layers");
                }
                o.precoding.assign(weights.data(), weights.data() + weights.size());
            }
            return nr_pdsch_transmitter::make(of, o);
        }),
        py::arg("channel"),
        py::kw_only(),
        py::arg("precoding") = py::none(),
        TRANSMITTER_ARGUMENTS);
    bind_transmitter_methods<nr_pdsch_transmitter>(down);
}

} // namespace

void bind_nr_blocks(py::module& m)
{
    bind_receiver_block<nr_pusch_receiver>(
        m,
        "nr_pusch_receiver",
        RECEIVER_TEXT("PUSCH", "TS 38.211, 6.3.1 and 6.4.1; TS 38.212, 6.2"));
    bind_receiver_block<nr_pdsch_receiver>(
        m,
        "nr_pdsch_receiver",
        RECEIVER_TEXT("PDSCH", "TS 38.211, 7.3.1 and 7.4.1; TS 38.212, 7.2"));
    bind_transmitters(m);
}

} // namespace gr::cudaphy::bindings
