// A batch in Python. With the GIL; the memory outlives this object while a tensor made of it lives.
#pragma once

#include <nanobind/nanobind.h>

#include <spdld.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "client/python/src/tensor.h"

namespace spdld::python {

class Batch {
 public:
  // `convert` makes what the user's framework works with of a Tensor; None: the Tensor itself.
  // `parked`: as Tensor has it.
  Batch(spdld::Batch lease, nanobind::object convert, std::shared_ptr<Parked> parked);

  const spdld_batch_info& info() const { return info_; }
  const std::vector<std::string>& names() const { return names_; }
  bool has(std::string_view name) const;
  // KeyError where there is none of this name; InvalidError after release().
  Tensor tensor(const std::string& name) const;
  nanobind::object array(const std::string& name) const;
  nanobind::list arrays() const;
  nanobind::list items() const;
  nanobind::dict sources() const;  // name: count
  // `stream`: one that works on it up to here; None: none beside those that are known.
  void release(nanobind::handle stream);
  void use(nanobind::handle stream) const;
  void wait() const;
  std::string describe() const;

 private:
  Tensor tensor_of(const spdld_tensor& tensor) const;

  spdld::Batch lease_;
  nanobind::object convert_;
  std::shared_ptr<Parked> parked_;
  spdld_batch_info info_;
  std::vector<std::string> names_;
  std::vector<std::pair<std::string, uint32_t>> source_counts_;
  std::vector<spdld_tensor> tensors_;  // in the same order; valid while lease_ holds the batch
};

void bind_batch(nanobind::module_& module);

}  // namespace spdld::python
