/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_library.cuh"
#include "kernels/common/cuda_solver.cuh"
#include <algorithm>
#include <cusolverDn.h>
#include <tuple>

namespace gr::cudaphy {
namespace {

//! cuSOLVER's functions for a type, by the names that its header gives them.
template <typename E>
struct factors;
#define CUDAPHY_FACTORS(E, Letter, Eigen)                                              \
    template <>                                                                        \
    struct factors<E> {                                                                \
        decltype(cusolverDn##Letter##getrf_bufferSize)* workspace;                     \
        decltype(cusolverDn##Letter##getrf)* factor;                                   \
        decltype(cusolverDn##Letter##getrs)* solve;                                    \
        decltype(cusolverDn##Letter##potrf_bufferSize)* cholesky_workspace;            \
        decltype(cusolverDn##Letter##potrf)* cholesky;                                 \
        decltype(cusolverDn##Letter##potri_bufferSize)* inverse_workspace;             \
        decltype(cusolverDn##Letter##potri)* inverse_of_cholesky;                      \
        decltype(cusolverDn##Letter##Eigen##_bufferSize)* eigen_workspace;             \
        decltype(cusolverDn##Letter##Eigen)* eigenvectors;                             \
                                                                                       \
        explicit factors(const cuda_library& library)                                  \
        {                                                                              \
            library.find(workspace, "cusolverDn" #Letter "getrf_bufferSize");          \
            library.find(factor, "cusolverDn" #Letter "getrf");                        \
            library.find(solve, "cusolverDn" #Letter "getrs");                         \
            library.find(cholesky_workspace, "cusolverDn" #Letter "potrf_bufferSize"); \
            library.find(cholesky, "cusolverDn" #Letter "potrf");                      \
            library.find(inverse_workspace, "cusolverDn" #Letter "potri_bufferSize");  \
            library.find(inverse_of_cholesky, "cusolverDn" #Letter "potri");           \
            library.find(eigen_workspace, "cusolverDn" #Letter #Eigen "_bufferSize");  \
            library.find(eigenvectors, "cusolverDn" #Letter #Eigen);                   \
        }                                                                              \
    }
CUDAPHY_FACTORS(float, S, syevd);
CUDAPHY_FACTORS(double, D, syevd);
CUDAPHY_FACTORS(float2, C, heevd);
CUDAPHY_FACTORS(double2, Z, heevd);

struct solver_functions {
    decltype(cusolverDnCreate)* create;
    decltype(cusolverDnDestroy)* destroy;
    decltype(cusolverDnSetStream)* set_stream;
    std::tuple<factors<float>, factors<double>, factors<float2>, factors<double2>> types;

    explicit solver_functions(const cuda_library& library)
        : types(library, library, library, library)
    {
        library.find(create, "cusolverDnCreate");
        library.find(destroy, "cusolverDnDestroy");
        library.find(set_stream, "cusolverDnSetStream");
    }

    static const solver_functions& get()
    {
        // Its version is one behind the toolkit's.
        static const solver_functions one(cuda_library("cusolver", { 12, 11 }));
        return one;
    }
};

void check(cusolverStatus_t code, const char* what)
{
    if (code != CUSOLVER_STATUS_SUCCESS) {
        throw cuda_error(std::string(what) + " failed with cuSOLVER's status " +
                         std::to_string(int(code)));
    }
}

class loaded_solver : public cuda_solver
{
public:
    loaded_solver()
    {
        cusolverDnHandle_t handle = nullptr;
        check(solver_functions::get().create(&handle), "cusolverDnCreate");
        d_handle = handle;
    }
    ~loaded_solver() override
    {
        solver_functions::get().destroy(static_cast<cusolverDnHandle_t>(d_handle));
    }
};

} // namespace

std::unique_ptr<cuda_solver> cuda_solver::make()
{
    return std::make_unique<loaded_solver>();
}

template <typename E>
size_t cuda_solver::workspace(int n, int stride)
{
    const auto handle = static_cast<cusolverDnHandle_t>(d_handle);
    const auto& calls = std::get<factors<E>>(solver_functions::get().types);
    int elements = 0, cholesky = 0, inverse = 0;
    check(calls.workspace(handle, n, n, nullptr, stride, &elements),
          "cusolverDn getrf_bufferSize");
    check(calls.cholesky_workspace(
              handle, CUBLAS_FILL_MODE_UPPER, n, nullptr, stride, &cholesky),
          "cusolverDn potrf_bufferSize");
    check(calls.inverse_workspace(
              handle, CUBLAS_FILL_MODE_UPPER, n, nullptr, stride, &inverse),
          "cusolverDn potri_bufferSize");
    return std::max({ elements, cholesky, inverse });
}

template <typename E>
void cuda_solver::invert(E* a,
                         int n,
                         int stride,
                         E* x,
                         E* workspace,
                         int* pivots,
                         int* info,
                         cudaStream_t stream)
{
    const auto handle = static_cast<cusolverDnHandle_t>(d_handle);
    const auto& calls = std::get<factors<E>>(solver_functions::get().types);
    check(solver_functions::get().set_stream(handle, stream), "cusolverDnSetStream");
    check(calls.factor(handle, n, n, a, stride, workspace, pivots, info),
          "cusolverDn getrf");
    int* solved = info + 1;
    check(calls.solve(handle, CUBLAS_OP_N, n, n, a, stride, pivots, x, stride, solved),
          "cusolverDn getrs");
}

template <typename E>
void cuda_solver::invert_definite(E* a,
                                  int n,
                                  int stride,
                                  E* workspace,
                                  size_t elements,
                                  int* info,
                                  cudaStream_t stream)
{
    // Its columns are the rows here, so that its upper triangle is the lower one.
    const auto handle = static_cast<cusolverDnHandle_t>(d_handle);
    const auto& calls = std::get<factors<E>>(solver_functions::get().types);
    constexpr auto upper = CUBLAS_FILL_MODE_UPPER;
    const int room = int(std::min<size_t>(elements, 0x7fffffff));
    int* inverted = info + 1;
    check(solver_functions::get().set_stream(handle, stream), "cusolverDnSetStream");
    check(calls.cholesky(handle, upper, n, a, stride, workspace, room, info),
          "cusolverDn potrf");
    check(
        calls.inverse_of_cholesky(handle, upper, n, a, stride, workspace, room, inverted),
        "cusolverDn potri");
}

// cuSOLVER's columns are the rows here, and its matrix the conjugate of this one: the
// eigenvectors' conjugates stand in the columns that it writes, as V^H diag(values) V has
// it.

template <typename E>
size_t cuda_solver::eigen_workspace(int n, int stride)
{
    int elements = 0;
    const auto code = std::get<factors<E>>(solver_functions::get().types)
                          .eigen_workspace(static_cast<cusolverDnHandle_t>(d_handle),
                                           CUSOLVER_EIG_MODE_VECTOR,
                                           CUBLAS_FILL_MODE_LOWER,
                                           n,
                                           nullptr,
                                           stride,
                                           nullptr,
                                           &elements);
    return code == CUSOLVER_STATUS_SUCCESS && elements > 0 ? elements : 0;
}

template <typename E, typename R>
void cuda_solver::take_eigenvectors(E* a,
                                    int n,
                                    int stride,
                                    R* values,
                                    E* workspace,
                                    size_t elements,
                                    int* info,
                                    cudaStream_t stream)
{
    const auto handle = static_cast<cusolverDnHandle_t>(d_handle);
    check(solver_functions::get().set_stream(handle, stream), "cusolverDnSetStream");
    check(std::get<factors<E>>(solver_functions::get().types)
              .eigenvectors(handle,
                            CUSOLVER_EIG_MODE_VECTOR,
                            CUBLAS_FILL_MODE_LOWER,
                            n,
                            a,
                            stride,
                            values,
                            workspace,
                            int(elements),
                            info),
          "cusolverDn syevd");
}

#define CUDAPHY_INVERT(E, R)                                   \
    template void cuda_solver::invert_definite<E>(             \
        E*, int, int, E*, size_t, int*, cudaStream_t);         \
    template size_t cuda_solver::eigen_workspace<E>(int, int); \
    template void cuda_solver::take_eigenvectors<E, R>(        \
        E*, int, int, R*, E*, size_t, int*, cudaStream_t);     \
    template size_t cuda_solver::workspace<E>(int, int);       \
    template void cuda_solver::invert<E>(E*, int, int, E*, E*, int*, int*, cudaStream_t)
CUDAPHY_INVERT(float, float);
CUDAPHY_INVERT(double, double);
CUDAPHY_INVERT(float2, float);
CUDAPHY_INVERT(double2, double);

} // namespace gr::cudaphy
