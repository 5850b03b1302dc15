/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "blocks/ldpc/pdu_batch.h"
#include "runtime/block_counters.h"
#include <atomic>
#include <chrono>
#include <gnuradio/block.h>

namespace gr::cudaphy {

/*!
 * \brief What blocks of PDUs share. PDUs of one kind that wait together are processed in
 * one call; a PDU alone is processed at once. A PDU that can't be processed leaves by
 * port `fail`.
 */
class pdu_worker : public counting_block
{
public:
    block_statistics statistics() const override { return d_counters.now(); }

protected:
    struct request {
        pmt::pmt_t metadata, vector;
        int kind = 0;      //!< PDUs of different kinds are not processed together
        size_t frames = 0; //!< in the vector
        size_t most = 0;   //!< frames in a call, beyond one PDU's
    };

    //! Of `block`, whose message port `in` brings the PDUs.
    pdu_worker(gr::block& block, const pmt::pmt_t& in, const std::string& backend)
        : d_block(block), d_in(in), d_fail(pmt::mp("fail")),
          d_counters(backend, [this] { return refused() + failed_frames(); })
    {
    }

    virtual uint64_t failed_frames() const { return 0; }
    void register_at_control_port()
    {
        d_counters.register_at_control_port(d_block.alias());
    }

    //! Fills in the rest of a request; why it can't be processed, if it can't.
    virtual packet_refusal examine(request&) const = 0;
    virtual void process(const pdu_batch& batch, int kind) = 0;
    //! PDUs that wait are lost.
    virtual void report(const std::string& problem) = 0;

    void take(const pmt::pmt_t& pdu)
    {
        try {
            request one;
            packet_refusal refusal;
            if (take_apart(pdu, one.metadata, one.vector, refusal)) {
                refusal = examine(one);
            }
            if (!refusal.reason.empty()) {
                finish();
                ++d_refused;
                d_block.message_port_pub(
                    d_fail, pmt::cons(refusal.add_to(one.metadata), one.vector));
            } else {
                if (one.kind != d_kind || d_waiting.frames() + one.frames > one.most) {
                    finish();
                }
                d_kind = one.kind;
                d_waiting.add(one.metadata, one.vector, one.frames);
            }
            if (d_block.nmsgs(d_in) == 0) {
                finish();
            }
        } catch (const std::exception& problem) {
            // Thrown on, it would end this block's thread.
            d_waiting.clear();
            report(problem.what());
        }
    }
    void forget() { d_waiting.clear(); }
    uint64_t refused() const { return d_refused; }

private:
    void finish()
    {
        if (!d_waiting.empty()) {
            d_counters.queued(d_waiting.parts().size() + d_block.nmsgs(d_in));
            const auto began = std::chrono::steady_clock::now();
            process(d_waiting, d_kind);
            const std::chrono::duration<double> took =
                std::chrono::steady_clock::now() - began;
            d_counters.computed(d_waiting.frames(), took.count());
            d_waiting.clear();
            d_counters.queued(d_block.nmsgs(d_in));
        }
    }

    gr::block& d_block;
    const pmt::pmt_t d_in, d_fail;
    pdu_batch d_waiting;
    int d_kind = 0;
    std::atomic<uint64_t> d_refused{ 0 };
    block_counters d_counters;
};

} // namespace gr::cudaphy
