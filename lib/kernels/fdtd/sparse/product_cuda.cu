/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/memory/device_memory.cuh"
#include "kernels/fdtd/sparse/kernels.cuh"
#include "kernels/fdtd/sparse/product_makers.h"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

using namespace sparse;

using tuning = fdtd_tuning::product;

//! Where and how a call's kernels go.
struct launch {
    cudaStream_t stream;
    bool early; //!< may begin while the kernel before works; see let_next_begin()
    unsigned batch;

    template <typename... Parameters, typename... Arguments>
    void operator()(const char* name,
                    void (*kernel)(Parameters...),
                    size_t blocks,
                    Arguments&&... arguments) const
    {
        if (blocks == 0) {
            return;
        }
        cudaLaunchAttribute attribute{};
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
        cudaLaunchConfig_t config{};
        config.gridDim = dim3(unsigned(blocks), batch);
        config.blockDim = dim3(threads);
        config.stream = stream;
        config.attrs = &attribute;
        config.numAttrs = early ? 1 : 0;
        cuda_check(
            cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...),
            name);
        cuda_check_launch(name);
    }
};

size_t blocks_for(size_t rows, size_t rows_of_block)
{
    return (rows + rows_of_block - 1) / rows_of_block;
}

// The layouts on the device, and the launch of each.

template <typename T>
class compressed_there
{
public:
    using element = typename device_number<T>::type;

    explicit compressed_there(const compressed_layout<T>& a)
        : d_start(a.start), d_tiles(a.tiles), d_column(a.column), d_value(a.value),
          d_blocks(a.tiles.size() - 1)
    {
    }
    size_t blocks() const { return d_blocks; }
    compressed_arrays<element> arrays() const
    {
        return { d_start.data(),
                 d_tiles.data(),
                 d_column.data(),
                 reinterpret_cast<const element*>(d_value.data()) };
    }

private:
    device_memory<uint32_t> d_start;
    device_memory<sparse_tile> d_tiles;
    device_memory<int32_t> d_column;
    device_memory<T> d_value;
    const size_t d_blocks;
};

template <typename T>
class crs_there
{
public:
    using element = typename device_number<T>::type;

    explicit crs_there(const crs_layout<T>& a) : d_there(a) {}
    void run(const launch& go, const vectors<element>& v) const
    {
        go("sparse_product: multiply_compressed_rows",
           multiply_compressed_rows<element>,
           d_there.blocks(),
           d_there.arrays(),
           v);
    }

private:
    compressed_there<T> d_there;
};

template <typename T>
class ccs_there
{
public:
    using element = typename device_number<T>::type;

    explicit ccs_there(const ccs_layout<T>& a) : d_there(a) {}
    void run(launch go, const vectors<element>& v) const
    {
        if (!v.accumulate) {
            const size_t bytes = go.batch * v.rows * sizeof(element);
            cuda_check(cudaMemsetAsync(v.y_of_all, 0, bytes, go.stream),
                       "cudaMemsetAsync");
        }
        go.early = false;
        go("sparse_product: add_compressed_columns",
           add_compressed_columns<element>,
           d_there.blocks(),
           d_there.arrays(),
           v);
    }

private:
    compressed_there<T> d_there;
};

template <typename T>
class bcrs_there
{
public:
    using element = typename device_number<T>::type;

    explicit bcrs_there(const bcrs_layout<T>& a)
        : d_start(a.start), d_column(a.column), d_value(a.value),
          d_mask(a.mask), d_arrays{ a.block,
                                    a.mask_bytes,
                                    d_start.data(),
                                    d_column.data(),
                                    reinterpret_cast<const element*>(d_value.data()),
                                    d_mask.data() }
    {
    }
    void run(const launch& go, const vectors<element>& v) const
    {
        go("sparse_product: multiply_block_rows",
           multiply_block_rows<element>,
           blocks_for(v.rows, threads),
           d_arrays,
           v);
    }

private:
    device_memory<int64_t> d_start;
    device_memory<int32_t> d_column;
    device_memory<T> d_value;
    device_memory<uint8_t> d_mask;
    const block_arrays<element> d_arrays;
};

template <typename T>
class subdivided_there
{
public:
    using element = typename device_number<T>::type;

    explicit subdivided_there(const subdivided_layout<T>& a)
        : d_chunks(a.chunks), d_long_rows(a.long_rows), d_row_list(a.row_list),
          d_column(a.column),
          d_value(a.value), d_arrays{ d_chunks.data(),
                                      d_long_rows.data(),
                                      d_row_list.data(),
                                      d_column.data(),
                                      reinterpret_cast<const element*>(d_value.data()),
                                      int(a.chunks.size()),
                                      int(a.long_rows.size()) },
          d_several(
              a.chunks.size() >= tuning::chunks_for_several && a.long_rows.empty() &&
              size_t(std::count_if(a.chunks.begin(), a.chunks.end(), is_for_several)) >=
                  a.chunks.size() / 4 * 3)
    {
    }
    const subdivided_arrays<element>& arrays() const { return d_arrays; }
    bool has_long_rows() const { return d_arrays.long_count > 0; }
    //! \param chunks  a warp
    size_t blocks(int chunks = 1) const
    {
        return d_arrays.long_count +
               blocks_for(d_arrays.chunk_count, size_t(threads / warp * chunks));
    }
    void run(const launch& go, const vectors<element>& v) const
    {
        const auto start = [&](const auto kernel, int chunks) {
            go("sparse_product: multiply_subdivided",
               kernel,
               blocks(chunks),
               d_arrays,
               v);
        };
        constexpr int several = chunks_together<element>;
        if (d_several) {
            start(multiply_subdivided<several, false, element>, several);
        } else if (has_long_rows()) {
            start(multiply_subdivided<1, true, element>, 1);
        } else {
            start(multiply_subdivided<1, false, element>, 1);
        }
    }

private:
    device_memory<sparse_chunk> d_chunks;
    device_memory<sparse_long_row> d_long_rows;
    device_memory<int32_t> d_row_list, d_column;
    device_memory<T> d_value;
    const subdivided_arrays<element> d_arrays;
    const bool d_several;
};

template <typename T>
class dictionary_there
{
public:
    using element = typename device_number<T>::type;

    explicit dictionary_there(const dictionary_layout<T>& a)
        : d_others(a.others), d_small(numbers(a, 1)), d_large(numbers(a, 2)),
          d_start(a.patterns.start), d_offset(a.patterns.offset),
          d_value(a.patterns.value), d_any(a.patterns.size() > 0), d_arrays{
              d_small.data(),
              d_large.data(),
              d_start.data(),
              d_offset.data(),
              reinterpret_cast<const element*>(d_value.data())
          }
    {
    }
    void run(const launch& go, const vectors<element>& v) const
    {
        const auto others = d_others.blocks();
        const auto start = [&](const auto kernel, int rows) {
            go("sparse_product: multiply_dictionary",
               kernel,
               others + (d_any ? blocks_for(v.rows, size_t(threads) * rows) : 0),
               d_arrays,
               d_others.arrays(),
               unsigned(others),
               v);
        };
        if (d_others.has_long_rows()) {
            start(multiply_dictionary<1, true, element>, 1);
        } else if (v.rows < tuning::rows_for_four) {
            start(multiply_dictionary<1, false, element>, 1);
        } else {
            start(multiply_dictionary<4, false, element>, 4);
        }
    }

private:
    //! The rows' pattern numbers where they take `bytes` bytes each, else nothing.
    static std::vector<uint16_t> numbers(const dictionary_layout<T>& a, int bytes)
    {
        return a.number_bytes() == bytes && a.patterns.size() > 0
                   ? a.patterns.of_rows()
                   : std::vector<uint16_t>();
    }

    subdivided_there<T> d_others;
    device_memory<uint8_t> d_small; //!< of `none` the low byte, 255
    device_memory<uint16_t> d_large;
    device_memory<int32_t> d_start, d_offset;
    device_memory<T> d_value;
    const bool d_any;
    const dictionary_arrays<element> d_arrays;
};

template <typename T>
class diagonal_there
{
public:
    using element = typename device_number<T>::type;

    explicit diagonal_there(const diagonal_layout<T>& a)
        : d_diagonals(a.diagonals), d_value(a.value), d_present(a.present),
          d_count(int(a.diagonals.size()))
    {
    }
    void run(const launch& go, const vectors<element>& v) const
    {
        go("sparse_product: multiply_diagonals",
           multiply_diagonals<element>,
           blocks_for(v.rows, threads),
           d_diagonals.data(),
           d_count,
           reinterpret_cast<const element*>(d_value.data()),
           d_present.data(),
           v);
    }

private:
    device_memory<sparse_diagonal> d_diagonals;
    device_memory<T> d_value;
    device_memory<uint32_t> d_present;
    const int d_count;
};

//! What holds a layout on the device: for decltype alone.
template <typename T>
crs_there<T> on_device(const crs_layout<T>&);
template <typename T>
ccs_there<T> on_device(const ccs_layout<T>&);
template <typename T>
bcrs_there<T> on_device(const bcrs_layout<T>&);
template <typename T>
subdivided_there<T> on_device(const subdivided_layout<T>&);
template <typename T>
dictionary_there<T> on_device(const dictionary_layout<T>&);
template <typename T>
diagonal_there<T> on_device(const diagonal_layout<T>&);

template <typename T, typename There>
class sparse_product_cuda : public sparse_product<T>
{
public:
    template <typename Layout>
    sparse_product_cuda(const sparse_matrix<T>& a,
                        const Layout& layout,
                        bool accumulate,
                        int device)
        : d_rows(a.rows), d_columns(a.columns), d_accumulate(accumulate),
          d_device(device), d_bytes(layout.bytes())
    {
        cuda_device_scope scope(device);
        int major = 0;
        cuda_check(
            cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
            "cudaDeviceGetAttribute");
        d_early = major >= 9;
        d_there = std::make_unique<There>(layout);
    }
    ~sparse_product_cuda() override
    {
        const cuda_device_scope scope(d_device, std::nothrow);
        d_there.reset();
    }

    int64_t rows() const override { return d_rows; }
    int64_t columns() const override { return d_columns; }
    size_t matrix_bytes() const override { return d_bytes; }

    void run(view<const T> x, view<T> y, queue& queue) override
    {
        using element = typename device_number<T>::type;
        const auto batch = sparse_product_batch<T>(*this, x, y, queue, backend::cuda);
        if (batch == 0 || d_rows == 0) {
            return;
        }
        cuda_device_scope scope(d_device);
        constexpr size_t most = 65535; // of a grid's second dimension
        for (size_t first = 0; first < batch; first += most) {
            d_there->run(
                { stream_of(queue), d_early, unsigned(std::min(batch - first, most)) },
                { reinterpret_cast<const element*>(x.data()) + first * d_columns,
                  reinterpret_cast<element*>(y.data()) + first * d_rows,
                  size_t(d_rows),
                  size_t(d_columns),
                  d_accumulate });
        }
    }

private:
    const int64_t d_rows, d_columns;
    const bool d_accumulate;
    const int d_device;
    const size_t d_bytes;
    bool d_early;
    std::unique_ptr<There> d_there;
};

template <typename T>
std::unique_ptr<sparse_product<T>>
product_of_layout(const sparse_matrix<T>& a,
                  const typename sparse_product<T>::parameters& p,
                  int device)
{
    return std::visit(
        [&](const auto& layout) -> std::unique_ptr<sparse_product<T>> {
            using there = decltype(on_device(layout));
            return std::make_unique<sparse_product_cuda<T, there>>(
                a, layout, p.accumulate, device);
        },
        make_sparse_layout(a, p));
}

} // namespace

#define CUDAPHY_MAKER(T)                                                               \
    template <>                                                                        \
    std::unique_ptr<sparse_product<T>>                                                 \
    make_on_cuda<sparse_product<T>, sparse_matrix<T>, sparse_product<T>::parameters>(  \
        int device, const sparse_matrix<T>& a, const sparse_product<T>::parameters& p) \
    {                                                                                  \
        return product_of_layout(a, p, device);                                        \
    }
CUDAPHY_MAKER(float)
CUDAPHY_MAKER(double)
CUDAPHY_MAKER(complex64)
#undef CUDAPHY_MAKER

} // namespace gr::cudaphy::kernels
