#include "config/rows.h"

#include <algorithm>
#include <array>

#include "config/operation.h"

namespace spdld::config {
namespace {

struct RowField {
  std::string_view name;
  std::array<RowKind, 4> kinds;  // the kinds of rows that have it; repeated where there are fewer
};
constexpr std::array<RowField, 5> kRowFields = {
    {{"row.record", {RowKind::kTiles, RowKind::kClips, RowKind::kWindows, RowKind::kPacked}},
     {"row.part", {RowKind::kTiles, RowKind::kClips, RowKind::kWindows, RowKind::kWindows}},
     {"row.y", {RowKind::kTiles, RowKind::kTiles, RowKind::kTiles, RowKind::kTiles}},
     {"row.x", {RowKind::kTiles, RowKind::kTiles, RowKind::kTiles, RowKind::kTiles}},
     {"row.first", {RowKind::kWindows, RowKind::kPacked, RowKind::kPacked, RowKind::kPacked}}}};

bool rows_have(RowKind kind, const RowField& field) {
  return std::count(field.kinds.begin(), field.kinds.end(), kind) > 0;
}

}  // namespace

bool is_row_field(std::string_view from, const RowsSpec& rows) {
  for (const RowField& field : kRowFields)
    if (field.name == from) return rows_have(rows.kind, field);
  return false;
}

std::vector<std::string_view> row_fields(RowKind kind) {
  std::vector<std::string_view> names;
  for (const RowField& field : kRowFields)
    if (rows_have(kind, field)) names.push_back(field.name);
  return names;
}

const OperationSpec* find_tile(const OutputSpec& output, size_t* at) {
  for (*at = 0; *at < output.ops.size(); ++*at)
    if (row_piece_of(output.ops[*at]) == RowKind::kTiles) return &output.ops[*at];
  return nullptr;
}

bool tiles_are_upright(const PipelineSpec& spec) {
  for (const OutputSpec& output : spec.outputs) {
    size_t at = 0;
    if (output.from == spec.rows.from && find_tile(output, &at) != nullptr && at == 1)
      return output.ops.front().flag("exif");
  }
  return true;
}

}  // namespace spdld::config
