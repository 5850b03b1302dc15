/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/cuda_library.cuh"
#include "kernels/common/cuda_solver.cuh"
#include <cusolverDn.h>
#include <tuple>

namespace gr::cudaphy {
namespace {

//! cuSOLVER's functions for a type, by the names that its header gives them.
template <typename E>
struct factors;
#define CUDAPHY_FACTORS(E, Letter)                                            \
    template <>                                                               \
    struct factors<E> {                                                       \
        decltype(cusolverDn##Letter##getrf_bufferSize)* workspace;            \
        decltype(cusolverDn##Letter##getrf)* factor;                          \
        decltype(cusolverDn##Letter##getrs)* solve;                           \
                                                                              \
        explicit factors(const cuda_library& library)                         \
        {                                                                     \
            library.find(workspace, "cusolverDn" #Letter "getrf_bufferSize"); \
            library.find(factor, "cusolverDn" #Letter "getrf");               \
            library.find(solve, "cusolverDn" #Letter "getrs");                \
        }                                                                     \
    }
CUDAPHY_FACTORS(float, S);
CUDAPHY_FACTORS(double, D);
CUDAPHY_FACTORS(float2, C);
CUDAPHY_FACTORS(double2, Z);

struct functions {
    decltype(cusolverDnCreate)* create;
    decltype(cusolverDnDestroy)* destroy;
    decltype(cusolverDnSetStream)* set_stream;
    std::tuple<factors<float>, factors<double>, factors<float2>, factors<double2>> types;

    explicit functions(const cuda_library& library)
        : types(library, library, library, library)
    {
        library.find(create, "cusolverDnCreate");
        library.find(destroy, "cusolverDnDestroy");
        library.find(set_stream, "cusolverDnSetStream");
    }

    static const functions& get()
    {
        // Its version is one behind the toolkit's.
        static const functions one(cuda_library("cusolver", { 12, 11 }));
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
        check(functions::get().create(&handle), "cusolverDnCreate");
        d_handle = handle;
    }
    ~loaded_solver() override
    {
        functions::get().destroy(static_cast<cusolverDnHandle_t>(d_handle));
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
    int elements = 0;
    check(std::get<factors<E>>(functions::get().types)
              .workspace(static_cast<cusolverDnHandle_t>(d_handle),
                         n,
                         n,
                         nullptr,
                         stride,
                         &elements),
          "cusolverDn getrf_bufferSize");
    return elements;
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
    const auto& calls = std::get<factors<E>>(functions::get().types);
    check(functions::get().set_stream(handle, stream), "cusolverDnSetStream");
    check(calls.factor(handle, n, n, a, stride, workspace, pivots, info),
          "cusolverDn getrf");
    int* solved = info + 1;
    check(calls.solve(handle, CUBLAS_OP_N, n, n, a, stride, pivots, x, stride, solved),
          "cusolverDn getrs");
}

#define CUDAPHY_INVERT(E)                                \
    template size_t cuda_solver::workspace<E>(int, int); \
    template void cuda_solver::invert<E>(E*, int, int, E*, E*, int*, int*, cudaStream_t)
CUDAPHY_INVERT(float);
CUDAPHY_INVERT(double);
CUDAPHY_INVERT(float2);
CUDAPHY_INVERT(double2);

} // namespace gr::cudaphy
