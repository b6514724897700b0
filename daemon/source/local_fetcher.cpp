#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <thread>

#include "daemon/base/cpu.h"
#include "daemon/source/fetcher.h"
#include "daemon/source/trouble.h"
#include "proto/unique_fd.h"

namespace spdld::source {
namespace {

Error bad(const std::string& message) { return {Trouble::kContent, message}; }

Error failed(const std::string& path, const char* doing, int error_number) {
  return {content_trouble(error_number), path + " can't be " + doing + ": " + error_words(error_number) + "."};
}

// What part of an open file an extent means; checked against the file as it is now.
struct Part {
  uint64_t offset, size;
};

Result<Part> find_part(int fd, const Extent& extent, const std::string& path, uint64_t bytes_max) {
  struct stat status;
  if (::fstat(fd, &status) != 0) return failed(path, "read", errno);
  if (!S_ISREG(status.st_mode)) return bad(path + " is not a regular file.");
  const auto file_size = static_cast<uint64_t>(status.st_size);
  const bool whole = extent.length < 0;
  const uint64_t size = !whole                       ? static_cast<uint64_t>(extent.length)
                        : extent.offset <= file_size ? file_size - extent.offset
                                                     : 0;
  const std::string place = whole ? "" : ", byte " + std::to_string(extent.offset) + ",";
  if (size == 0) return bad(path + place + " is empty.");
  if (size > bytes_max) {
    return bad(path + place + " has " + std::to_string(size) + " bytes, more than the limit of " +
               std::to_string(bytes_max) + ".");
  }
  if (extent.offset > file_size || size > file_size - extent.offset) {
    return bad(path + " is shorter than when it was listed: was it replaced?");
  }
  return Part{extent.offset, size};
}

Status read_extent(const Extent& extent, std::string& path, uint64_t bytes_max, ByteBuffer& bytes) {
  path.assign(extent.folder).append(extent.path);
  // Without O_NONBLOCK, opening a named pipe would wait for somebody to write to it.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd) return failed(path, "opened", errno);
  const Result<Part> part = find_part(fd.get(), extent, path, bytes_max);
  if (!part) return part.error();
  uint8_t* to = bytes.resize(part->size);
  uint64_t got = 0;
  while (got < part->size) {
    const ssize_t n = ::pread(fd.get(), to + got, part->size - got, static_cast<off_t>(part->offset + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed(path, "read", errno);
    if (n == 0) return bad(path + " became shorter while it was read.");
    got += static_cast<uint64_t>(n);
  }
  return Done{};
}

}  // namespace

struct LocalFetcher::Inside {
  explicit Inside(uint64_t limit) : bytes_max(limit) {}

  void work() {
    std::string path;  // kept for its memory
    while (FetchRequest* request = take()) {
      const auto start = std::chrono::steady_clock::now();
      read(*request, path);
      const auto duration = std::chrono::steady_clock::now() - start;
      request->duration_ns =
          static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count());
      statistics.duration_ns.record(request->duration_ns);
      request->observer->on_fetched(*request);  // it may be gone or in use again after this
    }
  }

  FetchRequest* take() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return !queue.empty() || closing; });
    if (queue.empty()) return nullptr;
    FetchRequest* request = queue.front();
    queue.pop_front();
    return request;
  }

  void read(FetchRequest& request, std::string& path) {
    request.ok = true;
    request.error = {};
    uint64_t bytes = 0;
    // More buffers than fields, from an earlier request, are kept for a later one.
    request.bytes.resize(std::max(request.bytes.size(), request.fields.size()));
    for (size_t i = 0; i < request.fields.size() && request.ok; ++i) {
      Status status = read_field(request, i, path);
      if (!status) request.ok = false, request.error = std::move(status.error());
      bytes += request.bytes[i].size();
    }
    if (request.ok) statistics.samples.add(), statistics.bytes.add(bytes);
    if (!request.ok) statistics.failures.add();
  }

  Status read_field(FetchRequest& request, size_t i, std::string& path) try {
    request.bytes[i].resize(0);
    const Listing& listing = *request.listing;
    const Extent extent = listing.locate(request.sample, request.fields[i]);
    if (extent.path.empty()) {
      return bad("the sample " + listing.name(request.sample) + " has no \"" +
                 listing.fields()[request.fields[i]].name + "\".");
    }
    return read_extent(extent, path, bytes_max, request.bytes[i]);
  } catch (const std::bad_alloc&) {
    return Error{Trouble::kTransient, path + " can't be read: there is not enough memory."};
  }

  const uint64_t bytes_max;
  FetchStatistics statistics;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<FetchRequest*> queue;  // under mutex; bounded by those who ask
  bool closing = false;             // under mutex
  std::vector<std::jthread> threads;
};

LocalFetcher::LocalFetcher(unsigned concurrency, uint64_t bytes_max) : inside_(std::make_unique<Inside>(bytes_max)) {
  for (unsigned i = 0; i < std::max(1u, concurrency); ++i) {
    inside_->threads.emplace_back([inside = inside_.get(), i] {
      name_thread("fetch", i);
      inside->work();
    });
  }
}

LocalFetcher::~LocalFetcher() {
  {
    const std::scoped_lock lock(inside_->mutex);
    inside_->closing = true;
  }
  inside_->changed.notify_all();
  inside_->threads.clear();  // joins
}

void LocalFetcher::fetch(FetchRequest& request) {
  const std::scoped_lock lock(inside_->mutex);
  inside_->queue.push_back(&request);
  inside_->changed.notify_one();  // under the lock: the request may be the last one, and its end the fetcher's
}

const FetchStatistics& LocalFetcher::statistics() const { return inside_->statistics; }

}  // namespace spdld::source
