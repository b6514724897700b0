// Fetches bytes, asynchronously: the same interface for local files now, and for HTTP and S3, whose depth is not a
// count of threads. The caller owns a request, which must stay where it is until on_fetched is called for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "daemon/base/byte_budget.h"
#include "daemon/base/byte_buffer.h"
#include "daemon/base/byte_parts.h"
#include "daemon/base/result.h"
#include "daemon/base/statistics.h"
#include "daemon/source/fetching/fetch_route.h"
#include "daemon/source/listing.h"

namespace spdld::source {

struct FetchRequest;

using store::Identity;

// The request for one field.
struct FieldFetch {
  enum class Want : uint8_t {
    kBytes,    // its bytes
    kNothing,  // no bytes: the caller has them; bytes[i] stays empty
    kChanged,  // its bytes if the file is another than `identity`; else `unchanged`, and bytes[i] is empty
    kParts,    // the parts of its bytes that `parts` names
  };
  FieldId field = 0;
  Want want = Want::kBytes;
  Identity identity = {};  // kChanged: of the caller's copy. After kBytes and kChanged: of the file now
  bool unchanged = false;  // set by the fetcher
  // A kept copy of the field, which is read from `kept_fd` (borrowed) instead of the field's own file. With kBytes the
  // own file is not looked at (identity stays). With kChanged the copy is read if the own file is unchanged
  // (`unchanged` is set, bytes[i] is the copy). Where the copy can't be read, the own file is read, `copy_failed` is
  // set and `unchanged` is not.
  int kept_fd = -1;
  uint64_t kept_offset = 0, kept_bytes = 0;
  bool copy_failed = false;
  // Of kParts; offsets count within the field's bytes. After the fetch: the parts that were read, which lie in bytes[i]
  // one behind another: fewer, where the content ends before. Where the field's bytes can't be read in parts, or are at
  // most `whole_max`, all are read, and `is_whole` is set.
  std::vector<ByteRange> parts = {};
  uint64_t whole_max = 0;
  bool is_whole = false;
  uint64_t content_bytes = 0;  // of the whole content
  bool is_placed = false;      // set by the fetcher: the content lies in the batch already, and bytes[i] is empty
  // The parts are wanted of the file with `identity` alone: of another file nothing is read, and is_other is set.
  bool is_of_identity = false, is_other = false;
  // Sets what was read of a content of `bytes`: the parts as far as it has them. Returns how many bytes that is.
  uint64_t settle_parts(uint64_t bytes);
};

inline uint64_t FieldFetch::settle_parts(uint64_t bytes) {
  content_bytes = bytes;
  is_whole = bytes <= whole_max;
  if (is_whole) parts = {{0, bytes}};
  for (ByteRange& part : parts) {
    part.offset = std::min(part.offset, bytes);
    part.bytes = std::min(part.bytes, bytes - part.offset);
  }
  join_ranges(parts, 0);
  is_whole = is_whole || (parts.size() == 1 && parts.front() == ByteRange{0, bytes});
  uint64_t wanted = 0;
  for (const ByteRange& part : parts) wanted += part.bytes;
  return wanted;
}

// Called once for each request, on a thread of the fetcher; must not block.
class FetchObserver {
 public:
  virtual void on_fetched(FetchRequest& request) = 0;

 protected:
  ~FetchObserver() = default;
};

struct FetchRequest : ByteBudget::Holder {
  // Set by the caller.
  const Listing* listing = nullptr;
  uint64_t sample = 0;
  uint64_t owner = 0;  // requests wait in turn by owner
  // Bounds the bytes that requests have in memory; none: no bound. A fetcher holds a request's bytes there before it
  // allocates them, and the caller gives them back when they are not needed any more.
  ByteBudget* budget = nullptr;
  // Becomes true when nobody wants the bytes any more: a read that waits for a remote store then soon ends with an
  // error. It outlives the request. nullptr: the bytes are wanted to the end.
  const std::atomic<bool>* is_unwanted = nullptr;
  // Others that want the same bytes may copy them until the caller calls the fetcher's end_loan(), which it does before
  // it changes or frees them. Fetching the request again does so too.
  bool lends_bytes = false;
  std::vector<FieldFetch> fields;  // of kind kFetched
  FetchObserver* observer = nullptr;

  // Set by the fetcher before on_fetched. bytes[i] belongs to fields[i]; there may be more buffers, left from an
  // earlier use of this request, so that their memory is used again. After a failure the bytes mean nothing.
  std::vector<ByteBuffer> bytes;
  // A field's bytes in the memory of their store, which fetch_at_hand() may give in place of bytes[i]. They stay as
  // they are while `keeper` is held; null: they lie in bytes[i].
  struct Borrowed {
    std::span<const uint8_t> bytes;
    std::shared_ptr<const void> keeper;
  };
  std::vector<Borrowed> borrowed;  // as `bytes`; there may be fewer
  std::span<const uint8_t> bytes_of(size_t i) const {
    return i < borrowed.size() && borrowed[i].keeper ? borrowed[i].bytes : bytes[i].bytes();
  }
  void end_borrowing() {
    for (Borrowed& one : borrowed) one = {};
  }
  bool ok = false;
  uint64_t duration_ns = 0;  // of the reading itself, without the wait for its turn
  uint64_t asked_ns = 0;     // monotonic: when fetch() was called, where the fetcher has a queue of its own
  uint64_t waited_ns = 0;    // from then until the reading began
  Error error;  // kContent: the sample lacks a field or its file is gone, empty or over the limit; kTransient: EIO and
                // its kin; kMemory: the node is short of memory

  FetchRoute route;  // the fetchers' own
  void on_room() override;
};

class Fetcher {
 public:
  virtual ~Fetcher() = default;
  // Never blocks. Callers bound the number of outstanding requests (each stream has a window).
  virtual void fetch(FetchRequest& request) = 0;
  // Fetches on the calling thread, which may be a decode thread, where that needs no wait for a disk or a network: the
  // results are set, and on_fetched is not called. False: this is not possible, or something is wrong; the results mean
  // nothing then, and fetch() must be called. Bytes from here are not handed from thread to thread, and lie in the
  // cache of the core that uses them.
  virtual bool fetch_at_hand(FetchRequest&) { return false; }
  // Of a request that lends its bytes; not while it is fetched. Waits for no more than copies in memory.
  virtual void end_loan(FetchRequest&) {}
  // Some request's `is_unwanted` has become true. Observers may be told before this returns.
  virtual void drop_unwanted() {}
  // The most requests that it works on at once now.
  virtual unsigned concurrency() const { return 1; }
};

inline void FetchRequest::on_room() { route.waits_for_room->fetch(*this); }

struct FetchStatistics {
  Counter samples, bytes, failures;
  Histogram duration_ns;  // of one request, from start to end of its reading (not its time in the queue)
};

// Reads local files with `concurrency` threads. The destructor finishes outstanding requests (it does not drop them). A
// single field is at most `bytes_max`; a larger one is bad content.
class LocalFetcher : public Fetcher {
 public:
  explicit LocalFetcher(unsigned concurrency, uint64_t bytes_max = 1ull << 30);
  ~LocalFetcher() override;
  void fetch(FetchRequest& request) override;
  bool fetch_at_hand(FetchRequest& request) override;
  // Sets how many of the threads take requests, from 1 to all; the others sleep. Reads under way are finished.
  void set_concurrency(unsigned concurrency);
  unsigned concurrency() const override;
  const FetchStatistics& statistics() const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace spdld::source
