#include "daemon/source/tables/table_listing.h"

#include <algorithm>
#include <utility>

namespace spdld::source {

TableListing::TableListing(std::vector<std::string> paths, Stamps stamps)
    : paths_(std::move(paths)), common_(common_folder(paths_)), stamps_(std::move(stamps)) {}

size_t TableListing::file_of(uint64_t sample) const {
  return static_cast<size_t>(std::upper_bound(firsts_.begin(), firsts_.end(), sample) - firsts_.begin()) - 1;
}

}  // namespace spdld::source
