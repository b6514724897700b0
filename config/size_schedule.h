// Sizes of pictures that change from epoch to epoch (`by_epoch`), as progressive training asks for: all pictures of an
// epoch have one size. Plain values and pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "config/picture_size.h"
#include "config/spec.h"

namespace spdld::config {

inline constexpr std::string_view kByEpoch = "by_epoch";  // the parameter's name
inline constexpr size_t kScheduledSizesMax = 64;

struct ScheduledSize {
  uint64_t epoch = 0;  // from which on pictures have the size
  PictureSize size;
  friend bool operator==(const ScheduledSize&, const ScheduledSize&) = default;
};

// The sizes that a text such as "12:192,16:224x256" names: epochs from 1 on, each later than the one before, and one
// number or height and width. Empty: the text names something else.
std::vector<ScheduledSize> schedule_in(std::string_view text);

// All sizes of an operation that has the parameter, its `size` first; empty: the parameter is empty.
std::vector<ScheduledSize> schedule_of(const OperationSpec& spec);
// The first schedule of the operations, or of operations that they hold; empty: there is none.
std::vector<ScheduledSize> schedule_of(std::span<const OperationSpec> ops);
// The outputs' schedule. Empty: there is none. Precondition: the outputs are checked, so that all have the same epochs.
std::vector<ScheduledSize> schedule_of(std::span<const OutputSpec> outputs);

// The number of the size that the pictures of an epoch have. Precondition: the schedule is not empty.
uint32_t scheduled_at(std::span<const ScheduledSize> schedule, uint64_t epoch);

}  // namespace spdld::config
