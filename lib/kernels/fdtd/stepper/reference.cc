/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fdtd/stepper/makers.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::cudaphy::kernels {
namespace {

//! Source 5's scheme as it is printed, its state in double precision for every T.
template <typename T>
class fdtd_stepper_reference : public fdtd_stepper<T>
{
public:
    fdtd_stepper_reference(const fdtd_system<T>& system,
                           const typename fdtd_stepper<T>::parameters& p)
        : d_system(system), d_max_steps(p.max_steps), d_state(system.size)
    {
    }

    int64_t size() const override { return d_system.size; }
    size_t sources() const override { return d_system.sources.size(); }
    size_t probes() const override { return d_system.probes.size(); }
    size_t matrix_bytes() const override
    {
        size_t bytes = 0;
        for (const auto& [first, matrix] : d_system.updates) {
            bytes += matrix.row_start.size() * sizeof(int64_t) +
                     matrix.column.size() * (sizeof(int32_t) + sizeof(T));
        }
        return bytes;
    }

    void run(view<const T> excitation,
             view<T> probes,
             view<int64_t> status,
             queue& queue) override
    {
        const auto steps = fdtd_stepper_check(
            *this, d_max_steps, excitation, probes, status, queue, backend::reference);
        std::fill(probes.begin(), probes.end(), T(0));
        for (size_t s = 0; s < steps && d_status < 0; ++s) {
            step(excitation.data() + s * sources());
            const auto row = probes.part(s * this->probes(), this->probes());
            if (!read(row)) {
                d_status = d_done + s;
                std::fill(row.begin(), row.end(), T(0));
            }
        }
        if (d_status < 0 &&
            !std::all_of(d_state.begin(), d_state.end(), [](double value) {
                return std::isfinite(T(value));
            })) {
            d_status = d_done;
        }
        d_done += steps;
        status[0] = d_status;
    }

    void get(int64_t first, view<T> values, queue&) const override
    {
        fdtd_stepper_check_range(size(), first, values.size());
        std::copy_n(d_state.begin() + first, values.size(), values.begin());
    }
    void set(int64_t first, view<const T> values, queue&) override
    {
        fdtd_stepper_check_range(size(), first, values.size());
        std::copy(values.begin(), values.end(), d_state.begin() + first);
    }
    void gather(view<const int32_t> elements, view<T> values, queue&) const override
    {
        fdtd_stepper_check_gather(elements.size(), values.size());
        for (size_t i = 0; i < elements.size(); ++i) {
            const int64_t element = elements[i];
            values[i] = element >= 0 && element < size()
                            ? T(d_state[element])
                            : std::numeric_limits<T>::quiet_NaN();
        }
    }
    void reset(queue&) override
    {
        std::fill(d_state.begin(), d_state.end(), 0.0);
        d_done = 0;
        d_status = -1;
    }

private:
    void step(const T* excitation)
    {
        for (size_t u = 0; u < d_system.updates.size(); ++u) {
            const auto& [first, matrix] = d_system.updates[u];
            for (int64_t row = 0; row < matrix.rows; ++row) {
                double sum = 0;
                for (auto k = matrix.row_start[row]; k < matrix.row_start[row + 1]; ++k) {
                    sum += double(matrix.value[k]) * d_state[matrix.column[k]];
                }
                d_state[first + row] += sum;
            }
            for (size_t i = 0; i < sources(); ++i) {
                const auto& source = d_system.sources[i];
                if (source.after == u) {
                    auto& element = d_state[source.element];
                    element = (source.hard ? 0.0 : element) +
                              double(source.coefficient) * excitation[i];
                }
            }
        }
    }

    //! False if a value is not finite.
    bool read(view<T> row) const
    {
        bool finite = true;
        for (size_t i = 0; i < row.size(); ++i) {
            const auto& probe = d_system.probes[i];
            row[i] = double(probe.coefficient) * d_state[probe.element];
            finite = finite && std::isfinite(row[i]);
        }
        return finite;
    }

    fdtd_system<T> d_system;
    size_t d_max_steps;
    std::vector<double> d_state;
    int64_t d_done = 0, d_status = -1;
};

} // namespace

CUDAPHY_FDTD_STEPPER_MAKERS(reference)

} // namespace gr::cudaphy::kernels
