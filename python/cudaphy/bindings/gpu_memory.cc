/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gpu_memory.h"
#include "arrays.h"
#include "dlpack.h"
#include "memory_pools.h"
#include <functional>
#include <gnuradio/cudaphy/kernels/page_locked.h>
#include <map>
#include <numeric>

namespace gr::cudaphy::bindings {
namespace {

std::string text(const py::object& shown) { return py::str(shown); }

void check_order(const std::vector<py::ssize_t>& shape,
                 const std::function<py::ssize_t(size_t)>& stride)
{
    py::ssize_t expected = 1;
    for (size_t i = shape.size(); i-- > 0;) {
        if (shape[i] != 1 && stride(i) != expected) {
            throw py::value_error("an array on a GPU is not in C order without gaps");
        }
        expected *= shape[i];
    }
}

py::dtype kind_of(const dlpack::kind& kind)
{
    const char letter = kind.code == dlpack::integer   ? 'i'
                        : kind.code == dlpack::natural ? 'u'
                        : kind.code == dlpack::real    ? 'f'
                        : kind.code == dlpack::complex ? 'c'
                        : kind.code == dlpack::boolean ? 'b'
                                                       : 'V';
    if (letter == 'V' || kind.lanes != 1) {
        throw py::type_error("an array on a GPU has items that numpy does not know");
    }
    return py::dtype(letter + std::to_string(kind.bits / 8));
}

//! Takes the tensor out of its capsule.
std::shared_ptr<dlpack::managed_tensor> taken_from(const py::object& capsule)
{
    auto* const found = static_cast<dlpack::managed_tensor*>(
        PyCapsule_GetPointer(capsule.ptr(), dlpack::fresh));
    if (!found || PyCapsule_SetName(capsule.ptr(), dlpack::taken)) {
        throw py::error_already_set();
    }
    return { found, [](dlpack::managed_tensor* tensor) {
                if (tensor->release) {
                    const py::gil_scoped_acquire locked; // it may be Python's
                    tensor->release(tensor);
                }
            } };
}

void take_dlpack(const py::object& array, gpu_memory& memory)
{
    const auto stream = reinterpret_cast<py::size_t>(memory.stream);
    const auto owner = taken_from(array.attr("__dlpack__")(py::arg("stream") = stream));
    const auto& tensor = owner->tensor;
    memory.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
    memory.shape.assign(tensor.shape, tensor.shape + tensor.dimensions);
    memory.kind = kind_of(tensor.kind);
    memory.device = tensor.device.number;
    memory.owner = owner;
    if (tensor.strides && memory.size()) {
        check_order(memory.shape, [&](size_t i) { return tensor.strides[i]; });
    }
}

std::shared_ptr<void> kept(py::object object)
{
    return { object.release().ptr(), [](PyObject* kept) {
                const py::gil_scoped_acquire locked;
                Py_DECREF(kept);
            } };
}

//! From a library that tells by itself, which takes a tenth of DLPack's time.
void take_pointer(const py::object& array, gpu_memory& memory)
{
    memory.data =
        reinterpret_cast<void*>(memory.library.attr("pointer")(array).cast<size_t>());
    memory.shape = array.attr("shape").cast<std::vector<py::ssize_t>>();
    memory.kind = memory.library.attr("kind")(array).cast<py::dtype>();
    memory.device = memory.library.attr("device").cast<int>();
    memory.owner = kept(array);
}

//! https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html
void take_interface(const py::object& array, gpu_memory& memory)
{
    const py::dict interface = array.attr("__cuda_array_interface__");
    const auto data = interface["data"].cast<std::pair<size_t, bool>>();
    memory.data = reinterpret_cast<void*>(data.first);
    memory.shape = interface["shape"].cast<std::vector<py::ssize_t>>();
    memory.kind = py::dtype::from_args(interface["typestr"]);
    memory.device = memory.library.attr("device").cast<int>();
    memory.owner = kept(array);
    if (interface.contains("strides") && !interface["strides"].is_none() &&
        memory.size()) {
        const auto strides = interface["strides"].cast<std::vector<py::ssize_t>>();
        const auto item = memory.kind.itemsize();
        check_order(memory.shape, [&](size_t i) {
            return strides.at(i) % item ? 0 : strides.at(i) / item;
        });
    }
}

//! One a device. Never released: the driver may be gone before static destructors run.
queue& queue_of_device(int device)
{
    static auto* const all = new std::map<int, std::unique_ptr<queue>>;
    auto& own = (*all)[device];
    if (!own) {
        own = queue::make(backend::cuda, device);
    }
    return *own;
}

//! An array in memory of our own, for callers whose library can't make one that is filled
//! later.
class gpu_buffer : public std::enable_shared_from_this<gpu_buffer>
{
public:
    gpu_buffer(int device, std::vector<int64_t> shape, py::dtype kind)
        : d_shape(std::move(shape)), d_kind(std::move(kind))
    {
        // cudaMalloc's memory needs no stream.
        std::shared_ptr<queue> owner = queue::attach(nullptr, device);
        auto memory = std::make_shared<array<unsigned char>>(*owner, bytes());
        d_memory = { memory.get(), [owner, memory](auto*) mutable { memory.reset(); } };
        d_owner = owner.get();
    }
    static std::shared_ptr<gpu_buffer> of(const py::array& from, int device)
    {
        if (std::string("fciub").find(from.dtype().kind()) == std::string::npos) {
            throw py::type_error(
                "a gpu_buffer holds numbers, and this array has items of "
                "type " +
                text(from.dtype()));
        }
        const auto plain = py::array::ensure(from, py::array::c_style);
        auto made = std::make_shared<gpu_buffer>(
            device,
            std::vector<int64_t>(plain.shape(), plain.shape() + plain.ndim()),
            plain.dtype());
        if (made->bytes()) {
            made->d_owner->copy_in(made->data(), plain.data(), made->bytes());
            made->d_owner->synchronize();
        }
        return made;
    }
    py::array to_host() const
    {
        py::array out(d_kind, d_shape);
        if (bytes()) {
            d_owner->copy_out(out.mutable_data(), data(), bytes());
        }
        d_owner->synchronize();
        return out;
    }

    std::shared_ptr<gpu_buffer> reshape(std::vector<int64_t> shape) const
    {
        int64_t known = 1;
        for (const auto each : shape) {
            known *= each < 0 ? 1 : each;
        }
        for (auto& each : shape) {
            each = each < 0 ? (known ? size() / known : 0) : each;
        }
        auto out = std::make_shared<gpu_buffer>(*this);
        out->d_shape = std::move(shape);
        if (out->size() != size()) {
            throw py::value_error("a gpu_buffer of shape " + text(this->shape()) +
                                  " can't have the shape " + text(out->shape()));
        }
        return out;
    }
    //! The last dimension changes with the items' size.
    std::shared_ptr<gpu_buffer> view(const py::dtype& kind) const
    {
        auto out = std::make_shared<gpu_buffer>(*this);
        out->d_kind = kind;
        if (kind.itemsize() != d_kind.itemsize()) {
            const auto last =
                d_shape.empty() ? 0 : d_shape.back() * int64_t(d_kind.itemsize());
            if (d_shape.empty() || last % kind.itemsize()) {
                throw py::value_error("a gpu_buffer of shape " + text(shape()) +
                                      " can't be seen as " + text(kind));
            }
            out->d_shape.back() = last / kind.itemsize();
        }
        return out;
    }

    py::tuple dlpack_device() const
    {
        return py::make_tuple(int(dlpack::cuda), d_owner->device());
    }
    //! \param stream  waits, where it is not the default one, for what that has to do
    py::capsule dlpack(const py::args&, const py::kwargs&)
    {
        d_owner->synchronize();
        struct exported {
            dlpack::managed_tensor managed;
            std::shared_ptr<gpu_buffer> memory;
        };
        const char letter = d_kind.kind();
        const auto code = letter == 'i'   ? dlpack::integer
                          : letter == 'u' ? dlpack::natural
                          : letter == 'c' ? dlpack::complex
                          : letter == 'b' ? dlpack::boolean
                                          : dlpack::real;
        auto* const made = new exported{ {}, shared_from_this() };
        made->managed = { { data(),
                            { dlpack::cuda, d_owner->device() },
                            static_cast<int32_t>(d_shape.size()),
                            { code, static_cast<uint8_t>(8 * d_kind.itemsize()), 1 },
                            d_shape.data(),
                            nullptr,
                            0 },
                          made,
                          [](dlpack::managed_tensor* tensor) {
                              if (Py_IsInitialized()) { // any thread may call this
                                  const py::gil_scoped_acquire locked;
                                  delete static_cast<exported*>(tensor->context);
                              }
                          } };
        return py::capsule(&made->managed, dlpack::fresh, [](PyObject* capsule) {
            if (PyCapsule_IsValid(capsule, dlpack::fresh)) { // nobody took it
                auto* const managed = static_cast<dlpack::managed_tensor*>(
                    PyCapsule_GetPointer(capsule, dlpack::fresh));
                managed->release(managed);
            }
        });
    }
    py::dict interface() const
    {
        py::dict out;
        out["shape"] = shape();
        out["typestr"] = d_kind.attr("str");
        out["data"] = py::make_tuple(reinterpret_cast<size_t>(data()), false);
        out["version"] = 3;
        out["stream"] = 1; // the default one
        return out;
    }

    py::tuple shape() const { return py::tuple(py::cast(d_shape)); }
    py::dtype kind() const { return d_kind; }
    int64_t size() const
    {
        return std::accumulate(
            d_shape.begin(), d_shape.end(), int64_t{ 1 }, std::multiplies<>());
    }

private:
    unsigned char* data() const { return d_memory->data(); }
    size_t bytes() const { return size() * d_kind.itemsize(); }

    std::shared_ptr<array<unsigned char>> d_memory; //!< keeps its queue, too
    queue* d_owner = nullptr;
    std::vector<int64_t> d_shape;
    py::dtype d_kind;
};

} // namespace

void placement::on_own_queue(const std::string& where, int device)
{
    const auto on = resolve(backend_from_name(where), device);
    d_queue = spare_queue(on.where, on.device);
}

placement::~placement()
{
    if (!d_gpu && d_queue && std::uncaught_exceptions() == d_exceptions) {
        give_back(std::move(d_queue));
    }
}

void placement::look_at(const std::shared_ptr<gpu_memory>& memory)
{
    if (!memory) {
        return;
    }
    if (!d_gpu) {
        d_gpu = memory;
    } else if (memory->device != d_gpu->device) {
        throw py::value_error(
            "arrays lie on different GPUs: " + std::to_string(d_gpu->device) + " and " +
            std::to_string(memory->device));
    }
}

void placement::on_queue_of_library(const std::string& where)
{
    const auto wanted = backend_from_name(where);
    if (wanted != backend::automatic && wanted != backend::cuda) {
        throw py::value_error("an array lies on a GPU, and backend=\"" + where +
                              "\" can't reach it");
    }
    d_queue = queue::attach(d_gpu->stream, d_gpu->device);
}

size_t gpu_memory::size() const
{
    return std::accumulate(shape.begin(), shape.end(), size_t{ 1 }, std::multiplies<>());
}

std::shared_ptr<gpu_memory>
gpu_memory_of(const py::object& array, py::size_t stream, const py::object& library)
{
    auto memory = std::make_shared<gpu_memory>();
    memory->stream = reinterpret_cast<void*>(stream);
    memory->library = library;
    if (py::hasattr(library, "pointer")) {
        take_pointer(array, *memory);
    } else if (py::hasattr(array, "__dlpack__")) {
        take_dlpack(array, *memory);
    } else {
        take_interface(array, *memory);
    }
    return memory;
}

void bind_gpu_memory(py::module& m)
{
    make_memory_pools();
    py::class_<gpu_memory, std::shared_ptr<gpu_memory>>(
        m, "_gpu_memory", "Memory of a GPU that an array of another library lies in.")
        .def(py::init(&gpu_memory_of), "_gpu_memory(array, stream, library)");
    py::class_<gpu_buffer, std::shared_ptr<gpu_buffer>>(
        m, "gpu_buffer", R"(An array in a GPU's memory, in C order.

For work that stays on the GPU between functions where there is neither CuPy, PyTorch nor JAX. It does not compute; other libraries take it by DLPack or __cuda_array_interface__.)")
        .def(py::init(&gpu_buffer::of),
             py::arg("array"),
             py::arg("device") = 0,
             "A copy of numpy's array of numbers. Raises TypeError for other items, "
             "BackendUnavailable.")
        .def_static(
            "empty",
            [](const std::vector<int64_t>& shape, const py::object& dtype, int device) {
                return std::make_shared<gpu_buffer>(
                    device, shape, py::dtype::from_args(dtype));
            },
            py::arg("shape"),
            py::arg("dtype"),
            py::arg("device") = 0,
            "An array whose content is arbitrary. Raises BackendUnavailable.")
        .def("to_host",
             &gpu_buffer::to_host,
             "A copy, as numpy's array; waits for the default stream.")
        .def("reshape",
             &gpu_buffer::reshape,
             py::arg("shape"),
             "The same memory in another shape. Raises ValueError if it does not fit.")
        .def("view",
             &gpu_buffer::view,
             py::arg("dtype"),
             "The same memory as items of another type. Raises ValueError if they do not "
             "fit.")
        .def_property_readonly("shape", &gpu_buffer::shape, "A tuple.")
        .def_property_readonly("dtype", &gpu_buffer::kind, "A numpy.dtype.")
        .def_property_readonly("__cuda_array_interface__", &gpu_buffer::interface)
        .def("__dlpack_device__", &gpu_buffer::dlpack_device)
        .def("__dlpack__", &gpu_buffer::dlpack)
        .def("__repr__", [](const gpu_buffer& own) {
            return "<gpu_buffer " + text(own.shape()) + ", " + text(own.kind()) + ">";
        });
    m.def(
        "_gpu_stream",
        [](int device) {
            return reinterpret_cast<size_t>(queue_of_device(device).native());
        },
        "The stream for work of libraries that do not show theirs.");
    m.def(
        "_wait_for_gpu_stream",
        [](int device) {
            auto& own = queue_of_device(device);
            const py::gil_scoped_release others_may_run;
            own.synchronize();
        },
        "Waits for the work on that stream.");
    m.def(
        "_gpu_of_pointer",
        [](size_t pointer) {
            return gpu_of_pointer(reinterpret_cast<const void*>(pointer));
        },
        "The GPU in whose memory this is, -1 if in no GPU's.");
}

} // namespace gr::cudaphy::bindings
