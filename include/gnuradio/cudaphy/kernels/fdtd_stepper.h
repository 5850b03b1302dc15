/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/fdtd_system.h>
#include <gnuradio/cudaphy/kernels/queue.h>
#include <gnuradio/cudaphy/kernels/sparse_product.h>

namespace gr::cudaphy::kernels {

/*!
 * \brief Steps an FDTD system through time: excitations in, probes out, many time steps a
 * call. The state stays in the backend's memory, between calls, too.
 *
 * Rows are summed with columns ascending, one fused multiply-add an entry, so that CPU
 * and CUDA give the same bits in every format. If a row, a source or set() leaves a value
 * whose magnitude is below the smallest normal number, the value becomes 0: faded fields
 * would slow a CPU down ten times. (The reference works in double precision instead.)
 *
 * The status tells of fields that grow without bound. Probes are checked in every time
 * step, and the whole state at the end of each call. While all are finite, the status is
 * -1. Afterwards the status is a number of time steps since the last reset: those before
 * the first time step that left a probe not finite, or, if all probes were finite, those
 * before the call. From that time step on, probes are zeros until reset(); if the state
 * alone was not finite, from the next call on.
 *
 * T is float or double.
 */
template <typename T>
class CUDAPHY_API fdtd_stepper
{
public:
    struct parameters {
        //! crs, subdivided_crs, dictionary or diagonal
        sparse_format format = sparse_format::dictionary;
        size_t max_steps = 1024; //!< time steps a call at most
    };

    /*!
     * \throws std::invalid_argument if the system is not valid or a parameter is out of
     * range; backend_unavailable as resolve() does; std::runtime_error if the device's
     * memory can't hold it: what() says how much it needs and how much there is.
     */
    static std::unique_ptr<fdtd_stepper> make(const fdtd_system<T>& system,
                                              const parameters&,
                                              backend where = backend::automatic,
                                              int device = 0);
    virtual ~fdtd_stepper() = default;

    virtual int64_t size() const = 0;        //!< elements of the state
    virtual size_t sources() const = 0;      //!< of the system
    virtual size_t probes() const = 0;       //!< of the system
    virtual size_t matrix_bytes() const = 0; //!< of the matrices in their format

    /*!
     * Does excitation.size() / sources() time steps (without a source:
     * probes.size() / probes()); returns before the device has finished if `queue` is a
     * device's. Allocates nothing on the device and waits for nothing, so that a stream
     * capture can record it.
     *
     * \param excitation   (steps, sources)
     * \param[out] probes  (steps, probes)
     * \param[out] status  (1), as said above
     * \throws std::invalid_argument if the views' sizes do not fit each other, or these
     * are more than max_steps.
     */
    virtual void
    run(view<const T> excitation, view<T> probes, view<int64_t> status, queue& queue) = 0;

    //! The state, or a run of it that begins at element `first`, to a view of the queue's
    //! memory, and back. \throws std::invalid_argument if it reaches out of the state.
    virtual void get(int64_t first, view<T> values, queue& queue) const = 0;
    virtual void set(int64_t first, view<const T> values, queue& queue) = 0;
    //! Elements `elements` (a view of the queue's memory) to `values`, as many: a plane's
    //! snapshot. A number that is no element of the state gives NaN.
    virtual void
    gather(view<const int32_t> elements, view<T> values, queue& queue) const = 0;
    //! Sets all fields and the time to 0.
    virtual void reset(queue& queue) = 0;
};

} // namespace gr::cudaphy::kernels
