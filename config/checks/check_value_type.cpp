// The checks of a table that says what the user's own code gives: { dtype = "uint8", shape = [224, 224, 3] }.
#include <algorithm>

#include "config/checks/check.h"
#include "config/text/value_type.h"
#include "config/text/words.h"

namespace spdld::config {
namespace {

constexpr size_t kNameBytesMax = 64;

const std::vector<Parameter>& value_type_keys() {
  static const std::vector<Parameter> keys = [] {
    std::vector<std::string_view> dtypes;
    for (size_t i = 0; i < kDTypeCount; ++i) dtypes.push_back(dtype_name(static_cast<DType>(i)));
    return std::vector<Parameter>{
        {.name = "dtype", .type = ParameterType::kChoice, .help = "of the tensor", .choices = std::move(dtypes)},
        {.name = "shape",
         .type = ParameterType::kNumbers,
         .help = "of a sample's tensor; [] is one value, and -1 in the first place: samples differ in length",
         .min = -1,
         .max = static_cast<double>(kValueElementsMax),
         .count_min = 0,
         .count_max = kValueDimensionsMax,
         .whole = true}};
  }();
  return keys;
}

}  // namespace

std::optional<ValueType> check_value_type(const Node& node, const std::string& key, Complaints& complaints) {
  const size_t before = complaints.size();
  const TableReader reader(node, key, value_type_keys(), complaints);
  reader.refuse_unknown();
  const std::string dtype = reader.text("dtype");
  const auto sizes = std::get<std::vector<double>>(reader.value("shape"));
  if (complaints.size() > before) return std::nullopt;
  ValueType type{.dtype = dtype_named(dtype)};
  for (const double size : sizes) type.shape.push_back(static_cast<int64_t>(size));
  if (std::string why = misfit(type.shape); !why.empty()) {
    reader.complain("shape", std::move(why));
    return std::nullopt;
  }
  return type;
}

std::vector<NamedValueType> check_value_types(const Node& node, const std::string& key, Complaints& complaints) {
  std::vector<NamedValueType> types;
  const auto complain = [&](int line, const std::string& at, std::string text) {
    complaints.add(line, at, std::move(text));
  };
  if (node.table()->empty()) complain(node.line, key, "must name at least one value");
  for (const Entry& entry : *node.table()) {
    const std::string at = key + "." + printable(entry.name, kNameBytesMax);
    if (!is_word(entry.name, kNameMarks))
      complain(entry.node.line, at, "must have a name of 1 to 64 letters, digits, \"_\", \".\" or \"-\"");
    const auto text = entry.node.text() == nullptr ? std::nullopt : value_type_in(*entry.node.text());
    if (entry.node.table() != nullptr) {
      if (auto type = check_value_type(entry.node, at, complaints)) types.push_back({entry.name, *std::move(type)});
    } else if (text) {
      types.push_back({entry.name, *text});
    } else {
      complain(entry.node.line, at,
               "must be \"bytes\", or a table such as { dtype = \"uint8\", shape = [224, 224, 3] }, not " +
                   (entry.node.text() == nullptr ? std::string(kind_of(entry.node)) : in_quotes(*entry.node.text())));
    }
  }
  std::ranges::sort(types, {}, &NamedValueType::name);
  return types;
}

}  // namespace spdld::config
