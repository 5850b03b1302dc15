/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/fdtd_system.h>
#include <gnuradio/cudaphy/kernels/queue.h>
#include <gnuradio/cudaphy/kernels/sparse_product.h>

namespace gr::cudaphy::kernels {

/*!
 * \brief Steps an FDTD system through time: excitations in, probes out, many time steps a
 * call. The state stays where the backend works, between calls too.
 *
 * Rows are summed with columns ascending, one fused multiply-add an entry, so that CPU
 * and CUDA give the same bits in every format. What a row, a source or set() leaves below
 * the smallest normal number in magnitude becomes 0: else fields that have faded would
 * slow a CPU down ten times. (The reference works in double precision instead.)
 *
 * A field that grows without bound is caught. Probes are looked at in every time step,
 * the whole state at the end of each call. The status is -1 while all is finite; from
 * then on it is the number of time steps since the last reset that were done when all
 * that was looked at was finite for the last time: those before the one that left a probe
 * not finite or, if none did, those before the call. Probes of time steps after it in a
 * call that a probe ended, and of later calls, are zeros, until reset().
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
    virtual size_t matrix_bytes() const = 0; //!< what the matrices take in their format

    /*!
     * Goes on by excitation.size() / sources() time steps (without a source: by
     * probes.size() / probes()); returns before the device has finished if `queue` is a
     * device's. Nothing is allocated on the device and nothing is waited for; a stream
     * capture can take it in.
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
    //! snapshot. What is no element of the state gives NaN.
    virtual void
    gather(view<const int32_t> elements, view<T> values, queue& queue) const = 0;
    //! All fields are zero again, and time too.
    virtual void reset(queue& queue) = 0;
};

} // namespace gr::cudaphy::kernels
