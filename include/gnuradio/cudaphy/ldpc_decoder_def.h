/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/ldpc_options.h>
#include <gnuradio/fec/generic_decoder.h>

namespace gr::cudaphy {

/*!
 * \brief An LDPC decoder for GNU Radio's FEC blocks: extended, tagged and asynchronous
 * decoder take it as their decoder object.
 * \ingroup cudaphy
 *
 * n floats a codeword in, of which a **positive one means bit 1**, as everywhere in
 * gr-fec; k information bits out, a byte each. One call decodes `batch` codewords, or as
 * many as the frame size that the FEC block sets is made of. A packet that holds no whole
 * codeword gives zeros; what is left over after the last whole one is not read.
 */
class CUDAPHY_API ldpc_decoder_def : public gr::fec::generic_decoder
{
public:
    typedef std::shared_ptr<ldpc_decoder_def> sptr;

    /*!
     * \param code     from ldpc_code
     * \param decoding all options but type, output, packed and llr_positive, which are
     * what gr-fec expects
     * \param batch    codewords a call where no frame size is set, 1..65536. A stream's
     * last codewords, fewer than these, are not decoded.
     * \param backend  "auto", "cuda", "cpu" or "reference"
     * \param device   index of the GPU
     * \param info_bits "code": the information bits stand where the code has them;
     * "last": where GNU Radio's own LDPC encoder puts them for the same alist file, the
     * last columns if the others are independent. "last" is not offered for codes that
     * leave columns out or whose H has more than 2^28 entries
     * \throws std::invalid_argument, backend_unavailable
     */
    static sptr make(kernels::ldpc_code::sptr code,
                     const ldpc_decoder_options& decoding = {},
                     int batch = 1,
                     const std::string& backend = "auto",
                     int device = 0,
                     const std::string& info_bits = "code");

    virtual std::string backend() const = 0;   //!< in use: "cuda", "cpu" or "reference"
    virtual uint64_t frames() const = 0;       //!< codewords decoded
    virtual uint64_t frame_errors() const = 0; //!< of these, that failed
    virtual double average_iterations() const = 0; //!< over all of them
    virtual uint64_t nan_llrs() const = 0;         //!< taken for erasures

protected:
    ldpc_decoder_def() : generic_decoder("cudaphy_ldpc_decoder") {}
};

} // namespace gr::cudaphy
