/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <array>
#include <gnuradio/cudaphy/kernels/fdtd_system.h>
#include <memory>
#include <string>

namespace gr::cudaphy::kernels {

//! The boundary at a face of the grid.
enum class fdtd_boundary {
    pec,     //!< perfect electric conductor: E along the face is 0
    pmc,     //!< perfect magnetic conductor: H along the face is 0, a plane of symmetry
    cpml,    //!< absorbing layers inside the grid (convolutional PML), conductor behind
    periodic //!< continues at the opposite face
};

CUDAPHY_API fdtd_boundary fdtd_boundary_from_name(const std::string& name);
CUDAPHY_API std::string name_of(fdtd_boundary);

//! eps(f) gains delta_eps / (1 + j 2 pi f relaxation_time).
struct fdtd_debye_pole {
    double delta_eps = 0;
    double relaxation_time = 0; //!< seconds, above 0
};

//! A material that fills cells.
struct fdtd_material {
    double eps_r = 1; //!< relative permittivity, at frequencies above all poles; >= 1
    double mu_r = 1;  //!< relative permeability, >= 1
    double sigma = 0; //!< conductivity, S/m, >= 0
    std::vector<fdtd_debye_pole> poles{};
    bool conductor = false; //!< perfect: E is 0 inside and along its surface
};

/*!
 * How absorbing layers are graded (Roden and Gedney, Microw. Opt. Technol. Lett. 27,
 * 2000): at depth 0 <= d <= 1 the conductivity is sigma * 0.8 (order + 1) / (377 ohm *
 * spacing) * d^order, the stretch 1 + (kappa - 1) d^order, and alpha falls linearly to
 * the outside.
 */
struct fdtd_absorber {
    int64_t thickness = 10; //!< cells
    double order = 3;
    //! 1: the usual optimum in vacuum; 1 / sqrt(eps_r) in a material
    double sigma = 1;
    double kappa = 1;
    //! S/m; below 0: the value that lets waves longer than 500 cells pass through
    double alpha = -1;
};

enum class fdtd_source_kind {
    soft,   //!< adds the excitation to the field (V/m, A/m) at each time step
    hard,   //!< the field is the excitation
    current //!< E only: a current (A) along the cell's edge, a short dipole's I
};

/*!
 * \brief A Yee grid with its materials, sources and probes, and the matrices that step
 * its fields.
 *
 * Cell (i, j, k) holds ex, ey, ez in the middles of its edges from its low corner, and
 * hx, hy, hz in the middles of its low faces (K. S. Yee, IEEE Trans. Antennas Propag.
 * 14(3), 1966). One dimension (x) has ez and hy; two (x, y) have ez, hx, hy ("tm") or hz,
 * ex, ey ("te"). A cell is 1 m long along an axis that is left out. SI units: V/m and
 * A/m. E stands at whole time steps, H half a step later.
 *
 * The state is one run of prod(cells) elements a component (the last axis runs fastest),
 * E first, then H, so that inner rows of a matrix repeat; then come the memories of
 * absorbing layers and dispersive materials. A face that is pmc adds a layer at its high
 * end. An edge between cells takes the mean of their eps_r and sigma, weighted by area; a
 * face between two cells the harmonic mean of their mu_r.
 *
 * A lossless grid of conductors has two updates, source 5's [e] += [RH] [h] and
 * [h] += [RE] [e].
 */
class CUDAPHY_API fdtd_grid
{
public:
    using index = std::array<int64_t, 3>; //!< 0 along an axis that is left out

    struct parameters {
        std::vector<int64_t> cells; //!< one to three axes, 1.. each
        //! Metres, an axis: one number for all of its cells, or one for each.
        std::vector<std::vector<double>> spacing;
        //! Low and high face of an axis; empty: conductor everywhere.
        std::vector<std::array<fdtd_boundary, 2>> boundary{};
        std::string mode = "tm"; //!< in two dimensions
        //! 0 < courant <= 1: share of the largest stable step. At 1, if no axis has a
        //! conductor at an end, the shortest wave grows, but no faster than the time.
        double courant = 1;
        double time_step = 0; //!< seconds, in place of courant; 0: by courant
        fdtd_absorber absorber{};
    };

    //! \throws std::invalid_argument if a parameter is out of range, the time step beyond
    //! the limit of stability, or there are more cells than matrices can count; what()
    //! gives the range or the limit.
    explicit fdtd_grid(const parameters&);
    ~fdtd_grid();
    fdtd_grid(fdtd_grid&&) noexcept;
    fdtd_grid& operator=(fdtd_grid&&) noexcept;

    double time_step() const;                    //!< seconds
    double largest_time_step() const;            //!< the limit of stability, seconds
    std::vector<std::string> components() const; //!< as they lie in the state
    int64_t size() const;                        //!< elements of E and H
    index shape() const;                         //!< of one component's run in the state

    /*!
     * Fills the cells between two corners: from <= cell < to.
     * \throws std::invalid_argument if the box is empty or reaches out of the grid, the
     * material is out of range, or a cell has another material already and `replace` is
     * false; what() names the cell.
     */
    void add_box(index from, index to, const fdtd_material&, bool replace = false);
    //! Fills cell after cell with materials[which[cell]]; a negative number leaves the
    //! cell as it is. which: (cells...), the last axis fastest. Throws as add_box().
    void add_cells(view<const int32_t> which,
                   const std::vector<fdtd_material>& materials,
                   bool replace = false);
    //! A conductor without volume along all edges between two corners, from <= corner <=
    //! to: a sheet, or a wire (its radius is about a fifth of a cell).
    void add_conductor(index from, index to);

    //! \returns the source's number: its place in the excitation.
    //! \throws std::invalid_argument if no such component or cell exists; what() gives
    //! the ranges.
    size_t add_source(const std::string& component,
                      index cell,
                      fdtd_source_kind kind = fdtd_source_kind::soft);
    //! \returns the probe's number. \throws as add_source()
    size_t add_probe(const std::string& component, index cell);
    //! Reads the current (A) through the loop of H around an edge, that of a wire along
    //! it; at the time of H.
    //! \param component  ex, ey or ez
    size_t add_current_probe(const std::string& component, index cell);

    struct port {
        size_t source; //!< volts of the generator; -1 (all bits set) for a load
        size_t probe;  //!< volts at the port, E times the edge's length
    };
    /*!
     * A generator with internal resistance in an edge, in parallel with the edge's own
     * capacitance; voltages count along the axis. The current that it delivers is
     * (generator - port) / resistance.
     * \param driven  false: a resistor only, without a source
     * \throws as add_source(), or if there is a port already.
     */
    port add_port(const std::string& component,
                  index cell,
                  double resistance = 50,
                  bool driven = true);
    //! A straight wire along the component, `length` cells long (odd), with a port in the
    //! middle one, which is `cell`. Throws as add_port() and add_conductor().
    port add_dipole(const std::string& component,
                    index cell,
                    int64_t length,
                    double resistance = 50,
                    bool driven = true);

    //! The element of the state that holds a field. \throws as add_source()
    int64_t element(const std::string& component, index cell) const;
    //! The elements of a component in one plane across an axis, (the other axes), the
    //! last fastest.
    std::vector<int32_t>
    plane(const std::string& component, int axis, int64_t position) const;

    /*!
     * \throws std::invalid_argument if a source or port stands in or along a conductor;
     * std::runtime_error if the matrices don't fit this machine's memory: what() says how
     * many cells do.
     */
    template <typename T>
    fdtd_system<T> system() const;

    struct model; //!< internal

private:
    std::unique_ptr<model> d_model;
};

} // namespace gr::cudaphy::kernels
