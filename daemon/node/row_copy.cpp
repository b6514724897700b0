#include "daemon/node/row_copy.h"

#include <algorithm>
#include <utility>

namespace spdld::node {
namespace {

constexpr uint64_t kTurnBytes = 4u << 20;

void add_indexes(const RowSpan& span, const std::vector<uint32_t>& from, std::vector<uint32_t>& to) {
  for (const uint32_t index : from)
    if (span.from <= index && index < span.from + span.rows)
      to.push_back(static_cast<uint32_t>(index - span.from + span.to));
}

}  // namespace

uint64_t rows_per_turn(const batch::Layout& layout) {
  uint64_t row_bytes = 0;
  for (const auto& tensor : layout.tensors()) row_bytes += tensor.sample_bytes;
  return std::max<uint64_t>(1, kTurnBytes / std::max<uint64_t>(1, row_bytes));
}

std::vector<memory::SlotMemory::Part> parts_of(const RowSpan& span, const batch::Layout& from,
                                               const batch::Layout& to) {
  std::vector<memory::SlotMemory::Part> parts;
  for (size_t i = 0; i < to.tensors().size(); i++) {
    const batch::TensorPlace &theirs = from.tensors()[i], &own = to.tensors()[i];
    parts.push_back({theirs.offset + span.from * theirs.sample_bytes, own.offset + span.to * own.sample_bytes,
                     span.rows * own.sample_bytes});
  }
  return parts;
}

void add_marks(const RowSpan& span, const batch::Batch& from, batch::Batch& to) {
  add_indexes(span, from.substituted, to.substituted);
  add_indexes(span, from.masked, to.masked);
  for (batch::Flaw flaw : from.flaws) {
    if (flaw.index < span.from || flaw.index >= span.from + span.rows) continue;
    flaw.index = static_cast<uint32_t>(flaw.index - span.from + span.to);
    to.flaws.push_back(std::move(flaw));
  }
}

}  // namespace spdld::node
