// Fetches bytes, asynchronously: the same interface for local files now, and for HTTP and S3, whose depth is not a
// count of threads. A request is owned by the one who asks and must stay where it is until on_fetched is called for it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "daemon/base/byte_buffer.h"
#include "daemon/base/result.h"
#include "daemon/base/statistics.h"
#include "daemon/source/listing.h"

namespace spdld::source {

struct FetchRequest;

// Told once a request, on a thread of the fetcher's; must not block.
class FetchObserver {
 public:
  virtual void on_fetched(FetchRequest& request) = 0;

 protected:
  ~FetchObserver() = default;
};

struct FetchRequest {
  // Set by the one who asks.
  const Listing* listing = nullptr;
  uint64_t sample = 0;
  std::span<const FieldId> fields;  // of kind kFetched
  FetchObserver* observer = nullptr;

  // Set by the fetcher before on_fetched. bytes[i] belongs to fields[i]; there may be more of them, left from an
  // earlier use of this request, whose memory is used again. After a failure their content means nothing.
  std::vector<ByteBuffer> bytes;
  bool ok = false;
  uint64_t duration_ns = 0;  // of the reading itself, without the wait for its turn
  Error error;  // kContent: the sample lacks a field or its file is gone, empty or over the limit; kTransient: EIO and
                // its kin
};

class Fetcher {
 public:
  virtual ~Fetcher() = default;
  // Never blocks. The number of outstanding requests is bounded by those who ask (each stream has a window).
  virtual void fetch(FetchRequest& request) = 0;
};

struct FetchStatistics {
  Counter samples, bytes, failures;
  Histogram duration_ns;  // of one request, from start to end of its reading (not its time in the queue)
};

// Reads local files with `concurrency` threads. The destructor finishes what is outstanding (it does not drop
// requests). A single field is at most `bytes_max`; a larger one is bad content.
class LocalFetcher : public Fetcher {
 public:
  explicit LocalFetcher(unsigned concurrency, uint64_t bytes_max = 1ull << 30);
  ~LocalFetcher() override;
  void fetch(FetchRequest& request) override;
  const FetchStatistics& statistics() const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace spdld::source
