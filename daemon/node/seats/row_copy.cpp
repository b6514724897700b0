#include "daemon/node/seats/row_copy.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace spdld::node {
namespace {

constexpr uint64_t kTurnBytes = 4u << 20;

void add_indexes(const batch::Cutting& cutting, const std::vector<uint32_t>& from, std::vector<uint32_t>& to) {
  for (const uint32_t index : from)
    if (cutting.from <= index && index < cutting.from + cutting.samples)
      to.push_back(static_cast<uint32_t>(index - cutting.from + cutting.to));
}

}  // namespace

uint64_t rows_per_turn(const batch::Layout& layout) {
  uint64_t row_bytes = 0;
  for (const auto& tensor : layout.tensors()) row_bytes += tensor.sample_bytes;
  return std::max<uint64_t>(1, kTurnBytes / std::max<uint64_t>(1, row_bytes));
}

void add_marks(const batch::Cutting& cutting, const batch::Batch& from, batch::Batch& to) {
  add_indexes(cutting, from.substituted, to.substituted);
  add_indexes(cutting, from.masked, to.masked);
  add_indexes(cutting, from.absent, to.absent);
  for (batch::Flaw flaw : from.flaws) {
    if (flaw.index < cutting.from || flaw.index >= cutting.from + cutting.samples) continue;
    flaw.index = static_cast<uint32_t>(flaw.index - cutting.from + cutting.to);
    to.flaws.push_back(std::move(flaw));
  }
}

batch::Cutting rows_of(const batch::Cutting& cutting, const batch::Batch& from, const batch::Batch& to) {
  return {cutting.from - from.absent_in(0, cutting.from), cutting.to - to.absent_in(0, cutting.to),
          cutting.samples - from.absent_in(cutting.from, cutting.samples)};
}

}  // namespace spdld::node
