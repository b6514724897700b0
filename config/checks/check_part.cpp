// `part` of [order] or of a table of [[sources]]: a part of the samples, such as a fold.
#include <algorithm>
#include <string>
#include <utility>

#include "config/checks/check.h"

namespace spdld::config {
namespace {

using Type = ParameterType;

constexpr int kPartsMax = 1000;

void check_folds(const TableReader& reader, PartSpec& part) {
  part.of = static_cast<uint64_t>(reader.integer("of"));
  if (reader.find("index") == nullptr)
    return reader.complain("of", "needs index: which of the " + std::to_string(part.of) + " parts is taken, from 0");
  const auto numbers = std::get<std::vector<double>>(reader.value("index"));
  for (const double number : numbers) {
    const auto index = static_cast<uint64_t>(number);
    if (index >= part.of)
      return reader.complain("index", "must be at most " + std::to_string(part.of - 1) + ", since of is " +
                                          std::to_string(part.of) + " and the parts are counted from 0");
    part.index.push_back(index);
  }
  std::sort(part.index.begin(), part.index.end());
  if (std::adjacent_find(part.index.begin(), part.index.end()) != part.index.end())
    reader.complain("index", "names a part twice");
}

}  // namespace

const std::vector<Parameter>& part_keys() {
  static const std::vector<Parameter> keys = {
      {.name = "of",
       .type = Type::kInteger,
       .help = "so many parts of about the same size",
       .fallback = Value(int64_t{2}),
       .min = 2,
       .max = kPartsMax},
      {.name = "index",
       .type = Type::kNumbers,
       .help = "beside of: which of the parts is taken, from 0; or a list of several",
       .fallback = Value(std::vector<double>()),
       .min = 0,
       .max = kPartsMax - 1,
       .count_min = 1,
       .count_max = kPartsMax,
       .whole = true},
      {.name = "fraction",
       .type = Type::kNumber,
       .help = "in place of of: the part of the samples that is taken, below 1",
       .fallback = Value(0.0),
       .min = 0,
       .max = 1,
       .above_min = true},
      {.name = "rest",
       .type = Type::kFlag,
       .help = "take all samples that are not in the part",
       .fallback = Value(false)},
      {.name = "seed",
       .type = Type::kInteger,
       .help = "another seed draws other parts; the seed of the pipeline does not count here",
       .fallback = Value(int64_t{0}),
       .min = 0,
       .max = 9223372036854775807.0},
      {.name = "groups",
       .type = Type::kText,
       .help = "what stays together in one part: \"folder\"; \"column\", the rows of a table that have one text in the "
               "column groups_column; or a file of names or ids and groups, one a line, with a TAB or comma between",
       .fallback = Value(std::string())},
      {.name = "groups_column",
       .type = Type::kText,
       .help = "beside groups = \"column\": the column, such as the patient of each row",
       .fallback = Value(std::string())},
      {.name = "stratify",
       .type = Type::kChoice,
       .help = "divide each class alike. Then samples that are added may change the part of a few others",
       .fallback = Value(std::string("class")),
       .choices = {"class"}},
  };
  return keys;
}

PartSpec check_part(const TableReader& table, const std::filesystem::path& folder) {
  PartSpec part;
  const Node* const node = table.find("part");
  if (node == nullptr) return part;
  const TableReader reader(*node, table.key("part"), part_keys(), table.complaints());
  if (node->table() == nullptr) return part;
  reader.refuse_unknown();
  const bool has_folds = reader.find("of") != nullptr, has_fraction = reader.find("fraction") != nullptr;
  if (has_folds == has_fraction) {
    table.complain("part", "needs either of and index, or fraction");
    return part;
  }
  if (has_folds) {
    check_folds(reader, part);
  } else {
    part.fraction = reader.number("fraction");
    if (part.fraction == 1) reader.complain("fraction", "must be below 1: leave part out to take all samples");
    if (reader.find("index") != nullptr) reader.complain("index", "may only stand beside of");
  }
  part.rest = reader.flag("rest");
  part.seed = static_cast<uint64_t>(reader.integer("seed"));
  part.groups = list_of(reader, "groups", folder, {kGroupsByFolder, kGroupsByColumn});
  part.groups_column = reader.text("groups_column");
  if (part.groups == kGroupsByColumn && part.groups_column.empty())
    reader.complain("groups", "needs groups_column, which names the column");
  if (part.groups != kGroupsByColumn && reader.find("groups_column") != nullptr)
    reader.complain("groups_column", "may only stand beside groups = \"column\"");
  part.by_class = reader.given_text("stratify").has_value();
  if (part.by_class && !part.groups.empty())
    reader.complain("stratify", "may not stand beside groups: a group with samples of several classes stays whole");
  return part;
}

}  // namespace spdld::config
