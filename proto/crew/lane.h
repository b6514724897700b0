// A queue of plain values in memory that two processes share, from one writer to one reader. A reader that finds
// nothing waits for its end of a bell, a pair of stream sockets; a writer rings it only then. Neither side waits for
// the other's good will: each keeps its own count, and takes the other's as a claim that it checks. (An eventfd would
// be faster, but both sides share its state, so that one of them can make the other's write block.)
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace spdld::proto::crew {

inline constexpr uint32_t kPlaces = 512;  // of a lane: its writer keeps track that no more are on their way

// All bytes zero: a lane without entries.
template <typename T>
struct Lane {
  static_assert(std::is_trivially_copyable_v<T>);
  alignas(64) std::atomic<uint64_t> written;        // entries, ever
  alignas(64) std::atomic<uint32_t> reader_sleeps;  // 1: the bell is to be rung for the next entry
  alignas(64) T entries[kPlaces];
};

// One thread.
template <typename T>
class LaneWriter {
 public:
  // Both are borrowed. The lane is new.
  LaneWriter(Lane<T>& lane, int bell) : lane_(&lane), bell_(bell) {}

  uint64_t written() const { return written_; }
  // The place of the next entry, 0 to kPlaces - 1.
  uint32_t place() const { return written_ % kPlaces; }
  // Precondition: fewer than kPlaces entries are on their way. A reader that sleeps sleeps on until tell().
  void put(const T& entry) {
    write(entry);
    publish();
  }
  // As put(), but the reader finds the entry with the next publish(), and all entries of before at once.
  void write(const T& entry) {
    std::memcpy(&lane_->entries[place()], &entry, sizeof entry);
    written_++;
  }
  void publish() { lane_->written.store(written_, std::memory_order_seq_cst); }
  void tell() const {
    if (lane_->reader_sleeps.load(std::memory_order_seq_cst) != 0 &&
        lane_->reader_sleeps.exchange(0, std::memory_order_seq_cst) != 0)
      ring();  // once for each sleep
  }

 private:
  // Never blocks. EAGAIN: many rings wait already.
  void ring() const {
    const char one = 1;
    static_cast<void>(::send(bell_, &one, sizeof one, MSG_DONTWAIT | MSG_NOSIGNAL));
  }

  Lane<T>* lane_;
  int bell_;
  uint64_t written_ = 0;
};

enum class Taken : uint8_t {
  kEntry,
  kNothing,
  kLie  // the writer claims to have written more than there are places for
};

// One thread.
template <typename T>
class LaneReader {
 public:
  explicit LaneReader(Lane<T>& lane) : lane_(&lane) {}

  uint64_t taken() const { return taken_; }
  // The place of the next entry.
  uint32_t place() const { return taken_ % kPlaces; }
  // The entry may hold anything where the writer is not trusted.
  Taken take(T& entry) {
    const uint64_t there = lane_->written.load(std::memory_order_seq_cst) - taken_;
    if (there == 0) return Taken::kNothing;
    if (there > kPlaces) return Taken::kLie;
    std::memcpy(&entry, &lane_->entries[place()], sizeof entry);
    taken_++;
    return Taken::kEntry;
  }
  // Before a reader waits for its bell: the writer is to ring it for the next entry. False: one is there already, so
  // that there is nothing to wait for.
  bool begin_sleep() {
    lane_->reader_sleeps.store(1, std::memory_order_seq_cst);
    if (lane_->written.load(std::memory_order_seq_cst) == taken_) return true;
    end_sleep();
    return false;
  }
  void end_sleep() { lane_->reader_sleeps.store(0, std::memory_order_seq_cst); }

 private:
  Lane<T>* lane_;
  uint64_t taken_ = 0;
};

}  // namespace spdld::proto::crew
