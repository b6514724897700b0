// Reads a file of annotations in COCO's form (https://cocodataset.org/#format-data) once, from its start to its end,
// for its listing. Values; any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

#include "daemon/source/tables/table_index.h"
#include "daemon/store/view.h"

namespace spdld::source {

// The fields that are lists with an element for each annotation of a picture, as texts in JSON.
enum class CocoList : uint8_t {
  kBoxes,
  kLabels,
  kCategoryIds,
  kAreas,
  kCrowd,
  kAnnotationIds,
  kKeypoints,
  kCaptions,
  kSegmentations
};
inline constexpr std::array<std::string_view, 9> kCocoLists = {
    "boxes", "labels", "category_ids", "areas", "iscrowd", "annotation_ids", "keypoints", "captions", "segmentations"};

struct CocoChoice {
  bool drops_crowd = false;          // annotations with iscrowd = 1
  bool drops_empty = false;          // pictures without an annotation
  bool holds_segmentations = false;  // they are long: only for outputs that ask for them
};

// A row is a picture, in the order of the ids; its annotations are in the file's order. The index's columns are the
// lists that the file has; its texts are the pictures' file names, their ids, and then these lists. Classes are the
// categories in the order of their ids. A picture or an annotation that is damaged is left out, and so is an annotation
// whose picture the file does not list; a remark counts each as missing. Throws SetupError where the file can't be
// read, or where its text is no table of JSON in COCO's form.
TableIndex index_coco(store::View& file, const std::string& path, const CocoChoice& choice, std::atomic<uint64_t>& done,
                      const std::stop_token& stop);

}  // namespace spdld::source
