/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/fdtd/bench_sparse_cusparse.h"
#include "kernels/common/cuda_check.cuh"
#include <algorithm>
#include <cusparse.h>

namespace gr::cudaphy::benchmarks {
namespace {

void check(cusparseStatus_t code, const char* call)
{
    if (code != CUSPARSE_STATUS_SUCCESS) {
        throw cuda_error(std::string(call) + " failed: " + cusparseGetErrorString(code));
    }
}

constexpr int64_t slice = 32;
constexpr float one = 1;

//! On the host; starts are rows' or slices'.
struct arrays {
    std::vector<int32_t> start{ 0 }, column;
    std::vector<float> value;
};

arrays compressed_rows(const kernels::sparse_matrix<float>& a)
{
    return { { a.row_start.begin(), a.row_start.end() }, a.column, a.value };
}

//! Entry j of a slice's row i at j * slice + i, padded with column -1.
arrays slices(const kernels::sparse_matrix<float>& a)
{
    arrays out;
    for (int64_t first = 0; first < a.rows; first += slice) {
        int64_t width = 0;
        for (auto row = first; row < std::min(first + slice, a.rows); ++row) {
            width = std::max(width, a.row_start[row + 1] - a.row_start[row]);
        }
        for (int64_t j = 0; j < width; ++j) {
            for (auto row = first; row < first + slice; ++row) {
                const bool there =
                    row < a.rows && j < a.row_start[row + 1] - a.row_start[row];
                out.column.push_back(there ? a.column[a.row_start[row] + j] : -1);
                out.value.push_back(there ? a.value[a.row_start[row] + j] : 0.0f);
            }
        }
        out.start.push_back(int32_t(out.column.size()));
    }
    return out;
}

} // namespace

struct cusparse_product::state {
    state(queue& q,
          const kernels::sparse_matrix<float>& a,
          const arrays& host,
          view<float> from,
          view<float> to,
          bool sliced)
        : start(q, view<const int32_t>(host.start)),
          column(q, view<const int32_t>(host.column)),
          value(q, view<const float>(host.value))
    {
        q.synchronize();
        check(cusparseCreate(&handle), "cusparseCreate");
        check(cusparseSetStream(handle, stream_of(q)), "cusparseSetStream");
        check(sliced ? cusparseCreateSlicedEll(&matrix,
                                               a.rows,
                                               a.columns,
                                               a.entries(),
                                               int64_t(host.value.size()),
                                               slice,
                                               start.data(),
                                               column.data(),
                                               value.data(),
                                               CUSPARSE_INDEX_32I,
                                               CUSPARSE_INDEX_32I,
                                               CUSPARSE_INDEX_BASE_ZERO,
                                               CUDA_R_32F)
                     : cusparseCreateCsr(&matrix,
                                         a.rows,
                                         a.columns,
                                         a.entries(),
                                         start.data(),
                                         column.data(),
                                         value.data(),
                                         CUSPARSE_INDEX_32I,
                                         CUSPARSE_INDEX_32I,
                                         CUSPARSE_INDEX_BASE_ZERO,
                                         CUDA_R_32F),
              "creation of the matrix");
        check(cusparseCreateDnVec(&x, a.columns, from.data(), CUDA_R_32F),
              "cusparseCreateDnVec");
        check(cusparseCreateDnVec(&y, a.rows, to.data(), CUDA_R_32F),
              "cusparseCreateDnVec");
        size_t bytes = 0;
        check(cusparseSpMV_bufferSize(handle,
                                      CUSPARSE_OPERATION_NON_TRANSPOSE,
                                      &one,
                                      matrix,
                                      x,
                                      &one,
                                      y,
                                      CUDA_R_32F,
                                      CUSPARSE_SPMV_ALG_DEFAULT,
                                      &bytes),
              "cusparseSpMV_bufferSize");
        buffer = array<unsigned char>(q, bytes + 1);
#if CUSPARSE_VERSION >= 12400
        if (!sliced) {
            check(cusparseSpMV_preprocess(handle,
                                          CUSPARSE_OPERATION_NON_TRANSPOSE,
                                          &one,
                                          matrix,
                                          x,
                                          &one,
                                          y,
                                          CUDA_R_32F,
                                          CUSPARSE_SPMV_ALG_DEFAULT,
                                          buffer.data()),
                  "cusparseSpMV_preprocess");
        }
#endif
    }
    ~state()
    {
        cusparseDestroyDnVec(y);
        cusparseDestroyDnVec(x);
        cusparseDestroySpMat(matrix);
        cusparseDestroy(handle);
    }

    array<int32_t> start, column;
    array<float> value;
    array<unsigned char> buffer;
    cusparseHandle_t handle = nullptr;
    cusparseSpMatDescr_t matrix = nullptr;
    cusparseDnVecDescr_t x = nullptr, y = nullptr;
};

cusparse_product::cusparse_product(queue& q,
                                   const kernels::sparse_matrix<float>& a,
                                   view<float> x,
                                   view<float> y,
                                   bool sliced)
    : d_state(std::make_unique<state>(
          q, a, sliced ? slices(a) : compressed_rows(a), x, y, sliced))
{
}

cusparse_product::~cusparse_product() = default;

void cusparse_product::run()
{
    auto& s = *d_state;
    check(cusparseSpMV(s.handle,
                       CUSPARSE_OPERATION_NON_TRANSPOSE,
                       &one,
                       s.matrix,
                       s.x,
                       &one,
                       s.y,
                       CUDA_R_32F,
                       CUSPARSE_SPMV_ALG_DEFAULT,
                       s.buffer.data()),
          "cusparseSpMV");
}

size_t cusparse_product::matrix_bytes() const
{
    const auto& s = *d_state;
    return 4 * (s.start.size() + s.column.size() + s.value.size());
}

} // namespace gr::cudaphy::benchmarks
