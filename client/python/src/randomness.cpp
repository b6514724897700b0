#include "client/python/src/randomness.h"

#include <nanobind/stl/string_view.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace spdld::python {

namespace {

template <typename Memory>
Memory* at(uintptr_t address) {
  return reinterpret_cast<Memory*>(address);  // NOLINT(performance-no-int-to-ptr): Python tells addresses as numbers
}

PyObject* kept_name(const char* name) { return PyUnicode_InternFromString(name); }

}  // namespace

void Randomness::of_python(uintptr_t memory, nb::object instance) {
  state_.of_python(at<client::PythonRandom>(memory));
  python_ = std::move(instance);
}

void Randomness::of_numpy(uintptr_t memory, uintptr_t has_normal) {
  state_.of_numpy(at<client::NumpyTwister>(memory), at<int32_t>(has_normal));
}

void Randomness::of_generator(uintptr_t memory) { state_.of_generator(at<client::NumpyPcg>(memory)); }

void Randomness::of_torch(uintptr_t memory, nb::object set_state, nb::object tensor) {
  state_.of_torch(at<client::TorchState>(memory));
  set_torch_state_ = std::move(set_state);
  torch_state_ = std::move(tensor);
}

void Randomness::reset(uint64_t key) {
  key_ = key;
  state_.reset(key);
  if (python_.is_valid()) {
    static PyObject* const kGaussNext = kept_name("gauss_next");  // a normal draw that is kept for later
    if (PyObject_SetAttr(python_.ptr(), kGaussNext, Py_None) != 0) throw nb::python_error();
  }
  tell_torch();
  for (const nb::object& seed : seeds_) seed(key);
}

nb::object Randomness::rng_at(size_t number, uint64_t key) {
  if (!make_rng_.is_valid()) return nb::none();
  while (further_.size() <= number) {
    const nb::object made = make_rng_();
    const auto address = nb::cast<uintptr_t>(made[1]);
    further_.push_back(
        {nb::borrow(made[0]), address == 0 ? nullptr : at<client::NumpyPcg>(address), nb::borrow(made[2])});
  }
  const Further& one = further_[number];
  if (one.memory != nullptr)
    client::RandomState::reset(*one.memory, key);
  else
    one.seed(key);
  return one.generator;
}

void Randomness::reset_torch() {
  state_.reset_torch(key_);
  tell_torch();
}

void Randomness::tell_torch() {
  if (!set_torch_state_.is_valid()) return;
  const nb::object done = nb::steal(PyObject_CallOneArg(set_torch_state_.ptr(), torch_state_.ptr()));
  if (!done.is_valid()) throw nb::python_error();
}

void bind_randomness(nb::module_& module) {
  nb::class_<Randomness>(module, "Randomness")
      .def(nb::init<>())
      .def("of_python", &Randomness::of_python, "memory"_a, "instance"_a)
      .def("of_numpy", &Randomness::of_numpy, "memory"_a, "has_normal"_a)
      .def("of_generator", &Randomness::of_generator, "memory"_a)
      .def("of_torch", &Randomness::of_torch, "memory"_a, "set_state"_a, "tensor"_a)
      .def("of_generators", &Randomness::of_generators, "make"_a)
      .def(
          "rng_at",
          [](Randomness& self, size_t number, uint64_t key, uint32_t place, std::string_view output) {
            return self.rng_at(number, client::call_key(key, client::operation_salt(place, output)));
          },
          "number"_a, "key"_a, "place"_a, "output"_a)
      .def("also", &Randomness::also, "seed"_a)
      .def_prop_ro("key", &Randomness::key)
      .def("reset_torch", &Randomness::reset_torch)
      .def_rw("rng", &Randomness::rng)
      .def(
          "reset",
          [](Randomness& self, uint64_t key, uint32_t place, std::string_view output) {
            self.reset(client::call_key(key, client::operation_salt(place, output)));
          },
          "key"_a, "place"_a, "output"_a)
      .attr("__module__") = "spdld._spdld";
}

}  // namespace spdld::python
