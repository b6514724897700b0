// A chain in segments. A segment is a stretch of an output's operations that one executor runs: the daemon's decode
// threads, or the executor that the operations' types name. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "config/operation.h"

namespace spdld::config {

// The executor of functions of the user's own: processes of the trainer's user.
inline constexpr std::string_view kUserExecutor = "user";

struct Segment {
  std::string_view executor = {};  // OperationType::executor; empty: the decode threads
  size_t first = 0, count = 0;     // of the chain's operations
  friend bool operator==(const Segment&, const Segment&) = default;
};

// How many samples at once the operation's executor works on in one call, at the most (its parameter "batch"); 0: it
// works on one by itself.
size_t bunch_of(const OperationSpec& op);
// How many calls of it a worker is to have under way at once (its parameter "in_flight"); 0: the pipeline does not say.
size_t in_flight_of(const OperationSpec& op);

// At least one. Segments of the decode threads and of others take turns; the first and the last one are the decode
// threads', also where they have no operations. An operation on bunches of samples has a segment of its own.
// Precondition: the catalogue knows all operations.
std::vector<Segment> segments_of(std::span<const OperationSpec> ops);
// Whether an operation of the outputs is the executor's. Precondition: as above.
bool uses_executor(std::span<const OutputSpec> outputs, std::string_view executor);
// Or makes the samples of a source.
bool uses_executor(const PipelineSpec& spec, std::string_view executor);

}  // namespace spdld::config
