#include "daemon/source/tables/coco/coco_annotation.h"

#include <charconv>
#include <cmath>

namespace spdld::source {
namespace {

bool is_finite_number(const JsonValue& value) {
  double number = 0;
  const char* const end = value.text.data() + value.text.size();
  const auto [stopped, error] = std::from_chars(value.text.data(), end, number);
  return value.kind == JsonKind::kNumber && error == std::errc() && stopped == end && std::isfinite(number);
}

// How many elements the list has; none: it is no list of elements that fit.
template <typename Fits>
std::optional<uint64_t> count_in(const JsonValue& list, const Fits& fits) {
  uint64_t count = 0;
  const bool is_sound = list.kind == JsonKind::kList && for_each_element_of(list.text, [&](const JsonValue& value) {
                          ++count;
                          return fits(value);
                        });
  return is_sound ? std::optional(count) : std::nullopt;
}

std::optional<uint64_t> numbers_in(const JsonValue& list) { return count_in(list, is_finite_number); }

// Without a look at the numbers' values: polygons are long.
std::optional<uint64_t> count_numbers(const JsonValue& list) {
  return count_in(list, [](const JsonValue& value) { return value.kind == JsonKind::kNumber; });
}

// With the quotes of a text.
std::string_view as_written(const JsonValue& value) {
  if (value.kind != JsonKind::kText) return value.text;
  return {value.text.data() - 1, value.text.size() + 2};
}

// The fault of a list of polygons, or a table of run lengths; empty: nothing that can be seen without the
// picture.
std::string segmentation_fault(const JsonValue& value) {
  constexpr uint64_t kNumbersMin = 6;  // of a polygon: two for each of three corners
  if (value.kind == JsonKind::kTable) {
    bool has_size = false, has_counts = false;
    (void)for_each_entry_of(value.text, [&](const JsonValue& key, const JsonValue& part) {
      has_size = has_size || (key.text == "size" && numbers_in(part) == 2);
      has_counts = has_counts || (key.text == "counts" && (part.kind == JsonKind::kText || count_numbers(part)));
      return true;
    });
    return has_size && has_counts ? "" : "has run lengths without a size and counts";
  }
  if (value.kind != JsonKind::kList)
    return "has a segmentation that is neither a list of polygons nor a table of run lengths";
  std::string fault;
  (void)for_each_element_of(value.text, [&](const JsonValue& polygon) {
    const auto count = count_numbers(polygon);
    if (!count)
      fault = "has a polygon that is no list of numbers";
    else if (*count < kNumbersMin || *count % 2 != 0)
      fault = "has a polygon of " + std::to_string(*count) +
              " numbers, and it must have two for each of three corners or more";
    return fault.empty();
  });
  return fault;
}

constexpr std::string_view kNoId = "that is no whole number of 0 or more, and no text";

}  // namespace

std::string take_part(std::string_view key, const JsonValue& value, bool looks_at_segmentation, CocoIds& ids,
                      CocoAnnotation& annotation) {
  const auto is_flag = [&] {
    return value.text == "0" || value.text == "1" || value.text == "true" || value.text == "false";
  };
  const auto take_id = [&](std::optional<CocoId>& id, const char* what) {
    id = ids.id_of(value);
    return id ? std::string() : std::string("has ") + what + ' ' + std::string(kNoId);
  };
  if (key == "id") return take_id(annotation.id, "an id");
  if (key == "image_id") return take_id(annotation.picture, "an image_id");
  if (value.kind == JsonKind::kNull) return {};
  if (key == "bbox") {
    if (numbers_in(value) != 4) return "has a bbox that is no list of 4 finite numbers";
    annotation.parts[kBox] = value.text;
  } else if (key == "category_id") {
    annotation.parts[kCategory] = as_written(value);
    return take_id(annotation.category, "a category_id");
  } else if (key == "area") {
    if (!is_finite_number(value)) return "has an area that is no finite number";
    annotation.parts[kArea] = value.text;
  } else if (key == "iscrowd") {
    if (value.kind == JsonKind::kText || !is_flag()) return "has an iscrowd that is neither 0 nor 1";
    annotation.parts[kIsCrowd] = value.text == "1" || value.text == "true" ? "1" : "0";
  } else if (key == "keypoints") {
    const auto count = numbers_in(value);
    if (!count || *count % 3 != 0) return "has keypoints that are no list of finite numbers, three for each point";
    annotation.parts[kKeypoints] = value.text;
  } else if (key == "caption") {
    if (value.kind != JsonKind::kText || !plain_text(value)) return "has a caption that is no text";
    annotation.parts[kCaption] = as_written(value);
  } else if (key == "segmentation") {
    annotation.parts[kSegmentation] = value.text;
    return looks_at_segmentation ? segmentation_fault(value) : std::string();
  }
  return {};
}

}  // namespace spdld::source
