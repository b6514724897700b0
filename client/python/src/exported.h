// A tensor on its way into another library. Any thread, with or without the GIL: no Python object is in it.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <spdld.hpp>

#include "client/python/src/copied.h"
#include "client/python/src/dlpack.h"
#include "client/python/src/parked.h"

namespace spdld::python {

// A DLPack consumer's hold on a batch, or on a copy of one tensor. Its deleter frees it.
class Exported {
 public:
  // `parked`: takes the batch afterwards; none: the batch is given back.
  Exported(spdld::Batch batch, const spdld_tensor& tensor, dlpack::Device device, std::shared_ptr<Parked> parked);
  ~Exported();
  Exported(const Exported&) = delete;
  Exported& operator=(const Exported&) = delete;

  // `dtype`: of the copy's elements, as the consumer sees them. `is_consumers`: nobody else holds the copy.
  Exported(std::shared_ptr<const Copied> copied, spdld_dtype dtype, bool is_consumers);

  // The structure belongs to `exported`. This call gives both to the consumer, and its deleter frees both.
  static dlpack::Managed* hand_over(std::unique_ptr<Exported> exported);
  static dlpack::ManagedVersioned* hand_over_versioned(std::unique_ptr<Exported> exported);

 private:
  void describe(const spdld_tensor& tensor, dlpack::Device device);

  spdld::Batch batch_;
  std::shared_ptr<Parked> parked_;
  std::shared_ptr<const Copied> copied_;
  bool is_consumers_copy_ = false;
  std::array<int64_t, kRankMax> shape_ = {};
  std::array<int64_t, kRankMax> strides_ = {};
  dlpack::Tensor tensor_ = {};
  dlpack::Managed managed_ = {};
  dlpack::ManagedVersioned versioned_ = {};
};

}  // namespace spdld::python
