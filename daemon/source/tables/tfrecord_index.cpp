#include <algorithm>
#include <map>

#include "config/text/words.h"
#include "daemon/base/formats/crc32c.h"
#include "daemon/base/formats/little_endian.h"
#include "daemon/base/result.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/tables/reading/block_reader.h"
#include "daemon/source/tables/reading/example.h"
#include "daemon/source/tables/tfrecord.h"

namespace spdld::source {
namespace {

constexpr uint64_t kHeadBytes = 12;        // of a record, before its message
constexpr size_t kLookedBytes = 16 << 10;  // at once: larger messages are not read

std::span<const uint8_t> as_bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// As TensorFlow stores checksums of bytes that may hold checksums themselves.
bool is_checksum(std::span<const uint8_t> stored, std::span<const uint8_t> of) {
  constexpr uint32_t kMaskDelta = 0xa282ead8;
  const uint32_t crc = crc32c(of);
  return little_endian(stored) == static_cast<uint32_t>((crc >> 15 | crc << 17) + kMaskDelta);
}

struct Seen {
  FeatureKind kind = FeatureKind::kNone;
  uint64_t records = 0;
  bool has_other_kinds = false;
};

class RecordIndexer {
 public:
  RecordIndexer(BlockReader& reader, const std::string& path) : reader_(reader), path_(path) {}

  TableIndex run() {
    while (read_record()) {
    }
    note_features();
    index_.content = content_.digits();
    index_.fit();
    return std::move(index_);
  }

 private:
  bool read_record() {
    if (!reader_.have(1)) return false;
    if (!reader_.have(kHeadBytes)) return end("ends within a record");
    const std::span<const uint8_t> head = as_bytes(reader_.text().substr(0, kHeadBytes));
    const uint64_t message = little_endian(head.first(8));
    if (!is_checksum(head.subspan(8), head.first(8))) {
      if (index_.rows() == 0)
        throw SetupError(Trouble::kUsage, path_ +
                                              " is no TFRecord file: the checksum of its first length is wrong. A "
                                              "file that ZLIB compressed must be written without it, or by GZIP.");
      return end("has a length whose checksum is wrong");
    }
    if (message > kMessageBytesMax)
      return end("has a record of " + std::to_string(message) + " bytes, more than the limit of " +
                 std::to_string(kMessageBytesMax));
    const uint64_t record = message + kRecordOverhead;
    const bool is_looked_at = index_.rows() < kExamplesLooked;
    if (is_looked_at && !reader_.have(record)) return end("ends within a record");
    if (is_looked_at) look_at(as_bytes(reader_.text().substr(kHeadBytes, message)));
    pending_ = {reader_.offset(), record};
    reader_.skip(record - 1);
    if (!reader_.have(1)) return end("ends within a record");
    reader_.drop(1);
    index_.add_row(pending_.first, pending_.second);
    content_.add_number(record);
    return true;
  }

  void look_at(std::span<const uint8_t> message) {
    ++looked_;
    std::map<std::string, FeatureKind> features;
    const bool is_sound = for_each_feature(
        message, [&](std::string_view name, const Feature& feature) { features[std::string(name)] = feature.kind; });
    if (!is_sound) return;  // bad content, when it is fetched
    for (const auto& [name, kind] : features) {
      if (kind == FeatureKind::kNone) continue;
      Seen& seen = seen_[name];
      seen.has_other_kinds |= seen.records > 0 && seen.kind != kind;
      if (seen.records++ == 0) seen.kind = kind;
    }
  }

  void note_features() {
    if (seen_.size() > kTableColumnsMax)
      throw SetupError(Trouble::kUsage,
                       path_ + ": its first records have more than " + std::to_string(kTableColumnsMax) + " features.");
    for (const auto& [name, seen] : seen_) {
      index_.columns.push_back(name);
      index_.kinds.push_back(static_cast<uint8_t>(seen.kind));
      const std::string of = base() + ": the feature \"" + config::printable(name) + "\" ";
      if (seen.has_other_kinds) index_.remarks.add(of + "is of several kinds in the first records.");
      if (seen.records < looked_)
        index_.remarks.add(of + "is missing in " + std::to_string(looked_ - seen.records) + " of the first " +
                           std::to_string(looked_) + " records: it may be missing in others, too.");
    }
    index_.absent.resize(index_.columns.size());
  }

  bool end(const std::string& what) {
    index_.remarks.add_missing(base() + ' ' + what + " behind row " + std::to_string(index_.rows()) + ", at byte " +
                               std::to_string(reader_.offset()) + ": the rest of the file is lost.");
    return false;
  }

  std::string base() const { return config::printable(path_.substr(path_.rfind('/') + 1)); }

  BlockReader& reader_;
  const std::string& path_;
  TableIndex index_;
  Fingerprint content_;
  std::map<std::string, Seen> seen_;
  uint64_t looked_ = 0;
  std::pair<uint64_t, uint64_t> pending_;  // offset and bytes of the record that is being read
};

}  // namespace

TableIndex index_tfrecord(store::View& file, const std::string& path, std::atomic<uint64_t>& done,
                          const std::stop_token& stop) {
  BlockReader reader(file, done, stop, kLookedBytes);
  return RecordIndexer(reader, path).run();
}

Result<store::Packing::Piece> ExampleRecords::find(std::span<const uint8_t> holder, uint32_t packed) const {
  const auto refused = [](std::string clause) { return Error{Trouble::kContent, std::move(clause)}; };
  if (holder.size() < kRecordOverhead) return refused("it is no record");
  const std::span<const uint8_t> message = holder.subspan(kHeadBytes, holder.size() - kRecordOverhead);
  if (little_endian(holder.first(8)) != message.size() || !is_checksum(holder.subspan(8, 4), holder.first(8)))
    return refused("there is no such record as when it was listed: was the file replaced?");
  if (!is_checksum(holder.last(4), message)) return refused("the record's checksum is wrong: its bytes are damaged");
  std::optional<Feature> found;
  const bool is_sound = for_each_feature(message, [&](std::string_view name, const Feature& feature) {
    if (name == names_[packed]) found = feature;
  });
  if (!is_sound) return refused("the record is no tf.train.Example");
  const std::string of = "the feature \"" + config::printable(names_[packed]) + "\": ";
  const bool is_missing = !found || found->kind == FeatureKind::kNone;
  if (is_missing && are_numbers_[packed]) return Piece{};
  if (!found) return refused(of + "the record has none");
  const Result<FeatureValues> values = values_of(*found);
  if (!values) return refused(of + values.error().message);
  if (found->kind == FeatureKind::kBytes) return Piece{values->bytes, values->bytes.size(), 0};
  const uint64_t bytes = found->kind == FeatureKind::kFloat ? 4 : 8;
  return Piece{found->list, values->count * bytes, static_cast<uint32_t>(found->kind)};
}

Result<uint64_t> ExampleRecords::unpack(const Piece& piece, uint8_t* to) const {
  if (piece.form == 0) return Packing::unpack(piece, to);
  write_values({static_cast<FeatureKind>(piece.form), piece.bytes}, to);
  return uint64_t{piece.bytes_max};
}

}  // namespace spdld::source
