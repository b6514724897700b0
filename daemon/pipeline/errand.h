// The work of another executor on each sample, in place of the decode threads: one segment of an output's chain
// (config/segments.h). Plain values, which a plan keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/operation.h"
#include "config/text/value_type.h"

namespace spdld::pipeline {

struct Errand {
  std::string_view executor;  // OperationType::executor
  size_t turn = 1;            // how many segments of others are before it in its output, and itself
  std::string output;         // its name
  size_t first = 0;           // the place of its first operation in the output's chain
  std::vector<config::OperationSpec> ops;
  config::Signature takes, gives;  // of kBytes or kTensor
  // Places in Passage::carried: of what it takes, and of what it gives.
  size_t from = 0, to = 0;
};

// The making of a source's items, in place of reading its samples' bytes: `output` is the source's name, and its one
// operation has the source's parameters.
struct Making : Errand {
  static constexpr size_t kPlacedMax = 8;  // values that may be placed: the first ones

  uint64_t items = 0;
  // Of an item, in the order in which a record (proto/crew/record.h) holds them.
  std::vector<config::NamedValueType> values;
  // By value: the tensor of a batch whose rows are such values as they are, where nothing else is made of them; none:
  // the value goes through a chain.
  std::vector<std::optional<size_t>> tensors;

  // The value may be written straight into a batch.
  bool may_place(size_t value) const { return value < tensors.size() && tensors[value].has_value(); }
};

}  // namespace spdld::pipeline
