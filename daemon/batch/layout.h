// The place of each tensor of a batch in its slot. Constant after construction; any thread.
//
// Every tensor begins at a multiple of kAlignment; sample i of a tensor is at offset + i * sample_bytes. The last
// operation of an output writes there: there is no collate copy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/spec.h"

namespace spdld::batch {

inline constexpr uint64_t kAlignment = 128;

struct TensorPlace {
  std::string name;
  config::DType dtype = config::DType::kUint8;
  std::vector<int64_t> sample_shape;
  uint64_t sample_bytes = 0;
  uint64_t offset = 0;
};

class Layout {
 public:
  Layout() = default;
  // Throws SetupError where a slot would exceed `slot_bytes_max`.
  Layout(std::vector<TensorPlace> tensors, uint64_t batch_size, uint64_t slot_bytes_max);

  const std::vector<TensorPlace>& tensors() const { return tensors_; }
  uint64_t slot_bytes() const { return slot_bytes_; }
  uint64_t batch_size() const { return batch_size_; }
  uint8_t* sample_at(uint8_t* slot, size_t tensor, uint64_t sample) const {
    return slot + tensors_[tensor].offset + sample * tensors_[tensor].sample_bytes;
  }

 private:
  std::vector<TensorPlace> tensors_;
  uint64_t batch_size_ = 0, slot_bytes_ = 0;
};

}  // namespace spdld::batch
