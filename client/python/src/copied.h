// A copy of a tensor in memory of its own. It is dense, and holds no slot. Any thread, with or without the GIL.
#pragma once

#include <array>
#include <cstddef>
#include <spdld.hpp>
#include <string>
#include <vector>

namespace spdld::python {

inline constexpr size_t kRankMax = 8;

class Copied {
 public:
  explicit Copied(const spdld_tensor& tensor);  // in host memory
  Copied(const Copied&) = delete;
  Copied& operator=(const Copied&) = delete;

  // Valid while this object lives. The memory may be written to, and is aligned to 128 bytes, as a slot's tensors are.
  const spdld_tensor& tensor() const { return tensor_; }

 private:
  const std::string name_;
  std::array<int64_t, kRankMax> shape_ = {};
  std::array<int64_t, kRankMax> strides_ = {};
  std::vector<std::byte> bytes_;
  spdld_tensor tensor_;
};

}  // namespace spdld::python
