#include "daemon/source/tables/table_listing.h"

#include <algorithm>
#include <utility>

#include "config/text/words.h"
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
  if (index.compression != Compression::kNone && index.rows() > 0) {
    const auto last = index.places[index.rows() - 1];
    packed_.push_back({firsts_.size(), last.offset + last.length, index.compression, index.unpacker_bytes});
  }
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

Locator TableListing::place_in(size_t number, uint64_t offset, uint64_t bytes) const {
  Locator locator = file(number).at(offset, bytes);
  locator.object_bytes = file(number).bytes;
  store::streams::BlockStore* const stream = streams_.store_of(number);
  if (stream == nullptr) return locator;
  locator.store = stream;
  locator.path = file(number).name;
  locator.identity = streams_.identity_of(number);
  locator.object_bytes = locator.identity.size;
  return locator;
}

void TableListing::open_streams(const ArchiveAccess& access, bool is_needed) {
  if (packed_.empty()) return;
  is_streaming_ = is_needed;
  std::vector<ArchiveStreams::Archive> archives(file_count());
  for (size_t i = 0; i < archives.size(); ++i) archives[i].file = &files_.files[i];
  for (const PackedFile& packed : packed_) {
    archives[packed.number] = {&files_.files[packed.number], packed.bytes, packed.compression, packed.unpacker_bytes};
    streaming_.bytes += packed.bytes;
  }
  streams_.make(archives, access);
  store_concurrency_ = std::max(store_concurrency_, streams_.concurrency());
  streaming_.bytes_max = streams_.block_bytes_max();
  streaming_.goes_forward = streams_.any_packed();
}

void TableListing::expect(uint64_t sample, uint64_t place, uint64_t horizon) const {
  const size_t number = file_of(sample);
  store::streams::BlockStore* const stream = streams_.store_of(number);
  if (stream == nullptr) return;
  const auto [offset, length] = row_of(number, sample - firsts_[number]);
  if (length > 0) stream->expect(file(number).name, offset, length, place, horizon);
}

// No name consists of digits alone: such a text is an id, where samples are named.
std::string TableListing::name_of(size_t number, std::string_view key) const {
  if (key.find_first_not_of("0123456789") != std::string_view::npos) return std::string(key);
  return std::string(file_name(number)).append(1, ':').append(key);
}

}  // namespace spdld::source
