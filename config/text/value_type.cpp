#include "config/text/value_type.h"

#include <algorithm>
#include <charconv>

#include "config/text/words.h"

namespace spdld::config {
namespace {

constexpr std::string_view kBytesText = "bytes";

std::optional<DType> dtype_in(std::string_view name) {
  for (size_t i = 0; i < kDTypeCount; ++i)
    if (dtype_name(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  return std::nullopt;
}

void skip_spaces(std::string_view& text) { text.remove_prefix(std::min(text.find_first_not_of(' '), text.size())); }

bool skip(std::string_view& text, char sign) {
  skip_spaces(text);
  if (!text.starts_with(sign)) return false;
  text.remove_prefix(1);
  return true;
}

// "[224, -1]"
std::optional<std::vector<int64_t>> shape_in(std::string_view text) {
  std::vector<int64_t> shape;
  if (!skip(text, '[')) return std::nullopt;
  while (!skip(text, ']')) {
    if (!shape.empty() && !skip(text, ',')) return std::nullopt;
    skip_spaces(text);
    int64_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    shape.push_back(size);
  }
  return text.empty() ? std::optional(std::move(shape)) : std::nullopt;
}

}  // namespace

std::string value_type_text(const ValueType& type) {
  if (!type.dtype) return std::string(kBytesText);
  std::string text = std::string(dtype_name(*type.dtype)) + " [";
  for (size_t i = 0; i < type.shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(type.shape[i]);
  return text + "]";
}

std::optional<ValueType> value_type_in(std::string_view text) {
  if (text == kBytesText) return ValueType{};
  const size_t name_end = std::min(text.find_first_of(" ["), text.size());
  ValueType type{.dtype = dtype_in(text.substr(0, name_end))};
  auto shape = shape_in(text.substr(name_end));
  if (!type.dtype || !shape || !misfit(*shape).empty()) return std::nullopt;
  type.shape = *std::move(shape);
  return type;
}

std::string value_types_text(std::span<const NamedValueType> types) {
  std::string text;
  for (const NamedValueType& one : types)
    text += (text.empty() ? "" : "; ") + one.name + " " + value_type_text(one.type);
  return text;
}

std::optional<std::vector<NamedValueType>> value_types_in(std::string_view text) {
  std::vector<NamedValueType> types;
  while (!text.empty()) {
    const size_t end = std::min(text.find(';'), text.size());
    const std::string_view one = text.substr(0, end);
    const size_t blank = one.find(' ');
    if (blank == one.npos || !is_word(one.substr(0, blank), kNameMarks)) return std::nullopt;
    const auto type = value_type_in(one.substr(blank + 1));
    if (!type) return std::nullopt;
    types.push_back({std::string(one.substr(0, blank)), *type});
    text.remove_prefix(end);
    if (text.starts_with(';')) text.remove_prefix(1);
    skip_spaces(text);
  }
  std::ranges::sort(types, {}, &NamedValueType::name);
  if (std::ranges::adjacent_find(types, {}, &NamedValueType::name) != types.end()) return std::nullopt;
  return types;
}

std::string misfit(const std::vector<int64_t>& shape) {
  if (shape.size() > static_cast<size_t>(kValueDimensionsMax))
    return "may have at most " + std::to_string(kValueDimensionsMax) + " dimensions";
  int64_t elements = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 || shape[i] < -1)
      return "must have dimensions from 1 on, or -1 in the first place where samples differ in length";
    if (shape[i] == -1 && i > 0)
      return "may have a -1 in the first place alone: samples of a batch differ in their first dimension, and in no "
             "other one";
    if (shape[i] > kValueElementsMax / elements)
      return "may have at most " + std::to_string(kValueElementsMax) + " elements";
    elements *= std::max<int64_t>(shape[i], 1);
  }
  return "";
}

}  // namespace spdld::config
