// One sample of a batch as a card of the sheet: its pictures with the marks that belong to them, and the rest in words.
// One thread.
#pragma once

#include <cstdint>
#include <spdld.hpp>
#include <string>
#include <vector>

#include "client/cli/show/show_plan.h"
#include "client/sheet/layout.h"

namespace spdld::cli {

struct Pen {
  int side = 1;          // of the square that a picture stands in
  bool has_room = true;  // for characters in the pictures
  std::vector<std::string> classes = {};
};

// Throws std::length_error where a picture has too many pixels.
sheet::Card card_of(const Batch& batch, uint64_t sample, const std::vector<ShownOutput>& outputs, const Pen& pen);

}  // namespace spdld::cli
