// Reads a manifest's file once, row by row, for its listing. Values; any thread.
#pragma once

#include <atomic>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "config/condition/condition.h"
#include "daemon/source/tables/manifest_rows.h"
#include "daemon/source/tables/table_index.h"

namespace spdld::source {

inline constexpr uint64_t kManifestRowBytesMax = 128 << 20;
inline constexpr size_t kClassesMax = 1'000'000;  // distinct texts of the classes' column

// The columns that have a part of their own.
struct ManifestColumns {
  std::vector<std::string> files, base64;
  std::string classes, key, groups, weights;        // empty: none
  std::optional<config::Condition> condition = {};  // on the rows that are taken; none: all
};

// The index's texts are the columns of `files`, in their order, then the column `key`, and then the column `groups`. An
// empty text of a file, or of a group, is none. A row that is no row, or that lacks a class or a key, is passed over
// with a remark, as one of the samples that are lost. A row without a weight has none. Throws SetupError where the file
// can't be read, lacks a column that is named, has too many columns or classes, or a text that is no weight.
TableIndex index_manifest(store::View& file, const std::string& path, ManifestFormat format,
                          const ManifestColumns& columns, std::atomic<uint64_t>& done, const std::stop_token& stop);

}  // namespace spdld::source
