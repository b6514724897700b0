// The plan of a slot: the place of each tensor, with room for a full batch of the largest samples. Constant after
// construction; any thread. A slot's Contents say how much of the plan a batch uses.
//
// Every tensor begins at a multiple of kAlignment. The last operation of an output writes sample i of a tensor at
// offset + i * sample_bytes: there is no collate copy. Where samples differ in size, batch/contents.h moves them
// together before the batch is published.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/text/dtype.h"

namespace spdld::batch {

inline constexpr uint64_t kAlignment = 128;
inline constexpr size_t kTensorsMax = 64, kRankMax = 8;  // of a batch, of a tensor: the protocol's bounds

// The meaning of a tensor's elements. The protocol has the same names and numbers.
enum class Role : uint8_t {
  kRows,     // one row for each sample
  kValues,   // of a ragged output: the values of all samples, one sample's after the other's
  kOffsets,  // where each sample's values begin, and where the last sample's values end: batch size + 1 int64
  kLengths,  // of a padded output: how much of each sample's row counts; int32 or int64
  kMask      // of a padded output: which places of each sample's row count; uint8 or bool
};

// How the rows of a padded output are filled up.
struct Padding {
  uint64_t multiple = 1;              // the length of a batch's rows is a multiple of this, or the largest length
  std::vector<uint8_t> element = {};  // the bytes of one element of padding; empty: zeros
};

struct TensorPlace {
  std::string name;
  config::DType dtype = config::DType::kUint8;
  std::vector<int64_t> sample_shape;  // of a row, or of one value. With padding: its first number is the largest length
  uint64_t sample_bytes = 0;          // of one sample, at most. kValues: of as many values as a sample may have
  uint64_t offset = 0;                // Layout sets it
  Role role = Role::kRows;
  std::optional<size_t> of = {};        // kOffsets, kLengths, kMask: the index of the tensor that they describe
  std::optional<Padding> padding = {};  // kRows alone: rows are as long as the longest of the batch
  // kRows alone: the shapes that samples may have. All samples of a batch have the same one; sample_shape has the
  // largest number of each dimension, and sample_bytes is of the largest shape. Empty: sample_shape is the only one.
  std::vector<std::vector<int64_t>> shapes = {};
};

// A tensor of one batch, within its slot.
struct TensorView {
  uint32_t rank = 0;
  std::array<uint64_t, kRankMax> shape = {};    // the first: rows, or values
  std::array<uint64_t, kRankMax> strides = {};  // in elements
  uint64_t offset = 0;                          // bytes from the slot's start
};

// A dense view, in a batch of the shape with this number.
TensorView dense_view(const TensorPlace& tensor, uint64_t rows, uint32_t shape = 0);

class Layout {
 public:
  Layout() = default;
  // Throws SetupError where a slot would exceed `slot_bytes_max`, or a batch would have too many tensors or dimensions.
  Layout(std::vector<TensorPlace> tensors, uint64_t batch_size, uint64_t slot_bytes_max);

  const std::vector<TensorPlace>& tensors() const { return tensors_; }
  uint64_t slot_bytes() const { return slot_bytes_; }
  uint64_t batch_size() const { return batch_size_; }
  // `shape`: of the batch, by its number; without shapes there is one alone.
  uint8_t* sample_at(uint8_t* slot, size_t tensor, uint64_t sample, uint32_t shape = 0) const {
    return slot + tensors_[tensor].offset + sample * bytes_of(tensor, shape);
  }
  uint64_t bytes_of(size_t tensor, uint32_t shape) const;  // of a sample
  bool has_shapes() const { return has_shapes_; }          // of some tensor
  // A full batch of the largest samples. Every batch looks like this where nothing varies and no tensor has shapes.
  std::span<const TensorView> views() const { return views_; }
  // The tensors whose samples differ in length, in order: of values, or padded. Most layouts have none.
  std::span<const size_t> varying() const { return varying_; }
  // The most values of a sample, or the largest length of its row. Precondition: the tensor varies.
  uint64_t length_max(size_t tensor) const;
  // The bytes of one value, or of one place in a row, of a tensor that varies.
  uint64_t value_bytes(size_t tensor) const { return tensors_[tensor].sample_bytes / length_max(tensor); }

 private:
  std::vector<TensorPlace> tensors_;
  std::vector<TensorView> views_;
  std::vector<size_t> varying_;
  uint64_t batch_size_ = 0, slot_bytes_ = 0;
  bool has_shapes_ = false;
};

}  // namespace spdld::batch
