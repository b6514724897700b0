// Annotations of one picture in the form of PASCAL VOC (http://host.robots.ox.ac.uk/pascal/VOC/voc2012/devkit_doc.pdf,
// section 8): an element `annotation` with an `object` for each thing in the picture. Pure functions; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"

namespace spdld::source {

inline constexpr uint64_t kVocBytesMax = 16 << 20;  // of one file

struct VocObject {
  std::string name;
  std::array<double, 4> box = {};  // xmin, ymin, xmax, ymax: as they are written
  bool is_difficult = false, is_truncated = false;
};

struct VocAnnotation {
  std::vector<VocObject> objects;   // that are sound, in the file's order
  std::vector<std::string> faults;  // of the objects that are not sound, each as a clause about the object
};

// kContent: the text is no such annotation; the message begins with `what`.
Result<VocAnnotation> read_voc(std::string_view xml, const std::string& what);

}  // namespace spdld::source
