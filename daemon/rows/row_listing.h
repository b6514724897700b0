// A listing of rows, made of the records of another listing. All that knows of a listing knows of rows by it: the
// order, the lists of samples, the fetcher, and errors. It has the records' fields, and integers of the row (config::
// row_fields). A row is named after its first record and its part: "archive.tar:key[3]"; packed rows are named
// "row 17, from archive.tar:key". Constant; any thread.
#pragma once

#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>

#include "config/spec.h"
#include "daemon/rows/length_index.h"
#include "daemon/source/joined.h"
#include "daemon/source/listing.h"

namespace spdld::rows {

// The rows that spec.rows says, of one source's records. Makes the index of lengths (make_length_index). Records
// that could not be measured give no rows, and there is a remark on each; records that lack the field count as missing,
// as `source` says. Throws SetupError: no such field, or no record gives a row. `use` gets the use of the kept index.
std::unique_ptr<source::Listing> list_rows(const config::PipelineSpec& spec, const config::SourceSpec& source,
                                           std::unique_ptr<source::Listing> records, const source::Progress& progress,
                                           const std::stop_token& stop, const std::filesystem::path& kept = {},
                                           IndexUse* use = nullptr);

// The rows of records that were measured before. Precondition: `field` is of kind kFetched, and the measure fits.
std::unique_ptr<source::Listing> list_rows(const config::RowsSpec& spec, std::unique_ptr<source::Listing> records,
                                           source::FieldId field, std::shared_ptr<const LengthIndex> lengths);

}  // namespace spdld::rows
