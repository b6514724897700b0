// TFRecord files (tensorflow/core/lib/io/record_writer.h): each record is the length of its message (8 bytes,
// little-endian), the masked CRC-32C of these (4 bytes), the message, and the message's masked CRC-32C. A message is a
// tf.train.Example. Files may be compressed as a whole (content_read.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "daemon/source/tables/table_index.h"
#include "daemon/store/packing.h"

namespace spdld::source {

inline constexpr uint64_t kRecordOverhead = 16;        // bytes of a record beside its message
inline constexpr uint64_t kMessageBytesMax = 1 << 30;  // as a fetcher's largest field
inline constexpr uint64_t kExamplesLooked = 8;         // records of a file that say which features there are

// The index's columns and kinds (FeatureKind) are the features of the file's first records, sorted by name. Where a
// length's checksum is wrong, the rest of the file is lost, and a remark says so. Throws SetupError where the file
// can't be read, its first record is none, or has too many features. Owned by no thread.
TableIndex index_tfrecord(store::View& file, const std::string& path, std::atomic<uint64_t>& done,
                          const std::stop_token& stop);

// Takes features out of records, whose checksums it looks at. Value number i is the feature of names[i]. A feature of
// numbers that a record lacks is an empty list, as for TensorFlow's VarLenFeature; `are_numbers` says which are known
// to be such features.
class ExampleRecords final : public store::Packing {
 public:
  ExampleRecords(std::vector<std::string> names, std::vector<bool> are_numbers)
      : names_(std::move(names)), are_numbers_(std::move(are_numbers)) {}
  Result<Piece> find(std::span<const uint8_t> holder, uint32_t packed) const override;
  Result<uint64_t> unpack(const Piece& piece, uint8_t* to) const override;

 private:
  const std::vector<std::string> names_;
  const std::vector<bool> are_numbers_;
};

}  // namespace spdld::source
