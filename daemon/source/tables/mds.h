// MosaicML Streaming's shards (MDS, https://github.com/mosaicml/streaming, streaming/base/format/mds): a folder has an
// index.json with version 2 and its shards, each with its columns' names, encodings and sizes. A shard begins with the
// number of its samples (uint32), the places of the samples in the shard and its end (uint32, one more than samples),
// and a text of JSON. A sample has the size of each column of no fixed size (uint32), then the columns' bytes. All
// numbers are little-endian. Nothing is trusted.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "config/signature.h"
#include "daemon/source/tables/table_index.h"
#include "daemon/store/packing.h"

namespace spdld::source {

inline constexpr uint64_t kMdsIndexBytesMax = 256 << 20;

struct MdsColumn {
  std::string name, encoding;
  std::optional<uint64_t> size;  // none: samples differ
  friend bool operator==(const MdsColumn&, const MdsColumn&) = default;
};
// The numbers that a column's encoding means; none: it means bytes. Arrays that tell their shape themselves are given
// as .npy files.
std::optional<config::RawValues> values_of_encoding(std::string_view encoding);

struct MdsShard {
  std::string name;         // of its file, relative to the index
  std::string packed_name;  // the same of its compressed file; empty: there is none
  uint64_t samples = 0, bytes = 0;
  std::vector<MdsColumn> columns;
};
// The shards of an index; `path` is for errors. Throws SetupError where the text is no such index, or where a shard is
// compressed in another way than by gzip or zstd, or of another format.
std::vector<MdsShard> read_mds_index(std::string_view text, const std::string& path);

// Reads the places of a shard's samples. Throws SetupError where the shard can't be read, or is another than `shard`.
TableIndex index_mds(store::View& file, const std::string& path, const MdsShard& shard, std::atomic<uint64_t>& done,
                     const std::stop_token& stop);

// Takes columns out of samples. Value number i is columns[i].
class MdsRows final : public store::Packing {
 public:
  explicit MdsRows(std::vector<MdsColumn> columns) : columns_(std::move(columns)) {}
  Result<Piece> find(std::span<const uint8_t> holder, uint32_t packed) const override;
  Result<uint64_t> unpack(const Piece& piece, uint8_t* to) const override;

 private:
  std::vector<MdsColumn> columns_;
};

}  // namespace spdld::source
