/* SPDX-License-Identifier: GPL-3.0-or-later */
// Batches of slots in which channels of all kinds share the grid: the CPU receives them
// alike, and so does each slot alone.
#define BOOST_TEST_MODULE nr_receiver_batches
#include "kernels/nr_receiver/reception_testing.h"
#include <cmath>
#include <gnuradio/cudaphy/kernels/nr/transmitter.h>
#include <random>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels::nr;
using testing::repeatable_gaussian;
using testing::require_equal;

namespace {

using orders_of_slot = std::vector<reception_order>;

//! \param blocks  the first one, and how many
shared_channel_parameters
user_at(int grid_size, std::pair<int, int> blocks, int rnti, int mcs)
{
    shared_channel_parameters p;
    p.grid_size = p.bwp_size = grid_size;
    for (int i = 0; i < blocks.second; ++i) {
        p.resource_blocks.push_back(blocks.first + i);
    }
    p.dmrs.additional_position = 1;
    p.rnti = rnti;
    p.mcs[0] = mcs;
    return p;
}

//! With transform precoding; with PT-RS if `groups` is not 0.
shared_channel_parameters precoded_user(int grid_size,
                                        std::pair<int, int> blocks,
                                        int rnti,
                                        int mcs,
                                        int groups = 0,
                                        int samples = 2,
                                        int time_density = 1)
{
    auto p = user_at(grid_size, blocks, rnti, mcs);
    p.transform_precoding = true;
    p.dmrs.cdm_groups_without_data = 2;
    p.table = mcs_table::transform_qam64;
    p.ptrs.on = groups > 0;
    p.ptrs.groups = std::max(2, groups);
    p.ptrs.samples = samples;
    p.ptrs.time_density = time_density;
    return p;
}

//! Slots of several users, each over flat channels to the antennas.
struct sent_slots {
    std::vector<shared_channel::sptr> channels;
    std::vector<std::vector<std::vector<uint8_t>>> payloads; //!< (slots, users)
    std::vector<complex64> grids;
    int antennas;
    size_t a_slot, a_port;
    repeatable_gaussian draw;

    sent_slots(const std::vector<shared_channel_parameters>& users,
               int count,
               const std::vector<int>& slots,
               float noise)
        : antennas(count)
    {
        std::vector<std::unique_ptr<transmitter>> senders;
        for (const auto& p : users) {
            channels.push_back(shared_channel::make(p));
            senders.push_back(
                std::make_unique<transmitter>(channels.back(), backend::cpu));
        }
        const auto& map = channels.front()->map();
        a_port = size_t(map.symbols) * map.subcarriers;
        a_slot = antennas * a_port;
        for (const int slot : slots) {
            payloads.emplace_back();
            std::vector<complex64> grid(a_slot);
            for (size_t u = 0; u < users.size(); ++u) {
                std::vector<uint8_t> payload(channels[u]->codewords().front().payload);
                for (auto& bit : payload) {
                    bit = draw.engine() >> 31;
                }
                std::vector<complex64> ports(users[u].layers * a_port);
                senders[u]->run({ payload }, slot, { 0 }, ports);
                payloads.back().push_back(payload);
                send(ports, users[u].layers, grid);
            }
            grids.insert(grids.end(), grid.begin(), grid.end());
        }
        add_noise(noise);
    }

    void send(const std::vector<complex64>& ports, int count, view<complex64> grid)
    {
        for (int a = 0; a < antennas; ++a) {
            for (int p = 0; p < count; ++p) {
                auto path = draw();
                path += path / (std::abs(path) + 0.1f); // none fades
                for (size_t i = 0; i < a_port; ++i) {
                    grid[a * a_port + i] += path * ports[p * a_port + i];
                }
            }
        }
    }
    void add_noise(float variance)
    {
        for (auto& sample : grids) {
            sample += draw() * std::sqrt(variance);
        }
    }
    //! A signal that no receiver knows, from one place.
    void add_interference(float variance)
    {
        const size_t slots = grids.size() / a_slot;
        for (size_t s = 0; s < slots; ++s) {
            std::vector<complex64> ports(a_port);
            for (auto& sample : ports) {
                sample = draw() * std::sqrt(variance);
            }
            send(ports, 1, view<complex64>(grids).part(s * a_slot, a_slot));
        }
    }
    view<const complex64> grid(size_t i) const
    {
        return view<const complex64>(grids).part(i * a_slot, a_slot);
    }
};

void require_close(const reception& a, const reception& b)
{
    BOOST_REQUIRE_EQUAL(a.reason, b.reason);
    BOOST_REQUIRE_CLOSE(a.noise_variance, b.noise_variance, 1.0);
    BOOST_REQUIRE_EQUAL(a.colored_noise, b.colored_noise);
    BOOST_REQUIRE_SMALL(a.codewords[0].sinr_db - b.codewords[0].sinr_db, 0.1);
}

//! A batch, each of its slots alone, and the CPU.
void compare(const sent_slots& sent,
             const std::vector<int>& slots,
             const receiver_parameters& p = {})
{
    receiver all(sent.channels, sent.antennas, p, testing::tested_backend());
    receiver each(sent.channels, sent.antennas, p, testing::tested_backend());
    receiver cpu(sent.channels, sent.antennas, p, backend::cpu);
    const size_t users = sent.channels.size();
    const orders_of_slot order(users, { { 0 } });
    const std::vector<orders_of_slot> orders(slots.size(), order);
    const auto wanted = cpu.run_slots(sent.grids, slots, orders);
    // With CUDA the third time by a graph.
    const int repeats = testing::tested_backend() == backend::cuda ? 3 : 1;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        const auto got = all.run_slots(sent.grids, slots, orders);
        for (size_t i = 0; i < slots.size(); ++i) {
            const auto alone = each.run(sent.grid(i), slots[i], order);
            for (size_t u = 0; u < users; ++u) {
                BOOST_TEST_CONTEXT("slot " << i << ", user " << u << ", antennas "
                                           << sent.antennas)
                {
                    BOOST_REQUIRE(got[i][u].codewords.front().payload ==
                                  sent.payloads[i][u]);
                    require_equal(got[i][u], alone[u]);
                    require_close(got[i][u], wanted[i][u]);
                }
            }
        }
    }
}

//! Odd and even numbers of blocks, with and without transform precoding and PT-RS.
std::vector<shared_channel_parameters> mixed_users()
{
    constexpr int grid = 79;
    auto plain = user_at(grid, { 0, 13 }, 1, 12);
    plain.layers = 2;
    plain.dmrs.ports = { 0, 1 };
    auto bpsk = precoded_user(grid, { 50, 5 }, 5, 0, 2, 2, 2);
    bpsk.pi2_bpsk = true;
    return { plain,
             precoded_user(grid, { 13, 15 }, 2, 20),
             precoded_user(grid, { 28, 9 }, 3, 12, 4, 4),
             precoded_user(grid, { 37, 12 }, 4, 24, 4, 2, 2),
             bpsk,
             precoded_user(grid, { 55, 1 }, 6, 8),
             precoded_user(grid, { 60, 16 }, 7, 3, 8, 4) };
}

} // namespace

BOOST_AUTO_TEST_CASE(channels_of_all_kinds_are_received_together)
{
    const std::vector<int> slots{ 3, 0, 19, 7, 1, 19, 4, 5, 8 };
    for (const int antennas : { 2, 6, 20 }) {
        compare(sent_slots(mixed_users(), antennas, slots, 1e-3f), slots);
    }
}

BOOST_AUTO_TEST_CASE(every_size_of_transform_is_undone)
{
    // All 2^a 3^b 5^c that a grid has.
    for (const int blocks :
         { 1,   2,   3,   4,   5,   6,   8,   9,   10,  12,  15,  16,  18,  20,
           24,  25,  27,  30,  32,  36,  40,  45,  48,  50,  54,  60,  64,  72,
           75,  80,  81,  90,  96,  100, 108, 120, 125, 128, 135, 144, 150, 160,
           162, 180, 192, 200, 216, 225, 240, 243, 250, 256, 270 }) {
        const int groups = blocks % 2 ? 0 : 2;
        const auto user = precoded_user(blocks + 2, { 1, blocks }, 9, 17, groups);
        const sent_slots sent({ user }, 2, { 2 }, 1e-3f);
        receiver with(sent.channels, 2, {}, testing::tested_backend());
        receiver cpu(sent.channels, 2, {}, backend::cpu);
        const auto got = with.run(sent.grids, 2, { { { 0 } } });
        BOOST_TEST_CONTEXT(blocks << " blocks")
        {
            BOOST_REQUIRE(got[0].codewords[0].payload == sent.payloads[0][0]);
            require_close(got[0], cpu.run(sent.grids, 2, { { { 0 } } })[0]);
        }
    }
}

BOOST_AUTO_TEST_CASE(users_with_transform_precoding_on_equal_blocks_are_separated)
{
    auto a = precoded_user(25, { 0, 25 }, 1, 15), b = precoded_user(25, { 0, 25 }, 2, 12);
    b.dmrs.ports = { 2 };
    b.ptrs.on = true;
    for (const int antennas : { 3, 7, 33 }) {
        const std::vector<int> slots{ 6, 7 };
        compare(sent_slots({ a, b }, antennas, slots, 1e-3f), slots);
    }
}

BOOST_AUTO_TEST_CASE(interference_at_many_antennas_is_suppressed_as_on_the_cpu)
{
    auto plain = user_at(25, { 0, 15 }, 1, 9);
    plain.layers = 4;
    plain.dmrs.ports = { 0, 1, 2, 3 };
    const auto precoded = precoded_user(25, { 15, 10 }, 2, 9, 2);
    const std::vector<int> slots{ 1, 2, 3, 4 };
    const bool on_cpu = testing::tested_backend() == backend::cpu; // any number alike
    for (const int antennas :
         on_cpu ? std::vector{ 17, 48 } : std::vector{ 17, 48, 128 }) {
        sent_slots sent({ plain, precoded }, antennas, slots, 1e-2f);
        compare(sent, slots);
        sent.add_interference(1);
        compare(sent, slots);
        receiver_parameters p;
        p.noise = noise_model::colored;
        compare(sent, slots, p);
        p.noise = noise_model::white;
        p.estimator = kernels::pilot_method::least_squares;
        const auto order = orders_of_slot(2, { { 0 } });
        receiver with(sent.channels, antennas, p, testing::tested_backend());
        receiver cpu(sent.channels, antennas, p, backend::cpu);
        const auto got = with.run(sent.grid(0), 1, order);
        const auto wanted = cpu.run(sent.grid(0), 1, order);
        for (size_t u = 0; u < 2; ++u) {
            require_close(got[u], wanted[u]);
        }
    }
}

BOOST_AUTO_TEST_CASE(transmissions_of_all_kinds_combine)
{
    // Noise hides each transmission; together they are decoded.
    std::vector<shared_channel_parameters> users;
    for (const auto& one : mixed_users()) {
        users.push_back(one);
        users.back().mcs[0] = one.transform_precoding ? 8 : 6;
        users.back().pi2_bpsk = false;
    }
    const std::vector<int> slots{ 2, 3, 4, 5, 6, 7, 8, 9 };
    using link = std::pair<int, float>;
    for (const auto& [antennas, noise] : { link{ 2, 5 }, link{ 20, 40 } }) {
        sent_slots sent(users, antennas, slots, 0);
        receiver with(sent.channels, antennas, {}, testing::tested_backend());
        const int processes = static_cast<int>(users.size());
        std::vector<std::unique_ptr<harq>> alone, together;
        for (size_t i = 0; i < slots.size(); ++i) {
            alone.push_back(std::make_unique<harq>(processes));
            together.push_back(std::make_unique<harq>(processes));
        }
        const auto order = [&](harq& to, bool first) {
            orders_of_slot out;
            for (int u = 0; u < processes; ++u) {
                out.push_back({ { 0 }, &to, u, first });
            }
            return out;
        };
        const auto clean = sent.grids;
        std::vector<size_t> ok;
        for (int transmission = 0; transmission < 4; ++transmission) {
            sent.grids = clean;
            sent.add_noise(noise);
            std::vector<orders_of_slot> orders;
            for (size_t i = 0; i < slots.size(); ++i) {
                orders.push_back(order(*together[i], transmission == 0));
            }
            const auto got = with.run_slots(sent.grids, slots, orders);
            ok.push_back(0);
            for (size_t i = 0; i < slots.size(); ++i) {
                const auto wanted =
                    with.run(sent.grid(i), slots[i], order(*alone[i], transmission == 0));
                for (size_t u = 0; u < users.size(); ++u) {
                    require_equal(wanted[u], got[i][u]);
                    const auto& block = got[i][u].codewords.front();
                    ok.back() += block.ok;
                    BOOST_REQUIRE(!block.ok || block.payload == sent.payloads[i][u]);
                }
            }
        }
        BOOST_TEST(ok.front() < ok.back() / 2);
        BOOST_TEST(ok.back() > slots.size() * users.size() * 3 / 4);
        BOOST_REQUIRE_EQUAL(together.front()->bytes(), alone.front()->bytes());
    }
}

BOOST_AUTO_TEST_CASE(samples_that_are_not_finite_harm_their_symbol_alone)
{
    const std::vector<int> slots{ 4, 5 };
    for (const int antennas : { 2, 20 }) {
        sent_slots sent(
            { precoded_user(24, { 0, 24 }, 1, 3, 4, 4) }, antennas, slots, 1e-3f);
        const auto& map = sent.channels.front()->map();
        for (int i = 0; i < map.subcarriers; ++i) {
            sent.grids[5 * map.subcarriers + i] = i % 3 ? NAN : INFINITY;
        }
        // The second slot's DM-RS.
        sent.grids[sent.a_slot + map.dmrs_symbols.front() * map.subcarriers + 8] = NAN;
        receiver with(sent.channels, antennas, {}, testing::tested_backend());
        const orders_of_slot order(1, { { 0 } });
        for (int repeat = 0; repeat < 3; ++repeat) {
            const auto got = with.run_slots(sent.grids, slots, { order, order });
            BOOST_REQUIRE(got[0][0].codewords[0].payload == sent.payloads[0][0]);
            BOOST_REQUIRE_EQUAL(got[1][0].reason, "not_finite");
        }
    }
}
