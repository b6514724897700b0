// The samples that a batch takes from a batch of another size of the same training run: how many at once, and the marks
// that a batch has for single samples. daemon/batch/append.h says which bytes are copied. Pure functions.
#pragma once

#include <cstdint>

#include "daemon/batch/append.h"
#include "daemon/batch/layout.h"
#include "daemon/batch/slot.h"

namespace spdld::node {

// The most samples that a thread copies in one turn: long enough to be worth a hand-over, and short enough that
// others get their turns. At least 1.
uint64_t rows_per_turn(const batch::Layout& layout);

// The rows of these samples. Precondition: all samples of `to` that stand before them have been added.
batch::Cutting rows_of(const batch::Cutting& cutting, const batch::Batch& from, const batch::Batch& to);

// Adds the marks and flaws of the samples that `cutting` names, under their indexes in `to`.
void add_marks(const batch::Cutting& cutting, const batch::Batch& from, batch::Batch& to);

}  // namespace spdld::node
