#include "daemon/batch/append.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace spdld::batch {
namespace {

uint64_t total(std::span<const uint32_t> lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), uint64_t{0});
}

// The places of one tensor in both layouts.
struct Pair {
  const Layout& theirs;
  const Layout& own;
  size_t tensor;
  uint64_t from(uint64_t bytes) const { return theirs.tensors()[tensor].offset + bytes; }
  uint64_t to(uint64_t bytes) const { return own.tensors()[tensor].offset + bytes; }
  uint64_t sample_bytes() const { return own.tensors()[tensor].sample_bytes; }
};

void append_rows(const Pair& pair, const Cutting& cutting, std::vector<memory::SlotMemory::CopiedRange>& ranges) {
  const uint64_t bytes = pair.sample_bytes();
  ranges.push_back({pair.from(cutting.from * bytes), pair.to(cutting.to * bytes), cutting.samples * bytes});
}

void append_values(const Pair& pair, std::span<const uint32_t> theirs, std::span<const uint32_t> own,
                   const Cutting& cutting, std::vector<memory::SlotMemory::CopiedRange>& ranges) {
  const uint64_t value_bytes = pair.own.value_bytes(pair.tensor);
  const uint64_t bytes = total(theirs.subspan(cutting.from, cutting.samples)) * value_bytes;
  if (bytes == 0) return;
  ranges.push_back({pair.from(total(theirs.first(cutting.from)) * value_bytes),
                    pair.to(total(own.first(cutting.to)) * value_bytes), bytes});
}

// `row_bytes`: from one row of theirs to the next.
void append_padded(const Pair& pair, std::span<const uint32_t> theirs, uint64_t row_bytes, const Cutting& cutting,
                   std::vector<memory::SlotMemory::CopiedRange>& ranges) {
  for (uint64_t i = 0; i < cutting.samples; i++) {
    const uint64_t bytes = theirs[cutting.from + i] * pair.own.value_bytes(pair.tensor);
    if (bytes == 0) continue;
    ranges.push_back(
        {pair.from((cutting.from + i) * row_bytes), pair.to((cutting.to + i) * pair.sample_bytes()), bytes});
  }
}

uint64_t row_bytes_of(const Layout& layout, const Contents& contents, size_t tensor) {
  return views_of(layout, contents)[tensor].strides[0] * config::dtype_bytes(layout.tensors()[tensor].dtype);
}

}  // namespace

void append(const Layout& theirs, const Contents& source, const Layout& own, Contents& target, const Cutting& cutting,
            std::vector<memory::SlotMemory::CopiedRange>& ranges) {
  if (cutting.samples == 0) return;
  size_t k = 0;  // of the tensors that vary
  for (size_t tensor = 0; tensor < own.tensors().size(); tensor++) {
    const TensorPlace& place = own.tensors()[tensor];
    const Pair pair{theirs, own, tensor};
    const bool varies = k < own.varying().size() && own.varying()[k] == tensor;
    if (place.of) continue;  // finish() writes it
    if (!varies) {
      append_rows(pair, cutting, ranges);
      continue;
    }
    const auto lengths = source.lengths_of(theirs, k);
    const auto own_lengths = target.lengths_of(own, k++);
    if (place.role == Role::kValues)
      append_values(pair, lengths, own_lengths, cutting, ranges);
    else
      append_padded(pair, lengths, row_bytes_of(theirs, source, tensor), cutting, ranges);
    const auto taken = lengths.subspan(cutting.from, cutting.samples);
    std::copy(taken.begin(), taken.end(), own_lengths.begin() + static_cast<std::ptrdiff_t>(cutting.to));
  }
}

Rest finish(const Layout& own, Contents& target, uint64_t valid) {
  Rest rest;
  if (own.varying().empty()) return rest;
  set_views(own, target, valid, false);
  const auto add = [&rest](uint64_t to, std::vector<uint8_t> bytes) {
    if (bytes.empty()) return;
    rest.bytes.push_back(std::move(bytes));
    rest.literals.push_back({to, rest.bytes.back()});
  };
  write_parts(own, target, valid, [&add](uint64_t offset, std::span<const uint8_t> bytes) {
    add(offset, {bytes.begin(), bytes.end()});
  });
  for (size_t k = 0; k < own.varying().size(); k++) {
    const size_t tensor = own.varying()[k];
    if (!own.tensors()[tensor].padding) continue;
    const auto lengths = target.lengths_of(own, k);
    for (uint64_t i = 0; i < valid; i++) {
      std::vector<uint8_t> bytes;
      add_padding(own, tensor, target.views[tensor].shape[1] - lengths[i], bytes);
      add(own.tensors()[tensor].offset + i * own.tensors()[tensor].sample_bytes + lengths[i] * own.value_bytes(tensor),
          std::move(bytes));
    }
  }
  return rest;
}

}  // namespace spdld::batch
