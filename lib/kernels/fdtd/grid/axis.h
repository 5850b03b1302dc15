/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/common/pi.h"
#include <gnuradio/cudaphy/kernels/fdtd_grid.h>

// One axis of a grid: where its points are, and what a derivative along it takes.
// Internal.

namespace gr::cudaphy::kernels {

namespace physics {
constexpr double c = 299792458;          //!< m/s
constexpr double mu0 = 1.25663706212e-6; //!< H/m, CODATA 2018
constexpr double eps0 = 1 / (mu0 * c * c);
constexpr double impedance = mu0 * c;
} // namespace physics

//! How a point of an absorbing layer stretches its coordinate: a derivative D becomes
//! D / kappa + psi, with psi <- decay psi + gain D at each time step.
struct fdtd_stretch {
    double kappa = 1, decay = 0, gain = 0;
    int64_t slot = -1; //!< the point's place among those with a psi; -1: it has none
};

struct fdtd_axis {
    bool active = false; //!< else left out: one cell, no derivative
    int64_t cells = 1;
    int64_t stored = 1; //!< points kept: cells, and one more for a pmc high face
    fdtd_boundary low = fdtd_boundary::pec, high = fdtd_boundary::pec;
    std::vector<double> spacing; //!< of cells
    std::vector<double> dual;    //!< around nodes: half a cell either side
    std::vector<fdtd_stretch> node, half;
    int64_t node_slots = 0, half_slots = 0;

    //! \throws std::invalid_argument; what() begins with the axis' name.
    fdtd_axis() = default;
    fdtd_axis(const std::string& name,
              int64_t cells,
              const std::vector<double>& spacing,
              std::array<fdtd_boundary, 2> boundary);

    bool periodic() const { return low == fdtd_boundary::periodic; }
    //! Whether E along the low face is 0.
    bool conductor_below() const
    {
        return active && (low == fdtd_boundary::pec || low == fdtd_boundary::cpml);
    }
    //! An upper bound of the second difference's eigenvalues, sharp but for periodic
    //! graded axes.
    double largest_eigenvalue() const;
    void absorb(const std::string& name, const fdtd_absorber&, double time_step);

private:
    void absorb_face(const fdtd_absorber&, double time_step, bool at_high);
};

} // namespace gr::cudaphy::kernels
