// One tensor of a batch, as other libraries take it: by DLPack, numpy's array interface or CUDA's. With the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <spdld.hpp>
#include <string>
#include <utility>

#include "client/python/src/copied.h"
#include "client/python/src/dlpack.h"
#include "client/python/src/parked.h"

namespace spdld::python {

class Tensor {
 public:
  // Holds the batch: its memory stays as long as this object or anything exported from it. `place`: the batch's device.
  // `parked`: takes the consumers' references; none: they are given back.
  Tensor(spdld::Batch batch, const spdld_tensor& tensor, dlpack::Device place, std::shared_ptr<Parked> parked)
      : batch_(std::move(batch)), tensor_(tensor), place_(place), parked_(std::move(parked)) {}
  // A copy in host memory, which holds no batch.
  explicit Tensor(std::shared_ptr<const Copied> copied) : copied_(std::move(copied)), tensor_(copied_->tensor()) {}

  std::string name() const { return tensor_.name; }
  const char* dtype() const;
  nanobind::tuple shape() const;
  nanobind::tuple strides() const;  // in elements
  int64_t size() const;             // elements
  int64_t bytes() const;

  // A capsule: "dltensor_versioned" where the consumer takes DLPack 1.0 and later, else "dltensor". `stream`: the
  // consumer's stream, for GPU memory. BufferError for another device than the tensor's own, and for a copy on a GPU.
  nanobind::object dlpack(nanobind::handle stream, std::optional<std::pair<int, int>> version_max,
                          std::optional<std::pair<int, int>> device, std::optional<bool> copy) const;
  std::pair<int, int> dlpack_device() const { return {place_.type, place_.id}; }
  // AttributeError where the interface is for another kind of memory; UnsupportedError for bfloat16, which both
  // interfaces lack.
  nanobind::dict array_interface() const;
  nanobind::dict cuda_array_interface() const;
  void use(nanobind::handle stream) const;
  // The same memory, with elements of another type of the same size. InvalidError for any other type.
  Tensor viewed(const std::string& dtype) const;
  // "float32 [64, 3, 224, 224]"
  std::string describe() const;
  bool on_gpu() const { return place_.type == dlpack::kCuda; }

 private:
  nanobind::dict interface_of_both() const;  // entries that both array interfaces share
  bool is_dense() const;

  spdld::Batch batch_;  // this or copied_ holds the memory of tensor_
  std::shared_ptr<const Copied> copied_;
  spdld_tensor tensor_;
  dlpack::Device place_ = {dlpack::kCpu, 0};
  std::shared_ptr<Parked> parked_;
};

void bind_tensor(nanobind::module_& module);

}  // namespace spdld::python
