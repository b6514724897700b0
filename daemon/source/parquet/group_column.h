// The column of a Parquet file that says which rows belong together (`part` with groups = "column"). One thread.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include "daemon/source/parquet/table.h"
#include "daemon/store/view.h"

namespace spdld::source::parquet {

// Sets footer.groups, a text for each row: texts and binary values as they are, whole numbers in digits, truth values
// as "true" and "false", and an empty text for a null. `bytes_max`: of a decoded column. Throws SetupError where the
// file lacks the column, its values are of another kind, damaged or too many, or a text has a NUL.
void read_group_column(store::View& view, const std::string& name, const std::string& column, uint64_t bytes_max,
                       const std::stop_token& stop, Footer& footer);

}  // namespace spdld::source::parquet
