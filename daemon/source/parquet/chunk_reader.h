// Reads ranges of Parquet files, local ones and objects in remote stores, for threads that may block.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>

#include "daemon/base/result.h"
#include "daemon/source/parquet/table.h"

namespace spdld::source::parquet {

// Any thread.
class ChunkReader {
 public:
  virtual ~ChunkReader() = default;
  // Fills `to` with the file's bytes from `offset` on. kContent: it is another file than when it was listed, or it is
  // gone. kStopping: `stop` was asked for. Errors are sentences that name the file.
  virtual Status read(const DataFile& file, uint64_t offset, std::span<uint8_t> to, const std::stop_token& stop) = 0;
};

// `bounds`: where local files must lie; null: anywhere.
std::unique_ptr<ChunkReader> make_chunk_reader(std::shared_ptr<const Bounds> bounds);

}  // namespace spdld::source::parquet
