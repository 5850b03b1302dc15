/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/cudaphy/ldpc_options.h>
#include <gnuradio/fec/generic_encoder.h>

namespace gr::cudaphy {

/*!
 * \brief An LDPC encoder for GNU Radio's FEC blocks: extended, tagged and asynchronous
 * encoder take it as their encoder object.
 * \ingroup cudaphy
 *
 * k information bits in, a byte each, n bits of a codeword out. One call encodes `batch`
 * words, or as many as the frame size that the FEC block sets is made of.
 */
class CUDAPHY_API ldpc_encoder_def : public gr::fec::generic_encoder
{
public:
    typedef std::shared_ptr<ldpc_encoder_def> sptr;

    //! \param batch words a call where no frame size is set, 1..65536. A stream's last
    //! words, fewer than these, are not encoded.
    //! \param info_bits "code": the information bits stand where the code has them;
    //! "last": where GNU Radio's own LDPC encoder and decoder have them, as of
    //! ldpc_decoder_def
    //! \throws std::invalid_argument, backend_unavailable
    static sptr make(kernels::ldpc_code::sptr code,
                     int batch = 1,
                     const std::string& backend = "auto",
                     int device = 0,
                     const std::string& info_bits = "code");

    virtual std::string backend() const = 0; //!< in use: "cuda", "cpu" or "reference"

protected:
    ldpc_encoder_def() : generic_encoder("cudaphy_ldpc_encoder") {}
};

} // namespace gr::cudaphy
