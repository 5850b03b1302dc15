/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_blas.cuh"
#include "kernels/common/cuda_library.cuh"
#include <cublas_v2.h>

namespace gr::cudaphy {
namespace {

//! cuBLAS's functions, by the names that its header gives them.
struct functions {
    decltype(cublasCreate_v2)* create;
    decltype(cublasDestroy_v2)* destroy;
    decltype(cublasSetStream_v2)* set_stream;
    decltype(cublasSetWorkspace_v2)* set_workspace;
    decltype(cublasGetStatusString)* status_string;
    decltype(cublasSgemmStridedBatched)* sgemm;
    decltype(cublasDgemmStridedBatched)* dgemm;
    decltype(cublasCgemmStridedBatched)* cgemm;
    decltype(cublasZgemmStridedBatched)* zgemm;
    decltype(cublasSgemm_v2)* sgemm_one;
    decltype(cublasDgemm_v2)* dgemm_one;
    decltype(cublasCgemm_v2)* cgemm_one;
    decltype(cublasZgemm_v2)* zgemm_one;

    static const functions& get()
    {
        static const functions one = [] {
            const cuda_library library("cublas", { 13, 12 });
            functions out;
            library.find(out.create, "cublasCreate_v2");
            library.find(out.destroy, "cublasDestroy_v2");
            library.find(out.set_stream, "cublasSetStream_v2");
            library.find(out.set_workspace, "cublasSetWorkspace_v2");
            library.find(out.status_string, "cublasGetStatusString");
            library.find(out.sgemm, "cublasSgemmStridedBatched");
            library.find(out.dgemm, "cublasDgemmStridedBatched");
            library.find(out.cgemm, "cublasCgemmStridedBatched");
            library.find(out.zgemm, "cublasZgemmStridedBatched");
            library.find(out.sgemm_one, "cublasSgemm_v2");
            library.find(out.dgemm_one, "cublasDgemm_v2");
            library.find(out.cgemm_one, "cublasCgemm_v2");
            library.find(out.zgemm_one, "cublasZgemm_v2");
            return out;
        }();
        return one;
    }
};

void check(cublasStatus_t code, const char* what)
{
    if (code != CUBLAS_STATUS_SUCCESS) {
        throw cuda_error(std::string(what) +
                         " failed: " + functions::get().status_string(code));
    }
}

class loaded_blas : public cuda_blas
{
public:
    loaded_blas() { check(functions::get().create(&d_handle), "cublasCreate"); }
    ~loaded_blas() override { functions::get().destroy(d_handle); }
    loaded_blas(const loaded_blas&) = delete;
    loaded_blas& operator=(const loaded_blas&) = delete;

    void begin(cudaStream_t stream, void* workspace) override
    {
        // In this order: a new stream takes the workspace away.
        check(functions::get().set_stream(d_handle, stream), "cublasSetStream");
        check(functions::get().set_workspace(d_handle, workspace, workspace_bytes),
              "cublasSetWorkspace");
    }

    void multiply(const call& c) override
    {
        const auto& blas = functions::get();
        switch (c.type) {
        case element::f32:
            return run<float>(c, blas.sgemm_one, blas.sgemm, c.alpha, c.beta);
        case element::f64:
            return run<double>(c, blas.dgemm_one, blas.dgemm, c.alpha, c.beta);
        case element::c32:
            return run<cuComplex>(c,
                                  blas.cgemm_one,
                                  blas.cgemm,
                                  { float(c.alpha), 0 },
                                  { float(c.beta), 0 });
        case element::c64:
            return run<cuDoubleComplex>(
                c, blas.zgemm_one, blas.zgemm, { c.alpha, 0 }, { c.beta, 0 });
        }
    }

private:
    static cublasOperation_t operation(as which, bool complex)
    {
        return which == as::stored ? CUBLAS_OP_N : complex ? CUBLAS_OP_C : CUBLAS_OP_T;
    }

    //! cuBLAS is column-major: what it takes for the transposes of row-major factors, in
    //! the other order, gives the transpose of their product.
    template <typename E, typename One, typename Many>
    void run(const call& c, One* one, Many* many, E alpha, E beta)
    {
        const bool complex = c.type == element::c32 || c.type == element::c64;
        const auto right_as = operation(c.right_as, complex);
        const auto left_as = operation(c.left_as, complex);
        const auto* left = static_cast<const E*>(c.left);
        const auto* right = static_cast<const E*>(c.right);
        auto* to = static_cast<E*>(c.c);
        if (c.rows <= 0 || c.columns <= 0 || c.batch <= 0) {
            return;
        }
        if (c.batch == 1) {
            check(one(d_handle,
                      right_as,
                      left_as,
                      c.columns,
                      c.rows,
                      c.inner,
                      &alpha,
                      right,
                      c.right_stride,
                      left,
                      c.left_stride,
                      &beta,
                      to,
                      c.c_stride),
                  "cublas gemm");
        } else {
            check(many(d_handle,
                       right_as,
                       left_as,
                       c.columns,
                       c.rows,
                       c.inner,
                       &alpha,
                       right,
                       c.right_stride,
                       c.right_to_next,
                       left,
                       c.left_stride,
                       c.left_to_next,
                       &beta,
                       to,
                       c.c_stride,
                       c.c_to_next,
                       c.batch),
                  "cublas gemmStridedBatched");
        }
    }

    cublasHandle_t d_handle = nullptr;
};

} // namespace

std::unique_ptr<cuda_blas> cuda_blas::make() { return std::make_unique<loaded_blas>(); }

template <typename E>
void cuda_blas::multiply(double alpha,
                         const matrix<E>& left,
                         as left_as,
                         const matrix<E>& right,
                         as right_as,
                         double beta,
                         const matrix<E>& c,
                         int rows,
                         int columns,
                         int inner,
                         int batch)
{
    constexpr auto type = std::is_same_v<E, float>    ? element::f32
                          : std::is_same_v<E, double> ? element::f64
                          : std::is_same_v<E, float2> ? element::c32
                                                      : element::c64;
    multiply(call{ type,
                   alpha,
                   beta,
                   left.data,
                   right.data,
                   c.data,
                   left.stride,
                   right.stride,
                   c.stride,
                   left.to_next,
                   right.to_next,
                   c.to_next,
                   left_as,
                   right_as,
                   rows,
                   columns,
                   inner,
                   batch });
}

#define CUDAPHY_MULTIPLY(E)                             \
    template void cuda_blas::multiply(double,           \
                                      const matrix<E>&, \
                                      as,               \
                                      const matrix<E>&, \
                                      as,               \
                                      double,           \
                                      const matrix<E>&, \
                                      int,              \
                                      int,              \
                                      int,              \
                                      int)
CUDAPHY_MULTIPLY(float);
CUDAPHY_MULTIPLY(double);
CUDAPHY_MULTIPLY(float2);
CUDAPHY_MULTIPLY(double2);

} // namespace gr::cudaphy
