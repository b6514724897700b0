#include "daemon/source/parquet/chunk_reader.h"

#include <utility>

#include "daemon/source/files/listed_file.h"
#include "daemon/store/waiting.h"

namespace spdld::source::parquet {
namespace {

class AnyChunkReader final : public ChunkReader {
 public:
  explicit AnyChunkReader(std::shared_ptr<const Bounds> bounds) : bounds_(std::move(bounds)) {}

  Status read(const DataFile& file, uint64_t offset, std::span<uint8_t> to, const std::stop_token& stop) override {
    if (to.empty()) return Done{};
    return file.store ? read_object(file, offset, to, stop) : read_file(file, offset, to);
  }

 private:
  Status read_object(const DataFile& file, uint64_t offset, std::span<uint8_t> to, const std::stop_token& stop) const {
    store::Read read;
    read.owner = reinterpret_cast<uintptr_t>(this);  // all columns of a data set have one turn
    read.object = file.object;
    read.offset = offset;
    read.bytes = to.size();
    read.pieces.push_back({offset, to.size(), to.data()});
    read.identity = file.identity;
    return store::Waiting(*file.store).read(read, stop);
  }

  Status read_file(const DataFile& file, uint64_t offset, std::span<uint8_t> to) const {
    const auto view = open_listed_file(bounds_.get(), file.name, file.identity, file.name);
    if (!view) return view.error();
    const Result<uint64_t> got = (*view)->read(offset, to);
    if (!got) return got.error();
    if (*got < to.size()) return Error{Trouble::kContent, file.name + " became shorter while it was read."};
    return Done{};
  }

  const std::shared_ptr<const Bounds> bounds_;
};

}  // namespace

std::unique_ptr<ChunkReader> make_chunk_reader(std::shared_ptr<const Bounds> bounds) {
  return std::make_unique<AnyChunkReader>(std::move(bounds));
}

}  // namespace spdld::source::parquet
