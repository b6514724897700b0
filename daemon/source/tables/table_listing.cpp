#include "daemon/source/tables/table_listing.h"

#include <algorithm>
#include <utility>

#include "config/document.h"
#include "daemon/base/result.h"

namespace spdld::source {

TableListing::TableListing(DataFiles files)
    : store_concurrency_(files.store_concurrency()), files_(std::move(files)), common_(common_folder(files_.names())) {}

size_t TableListing::file_of(uint64_t sample) const {
  return static_cast<size_t>(std::upper_bound(firsts_.begin(), firsts_.end(), sample) - firsts_.begin()) - 1;
}

void TableListing::add_file(const TableIndex& index, Fingerprint& fingerprint) {
  fingerprint.add_text(file_name(firsts_.size()));
  fingerprint.add_number(index.rows());
  fingerprint.add_text(index.content);
  remarks_.add_all(index.remarks);
  add_file(index.rows());
}

void TableListing::tell_untaken(const std::string& condition, const std::string& what, const std::string& more) {
  if (condition.empty()) return;
  const std::string shown = config::printable(condition, 200);
  if (untaken_count_ == size()) {
    const auto& lost = remarks_.missing().first;
    throw SetupError(Trouble::kUsage, what + ": source.where, " + shown + ", takes none of the " +
                                          std::to_string(size()) + " rows" +
                                          (lost.empty() ? "." : " (" + lost.front() + ")."));
  }
  remarks_.add("source.where takes " + std::to_string(size() - untaken_count_) + " of " + std::to_string(size()) +
               " rows, and leaves " + std::to_string(untaken_count_) + " out (" + shown + ')' + more + '.');
}

uint64_t TableListing::untaken_bytes() const {
  uint64_t bytes = untaken_.capacity() * sizeof(RowSet);
  for (const RowSet& rows : untaken_) bytes += rows.memory_bytes();
  return bytes;
}

// No name consists of digits alone: such a text is an id, where samples are named.
std::string TableListing::name_of(size_t number, std::string_view key) const {
  if (key.find_first_not_of("0123456789") != std::string_view::npos) return std::string(key);
  return std::string(file_name(number)).append(1, ':').append(key);
}

}  // namespace spdld::source
