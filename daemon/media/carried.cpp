#include "daemon/media/carried.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "config/text/dtype.h"

namespace spdld::media {
namespace {

constexpr uint64_t kBytesMax = uint64_t{1} << 40;  // of one value: no memory has more

std::string text_of(std::span<const int64_t> shape) {
  std::string text = "[";
  for (const int64_t size : shape) text += (text.size() == 1 ? "" : ", ") + std::to_string(size);
  return text + "]";
}

// "[n, up to 5, 3]"
std::string text_of(std::span<const config::Dimension> dimensions) {
  std::string text = "[";
  for (const config::Dimension& dimension : dimensions) {
    if (text.size() > 1) text += ", ";
    if (!dimension.most()) {
      text += "n";
    } else {
      text += (dimension.is_fixed() ? "" : "up to ") + std::to_string(*dimension.most());
    }
  }
  return text + "]";
}

bool fits(int64_t size, const config::Dimension& dimension) {
  if (size < 0) return false;
  if (!dimension.most()) return true;
  return dimension.is_fixed() ? size == *dimension.most() : size <= *dimension.most();
}

// None: the numbers are too large for any memory.
std::optional<uint64_t> bytes_of(config::DType dtype, std::span<const int64_t> shape) {
  uint64_t bytes = config::dtype_bytes(dtype);
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  for (const int64_t size : shape) {
    if (static_cast<uint64_t>(size) > kBytesMax / bytes) return {};
    bytes *= static_cast<uint64_t>(size);
  }
  return bytes;
}

}  // namespace

Carried::Carried(Carried&& other) noexcept
    : scratch_(other.scratch_),
      signature_(other.signature_),
      memory_(std::exchange(other.memory_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      taken_(std::exchange(other.taken_, 0)),
      shape_(std::move(other.shape_)),
      length_(other.length_) {}

void Carried::give_back() {
  if (taken_ > 0) scratch_->give_back(memory_, taken_);
  memory_ = nullptr;
  bytes_ = taken_ = 0;
}

Result<uint8_t*> Carried::take(uint64_t bytes) {
  const bool lies_elsewhere = memory_ != nullptr && taken_ == 0;
  if (!lies_elsewhere && taken_ < std::max<uint64_t>(bytes, 1)) {
    give_back();
    const uint64_t wanted = std::max<uint64_t>(bytes, 1);
    memory_ = scratch_->take(wanted);
    if (memory_ == nullptr) return Error{Trouble::kMemory, {}};
    taken_ = wanted;
  }
  bytes_ = bytes;
  return memory_;
}

Result<uint8_t*> Carried::open_bytes(uint64_t bytes) {
  if (bytes > kBytesMax) return Error{Trouble::kContent, "it has " + std::to_string(bytes) + " bytes"};
  shape_.clear();
  return take(bytes);
}

Result<uint8_t*> Carried::open(std::span<const int64_t> shape) {
  const auto& wanted = signature_->dimensions;
  const bool is_wanted = std::equal(shape.begin(), shape.end(), wanted.begin(), wanted.end(), fits);
  if (!is_wanted)
    return Error{Trouble::kContent, "its shape is " + text_of(shape) + ", not " + text_of(std::span(wanted))};
  const auto bytes = bytes_of(signature_->dtype(), shape);
  const bool is_countable = shape.empty() || shape.front() <= std::numeric_limits<uint32_t>::max();
  if (!bytes || !is_countable)
    return Error{Trouble::kContent, "its shape is " + text_of(shape) + ", which is too large"};
  shape_.assign(shape.begin(), shape.end());
  length_ = shape.empty() ? 0 : static_cast<uint32_t>(shape.front());
  return take(*bytes);
}

Result<uint8_t*> Carried::open_rows(uint64_t rows) {
  std::vector<int64_t> shape = {static_cast<int64_t>(std::min<uint64_t>(rows, kBytesMax))};
  for (size_t i = 1; i < signature_->dimensions.size(); i++) shape.push_back(signature_->dimensions[i].value());
  return open(shape);
}

void Carried::lie_at(uint8_t* memory) {
  give_back();
  shape_ = signature_->shape();
  bytes_ = bytes_of(signature_->dtype(), shape_).value_or(0);
  memory_ = memory;
}

}  // namespace spdld::media
