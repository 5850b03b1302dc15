/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// Shared by the tests of grids and steppers.

#include "kernels/common/testing.h"
#include "kernels/fdtd/grid/axis.h"
#include <cmath>
#include <complex>
#include <functional>
#include <gnuradio/cudaphy/kernels/fdtd_stepper.h>

namespace gr::cudaphy::testing {

using namespace kernels;

constexpr std::array<fdtd_boundary, 2> conducting{ fdtd_boundary::pec,
                                                   fdtd_boundary::pec };
constexpr std::array<fdtd_boundary, 2> absorbing{ fdtd_boundary::cpml,
                                                  fdtd_boundary::cpml };
constexpr std::array<fdtd_boundary, 2> repeating{ fdtd_boundary::periodic,
                                                  fdtd_boundary::periodic };

//! A system on the tested backend, stepped from the host.
template <typename T>
class simulation
{
public:
    explicit simulation(const fdtd_system<T>& system,
                        sparse_format format = sparse_format::dictionary,
                        size_t max_steps = 512)
        : simulation(
              fdtd_stepper<T>::make(system, { format, max_steps }, tested_backend()),
              max_steps)
    {
    }
    simulation(std::unique_ptr<fdtd_stepper<T>> stepper, size_t max_steps)
        : d_queue(queue::make(tested_backend())), d_max_steps(max_steps),
          d_stepper(std::move(stepper))
    {
    }

    int64_t size() const { return d_stepper->size(); }
    queue& q() { return *d_queue; }
    fdtd_stepper<T>& stepper() { return *d_stepper; }
    int64_t status() const { return d_status; }

    //! (steps, probes): the probes for an excitation (steps, sources), or for steps
    //! without one.
    std::vector<T> run(size_t steps, std::vector<T> excitation = {})
    {
        excitation.resize(steps * d_stepper->sources());
        std::vector<T> all;
        for (size_t done = 0; done < steps;) {
            const auto count = std::min(d_max_steps, steps - done);
            array<T> in(
                *d_queue,
                view<const T>(excitation)
                    .part(done * d_stepper->sources(), count * d_stepper->sources()));
            auto out = poisoned<T>(*d_queue, count * d_stepper->probes());
            auto status = poisoned<int64_t>(*d_queue, 1);
            d_stepper->run(in, out, status, *d_queue);
            const auto part = out.to_host();
            d_status = status.to_host()[0];
            all.insert(all.end(), part.begin(), part.end());
            done += count;
        }
        return all;
    }
    //! Steps whose sources get excitation(t), t in seconds at the middle of each step.
    std::vector<T>
    run(size_t steps, double time_step, const std::function<double(double)>& excitation)
    {
        std::vector<T> all;
        for (size_t s = 0; s < steps; ++s) {
            all.insert(all.end(),
                       d_stepper->sources(),
                       T(excitation((double(s) + 0.5) * time_step)));
        }
        return run(steps, all);
    }

    std::vector<T> state()
    {
        auto all = poisoned<T>(*d_queue, size_t(size()));
        d_stepper->get(0, all, *d_queue);
        return all.to_host();
    }
    void set(const std::vector<T>& state)
    {
        array<T> all(*d_queue, view<const T>(state));
        d_stepper->set(0, all, *d_queue);
        d_queue->synchronize();
    }

private:
    std::unique_ptr<queue> d_queue;
    size_t d_max_steps;
    std::unique_ptr<fdtd_stepper<T>> d_stepper;
    int64_t d_status = -1;
};

//! One column of (steps, columns).
template <typename T>
std::vector<T> column(const std::vector<T>& all, size_t columns, size_t which)
{
    std::vector<T> picked;
    for (size_t i = which; i < all.size(); i += columns) {
        picked.push_back(all[i]);
    }
    return picked;
}

//! sum x[n] exp(-j 2 pi f n time_step) time_step
template <typename T>
std::complex<double> spectrum(const std::vector<T>& x, double f, double time_step)
{
    std::complex<double> sum = 0;
    for (size_t n = 0; n < x.size(); ++n) {
        sum += double(x[n]) * std::polar(1.0, -2 * pi * f * double(n) * time_step);
    }
    return sum * time_step;
}

//! A pulse around `centre` hertz, whose bandwidth is about `centre` too.
inline std::function<double(double)> pulse(double centre, double width = 0.4)
{
    const double spread = 1 / (2 * pi * width * centre);
    return [=](double t) {
        const double x = (t - 5 * spread) / spread;
        return std::exp(-x * x / 2) * std::sin(2 * pi * centre * (t - 5 * spread));
    };
}

} // namespace gr::cudaphy::testing
