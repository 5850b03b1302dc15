/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "blocks/coding/code_choice.h"
#include "runtime/batch_block.h"
#include <atomic>

namespace gr::cudaphy {

//! What a word of a code fills of each port, and how many words a launch holds at most.
struct word_ports {
    std::vector<batch_port> in, out;
    int max_batch;
};

//! A launch a code.
class job_a_code : public mixed_batch_job
{
public:
    explicit job_a_code(std::vector<std::unique_ptr<batch_job>> jobs)
        : d_jobs(std::move(jobs))
    {
    }
    void run(const std::vector<batch_part>& parts, queue& work_queue) override
    {
        for (const auto& [kind, work] : parts) {
            d_jobs[kind]->run(work, work_queue);
        }
    }

private:
    std::vector<std::unique_ptr<batch_job>> d_jobs;
};

//! What an option on_failure says: true for "drop", false for "mark". \throws
//! std::invalid_argument for anything else.
bool checked_drop(const std::string& on_failure);

//! The PDU that tells of a packet that was not processed: its tags and the reason, that
//! no code is named or that its items are no whole number of words.
pmt::pmt_t refused_packet(const std::vector<tag_t>& head,
                          const code_names& codes,
                          uint64_t items,
                          const std::vector<int>& word_items);

/*!
 * \brief The base of encoders and decoders: each packet names its code by a tag, and a
 * packet that names none, or is no whole number of words, goes to message port `fail`.
 */
template <typename Code>
class coding_block : public batch_block
{
protected:
    //! \param ports  those of words of a code; the sizes of items are the same for all
    //! \param options  the block's, with length_tag_key, backend, device, max_latency
    //! \param status_words  ints that a job writes about each word
    template <typename Ports, typename Options>
    coding_block(const code_choice<Code>& codes,
                 const Ports& ports,
                 const Options& options,
                 int status_words)
        : coding_block(codes, ports, options, status_words, ports(codes.first()))
    {
    }

    //! Of words of one code.
    virtual std::unique_ptr<batch_job>
    make_code_job(const std::shared_ptr<const Code>& code, queue& work_queue) = 0;

    std::unique_ptr<batch_job> make_job(queue& work_queue) override
    {
        return make_code_job(d_codes.all()[0], work_queue);
    }
    std::unique_ptr<mixed_batch_job> make_mixed_job(queue& work_queue) override
    {
        std::vector<std::unique_ptr<batch_job>> jobs;
        for (const auto& code : d_codes.all()) {
            jobs.push_back(make_code_job(code, work_queue));
        }
        return std::make_unique<job_a_code>(std::move(jobs));
    }

    const code_choice<Code>& codes() const { return d_codes; }
    uint64_t refused() const { return d_refused; }

private:
    template <typename Ports, typename Options>
    coding_block(const code_choice<Code>& codes,
                 const Ports& ports,
                 const Options& options,
                 int status_words,
                 const word_ports& first)
        : batch_block({ options.length_tag_key,
                        options.backend,
                        options.device,
                        first.max_batch,
                        options.max_latency },
                      first.in,
                      first.out,
                      status_words),
          d_codes(codes)
    {
        message_port_register_out(pmt::mp("fail"));
        for (const auto& code : codes.all()) {
            const auto of_code = ports(*code);
            batch_kind kind{ {}, {}, of_code.max_batch };
            for (const auto& port : of_code.in) {
                kind.in.push_back(port.items);
            }
            for (const auto& port : of_code.out) {
                kind.out.push_back(port.items);
            }
            if (!d_word_items.empty()) { // the first one is batch_block's
                add_kind(kind);
            }
            d_word_items.push_back(kind.in[0]);
        }
    }

    int kind_of(const std::vector<tag_t>& head, std::string& refusal) const override
    {
        const int code = d_codes.named(head);
        refusal = code < 0 ? d_codes.none_named().reason : "";
        return code;
    }
    void refuse(const std::vector<tag_t>& head,
                uint64_t items,
                const std::string& reason) override
    {
        ++d_refused;
        warn_sometimes("a packet is passed over: " + reason);
        message_port_pub(pmt::mp("fail"),
                         refused_packet(head, d_codes, items, d_word_items));
    }

    const code_choice<Code> d_codes;
    std::vector<int> d_word_items; //!< of input 0, of each code
    std::atomic<uint64_t> d_refused{ 0 };
};

} // namespace gr::cudaphy
