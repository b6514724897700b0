#include "daemon/source/parquet/table.h"

#include <algorithm>

namespace spdld::source::parquet {

size_t ParquetTable::group_of(uint64_t row) const {
  const auto after = std::upper_bound(groups.begin(), groups.end(), row,
                                      [](uint64_t wanted, const Group& group) { return wanted < group.first_row; });
  return static_cast<size_t>(after - groups.begin()) - 1;
}

std::string ParquetTable::place_of(uint64_t row, size_t column) const {
  const size_t number = group_of(row);
  const uint32_t file = groups[number].file;
  size_t first = number - groups[number].number;
  return files[file].name + ", row " + std::to_string(row - groups[first].first_row) + ", column " +
         columns[column].name;
}

}  // namespace spdld::source::parquet
