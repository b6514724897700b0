// A batch in Python. The memory outlives this object while a tensor made of it lives. With the GIL. In an interpreter
// without a GIL, calls that look at the lease take the object's own lock (nanobind's lock_self): release() ends the
// lease.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <memory>
#include <spdld.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "client/python/src/tensor.h"

namespace spdld::python {

struct LoaderInfo;

class Batch {
 public:
  // `convert` turns a Tensor into the array of the user's framework; None: users get the Tensor itself. `parked`: as in
  // Tensor. `origin`: of the loader.
  Batch(spdld::Batch lease, nanobind::object convert, std::shared_ptr<Parked> parked,
        std::shared_ptr<const LoaderInfo> origin);

  const spdld_batch_info& info() const { return info_; }
  const std::vector<std::string>& names() const { return names_; }
  bool has(std::string_view name) const;
  // KeyError where there is no tensor of this name; InvalidError after release().
  Tensor tensor(const std::string& name) const;
  nanobind::object array(const std::string& name) const;
  // {name: array}, where each array has memory of its own. UnsupportedError for spdld.Tensor in GPU memory.
  nanobind::dict copy() const;
  nanobind::list arrays() const;
  nanobind::list items() const;
  nanobind::dict sources() const;  // {name: count}
  nanobind::object sample_names() const;
  // `stream`: a stream that has worked on the batch up to here; None: no stream beside the known ones.
  void release(nanobind::handle stream);
  void use(nanobind::handle stream) const;
  void wait() const;
  std::string describe() const;

 private:
  enum class Take : uint8_t { kView, kCopy };

  void check_held() const;
  bool has_own_shape(const spdld_tensor& tensor) const;
  size_t index_of(const std::string& name) const;
  Tensor checked_tensor(size_t index) const;
  nanobind::object converted(const Tensor& tensor) const;
  nanobind::object array_of(size_t index, Take take) const;
  nanobind::object output(size_t index, const std::function<nanobind::object(size_t)>& array) const;
  Tensor tensor_of(const spdld_tensor& tensor) const;
  bool on_gpu() const { return info_.memory == SPDLD_CUDA_HANDLE || info_.memory == SPDLD_CUDA_FD; }

  spdld::Batch lease_;
  std::shared_ptr<const LoaderInfo> origin_;
  nanobind::object convert_;
  std::shared_ptr<Parked> parked_;
  spdld_batch_info info_;
  std::vector<std::string> names_;  // of outputs: without the offsets of ragged outputs
  std::vector<std::pair<std::string, uint32_t>> source_counts_;
  std::vector<spdld_tensor> tensors_;  // all of them; valid while lease_ holds the batch
  // In the order of tensors_: the copy of a small tensor, from which arrays are made. None: arrays are made from the
  // slot.
  std::vector<std::shared_ptr<const Copied>> copies_;
};

void bind_batch(nanobind::module_& module);

}  // namespace spdld::python
