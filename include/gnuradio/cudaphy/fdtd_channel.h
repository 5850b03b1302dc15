/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/cudaphy/api.h>
#include <gnuradio/cudaphy/kernels/fdtd_system.h>

namespace gr::cudaphy {

/*!
 * \brief A channel that obeys Maxwell's equations: excitations in, probes out, one item a
 * time step.
 * \ingroup cudaphy
 *
 * In: a stream of float for each of the system's sources, in their order: volts of a
 * port, amperes of a current, V/m or A/m of a field. Out: a stream of float for each
 * probe; item n is what the probe reads after the time step that item n of the inputs
 * drove. With a plane, one more output comes last: vectors of those elements of the
 * state, one every plane_every time steps, vector k after item
 * (k + 1) plane_every - 1 (source 5: [e] += [RH] [h]; [h] += [RE] [e]).
 *
 * Fields stay on the device, from one start of the flowgraph to the next too. reset(), or
 * any message to the port `reset`, clears them before the next time step that is done.
 * Items are stepped as soon as they come. The sizes of the pieces in which they come
 * change no bit of the output.
 *
 * A tag of any input goes to the item of the same time step of each probe, and to the
 * first vector of the plane from that time step on. Of equal tags on several inputs, one
 * goes on.
 *
 * Fields that overflow, and an excitation that is not finite, end the flowgraph with a
 * message in the log that names the time step. Items before that time step are put out;
 * NaN never is.
 */
class CUDAPHY_API fdtd_channel : virtual public gr::block
{
public:
    typedef std::shared_ptr<fdtd_channel> sptr;

    /*!
     * \param system       with a source, and a probe or a plane; kept in the backend's
     *                     own form
     * \param plane        the elements of the state that a vector holds; empty: no plane
     * \param plane_every  time steps from one vector to the next, 1..2^30
     * \param format       of the matrices: "crs", "subdivided_crs", "dictionary" or
     *                     "diagonal"
     * \param backend      "auto", "cuda", "cpu" or "reference"
     * \param device       index of the GPU
     * \param max_batch    time steps in one call at most, 1..65536; 0: 4096. Where time
     *                     steps are slow, a call takes as many as fill a tenth of a
     *                     second.
     * \throws std::invalid_argument if a parameter is out of range; std::runtime_error if
     * the backend or the memory can't be had.
     */
    static sptr make(const kernels::fdtd_system<float>& system,
                     const std::vector<int32_t>& plane = {},
                     int plane_every = 1,
                     const std::string& format = "dictionary",
                     const std::string& backend = "auto",
                     int device = 0,
                     int max_batch = 0);
    //! The same with fields in double precision.
    static sptr make(const kernels::fdtd_system<double>& system,
                     const std::vector<int32_t>& plane = {},
                     int plane_every = 1,
                     const std::string& format = "dictionary",
                     const std::string& backend = "auto",
                     int device = 0,
                     int max_batch = 0);

    //! Clears all fields, before the next time step; from any thread.
    virtual void reset() = 0;
    virtual std::string backend() const = 0; //!< in use: "cuda", "cpu" or "reference"
    //! Time steps since the block was made, or since reset().
    virtual uint64_t steps() const = 0;
    virtual double time_step() const = 0; //!< seconds; 0 if not known
    //! Bytes that the matrices take in their format.
    virtual uint64_t matrix_bytes() const = 0;
};

} // namespace gr::cudaphy
