#include "daemon/source/tables/table_listing.h"

#include <algorithm>
#include <utility>

namespace spdld::source {

TableListing::TableListing(DataFiles files)
    : store_concurrency_(files.store_concurrency()), files_(std::move(files)), common_(common_folder(files_.names())) {}

size_t TableListing::file_of(uint64_t sample) const {
  return static_cast<size_t>(std::upper_bound(firsts_.begin(), firsts_.end(), sample) - firsts_.begin()) - 1;
}

}  // namespace spdld::source
