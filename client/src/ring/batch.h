// A batch in its slot: the checked content of its descriptor, and the lease that keeps the slot from being filled anew.
// A replay hands out several batches of one slot, which share the lease.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "client/src/ring/ring.h"
#include "client/src/ring/stats.h"

namespace spdld::client {

inline constexpr size_t kTensorsMax = 64;
inline constexpr size_t kRankMax = 8;
inline constexpr size_t kTensorNameBytesMax = 128;
inline constexpr size_t kStreamsMax = 64;  // on which one batch is used

struct Tensor {
  std::string name;
  spdld_dtype dtype = SPDLD_UINT8;
  spdld_role role = SPDLD_ROWS;
  std::string of;  // the name of the tensor that this one describes; empty: none
  uint32_t rank = 0;
  std::array<int64_t, kRankMax> shape = {};    // the first, of rows: valid samples
  std::array<int64_t, kRankMax> strides = {};  // in elements
  void* address = nullptr;
};

// A READY's content after checking: every byte of every tensor lies within its slot.
struct Content {
  Position position;
  uint64_t valid = 0;
  uint64_t first = 0;
  BadCounts bad_counts;
  std::vector<BadReason> bad;
  uint32_t padded = 0;
  std::vector<uint32_t> source_counts;  // of a mix
  std::vector<Tensor> tensors;
};

// Reads a descriptor and checks it against its slot, without a look into the slot. nullptr: it is sound; else a text
// that says what is wrong.
const char* read_content(const proto::Ready& ready, const Terms& terms, std::byte* slot, uint64_t slot_bytes,
                         Content& content);
// Checks the offsets that lie in host memory: they begin with 0, never fall, and end with the number of values. The
// result is read_content()'s.
const char* check_offsets(const Content& content);

// The lease of a slot, until the last batch that lies there is gone. Any thread.
class LeasedSlot {
 public:
  // The lease is taken already: from here on this object gives it back. `copied`: the copy into the slot is done.
  LeasedSlot(LeaseList lease, bool copied) : lease_(std::move(lease)), copied_(copied) {}
  LeasedSlot(const LeasedSlot&) = delete;
  LeasedSlot& operator=(const LeasedSlot&) = delete;
  ~LeasedSlot() { Ring::give_back(std::move(lease_)); }

  Ring& ring() const { return *lease_.front().ring; }
  // The stream with this handle (0: the legacy default one) works on the slot from here on: the lease ends behind it.
  // `kept` lives as long as the stream is needed.
  CallOutcome use(void* handle, std::shared_ptr<void> kept);
  // Waits until the copy into the slot is done.
  CallOutcome wait();

 private:
  LeaseList lease_;   // of one lease
  std::mutex mutex_;  // of the lease's streams
  std::atomic<bool> copied_;
};

// References are counted by hand, since the handle crosses a C border. Any thread may call retain and drop.
class Batch {
 public:
  Batch(std::shared_ptr<LeasedSlot> slot, Content content) : slot_(std::move(slot)), content_(std::move(content)) {}
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  const std::shared_ptr<LeasedSlot>& slot() const { return slot_; }
  const Content& content() const { return content_; }
  const Tensor* find(std::string_view name) const;
  // The tensor of this role that describes the tensor `of`; nullptr: there is none.
  const Tensor* find_part(std::string_view of, spdld_role role) const;
  const Placement& placement() const { return slot_->ring().placement(); }
  const Names& sources() const { return *slot_->ring().terms().sources; }

  void retain() { count_.fetch_add(1, std::memory_order_relaxed); }
  // True: that was the last reference, and the caller must destroy the batch.
  bool drop() { return count_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

 private:
  const std::shared_ptr<LeasedSlot> slot_;
  const Content content_;
  std::atomic<uint32_t> count_{1};
};

}  // namespace spdld::client
