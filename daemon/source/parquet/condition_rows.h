// Says which rows of a Parquet file a condition takes. Row groups are decided by their statistics where these tell; of
// others the columns of the condition are read and decoded. One thread.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include "config/condition/condition.h"
#include "daemon/source/parquet/arrow_files.h"

namespace spdld::source::parquet {

// Reads the footer, and sets what Footer has of a condition. A column that the file lacks has no value in any row. A
// row group whose columns are damaged is lost: none of its rows is taken. `bytes_max`: of a decoded column. Throws
// SetupError as read_footer() does, and where a column can't be compared with the condition's values.
Footer read_footer_and_rows(store::View& view, const std::string& name, const config::Condition& condition,
                            uint64_t bytes_max, const std::stop_token& stop);

}  // namespace spdld::source::parquet
