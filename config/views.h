// The views of a pipeline: outputs that share one random geometry. In each view one output, the leader, decodes a
// picture and crops, resizes and mirrors it; the others, its followers, take the leader's geometry of the same sample.
// The checks and the daemon read the same rules here. Pure functions; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/operation.h"
#include "config/signature.h"
#include "config/spec.h"

namespace spdld::config {

struct ViewFault {
  size_t output;             // its number
  std::optional<size_t> op;  // the number of its operation; none: the fault is in its `view`
  std::string text;          // the end of a sentence about that
};

struct Views {
  std::vector<std::optional<size_t>> number;  // of each output's view, counted from 0; none: it is in no view
  // The outputs in the order in which a sample runs them: leaders, then outputs that need no other follower, then
  // outputs that keep the rows of another one. Outputs of one kind stay in the order of the pipeline.
  std::vector<size_t> order;
  // Outputs that others ask, before any output runs: for the boxes that decide the geometry of their view, or for a
  // number.
  std::vector<size_t> asked;
  std::vector<ViewFault> faults;
};
// Precondition: the catalogue knows all operations.
Views views_of(std::span<const OutputSpec> outputs);

// Whether the output leads its view, if it has one: its chain begins with a picture.
bool leads_view(const OutputSpec& output);
// The operation that sentences name as the begin of a leader.
const OperationType& first_leader();
// Whether the output is a list of boxes.
bool lists_boxes(const OutputSpec& output);
// The name of the output whose rows this output keeps; empty: it keeps none.
const std::string& kept_from(const OutputSpec& output);
// Whether one of the output's operations needs a frame.
bool follows_view(const OutputSpec& output);
// The size of the picture that the leader of `output`'s view shows at its end; none: the output follows nobody, or its
// leader's chain is wrong.
std::optional<Frame> frame_of(std::span<const OutputSpec> outputs, const OutputSpec& output);

}  // namespace spdld::config
