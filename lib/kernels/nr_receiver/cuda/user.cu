/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr_receiver/cuda/user.cuh"
#include <algorithm>
#include <cmath>
#include <gnuradio/cudaphy/kernels/nr/resource_map.h>
#include <numeric>

namespace gr::cudaphy::kernels::nr {
namespace {

// The spreads that channel_estimate::best_spread() may come to.
constexpr double least_of_user = 3e-4, most_of_user = 0.06;

int most_bundles_of(const pilot_layout& layout, int antennas)
{
    const int a_block = 12 / layout.spacing * 2 * layout.positions() * layout.sets();
    const int blocks = std::max(2, (8 * antennas + a_block - 1) / a_block);
    return (layout.tones + 12 * blocks - 1) / (12 * blocks);
}

std::vector<int> first_ptrs(const resource_map& map)
{
    std::vector<int> begin(map.symbols + 1);
    for (const auto element : map.ptrs) {
        ++begin[element / map.subcarriers + 1];
    }
    for (int i = 0; i < map.symbols; ++i) {
        begin[i + 1] += begin[i];
    }
    return begin;
}

std::vector<int> run_of_blocks(const pilot_layout& layout)
{
    std::vector<int> out;
    for (size_t i = 0; i < layout.runs.size(); ++i) {
        out.insert(out.end(), layout.runs[i].tones / 12, static_cast<int>(i));
    }
    return out;
}

//! Warps of data elements in the order of their subcarriers, those of all symbols one
//! after the other: what runs at a time reads the same channels.
std::vector<int> warps_by_subcarrier(const resource_map& map)
{
    constexpr int warp = separation_warp;
    std::vector<int> out((map.data.size() + warp - 1) / warp);
    std::iota(out.begin(), out.end(), 0);
    const auto place = [&](int i) {
        return map.data[size_t(i) * warp] % map.subcarriers / warp;
    };
    std::stable_sort(
        out.begin(), out.end(), [&](int a, int b) { return place(a) < place(b); });
    return out;
}

int slots_of_frame(const shared_channel& channel)
{
    return 10 << channel.parameters().numerology;
}

} // namespace

//! What lies on the device for as long as the user lives.
struct user_cuda::tables {
    tables(const resource_map& map, const pilot_layout& layout, int frame)
        : data_in_symbol(map.data_in_symbol), ptrs_begin(first_ptrs(map)),
          run_of_block(run_of_blocks(layout)),
          tone_of_subcarrier(layout.tone_of_subcarrier), warp(warps_by_subcarrier(map)),
          element(map.data), dmrs_subcarriers(map.dmrs_subcarriers), ptrs(map.ptrs),
          ptrs_pilot(map.ptrs_pilot),
          dmrs(size_t(frame) * map.dmrs_symbols.size() * map.pilots)
    {
    }
    device_memory<int> data_in_symbol, ptrs_begin, run_of_block, tone_of_subcarrier, warp;
    device_memory<uint32_t> element, dmrs_subcarriers, ptrs, ptrs_pilot;
    device_memory<float2> dmrs;
    std::unique_ptr<device_memory<run_cuda>> run;
    std::vector<std::shared_ptr<const wiener_tables_cuda>> weights;
};

user_cuda::user_cuda(const gpu_user& of,
                     int antennas,
                     const receiver_parameters& p,
                     int device)
    : d_user(of), d_antennas(antennas), d_device(device), d_packed(p.packed),
      d_white(p.noise == noise_model::white || antennas == 1),
      d_slots_known(slots_of_frame(*of.channel))
{
    make_estimate();
    d_words.resize(of.channel->codewords().size());
    for (size_t i = 0; i < d_words.size(); ++i) {
        make_word(i);
    }
    if (of.channel->parameters().transform_precoding) {
        d_precoding = std::make_unique<precoding_undone>(*of.channel,
                                                         of.estimate->layout().time,
                                                         slots_of_frame(*of.channel),
                                                         d_tables->element.data());
    }
}

void user_cuda::make_estimate()
{
    const auto& layout = d_user.estimate->layout();
    const auto& how = d_user.estimate->how();
    const auto& map = d_user.channel->map();
    d_tables =
        std::make_shared<tables>(map, layout, static_cast<int>(d_slots_known.size()));
    auto& job = d_estimate;
    job.antennas = d_antennas;
    job.layers = static_cast<int>(map.ports.size());
    job.symbols = map.symbols;
    job.subcarriers = map.subcarriers;
    job.tones = layout.tones;
    job.pilots = layout.pilots;
    job.spacing = layout.spacing;
    job.groups = layout.groups;
    job.length = layout.length;
    job.type_1 = layout.type_1;
    job.positions = layout.positions();
    job.sets = layout.sets();
    job.runs = static_cast<int>(layout.runs.size());
    for (int i = 0; i < job.positions; ++i) {
        job.first_symbol[i] = layout.first_symbol[i];
        job.time[i] = layout.time[i];
    }
    for (int i = 0; i < job.layers; ++i) {
        job.group_of[i] = map.ports[i].group;
        job.set_of[i] = layout.set_of(map.ports[i]);
        job.frequency_of[i] = map.ports[i].frequency;
    }
    for (int i = 0; i < job.sets; ++i) {
        job.own |= unsigned(d_user.estimate->own_sets()[i] != 0) << i;
        job.silence |= unsigned(d_user.estimate->silent_sets()[i] != 0) << i;
        job.known[i] = d_user.estimate->known_ports()[i];
    }
    job.amplitude = map.dmrs_amplitude;
    job.mmse = how.mmse;
    job.track_frequency = how.track_frequency;
    job.always_colored = how.always_colored;
    job.spread_given = how.spread;
    job.doppler_given = how.doppler;
    if (how.spread >= 0) {
        job.tables = { table_of_spread(how.spread), 1 };
    } else {
        job.tables.lowest = table_of_spread(least_of_user);
        job.tables.spreads = table_of_spread(most_of_user) - job.tables.lowest + 1;
    }
    std::vector<run_cuda> runs;
    for (const auto& run : layout.runs) {
        const int taps = std::min(most_taps, run.pilots);
        const auto made =
            wiener_tables_cuda::find(d_device, taps, layout.spacing, job.tables);
        d_tables->weights.push_back(made);
        runs.push_back({ run.first_tone,
                         run.tones,
                         run.first_pilot,
                         run.pilots,
                         taps,
                         made->rows,
                         made->weights.data(),
                         made->error.data(),
                         made->gain.data() });
        job.long_runs += is_long(runs.back());
    }
    d_tables->run = std::make_unique<device_memory<run_cuda>>(runs);
    job.run = d_tables->run->data();
    job.run_of_block = d_tables->run_of_block.data();
    job.dmrs_subcarriers = d_tables->dmrs_subcarriers.data();
    job.dmrs = d_tables->dmrs.data();
    job.data_in_symbol = d_tables->data_in_symbol.data();
    job.ptrs = d_tables->ptrs.data();
    job.ptrs_pilot = d_tables->ptrs_pilot.data();
    job.ptrs_begin = d_tables->ptrs_begin.data();
    job.has_ptrs = !map.ptrs.empty();
    job.ptrs_layer = map.ptrs_layer;
    job.tone_of_subcarrier = d_tables->tone_of_subcarrier.data();
    job.most_bundles = most_bundles_of(layout, d_antennas);
}

void user_cuda::place_zeroed(receiver_memory& memory, int slots)
{
    d_state = memory.out.place<slot_state>(slots);
    for (auto& one : d_words) {
        one.report = memory.out.place<word_report>(slots);
    }
}

void user_cuda::place(receiver_memory& memory, int slots)
{
    const auto& job = d_estimate;
    const size_t all = slots;
    auto& work = memory.work;
    d_z = work.place<float2>(all * job.rows() * job.pilots);
    d_residual = work.place<float2>(all * job.rows() * job.pilots);
    d_sums = work.place<double>(all * job.rows() * pilot_sums);
    d_errors = work.place<double>(all * job.rows() * most_candidates);
    const size_t links = size_t(job.layers) * job.antennas;
    d_lags = work.place<double2>(all * job.rows() * job.long_runs * spread_lags);
    d_h = work.place<float2>(all * job.positions * links * job.tones);
    d_products = work.place<double2>(all * job.most_bundles * job.pairs());
    d_samples = work.place<double>(all * job.most_bundles);
    const bool many = job.at_many_antennas();
    d_total = work.place<double2>(many ? all * job.pairs() : 0);
    d_differences = work.place<double2>(many ? all * job.most_bundles : 0);
    d_correlation = work.place<double2>(all * links * job.positions * job.positions);
    d_covariance =
        work.place<float2>(all * job.most_bundles * job.antennas * job.antennas);
    d_ptrs_sums = work.place<double2>(all * job.symbols);

    const size_t data = all * d_user.channel->map().data.size();
    d_n0 = work.place<float>(all);
    const size_t kept = separated() == way::by_equalizer ? data : 0;
    d_received = work.place<float2>(kept * d_antennas);
    d_channel = work.place<float2>(kept * d_antennas * d_layers.layers);
    d_covariances = work.place<float2>(d_white ? 0 : kept * d_antennas * d_antennas);
    d_x = work.place<float2>(data * d_layers.layers);
    d_noise = work.place<float>(data * d_layers.layers);
    d_status = work.place<int>(kept);
    if (d_many) {
        d_many->place(work, slots);
    }
    if (d_precoding) {
        d_precoding->place(work, slots);
    }
    for (auto& one : d_words) {
        const auto& words = one.job;
        const size_t blocks = all * words.blocks;
        const size_t own =
            separated() == way::in_registers || one.layers.layers == d_layers.layers
                ? 0
                : data * one.layers.layers;
        one.wanted = memory.in.place<word_order>(all);
        one.x = work.place<float2>(own);
        one.noise = work.place<float>(own);
        one.capacity = work.place<double>(all * capacity_parts_of(d_layers));
        one.llr = work.place<int8_t>(all * words.coded);
        one.received = work.place<int8_t>(blocks * one.most_received);
        one.decoded = work.place<uint8_t>(blocks * words.block_bytes);
        one.iterations = work.place<int>(blocks);
        one.passed = work.place<int>(blocks);
        one.records = memory.out.place<char>(all * words.record);
    }
}

void user_cuda::take(const receiver_memory& memory,
                     const float2* grid,
                     const int* slot_numbers)
{
    d_memory = &memory;
    const auto& work = memory.work;
    auto& job = d_estimate;
    job.grid = d_layers.grid = grid;
    job.slot_number = slot_numbers;
    job.state = memory.out.at<slot_state>(d_state);
    job.z = work.at<float2>(d_z);
    job.residual = work.at<float2>(d_residual);
    job.sums = work.at<double>(d_sums);
    job.errors = work.at<double>(d_errors);
    job.lags = work.at<double2>(d_lags);
    job.h = work.at<float2>(d_h);
    job.products = work.at<double2>(d_products);
    job.samples = work.at<double>(d_samples);
    job.total = work.at<double2>(d_total);
    job.differences = work.at<double2>(d_differences);
    job.correlation = work.at<double2>(d_correlation);
    job.covariance = work.at<float2>(d_covariance);
    job.ptrs_sums = work.at<double2>(d_ptrs_sums);
    auto& layers = d_layers;
    layers.covariance = job.covariance;
    layers.n0 = work.at<float>(d_n0);
    layers.received = work.at<float2>(d_received);
    layers.channel = work.at<float2>(d_channel);
    layers.covariances = d_white ? nullptr : work.at<float2>(d_covariances);
    layers.x = work.at<float2>(d_x);
    layers.noise = work.at<float>(d_noise);
    if (d_many) {
        d_many->take(work);
    }
    if (d_precoding) {
        d_precoding->take(work, job.state, slot_numbers);
    }
    for (auto& one : d_words) {
        const bool all =
            separated() == way::in_registers || one.layers.layers == d_layers.layers;
        one.layers.x = all ? nullptr : work.at<float2>(one.x);
        one.layers.noise = all ? nullptr : work.at<float>(one.noise);
        one.layers.capacity = work.at<double>(one.capacity);
        auto& words = one.job;
        words.state = job.state;
        words.wanted = memory.in.at<word_order>(one.wanted);
        words.llr = work.at<int8_t>(one.llr);
        words.received_llr = work.at<int8_t>(one.received);
        words.decoded = work.at<uint8_t>(one.decoded);
        words.iterations = work.at<int>(one.iterations);
        words.passed = work.at<int>(one.passed);
        words.capacity = d_precoding ? d_precoding->capacity() : one.layers.capacity;
        words.capacity_parts =
            d_precoding ? d_precoding->capacity_parts() : capacity_parts_of(d_layers);
        words.report = memory.out.at<word_report>(one.report);
        words.records = memory.out.at<char>(one.records);
    }
}

//! Once the users are made (their layers), and again when they have memory.
void user_cuda::take_senders(const std::vector<std::unique_ptr<user_cuda>>& users)
{
    const auto& map = d_user.channel->map();
    auto& job = d_layers;
    job.antennas = d_antennas;
    job.symbols = map.symbols;
    job.subcarriers = map.subcarriers;
    job.data = static_cast<int>(map.data.size());
    job.element = d_tables->element.data();
    job.warp = d_tables->warp.data();
    job.most_bundles = d_estimate.most_bundles;
    job.senders = 0;
    job.layers = 0;
    for (const int i : d_user.together) {
        const auto& from = users[i]->d_estimate;
        job.sender[job.senders++] = {
            from.state,     from.h,      from.tone_of_subcarrier,
            from.positions, from.layers, from.tones
        };
        job.layers += from.layers;
    }
    job.always_white = d_white;
    if (d_equalizer || d_many || separated() == way::in_registers) {
        return;
    }
    if (separated() == way::at_many_antennas) {
        d_many = std::make_unique<many_antennas>(
            d_antennas, job.layers, job.data, job.most_bundles, d_white, d_device);
        return;
    }
    equalizer::parameters p{};
    p.receive_antennas = d_antennas;
    p.layers = job.layers;
    p.method = d_white ? detector::mmse : detector::mmse_irc;
    p.tones = job.data;
    d_equalizer = equalizer::make(p, backend::cuda, d_device);
}

user_cuda::way user_cuda::separated() const
{
    return separates_in_registers(d_layers) ? way::in_registers
           : d_estimate.at_many_antennas()  ? way::at_many_antennas
                                            : way::by_equalizer;
}

void user_cuda::prepare_slot(int number, queue& queue)
{
    if (d_slots_known[number]) {
        return;
    }
    const auto values =
        dmrs_values(d_user.channel->parameters(), d_user.channel->map(), number);
    queue.copy_in(d_tables->dmrs.data() + number * values.size(),
                  values.data(),
                  values.size() * sizeof(complex64));
    queue.synchronize();
    if (d_precoding && d_precoding->has_ptrs()) {
        d_precoding->prepare_slot(*d_user.channel, number, queue);
    }
    d_slots_known[number] = 1;
}

void user_cuda::estimate(int slots, cudaStream_t stream, ranked_stream& beside)
{
    launch_observation(d_estimate, slots, stream);
    launch_spread(d_estimate, slots, stream);
    launch_filter(d_estimate, slots, stream);
    // Neither takes what the other one finds.
    launch_noise(d_estimate, slots, beside.fork(stream));
    launch_time(d_estimate, slots, stream);
    beside.join(stream);
}

} // namespace gr::cudaphy::kernels::nr
