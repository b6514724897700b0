#include "daemon/batch/layout.h"

#include <algorithm>
#include <string>

#include "daemon/base/result.h"

namespace spdld::batch {
namespace {

constexpr uint64_t kPageBytes = 4096;

uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

}  // namespace

Layout::Layout(std::vector<TensorPlace> tensors, uint64_t batch_size, uint64_t slot_bytes_max)
    : tensors_(std::move(tensors)), batch_size_(batch_size) {
  uint64_t offset = 0;
  for (auto& tensor : tensors_) {
    uint64_t bytes = 0;
    offset = round_up(offset, kAlignment);
    if (__builtin_mul_overflow(tensor.sample_bytes, batch_size, &bytes) ||
        bytes > slot_bytes_max - std::min(offset, slot_bytes_max))
      throw SetupError(Trouble::kLimit, "a batch needs more than the " + std::to_string(slot_bytes_max) +
                                            " bytes of slot memory allowed (output '" + tensor.name + "', " +
                                            std::to_string(batch_size) + " samples): lower batch.size");
    tensor.offset = offset;
    offset += bytes;
  }
  slot_bytes_ = std::max(round_up(offset, kPageBytes), kPageBytes);
}

}  // namespace spdld::batch
