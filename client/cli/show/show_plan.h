// The plan of `show` for a pipeline: the meaning of each output, read from its operations, and a pipeline of its own
// with further outputs that show the pictures before they are changed. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/spec.h"

namespace spdld::cli {

enum class ShownAs : uint8_t {
  kPicture,  // or several ones
  kBoxes,
  kMask,         // a value for each pixel
  kObjectMasks,  // a mask for each object
  kPoints,
  kRowsOf,  // a list that belongs to the boxes or points of another output
  kText     // in words
};

struct ShownOutput {
  std::string name;
  ShownAs as = ShownAs::kText;
  std::string view = {};    // that it belongs to; empty: to none
  bool is_before = false;   // was added, to show a picture before it is changed
  std::string title = {};   // of its tiles
  std::string from = {};    // the field
  std::string of = {};      // the output whose rows it keeps; empty: none
  std::string format = {};  // of boxes: "xyxy", "xywh" or "cxcywh"
  bool is_class = false;    // its numbers are numbers of classes
  // Of a picture: white is 1 in value * factor + offset, of each channel.
  config::Layout layout = config::Layout::kNhwc;
  std::vector<double> factors = {}, offsets = {};
  bool is_stretched = false;  // its least and its greatest value are shown as black and white
};

struct ShowPlan {
  config::PipelineSpec spec;         // gives what `outputs` name, in batches of the pipeline's own
  std::vector<ShownOutput> outputs;  // pictures before they are changed come first
  int tiles = 0;                     // of a sample, as far as the operations say
};

// The plan for tiles of this side. Precondition: `spec` was checked.
ShowPlan plan_of(const config::PipelineSpec& spec, int side);
// How many tiles a sample has, before the side is known.
int tiles_of(const config::PipelineSpec& spec);

}  // namespace spdld::cli
