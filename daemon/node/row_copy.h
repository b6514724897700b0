// The rows that a batch takes from a batch of another size of the same training run: the bytes to copy, and the marks
// that a batch has for single samples. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/batch/layout.h"
#include "daemon/batch/slot.h"
#include "daemon/memory/slot_memory.h"

namespace spdld::node {

// Successive rows: their first index in the batch that gives them, and in the batch that takes them.
struct RowSpan {
  uint64_t from = 0, to = 0, rows = 0;
};

// The most rows of a span that a thread copies in one turn: long enough to be worth a hand-over, and short enough that
// others get their turns. At least 1.
uint64_t rows_per_turn(const batch::Layout& layout);

// The bytes of the rows in each tensor.
std::vector<memory::SlotMemory::Part> parts_of(const RowSpan& span, const batch::Layout& from, const batch::Layout& to);

// Adds the marks and flaws of these rows, under their indexes in `to`.
void add_marks(const RowSpan& span, const batch::Batch& from, batch::Batch& to);

}  // namespace spdld::node
