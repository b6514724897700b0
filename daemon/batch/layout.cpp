#include "daemon/batch/layout.h"

#include <algorithm>
#include <string>
#include <utility>

#include "daemon/base/result.h"

namespace spdld::batch {
namespace {

constexpr uint64_t kPageBytes = 4096;

uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

const std::vector<int64_t>& shape_of(const TensorPlace& tensor, uint32_t shape) {
  return tensor.shapes.empty() ? tensor.sample_shape : tensor.shapes.at(shape);
}

uint64_t row_bytes(const TensorPlace& tensor, uint32_t shape = 0) {
  uint64_t bytes = config::dtype_bytes(tensor.dtype);
  for (const int64_t n : shape_of(tensor, shape)) bytes *= static_cast<uint64_t>(n);
  return bytes;
}

void check(const std::vector<TensorPlace>& tensors) {
  if (tensors.size() > kTensorsMax)
    throw SetupError(Trouble::kUsage, "a batch would have " + std::to_string(tensors.size()) +
                                          " tensors, and may have " + std::to_string(kTensorsMax) +
                                          ": leave outputs out");
  for (const TensorPlace& tensor : tensors) {
    if (tensor.sample_shape.size() + 1 > kRankMax)
      throw SetupError(Trouble::kUsage,
                       "output '" + tensor.name + "' would have more than " + std::to_string(kRankMax) + " dimensions");
  }
}

}  // namespace

TensorView dense_view(const TensorPlace& tensor, uint64_t rows, uint32_t shape) {
  TensorView view;
  const std::vector<int64_t>& of_sample = shape_of(tensor, shape);
  view.rank = static_cast<uint32_t>(of_sample.size() + 1);
  view.offset = tensor.offset;
  view.shape[0] = rows;
  uint64_t stride = 1;
  for (uint32_t i = view.rank; i-- > 1;) {
    view.shape[i] = static_cast<uint64_t>(of_sample[i - 1]);
    view.strides[i] = stride;
    stride *= view.shape[i];
  }
  view.strides[0] = stride;
  return view;
}

Layout::Layout(std::vector<TensorPlace> tensors, uint64_t batch_size, uint64_t slot_bytes_max)
    : tensors_(std::move(tensors)), batch_size_(batch_size) {
  check(tensors_);
  uint64_t offset = 0;
  for (size_t i = 0; i < tensors_.size(); i++) {
    TensorPlace& tensor = tensors_[i];
    const bool has_end = tensor.role == Role::kOffsets;
    uint64_t bytes = 0;
    offset = round_up(offset, kAlignment);
    if (__builtin_mul_overflow(tensor.sample_bytes, batch_size + (has_end ? 1 : 0), &bytes) ||
        bytes > slot_bytes_max - std::min(offset, slot_bytes_max))
      throw SetupError(Trouble::kLimit, "a batch needs more than the " + std::to_string(slot_bytes_max) +
                                            " bytes of slot memory allowed (output '" + tensor.name + "', " +
                                            std::to_string(batch_size) + " samples): lower batch.size");
    tensor.offset = offset;
    has_shapes_ = has_shapes_ || !tensor.shapes.empty();
    offset += bytes;
    const bool is_values = tensor.role == Role::kValues;
    if (is_values || tensor.padding) varying_.push_back(i);
    views_.push_back(dense_view(tensor, is_values ? batch_size * length_max(i) : batch_size + (has_end ? 1 : 0)));
  }
  slot_bytes_ = std::max(round_up(offset, kPageBytes), kPageBytes);
}

uint64_t Layout::bytes_of(size_t tensor, uint32_t shape) const {
  const TensorPlace& place = tensors_[tensor];
  return place.shapes.empty() ? place.sample_bytes : row_bytes(place, shape);
}

uint64_t Layout::length_max(size_t tensor) const {
  const TensorPlace& place = tensors_[tensor];
  if (place.role != Role::kValues) return static_cast<uint64_t>(place.sample_shape[0]);
  return place.sample_bytes / row_bytes(place);
}

}  // namespace spdld::batch
