// One annotation in COCO's form: its entries are looked at one by one, as a file is read. Pure functions; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/source/tables/coco/coco_ids.h"
#include "daemon/source/tables/reading/json_text.h"

namespace spdld::source {

// The parts of an annotation, as texts in JSON; empty: it lacks the part.
enum CocoPart : uint8_t { kBox, kCategory, kArea, kIsCrowd, kKeypoints, kCaption, kSegmentation, kCocoParts };
using CocoParts = std::array<std::string_view, kCocoParts>;

struct CocoAnnotation {
  std::optional<CocoId> id, picture, category;
  CocoParts parts;
};

// Takes one entry of an annotation. Returns what is wrong with it, as a clause; empty: nothing.
// `looks_at_segmentation`: a segmentation that no output asks for is not looked at.
std::string take_part(std::string_view key, const JsonValue& value, bool looks_at_segmentation, CocoIds& ids,
                      CocoAnnotation& annotation);

}  // namespace spdld::source
