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

// What a file was when it was read: where both are the same, its content is taken for the same. A store's ETag will be
// hashed into `changed`.
struct Identity {
  uint64_t size = 0;    // of the whole file
  int64_t changed = 0;  // its modification time, ns since 1970
  friend bool operator==(const Identity&, const Identity&) = default;
};

// What is wanted of one field.
struct FieldFetch {
  enum class Want : uint8_t {
    kBytes,    // its bytes
    kNothing,  // none: they are at hand; bytes[i] stays empty
    kChanged,  // its bytes if the file is another than `identity`; else `unchanged`, and bytes[i] is empty
  };
  FieldId field = 0;
  Want want = Want::kBytes;
  Identity identity = {};  // kChanged: of what is at hand. After kBytes and kChanged: of the file as it is
  bool unchanged = false;  // set by the fetcher
  // A copy of the field that somebody keeps: read from `kept_fd` (borrowed) instead of the field's own file. With
  // kBytes without looking at that at all (identity stays), with kChanged if that is unchanged (`unchanged` is set,
  // bytes[i] is the copy). Where the copy can't be read the field's own file is, `copy_failed` is set and `unchanged`
  // is not.
  int kept_fd = -1;
  uint64_t kept_offset = 0, kept_bytes = 0;
  bool copy_failed = false;
};

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
  std::vector<FieldFetch> fields;  // of kind kFetched
  FetchObserver* observer = nullptr;

  // Set by the fetcher before on_fetched. bytes[i] belongs to fields[i]; there may be more of them, left from an
  // earlier use of this request, whose memory is used again. After a failure their content means nothing. ByteBuffer's
  // memory is aligned to 16 bytes at least.
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
  // Fetches on the calling thread, which may be one that decodes, where that needs no wait for a disk or a network: the
  // results are set, and on_fetched is not called. False: it can't be had so, or something is wrong with it; the
  // request's results mean nothing then, and fetch() is to be called. What comes this way is not handed from thread to
  // thread, and lies in the cache of the core that uses it.
  virtual bool fetch_at_hand(FetchRequest&) { return false; }
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
  bool fetch_at_hand(FetchRequest& request) override;
  // How many of the threads take requests, 1 to as many as there are; the others sleep. What is being read is finished.
  void set_concurrency(unsigned concurrency);
  unsigned concurrency() const;
  const FetchStatistics& statistics() const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace spdld::source
