#include "client/python/src/tensor.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <memory>

#include "client/python/src/errors.h"
#include "client/python/src/exported.h"
#include "client/python/src/stream.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace spdld::python {

namespace {

constexpr const char* kPlain = "dltensor";
constexpr const char* kVersioned = "dltensor_versioned";

// A consumer renames the capsule that it takes. A capsule that nobody took is freed here.
template <typename Managed>
void free_untaken(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;
  auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

template <typename Managed>
nb::object capsule_of(Managed* managed, const char* name, PyCapsule_Destructor destructor) {
  PyObject* const capsule = PyCapsule_New(managed, name, destructor);
  if (!capsule) {
    managed->deleter(managed);
    throw nb::python_error();
  }
  return nb::steal(capsule);
}

nb::tuple tuple_of(const int64_t* numbers, uint32_t count, int64_t factor = 1) {
  nb::list list;
  for (uint32_t i = 0; i < count; ++i) list.append(numbers[i] * factor);
  return nb::tuple(list);
}

// As numpy's array interface, version 3, spells it. An empty text: numpy lacks the type.
std::string array_type(spdld_dtype dtype) {
  const char kind = [dtype] {
    switch (dtype) {
      case SPDLD_BOOL:
        return 'b';
      case SPDLD_UINT8:
      case SPDLD_UINT16:
      case SPDLD_UINT32:
      case SPDLD_UINT64:
        return 'u';
      case SPDLD_INT8:
      case SPDLD_INT16:
      case SPDLD_INT32:
      case SPDLD_INT64:
        return 'i';
      case SPDLD_FLOAT16:
      case SPDLD_FLOAT32:
      case SPDLD_FLOAT64:
        return 'f';
      case SPDLD_COMPLEX64:
      case SPDLD_COMPLEX128:
        return 'c';
      case SPDLD_BFLOAT16:
        break;
    }
    return '\0';
  }();
  if (!kind) return {};
  const size_t bytes = spdld_dtype_bytes(dtype);
  return (bytes == 1 ? "|" : "<") + std::string(1, kind) + std::to_string(bytes);
}

}  // namespace

const char* Tensor::dtype() const { return spdld_dtype_name(tensor_.dtype); }

nb::tuple Tensor::shape() const { return tuple_of(tensor_.shape, tensor_.rank); }
nb::tuple Tensor::strides() const { return tuple_of(tensor_.strides, tensor_.rank); }

int64_t Tensor::size() const {
  int64_t elements = 1;
  for (uint32_t i = 0; i < tensor_.rank; ++i) elements *= tensor_.shape[i];
  return elements;
}

int64_t Tensor::bytes() const { return size() * static_cast<int64_t>(spdld_dtype_bytes(tensor_.dtype)); }

nb::object Tensor::dlpack(nb::handle stream, std::optional<std::pair<int, int>> version_max,
                          std::optional<std::pair<int, int>> device, std::optional<bool> copy) const {
  if (device && *device != dlpack_device()) {
    const std::string where = on_gpu() ? "on GPU " + std::to_string(place_.id) : std::string("in host memory");
    throw nb::buffer_error(("this tensor lies " + where + ", DLPack device (" + std::to_string(place_.type) + ", " +
                            std::to_string(place_.id) + "), and is not moved to another device")
                               .c_str());
  }
  if (on_gpu()) {
    if (copy.value_or(false)) {
      throw nb::buffer_error(
          "this tensor lies in GPU memory, and spdld makes no copy of it there: take it as it is, and copy it with the "
          "framework that took it");
    }
    prepare_for_consumer(batch_, stream);  // a tensor in host memory needs no stream to wait for
  }
  const bool is_copied = copy.value_or(false);
  std::unique_ptr<Exported> exported;
  if (is_copied || copied_) {
    auto copied = is_copied ? std::make_shared<const Copied>(tensor_) : copied_;
    exported = std::make_unique<Exported>(std::move(copied), tensor_.dtype, is_copied);
  } else {
    exported = std::make_unique<Exported>(batch_, tensor_, place_, parked_);
  }
  if (version_max && version_max->first >= 1) {
    return capsule_of(Exported::hand_over_versioned(std::move(exported)), kVersioned,
                      [](PyObject* capsule) { free_untaken<dlpack::ManagedVersioned>(capsule, kVersioned); });
  }
  return capsule_of(Exported::hand_over(std::move(exported)), kPlain,
                    [](PyObject* capsule) { free_untaken<dlpack::Managed>(capsule, kPlain); });
}

bool Tensor::is_dense() const {
  int64_t stride = 1;
  for (uint32_t i = tensor_.rank; i-- > 0;) {
    if (tensor_.strides[i] != stride && tensor_.shape[i] > 1) return false;
    stride *= tensor_.shape[i];
  }
  return true;
}

nb::dict Tensor::interface_of_both() const {
  const std::string type = array_type(tensor_.dtype);
  if (type.empty()) {
    raise(SPDLD_UNSUPPORTED, "the tensor \"" + name() + "\" is bfloat16, which numpy and the array interfaces do not " +
                                 "have: use framework=\"torch\" or DLPack, or dtype = \"float16\" or \"float32\" in " +
                                 "the pipeline");
  }
  nb::dict interface;
  interface["version"] = 3;
  interface["typestr"] = type;
  interface["shape"] = shape();
  const auto element_bytes = static_cast<int64_t>(spdld_dtype_bytes(tensor_.dtype));
  interface["strides"] = is_dense() ? nb::none() : nb::object(tuple_of(tensor_.strides, tensor_.rank, element_bytes));
  interface["data"] = nb::make_tuple(reinterpret_cast<uintptr_t>(tensor_.address), false);
  return interface;
}

nb::dict Tensor::array_interface() const {
  if (on_gpu()) throw nb::attribute_error("__array_interface__: this tensor lies in GPU memory");
  return interface_of_both();
}

nb::dict Tensor::cuda_array_interface() const {
  if (!on_gpu()) throw nb::attribute_error("__cuda_array_interface__: this tensor lies in host memory");
  nb::dict interface = interface_of_both();
  if (size() == 0) interface["data"] = nb::make_tuple(0, false);
  python::use(batch_, nullptr);
  interface["stream"] = 1;  // the legacy default stream, which the consumer has to wait for
  return interface;
}

void Tensor::use(nb::handle stream) const {
  if (copied_) {
    stream_of(stream);  // for its errors alone
    return;
  }
  python::use_object(batch_, stream);
}

Tensor Tensor::viewed(const std::string& dtype) const {
  Tensor other = *this;
  for (int number = SPDLD_UINT8; number <= SPDLD_COMPLEX128; ++number) {
    const auto wanted = static_cast<spdld_dtype>(number);
    if (dtype != spdld_dtype_name(wanted)) continue;
    if (spdld_dtype_bytes(wanted) != spdld_dtype_bytes(tensor_.dtype)) break;
    other.tensor_.dtype = wanted;
    return other;
  }
  raise(SPDLD_INVALID, std::string("the elements of a ") + this->dtype() + " tensor cannot be seen as " + dtype);
}

std::string Tensor::describe() const {
  std::string text = std::string(dtype()) + " [";
  for (uint32_t i = 0; i < tensor_.rank; ++i) text += (i ? ", " : "") + std::to_string(tensor_.shape[i]);
  return text + "]";
}

namespace {

// The __array__ of a tensor in GPU memory. numpy calls it where there is no array interface. Without __array__, numpy
// would make an array of objects.
nb::object refuse_numpy(const Tensor& tensor) {
  if (!tensor.on_gpu()) throw nb::attribute_error("__array__: see __array_interface__");
  return nb::cpp_function([](const nb::args&, const nb::kwargs&) {
    raise(SPDLD_UNSUPPORTED,
          "this tensor lies in GPU memory, which numpy cannot use: attach with device=\"cpu\", or take the tensor with "
          "torch, cupy or jax");
  });
}

}  // namespace

void bind_tensor(nb::module_& module) {
  nb::class_<Tensor>(module, "Tensor",
                     "One tensor of a batch, in host or GPU memory. Any library that takes DLPack, numpy's array "
                     "interface or CUDA's array interface can use the memory without a copy, and write to it. The "
                     "batch is held until all these users are gone.")
      .def_prop_ro("name", &Tensor::name)
      .def_prop_ro("dtype", &Tensor::dtype,
                   "The type of the elements, such as \"uint8\", \"int64\", \"bool\", \"bfloat16\" or \"float32\".")
      .def_prop_ro("shape", &Tensor::shape,
                   "The sizes of the dimensions. The first size is the number of valid samples.")
      .def_prop_ro("strides", &Tensor::strides, "The strides, in elements (not bytes).")
      .def_prop_ro("nbytes", &Tensor::bytes, "The number of bytes of all elements.")
      .def(
          "_viewed", &Tensor::viewed, "dtype"_a,
          "Returns the same memory as a tensor of another type of the same size, for frameworks that have the type but "
          "do not take it by DLPack.")
      .def("use", &Tensor::use, "stream"_a,
           "Says that a stream works on the memory, as Batch.use does, for programs that have the tensor but not the "
           "batch.")
      .def("__dlpack__", &Tensor::dlpack, nb::kw_only(), "stream"_a = nb::none(), "max_version"_a = nb::none(),
           "dl_device"_a = nb::none(), "copy"_a = nb::none(),
           "Returns a DLPack capsule. The capsule is versioned where max_version is (1, 0) or later.\n\n"
           "stream: for GPU memory, the consumer's stream, as the Python array API standard defines it. None and 1 "
           "mean the legacy default stream, and 2 means the calling thread's default stream, for which the release "
           "follows the legacy default "
           "stream. With -1 the consumer "
           "orders its work by itself. The consumer's work is ordered after the copy to the GPU, and the memory is "
           "filled anew after this work.\n\n"
           "Raises BufferError for another device than the tensor's own, and for copy=True in GPU memory.")
      .def("__dlpack_device__", &Tensor::dlpack_device,
           "(1, 0) for host memory, even where it is registered with a GPU, and (2, N) for GPU N.")
      .def_prop_ro("__array_interface__", &Tensor::array_interface,
                   "numpy's array interface, version 3. A tensor in GPU memory does not have it. Raises "
                   "UnsupportedError for bfloat16.")
      .def_prop_ro("__cuda_array_interface__", &Tensor::cuda_array_interface,
                   "CUDA's array interface, version 3. Only a tensor in GPU memory has it. Its stream is the legacy "
                   "default stream. Where a consumer works on a non-blocking stream, name that stream with use(). "
                   "Raises UnsupportedError for bfloat16.")
      .def_prop_ro("__array__", &refuse_numpy)
      .def("__len__",
           [](const Tensor& self) {
             const nb::tuple shape = self.shape();
             return nb::cast<int64_t>(shape[0]);
           })
      .def("__repr__", [](const Tensor& self) { return "<spdld.Tensor " + self.name() + ": " + self.describe() + ">"; })
      .attr("__module__") = "spdld";
}

}  // namespace spdld::python
