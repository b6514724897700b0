#include "daemon/source/parquet/chunk_reader.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "daemon/source/bounds.h"
#include "daemon/source/fetcher.h"
#include "daemon/source/trouble.h"
#include "daemon/store/waiting.h"
#include "proto/unique_fd.h"

namespace spdld::source::parquet {
namespace {

Error replaced(const std::string& name) {
  return {Trouble::kContent, name + " is another one than when it was listed: was it replaced?"};
}

class AnyChunkReader final : public ChunkReader {
 public:
  explicit AnyChunkReader(std::shared_ptr<const Bounds> bounds) : bounds_(std::move(bounds)) {}

  Status read(const File& file, uint64_t offset, std::span<uint8_t> to, const std::stop_token& stop) override {
    if (to.empty()) return Done{};
    return file.store ? read_object(file, offset, to, stop) : read_file(file, offset, to);
  }

 private:
  Status read_object(const File& file, uint64_t offset, std::span<uint8_t> to, const std::stop_token& stop) const {
    store::Read read;
    read.owner = reinterpret_cast<uintptr_t>(this);  // all columns of a data set have one turn
    read.object = file.object;
    read.offset = offset;
    read.bytes = to.size();
    read.pieces.push_back({offset, to.size(), to.data()});
    read.identity = file.identity;
    return store::Waiting(*file.store).read(read, stop);
  }

  Status read_file(const File& file, uint64_t offset, std::span<uint8_t> to) const {
    const auto failed = [&](const char* doing, int error_number) -> Status {
      if (error_number == kLeadsOut) return Error{Trouble::kContent, leads_out(file.name)};
      return Error{content_trouble(error_number),
                   file.name + " can't be " + doing + ": " + error_words(error_number) + "."};
    };
    const UniqueFd fd(open_file(bounds_.get(), file.name.c_str()));
    if (!fd) return failed("opened", errno);
    struct stat status;
    if (::fstat(fd.get(), &status) != 0) return failed("read", errno);
    if (!S_ISREG(status.st_mode) || identity_of(status) != file.identity) return replaced(file.name);
    for (uint64_t got = 0; got < to.size();) {
      const ssize_t n = ::pread(fd.get(), to.data() + got, to.size() - got, static_cast<off_t>(offset + got));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return failed("read", errno);
      if (n == 0) return replaced(file.name);
      got += static_cast<uint64_t>(n);
    }
    return Done{};
  }

  const std::shared_ptr<const Bounds> bounds_;
};

}  // namespace

std::unique_ptr<ChunkReader> make_chunk_reader(std::shared_ptr<const Bounds> bounds) {
  return std::make_unique<AnyChunkReader>(std::move(bounds));
}

}  // namespace spdld::source::parquet
