// One tensor of a batch, as other libraries take it: by DLPack or by numpy's array interface. With the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <spdld.hpp>
#include <string>
#include <utility>

namespace spdld::python {

class Tensor {
 public:
  // Holds the batch: its memory stays as long as this object or anything exported from it.
  Tensor(spdld::Batch batch, const spdld_tensor& tensor) : batch_(std::move(batch)), tensor_(tensor) {}

  std::string name() const { return tensor_.name; }
  const char* dtype() const;
  nanobind::tuple shape() const;
  nanobind::tuple strides() const;  // in elements
  int64_t size() const;             // elements
  int64_t bytes() const;

  // A capsule: "dltensor_versioned" where the consumer takes DLPack 1.0 and later, else "dltensor".
  // BufferError for another device than the CPU.
  nanobind::object dlpack(std::optional<std::pair<int, int>> version_max, std::optional<std::pair<int, int>> device,
                          std::optional<bool> copy) const;
  // UnsupportedError for bfloat16, which numpy lacks.
  nanobind::dict array_interface() const;
  // "float32 [64, 3, 224, 224]"
  std::string describe() const;

 private:
  spdld::Batch batch_;
  spdld_tensor tensor_;  // what it points at lies in the batch
};

void bind_tensor(nanobind::module_& module);

}  // namespace spdld::python
