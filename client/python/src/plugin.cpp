#include "client/python/src/plugin.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <utility>
#include <vector>

#include "client/python/src/crew.h"
#include "client/python/src/errors.h"
#include "proto/message.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace spdld::python {

namespace {

nb::object made_or_raise(PyObject* made) {
  if (!made) throw nb::python_error();
  return nb::steal(made);
}

// A view of an object's memory, given back at its end.
class Viewed {
 public:
  Viewed() = default;
  ~Viewed() { PyBuffer_Release(&view); }  // of an empty one: nothing
  Viewed(const Viewed&) = delete;
  Viewed& operator=(const Viewed&) = delete;

  Py_buffer view = {};
};

// None for bytes, or (dtype, shape) with -1 where a size differs from sample to sample.
client::PluginValue value_of(const nb::handle& told) {
  if (told.is_none()) return {};
  const auto name = nb::cast<std::string>(told[0]);
  for (uint32_t dtype = SPDLD_PLUGIN_UINT8; dtype <= SPDLD_PLUGIN_COMPLEX128; ++dtype)
    if (proto::name_of(static_cast<proto::DType>(dtype)) == name)
      return {true, dtype, nb::cast<std::vector<int64_t>>(told[1])};
  throw nb::value_error("no such type of numbers");
}

bool is_aligned(const void* memory, uint64_t item) { return reinterpret_cast<uintptr_t>(memory) % item == 0; }

// A library that is loaded.
class Plugin {
 public:
  explicit Plugin(const std::string& path) {
    if (const client::CallOutcome outcome = library_.open(path); !outcome.ok()) raise(outcome.result, outcome.text);
  }
  const client::PluginLibrary& library() const { return library_; }

 private:
  client::PluginLibrary library_;
};

// Bound, and not in a worker yet. The library stays loaded.
struct BoundPlugin {
  const spdld_plugin_operation* operation = nullptr;
  std::string settings;
  client::PluginValue takes, gives;

  std::unique_ptr<client::PluginWork> work() const {
    auto made = std::make_unique<client::PluginWork>();
    if (const client::CallOutcome outcome = made->bind(*operation, settings, takes, gives); !outcome.ok())
      raise(outcome.result, outcome.text);
    return made;
  }
};

BoundPlugin bind(const Plugin& plugin, const std::string& name, std::string settings, const nb::object& takes,
                 const nb::object& gives) {
  const spdld_plugin_operation* const operation = plugin.library().find(name);
  if (!operation) raise(SPDLD_INVALID, "is not there: the library has " + plugin.library().names());
  BoundPlugin bound{operation, std::move(settings), value_of(takes), value_of(gives)};
  bound.work();
  return bound;
}

}  // namespace

// Memory of a Python object, which becomes the result.
class PluginStep::Rooms final : public client::PluginRooms {
 public:
  explicit Rooms(const PluginStep& step) : step_(step) {}

  void* make(std::span<const int64_t> sizes, uint64_t bytes) override {
    memory_ = nullptr;
    object_ = step_.gives_.is_tensor ? array(sizes) : zero_bytes(bytes);
    if (!object_.is_valid()) PyErr_Clear();  // MemoryError
    return object_.is_valid() ? memory_ : nullptr;
  }
  // Of bytes: so many count.
  nb::object take(uint64_t bytes) {
    if (!step_.gives_.is_tensor) {
      PyObject* whole = object_.release().ptr();
      if (static_cast<uint64_t>(PyBytes_GET_SIZE(whole)) != bytes &&
          _PyBytes_Resize(&whole, static_cast<Py_ssize_t>(bytes)) != 0)
        throw nb::python_error();
      return nb::steal(whole);
    }
    const nb::object& shown = step_.python_.shown_dtype;
    return shown.is_none() ? std::move(object_) : object_.attr("view")(shown);
  }

 private:
  nb::object zero_bytes(uint64_t bytes) {
    nb::object made = nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(bytes)));
    if (!made.is_valid()) return made;
    memory_ = PyBytes_AS_STRING(made.ptr());
    std::memset(memory_, 0, bytes);
    return made;
  }
  nb::object array(std::span<const int64_t> sizes) {
    const nb::object shape = made_or_raise(PyTuple_New(static_cast<Py_ssize_t>(sizes.size())));
    for (size_t i = 0; i < sizes.size(); ++i)
      PyTuple_SET_ITEM(shape.ptr(), static_cast<Py_ssize_t>(i),
                       made_or_raise(PyLong_FromLongLong(sizes[i])).release().ptr());
    PyObject* const arguments[] = {shape.ptr(), step_.python_.made_dtype.ptr()};
    nb::object made = nb::steal(PyObject_Vectorcall(step_.python_.zeros.ptr(), arguments, 2, nullptr));
    if (!made.is_valid()) return made;
    Viewed viewed;
    if (PyObject_GetBuffer(made.ptr(), &viewed.view, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) != 0) return nb::object();
    memory_ = viewed.view.buf;  // the array keeps it
    return made;
  }

  const PluginStep& step_;
  nb::object object_;
  void* memory_ = nullptr;
};

PluginStep::PluginStep(std::unique_ptr<client::PluginWork> work, client::PluginValue takes, client::PluginValue gives,
                       std::string who, PluginSurroundings python, nb::object randomness)
    : work_(std::move(work)),
      takes_(std::move(takes)),
      gives_(std::move(gives)),
      who_(std::move(who)),
      python_(std::move(python)),
      randomness_object_(std::move(randomness)),
      randomness_(nb::cast<Randomness&>(randomness_object_)),
      drop_(nb::module_::import_("spdld._crew.drop").attr("DROP")) {}

// Fills `view` where the value needs no change.
bool PluginStep::is_as_taken(const nb::object& value, Py_buffer& view) const {
  static PyObject* const kDtype = PyUnicode_InternFromString("dtype");
  if (!takes_.is_tensor)
    return PyBytes_CheckExact(value.ptr()) && PyObject_GetBuffer(value.ptr(), &view, PyBUF_SIMPLE) == 0;
  if (Py_TYPE(value.ptr()) != reinterpret_cast<PyTypeObject*>(python_.ndarray.ptr())) return false;
  const nb::object dtype = made_or_raise(PyObject_GetAttr(value.ptr(), kDtype));
  if (dtype.ptr() != python_.taken_dtype.ptr()) return false;
  if (PyObject_GetBuffer(value.ptr(), &view, PyBUF_C_CONTIGUOUS) != 0) {
    PyErr_Clear();  // its elements lie in another order
    return false;
  }
  bool is_right = view.ndim == static_cast<int>(takes_.sizes.size());
  for (int i = 0; is_right && i < view.ndim; ++i)
    is_right = takes_.sizes[static_cast<size_t>(i)] < 0 || takes_.sizes[static_cast<size_t>(i)] == view.shape[i];
  if (!is_right) PyBuffer_Release(&view);
  return is_right;
}

nb::object PluginStep::run(nb::object value) {
  Viewed viewed;
  Py_buffer& view = viewed.view;
  if (!is_as_taken(value, view)) {
    value = python_.fit(value);
    if (PyObject_GetBuffer(value.ptr(), &view, takes_.is_tensor ? PyBUF_C_CONTIGUOUS : PyBUF_SIMPLE) != 0)
      throw nb::python_error();
  }
  std::vector<int64_t> sizes;
  if (takes_.is_tensor) sizes.assign(view.shape, view.shape + view.ndim);
  const auto* input = static_cast<const uint8_t*>(view.buf);
  const auto bytes = static_cast<size_t>(view.len);
  std::vector<std::max_align_t> aligned;
  if (takes_.is_tensor && !is_aligned(input, static_cast<uint64_t>(view.itemsize))) {
    aligned.resize(bytes / sizeof(std::max_align_t) + 1);
    std::memcpy(aligned.data(), input, bytes);
    input = reinterpret_cast<const uint8_t*>(aligned.data());
  }
  Rooms rooms(*this);
  const client::PluginResult result = work_->run({input, bytes}, sizes, randomness_.key(), rooms);
  if (result.end == client::PluginEnd::kDone) return rooms.take(result.bytes);
  if (result.end == client::PluginEnd::kDropped) return drop_;
  const nb::object text = text_of(who_ + ": " + result.text);
  PyErr_SetObject(python_.bad.ptr(), text.ptr());
  throw nb::python_error();
}

void bind_plugin(nb::module_& module) {
  nb::class_<Plugin>(module, "Plugin")
      .def(nb::init<const std::string&>(), "path"_a)
      .def("bind", &bind, "name"_a, "settings"_a, "takes"_a.none(), "gives"_a.none())
      .attr("__module__") = "spdld._spdld";
  nb::class_<BoundPlugin>(module, "BoundPlugin")
      .def(
          "step",
          [](const BoundPlugin& self, std::string who, const nb::object& randomness, const nb::object& ndarray,
             const nb::object& zeros, const nb::object& taken_dtype, const nb::object& made_dtype,
             const nb::object& shown_dtype, const nb::object& fit, const nb::object& bad) {
            return std::make_unique<PluginStep>(
                self.work(), self.takes, self.gives, std::move(who),
                PluginSurroundings{ndarray, zeros, taken_dtype, made_dtype, shown_dtype, fit, bad}, randomness);
          },
          nb::kw_only(), "who"_a, "randomness"_a, "ndarray"_a.none(), "zeros"_a.none(), "taken_dtype"_a.none(),
          "made_dtype"_a.none(), "shown_dtype"_a.none(), "fit"_a, "bad"_a)
      .attr("__module__") = "spdld._spdld";
  nb::class_<PluginStep>(module, "PluginStep").def("run", &PluginStep::run, "value"_a).attr("__module__") =
      "spdld._spdld";
}

}  // namespace spdld::python
