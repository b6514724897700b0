// [rows] as outputs see it: the integers that each row has, and the pictures that tiles are cut out of. Pure functions;
// any thread.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "config/spec.h"

namespace spdld::config {

// The names of the integers that each row has (`from = "row.part"`), in order.
std::vector<std::string_view> row_fields(RowKind kind);
bool is_row_field(std::string_view from, const RowsSpec& rows);

// The operation that cuts a tile out, and its place in the chain; null: the output has none.
const OperationSpec* find_tile(const OutputSpec& output, size_t* at);

// Whether the pictures that are cut into tiles are upright as their EXIF orientation says. Precondition: the spec was
// checked, and cuts tiles.
bool tiles_are_upright(const PipelineSpec& spec);

}  // namespace spdld::config
