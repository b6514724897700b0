// Labels of one picture in YOLO's form (https://docs.ultralytics.com/datasets): a line of text for each thing in the
// picture, a class's number and then either a box, as the centre's x and y, width and height, or a polygon of three
// points or more. All are parts of the picture's width and height. Pure functions; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spdld::source {

inline constexpr uint64_t kYoloBytesMax = 64 << 20;  // of one file

struct YoloObject {
  uint64_t label = 0;
  std::array<double, 4> box = {};  // x and y of the centre, width, height; of a polygon the box around it
  std::vector<double> polygon;     // x and y of each point; empty: the line is a box
};

struct YoloLabels {
  std::vector<YoloObject> objects;  // that are sound, in the file's order
  std::vector<std::string> faults;  // of the other lines, each as a clause about it
  uint64_t repeated = 0;            // lines with the numbers of a line before them, which are left out
};

// `classes`: how many there are; 0: this is not known.
YoloLabels read_yolo(std::string_view text, uint64_t classes);

// The classes' names in a data set's description (data.yaml): the list or the numbered table `names`, in a few simple
// forms of YAML. Throws SetupError where there is none. `path`: for sentences.
std::vector<std::string> read_yolo_names(std::string_view yaml, const std::string& path);

}  // namespace spdld::source
