#include "daemon/source/annotations/yolo_labels.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "daemon/base/formats/text_encoding.h"
#include "daemon/source/annotations/list_text.h"

namespace spdld::source {
namespace {

constexpr std::string_view kBlanks = " \t\v\f";
constexpr double kSlack = 0.01;  // beyond the picture's edge, for numbers that were rounded: as Ultralytics allows
constexpr double kLabelMax = 1e9;

// The numbers of a line; none: it has a word that is none.
std::optional<std::vector<double>> numbers_of(std::string_view line) {
  std::vector<double> numbers;
  for (size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;
       at = line.find_first_not_of(kBlanks, at)) {
    const size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    const auto number = finite_number(line.substr(at, end - at));
    if (!number) return std::nullopt;
    numbers.push_back(*number);
    at = end;
  }
  return numbers;
}

void set_box_around(YoloObject& object) {
  std::array<double, 2> least = {object.polygon[0], object.polygon[1]}, most = least;
  for (size_t i = 2; i < object.polygon.size(); ++i) {
    least[i % 2] = std::min(least[i % 2], object.polygon[i]);
    most[i % 2] = std::max(most[i % 2], object.polygon[i]);
  }
  for (size_t i = 0; i < 2; ++i) {
    object.box[i] = (least[i] + most[i]) / 2;
    object.box[2 + i] = most[i] - least[i];
  }
}

// Returns what is wrong with the line; empty: nothing.
std::string read_line(std::string_view line, uint64_t classes, YoloObject& object) {
  const auto numbers = numbers_of(line);
  if (!numbers) return "has a word that is no finite number";
  const size_t count = numbers->size();
  if (count != 5 && (count < 7 || count % 2 == 0))
    return "has " + std::to_string(count) +
           " numbers, and a class with a box has 5, one with a polygon 7, 9, and so on";
  const double label = numbers->front();
  if (label < 0 || label > kLabelMax || label != static_cast<double>(static_cast<uint64_t>(label)))
    return "has a class that is no whole number of 0 or more";
  object.label = static_cast<uint64_t>(label);
  if (classes != 0 && object.label >= classes)
    return "has the class " + std::to_string(object.label) + ", and there are names for " + std::to_string(classes);
  const auto is_part = [](double number) { return number >= -kSlack && number <= 1 + kSlack; };
  if (!std::all_of(numbers->begin() + 1, numbers->end(), is_part))
    return "has a number outside of 0 to 1: coordinates must be parts of the picture's width and height";
  if (count == 5) {
    std::copy(numbers->begin() + 1, numbers->end(), object.box.begin());
    return object.box[2] < 0 || object.box[3] < 0 ? "has a negative width or height" : "";
  }
  object.polygon.assign(numbers->begin() + 1, numbers->end());
  set_box_around(object);
  return {};
}

std::vector<float> numbers_in(const YoloObject& object) {
  std::vector<float> numbers = {static_cast<float>(object.label)};
  for (const double number : object.box) numbers.push_back(static_cast<float>(number));
  for (const double number : object.polygon) numbers.push_back(static_cast<float>(number));
  return numbers;
}

}  // namespace

YoloLabels read_yolo(std::string_view text, uint64_t classes) {
  YoloLabels labels;
  std::set<std::vector<float>> seen;  // as Ultralytics compares: in 32 bits
  text = without_byte_order_mark(text);
  for (uint64_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find_first_of("\r\n"));
    text.remove_prefix(line.size());
    text.remove_prefix(text.starts_with("\r\n") ? 2 : std::min<size_t>(text.size(), 1));
    if (line.find_first_not_of(kBlanks) == std::string_view::npos) continue;
    YoloObject object;
    const std::string fault = read_line(line, classes, object);
    if (!fault.empty()) {
      labels.faults.push_back("the line " + std::to_string(number) + ' ' + fault);
    } else if (!seen.insert(numbers_in(object)).second) {
      ++labels.repeated;
    } else {
      labels.objects.push_back(std::move(object));
    }
  }
  return labels;
}

}  // namespace spdld::source
