#include "daemon/media/text/json/json_reader.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "daemon/base/formats/text_encoding.h"

namespace spdld::text {
namespace {

using config::JsonStep;
using simdjson::dom::element;
using simdjson::dom::element_type;

constexpr size_t kKeptBytesMax = 1u << 20;  // a parser has some twelve times the memory of the largest text it has read

std::string_view words(element_type type) {
  switch (type) {
    case element_type::ARRAY:
      return "a list";
    case element_type::OBJECT:
      return "a table";
    case element_type::STRING:
      return "a text";
    case element_type::BOOL:
      return "true or false";
    case element_type::NULL_VALUE:
      return "null";
    default:  // INT64, UINT64 and DOUBLE; later versions of simdjson know more
      return "a number";
  }
}

Error bad(std::string clause) { return {Trouble::kContent, std::move(clause)}; }

// None: it has no such entry or element.
std::optional<element> step_into(const element& from, const JsonStep& step) {
  if (step.is_index) {
    element found;
    const simdjson::dom::array list = from.get_array().value_unsafe();
    return list.at(step.index).get(found) == simdjson::SUCCESS ? std::optional(found) : std::nullopt;
  }
  std::optional<element> found;
  const simdjson::dom::object table = from.get_object().value_unsafe();
  for (const auto field : table) {
    if (field.key == step.key) found = field.value;
  }
  return found;
}

std::string where(const std::vector<JsonStep>& steps, size_t count) {
  if (count == 0) return "the JSON";
  return '"' + config::steps_text({steps.begin(), steps.begin() + static_cast<ptrdiff_t>(count)}) + '"';
}

// The words that Python's json writes for numbers that JSON does not have.
constexpr std::array<std::string_view, 3> kNoNumbers = {"NaN", "Infinity", "-Infinity"};

// The word of kNoNumbers at the start of the text, where it stands for a value; empty: there is none.
std::string_view no_number_at(std::string_view text) {
  for (const std::string_view word : kNoNumbers) {
    if (!text.starts_with(word)) continue;
    const size_t next = text.find_first_not_of(" \t\r\n", word.size());
    return next != text.npos && text[next] == ':' ? std::string_view() : word;  // a key must be a text
  }
  return {};
}

// How many bytes the text has at whose start a quote stands; all, where it does not end.
size_t text_bytes(std::string_view text) {
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') return i + 1;
    if (text[i] == '\\') ++i;
  }
  return text.size();
}

// The text with quotes around such words; empty: it has none.
std::string with_quoted_words(std::string_view text) {
  std::string quoted;
  bool has_words = false;
  while (!text.empty()) {
    const std::string_view word = no_number_at(text);
    const size_t bytes = !word.empty() ? word.size() : text.front() == '"' ? text_bytes(text) : 1;
    if (!word.empty()) quoted += '"';
    quoted += text.substr(0, bytes);
    if (!word.empty()) quoted += '"';
    has_words |= !word.empty();
    text.remove_prefix(bytes);
  }
  return has_words ? quoted : std::string();
}

Error no_element(const std::string& place, const element& value, const std::string& wanted) {
  std::string what(words(value.type()));
  if (value.type() == element_type::STRING) {
    const std::string_view text = value.get_string().value_unsafe();
    if (std::find(kNoNumbers.begin(), kNoNumbers.end(), text) != kNoNumbers.end()) what = text;
  }
  return bad(place + " is " + what + ", not " + wanted);
}

bool is_number(element_type type) {
  return type == element_type::INT64 || type == element_type::UINT64 || type == element_type::DOUBLE;
}

// False: the number is none of type T.
template <typename T>
bool number_of(const element& value, T& number) {
  const element_type type = value.type();
  if constexpr (std::is_floating_point_v<T>) {
    const double wide = type == element_type::DOUBLE  ? value.get_double().value_unsafe()
                        : type == element_type::INT64 ? static_cast<double>(value.get_int64().value_unsafe())
                                                      : static_cast<double>(value.get_uint64().value_unsafe());
    return narrow(wide, number);
  } else {
    if (type == element_type::DOUBLE) return false;
    const bool is_signed = type == element_type::INT64;
    const bool fits = is_signed ? std::in_range<T>(value.get_int64().value_unsafe())
                                : std::in_range<T>(value.get_uint64().value_unsafe());
    number = static_cast<T>(is_signed ? static_cast<uint64_t>(value.get_int64().value_unsafe())
                                      : value.get_uint64().value_unsafe());
    return fits;
  }
}

template <typename T>
Status read_number(const element& value, NumberList& list) {
  T number{};
  if (!is_number(value.type())) return no_element(list.place(), value, "a number");
  if (!number_of(value, number))
    return bad(list.place() + ": " + simdjson::minify(value) + " does not fit " +
               std::string(config::dtype_name(list.dtype)));
  list.add(number);
  return Done{};
}

template <typename T>
Status read_row(const element& value, NumberList& list) {
  if (value.type() != element_type::ARRAY)
    return no_element(list.row_place(), value, "a list of " + std::to_string(list.width) + " numbers");
  const simdjson::dom::array row = value.get_array().value_unsafe();
  if (row.size() != list.width)
    return bad(list.row_place() + " has " + std::to_string(row.size()) + " elements, not " +
               std::to_string(list.width));
  for (const element each : row)
    if (Status status = read_number<T>(each, list); !status) return status;
  return Done{};
}

// The number at this place; an error is a clause.
template <typename T>
Result<T> number_at(const element& value, const std::string& place, const char* wanted) {
  T number{};
  if (!is_number(value.type())) return no_element(place, value, wanted);
  if (!number_of(value, number)) return bad(place + ": " + simdjson::minify(value) + " is not " + wanted);
  return number;
}

Status read_polygon(const element& value, const std::string& place, ShapeList& list) {
  if (value.type() != element_type::ARRAY) return no_element(place, value, "a polygon, a list of numbers");
  const size_t first = list.numbers.size();
  const simdjson::dom::array corners = value.get_array().value_unsafe();
  for (const element each : corners) {
    const auto number = number_at<double>(each, place, "a finite number");
    if (!number) return number.error();
    list.numbers.push_back(*number);
  }
  list.polygons.push_back({first, list.numbers.size() - first});
  if (list.polygons.size() <= ShapeList::kPolygonsMax) return Done{};
  return bad(place + ": there are more than " + std::to_string(ShapeList::kPolygonsMax) + " polygons");
}

// {"size": [height, width], "counts": [run lengths] or a text}
Status read_runs(const element& value, const std::string& place, ShapeList& list) {
  const auto size = step_into(value, {.key = "size"}), counts = step_into(value, {.key = "counts"});
  if (!size || !counts) return bad(place + " lacks \"size\" or \"counts\"");
  ShapeList::Shape shape{.kind = ShapeKind::kRuns, .first = list.runs.size()};
  if (size->type() != element_type::ARRAY) return no_element(place + ", size", *size, "[height, width]");
  const simdjson::dom::array sides = size->get_array().value_unsafe();
  if (sides.size() != 2) return bad(place + " must have \"size\": [height, width]");
  int64_t* side = &shape.height;
  for (const element each : sides) {
    const auto number = number_at<int64_t>(each, place + ", size", "a whole number");
    if (!number) return number.error();
    *side = *number;
    side = &shape.width;
  }
  if (counts->type() == element_type::STRING) {
    const std::string_view packed = counts->get_string().value_unsafe();
    shape.kind = ShapeKind::kPackedRuns;
    shape.first = list.characters.size();
    shape.count = packed.size();
    list.characters += packed;
  } else if (counts->type() == element_type::ARRAY) {
    const simdjson::dom::array lengths = counts->get_array().value_unsafe();
    for (const element each : lengths) {
      const auto number = number_at<uint32_t>(each, place + ", counts", "a number of pixels");
      if (!number) return number.error();
      list.runs.push_back(*number);
    }
    shape.count = list.runs.size() - shape.first;
  } else {
    return no_element(place + ", counts", *counts, "a list of run lengths or a text");
  }
  list.shapes.push_back(shape);
  return Done{};
}

Status read_shape(const element& value, const std::string& place, ShapeList& list) {
  if (value.type() == element_type::OBJECT) return read_runs(value, place, list);
  if (value.type() != element_type::ARRAY && value.type() != element_type::NULL_VALUE)
    return no_element(place, value, "a list of polygons or a table of run lengths");
  const size_t first = list.polygons.size();
  if (value.type() == element_type::ARRAY) {
    const simdjson::dom::array parts = value.get_array().value_unsafe();
    for (const element each : parts)
      if (Status status = read_polygon(each, place, list); !status) return status;
  }
  list.shapes.push_back({.first = first, .count = list.polygons.size() - first});
  return Done{};
}

}  // namespace

struct JsonReader::Inside {
  template <typename Number>
  std::string_view digits(Number number) {
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
    return {text.data(), static_cast<size_t>(end - text.data())};
  }

  Result<std::string_view> text_of(const element& value) {
    switch (value.type()) {
      case element_type::INT64:
        return digits(value.get_int64().value_unsafe());
      case element_type::UINT64:
        return digits(value.get_uint64().value_unsafe());
      case element_type::DOUBLE:
        return digits(value.get_double().value_unsafe());
      case element_type::STRING:
        return value.get_string().value_unsafe();
      case element_type::BOOL:
        return std::string_view(value.get_bool().value_unsafe() ? "1" : "0");
      default:
        return bad(std::string(words(value.type())) + ", not a number or a text");
    }
  }

  Result<element> find(const std::vector<JsonStep>& steps) const;

  std::optional<simdjson::dom::parser> parser;
  element root;
  std::array<char, 32> text;  // a number
};

JsonReader::JsonReader() : inside_(std::make_unique<Inside>()) {}
JsonReader::~JsonReader() = default;
JsonReader::JsonReader(JsonReader&&) noexcept = default;

Status JsonReader::read(std::span<const uint8_t> bytes) {
  if (bytes.size() > kJsonBytesMax) {
    return bad("its " + std::to_string(bytes.size()) + " bytes of JSON are more than the limit of " +
               std::to_string(kJsonBytesMax));
  }
  auto& parser = inside_->parser;
  if (!parser || parser->capacity() > kKeptBytesMax) parser.emplace(kJsonBytesMax);
  // The library reads some bytes behind the text's end, so it takes a copy, even of an empty text: not from null.
  const std::string_view all(bytes.empty() ? "" : reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string_view text = without_byte_order_mark(all);
  auto error = parser->parse(text.data(), text.size(), true).get(inside_->root);
  if (error != simdjson::SUCCESS && error != simdjson::MEMALLOC) {
    if (const std::string quoted = with_quoted_words(text); !quoted.empty()) {
      parser.emplace(2 * kJsonBytesMax);
      error = parser->parse(quoted.data(), quoted.size(), true).get(inside_->root);
    }
  }
  if (error == simdjson::SUCCESS) return Done{};
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();  // no fault of the text's
  return bad(std::string("it is no sound JSON: ") + simdjson::error_message(error));
}

Result<element> JsonReader::Inside::find(const std::vector<JsonStep>& steps) const {
  element value = root;
  for (size_t i = 0; i < steps.size(); ++i) {
    const JsonStep& step = steps[i];
    const element_type wanted = step.is_index ? element_type::ARRAY : element_type::OBJECT;
    if (value.type() != wanted) return no_element(where(steps, i), value, std::string(words(wanted)));
    const auto next = step_into(value, step);
    if (!next) {
      return bad(where(steps, i) + " has no " +
                 (step.is_index ? "element " + std::to_string(step.index) : '"' + step.key + '"'));
    }
    value = *next;
  }
  return value;
}

Result<std::string_view> JsonReader::at(const std::vector<JsonStep>& steps) {
  const auto value = inside_->find(steps);
  if (!value) return value.error();
  auto text = inside_->text_of(*value);
  return text ? std::move(text) : bad(where(steps, steps.size()) + " is " + text.error().message);
}

Status JsonReader::read_list(const std::vector<JsonStep>& steps, NumberList& list) {
  const auto value = inside_->find(steps);
  if (!value) return value.error();
  if (value->type() != element_type::ARRAY) return no_element(where(steps, steps.size()), *value, "a list");
  const simdjson::dom::array elements = value->get_array().value_unsafe();
  return with_number_type(list.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    for (const element each : elements) {
      Status status = list.width == 0 ? read_number<T>(each, list) : read_row<T>(each, list);
      if (!status) return bad(where(steps, steps.size()) + ", " + status.error().message);
    }
    return Done{};
  });
}

Status JsonReader::read_shapes(const std::vector<JsonStep>& steps, ShapeList& list) {
  list.clear();
  const auto value = inside_->find(steps);
  if (!value) return value.error();
  if (value->type() != element_type::ARRAY) return no_element(where(steps, steps.size()), *value, "a list of shapes");
  const simdjson::dom::array elements = value->get_array().value_unsafe();
  for (const element each : elements) {
    if (list.shapes.size() == ShapeList::kShapesMax)
      return bad(where(steps, steps.size()) + " has more than " + std::to_string(ShapeList::kShapesMax) + " shapes");
    const std::string place = where(steps, steps.size()) + ", element [" + std::to_string(list.shapes.size()) + "]";
    if (Status status = read_shape(each, place, list); !status) return status;
  }
  return Done{};
}

}  // namespace spdld::text
