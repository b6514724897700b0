// Shapes of objects inside of JSON, as COCO writes its segmentations.
#include <catch2/catch.hpp>
#include <string>

#include "daemon/media/text/json/json_reader.h"

namespace spdld::json_shapes_test {
namespace {

using text::ShapeKind;
using text::ShapeList;

ShapeList read(const std::string& json, std::string& error, const std::string& path = "v") {
  text::JsonReader reader;
  REQUIRE(reader.read({reinterpret_cast<const uint8_t*>(json.data()), json.size()}));
  ShapeList list;
  const Status status = reader.read_shapes(config::parse_field_path("json:" + path).steps, list);
  error = status ? "" : status.error().message;
  if (!status) CHECK(status.error().trouble == Trouble::kContent);
  return list;
}
std::string error_of(const std::string& shapes) {
  std::string error;
  read("{\"v\": " + shapes + "}", error);
  return error;
}

TEST_CASE("shapes are polygons, run lengths or packed run lengths", "[json]") {
  std::string error;
  const ShapeList list = read(R"({"v": [[[1, 2.5, 3, 4, 5, 6], [7, 8]], {"size": [3, 4], "counts": [5, 0, 7]}, [],
                                      {"counts": "0\\T1", "size": [9, 8]}, null, [[-1e3]]]})",
                              error);
  CHECK(error.empty());
  REQUIRE(list.shapes.size() == 6);
  using Numbers = std::vector<double>;
  const auto polygon = [&](size_t shape, size_t i) {
    const auto numbers = list.numbers_of(list.polygons_of(list.shapes[shape])[i]);
    return Numbers(numbers.begin(), numbers.end());
  };
  CHECK(list.polygons_of(list.shapes[0]).size() == 2);
  CHECK(polygon(0, 0) == Numbers{1, 2.5, 3, 4, 5, 6});
  CHECK(polygon(0, 1) == Numbers{7, 8});
  CHECK(list.shapes[1].kind == ShapeKind::kRuns);
  CHECK(list.shapes[1].height == 3);
  CHECK(list.shapes[1].width == 4);
  const auto runs = list.runs_of(list.shapes[1]);
  CHECK(std::vector<uint32_t>(runs.begin(), runs.end()) == std::vector<uint32_t>{5, 0, 7});
  CHECK(list.polygons_of(list.shapes[2]).empty());
  CHECK(list.shapes[3].kind == ShapeKind::kPackedRuns);
  CHECK(list.packed_of(list.shapes[3]) == "0\\T1");
  CHECK(list.shapes[3].height == 9);
  CHECK(list.polygons_of(list.shapes[4]).empty());
  CHECK(polygon(5, 0) == Numbers{-1000});
}

TEST_CASE("a list is read anew each time", "[json]") {
  text::JsonReader reader;
  const std::string json = R"([[[1, 2, 3]], {"size": [1, 1], "counts": "1"}])";
  REQUIRE(reader.read({reinterpret_cast<const uint8_t*>(json.data()), json.size()}));
  ShapeList list;
  for (int i = 0; i < 2; ++i) {
    REQUIRE(reader.read_shapes({}, list));
    CHECK(list.shapes.size() == 2);
    CHECK(list.numbers.size() == 3);
    CHECK(list.characters == "1");
  }
}

TEST_CASE("shapes and polygons are bounded", "[json]") {
  const auto many = [](const std::string& one, size_t count) {
    std::string text = "[";
    for (size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + one;
    return text + "]";
  };
  CHECK(error_of(many("[]", ShapeList::kShapesMax)).empty());
  CHECK(error_of(many("[]", ShapeList::kShapesMax + 1)) == "\"v\" has more than 65536 shapes");
  CHECK(error_of("[" + many("[]", ShapeList::kPolygonsMax + 1) + "]") ==
        "\"v\", element [0]: there are more than 1048576 polygons");
}

TEST_CASE("what is no shape is refused with its place", "[json]") {
  CHECK(error_of("3") == "\"v\" is a number, not a list of shapes");
  CHECK(error_of("[[], \"x\"]") == "\"v\", element [1] is a text, not a list of polygons or a table of run lengths");
  CHECK(error_of("[[3]]") == "\"v\", element [0] is a number, not a polygon, a list of numbers");
  CHECK(error_of("[[[1, null]]]") == "\"v\", element [0] is null, not a finite number");
  CHECK(error_of("[{\"size\": [1, 2]}]") == "\"v\", element [0] lacks \"size\" or \"counts\"");
  CHECK(error_of("[{\"size\": [1], \"counts\": []}]") == "\"v\", element [0] must have \"size\": [height, width]");
  CHECK(error_of("[{\"size\": 1, \"counts\": []}]") == "\"v\", element [0], size is a number, not [height, width]");
  CHECK(error_of("[{\"size\": [1, 2.5], \"counts\": []}]") == "\"v\", element [0], size: 2.5 is not a whole number");
  CHECK(error_of("[{\"size\": [1, 2], \"counts\": [-1]}]") ==
        "\"v\", element [0], counts: -1 is not a number of pixels");
  CHECK(error_of("[{\"size\": [1, 2], \"counts\": null}]") ==
        "\"v\", element [0], counts is null, not a list of run lengths or a text");
}

}  // namespace
}  // namespace spdld::json_shapes_test
