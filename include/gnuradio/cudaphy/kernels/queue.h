/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/kernels/backend.h>
#include <gnuradio/cudaphy/kernels/view.h>
#include <memory>

namespace gr::cudaphy {

/*!
 * \brief The order in which copies and kernels run: a CUDA stream, or the calling thread.
 *
 * Kernels take views of memory that their queue can reach: device memory where `where()`
 * is `cuda`, ordinary memory elsewhere. On a CUDA queue every call but `synchronize`
 * returns before the device has finished; elsewhere the work is done when the call
 * returns. A queue is used by one thread at a time; `make` and calls may happen on
 * different threads.
 */
class CUDAPHY_API queue
{
public:
    //! \throws backend_unavailable as resolve() does; cuda_error if the stream can't be
    //! made.
    static std::unique_ptr<queue> make(backend where = backend::automatic,
                                       int device = 0);
    /*!
     * A queue on a stream that somebody else owns: what is submitted here and what the
     * owner submits run in the order of submission. The stream must outlive the queue,
     * which never destroys it.
     *
     * \param stream  a cudaStream_t (a CUstream is the same) of that device; null for the
     * device's default stream
     * \throws backend_unavailable as resolve() does.
     */
    static std::unique_ptr<queue> attach(void* stream, int device = 0);
    virtual ~queue() = default;

    virtual backend where() const = 0; //!< never `automatic`
    virtual int device() const = 0;
    //! The cudaStream_t of a CUDA queue, else null.
    virtual void* native() const = 0;

    //! Memory that kernels on this queue reach, aligned to 256 bytes; its content is
    //! arbitrary. \throws std::bad_alloc
    virtual void* allocate(size_t bytes) = 0;
    virtual void release(void* memory) = 0;

    //! Host to queue memory and back; asynchronous only where the host's side is
    //! page-locked.
    virtual void copy_in(void* to, const void* from_host, size_t bytes) = 0;
    virtual void copy_out(void* to_host, const void* from, size_t bytes) = 0;

    //! Waits until everything submitted so far is done. \throws cuda_error for what went
    //! wrong since the last call.
    virtual void synchronize() = 0;
    //! Whether everything submitted so far is done; does not wait.
    virtual bool idle() = 0;
};

//! An array in a queue's memory, released with it. The queue must outlive it.
template <typename T>
class array
{
public:
    array() = default;
    array(queue& owner, size_t size)
        : d_owner(&owner),
          d_data(size ? static_cast<T*>(owner.allocate(size * sizeof(T))) : nullptr),
          d_size(size)
    {
    }
    array(queue& owner, view<const T> host) : array(owner, host.size())
    {
        if (d_size) {
            owner.copy_in(d_data, host.data(), d_size * sizeof(T));
        }
    }
    array(array&& other) noexcept { *this = std::move(other); }
    array& operator=(array&& other) noexcept
    {
        std::swap(d_owner, other.d_owner);
        std::swap(d_data, other.d_data);
        std::swap(d_size, other.d_size);
        return *this;
    }
    ~array()
    {
        if (d_data) {
            d_owner->release(d_data);
        }
    }

    operator view<T>() { return { d_data, d_size }; }
    operator view<const T>() const { return { d_data, d_size }; }
    view<T> all() { return { d_data, d_size }; }
    T* data() const { return d_data; }
    size_t size() const { return d_size; }

    //! A copy on the host; waits for the queue.
    std::vector<T> to_host() const
    {
        std::vector<T> host(d_size);
        if (d_size) {
            d_owner->copy_out(host.data(), d_data, d_size * sizeof(T));
            d_owner->synchronize();
        }
        return host;
    }

private:
    queue* d_owner = nullptr;
    T* d_data = nullptr;
    size_t d_size = 0;
};

} // namespace gr::cudaphy
