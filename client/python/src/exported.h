// A tensor on its way into another library. Any thread, with or without the GIL: no Python object is in it.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <spdld.hpp>
#include <vector>

#include "client/python/src/dlpack.h"
#include "client/python/src/parked.h"

namespace spdld::python {

inline constexpr size_t kRankMax = 8;

size_t bytes_of(spdld_dtype dtype);

// What a DLPack consumer holds: the lease of a batch, or a copy of one tensor. Freed by its deleter.
class Exported {
 public:
  // `parked`: where the batch goes afterwards; none: it is given back.
  Exported(spdld::Batch batch, const spdld_tensor& tensor, dlpack::Device device, std::shared_ptr<Parked> parked);
  ~Exported();
  Exported(const Exported&) = delete;
  Exported& operator=(const Exported&) = delete;

  // Host memory alone: from here on the tensor is a copy of its own, dense, and holds the batch no longer.
  void copy();

  // The structure belongs to `exported`, which is the consumer's by this call: its deleter frees both.
  static dlpack::Managed* hand_over(std::unique_ptr<Exported> exported);
  static dlpack::ManagedVersioned* hand_over_versioned(std::unique_ptr<Exported> exported);

 private:
  spdld::Batch batch_;
  std::shared_ptr<Parked> parked_;
  std::vector<std::max_align_t> copy_;
  size_t element_bytes_;
  std::array<int64_t, kRankMax> shape_ = {};
  std::array<int64_t, kRankMax> strides_ = {};
  dlpack::Tensor tensor_ = {};
  dlpack::Managed managed_ = {};
  dlpack::ManagedVersioned versioned_ = {};
};

}  // namespace spdld::python
