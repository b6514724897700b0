// The operations on a batch as a whole, [batch] ops: one type for each, in config/batch_operations/NAME.cpp and in one
// line of config/batch_operations.inc; its code stands in daemon/mixing/NAME.cpp. The checks, `spdlctl ops` and the
// daemon read the same types. Constant data and pure functions; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/parameter.h"
#include "config/signature.h"
#include "config/spec.h"

namespace spdld::config {

// The parts of a picture's row. Precondition: it has a layout.
struct PictureShape {
  uint64_t height = 0, width = 0, channels = 0;
  friend bool operator==(const PictureShape&, const PictureShape&) = default;
};
PictureShape shape_of(const Signature& end);
// The end of an output's operations. Precondition: they are known.
Signature end_of(const OutputSpec& output);

struct BatchOperationType {
  std::string_view name;
  std::string_view help;
  std::vector<Parameter> parameters;  // beside the parameters that every batch operation has
  // Why it can't mix an output with such an end as one of its `images`: the end of a sentence about the output; empty:
  // it can.
  std::string (*refuses)(const Signature& end);
  bool has_boxes = false;  // its images must be equal in height and width
  uint64_t partners = 1;   // samples that it mixes with a sample
  // The parameter that names the list of boxes on its one image; its labels are lists that keep the rows of that list.
  // Empty: its labels are mixed as numbers.
  std::string_view boxes = {};
  std::string_view masks = {};  // the parameter that names one of these labels, with masks of the objects; empty: none
  // The parameter that names a further tensor of pad-to, which says where the picture lies in its border; empty: none.
  std::string_view inside = {};
  // Raised when the operation gives other bytes for the same samples and parameters.
  int version = 1;
};

std::span<const BatchOperationType> batch_operations();
const BatchOperationType* find_batch_operation(std::string_view name);
// The parameters of each of them: its name, `images`, `labels` and `share`.
const std::vector<Parameter>& batch_operation_keys();

// The format of the boxes that the output gives: "xyxy". Precondition: it is a list of boxes.
const std::string& box_format_of(const OutputSpec& output);

// Empty: labels of this kind can be mixed; else the end of a sentence about the output.
std::string refuses_label(const Signature& end);

}  // namespace spdld::config
