// Memory that is charged, before it is taken, to those for whom a thread works: the memory of a user's listings, say.
//
// While a MemoryCharge::Scope lives on a thread, everything that operator new gives to this thread is charged, by
// whatever code asks for it, and what operator delete takes from this thread is given back. So no table of a listing
// can be forgotten. An allocation that goes beyond an account's bound is not made: operator new throws std::bad_alloc,
// and the charge says which account refused it. Memory that C libraries take, and memory that is mapped, is not seen.
//
// A charge outlives the work: its owner keeps it beside what the work has made, and drops it behind that.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace spdld {

// A bound on the bytes of several charges. An account can lie below another one: what is charged to a user is charged
// to the node as well. Any thread.
class MemoryAccount {
 public:
  // `name`: what the bound is called, in sentences.
  MemoryAccount(uint64_t bytes_max, std::string name, std::shared_ptr<MemoryAccount> above = nullptr)
      : bytes_max_(bytes_max), name_(std::move(name)), above_(std::move(above)) {}
  MemoryAccount(const MemoryAccount&) = delete;
  MemoryAccount& operator=(const MemoryAccount&) = delete;

  const std::string& name() const { return name_; }
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  uint64_t bytes_max() const { return bytes_max_.load(std::memory_order_relaxed); }
  // Bytes that are charged already stay charged, even where they are more.
  void set_bytes_max(uint64_t bytes_max) { bytes_max_.store(bytes_max, std::memory_order_relaxed); }

 private:
  friend class MemoryCharge;
  // Null: the bytes are charged here and above. Else nothing is, and this account has no room for them.
  const MemoryAccount* take(uint64_t bytes);
  void take_anyhow(uint64_t bytes);
  void give_back(uint64_t bytes);

  std::atomic<uint64_t> bytes_{0}, bytes_max_;
  const std::string name_;
  const std::shared_ptr<MemoryAccount> above_;
};

// Of one piece of work, which several threads may do together. Any thread.
class MemoryCharge {
 public:
  explicit MemoryCharge(std::shared_ptr<MemoryAccount> account) : account_(std::move(account)) {}
  ~MemoryCharge();  // gives back what is charged. Precondition: no scope of it lives.
  MemoryCharge(const MemoryCharge&) = delete;
  MemoryCharge& operator=(const MemoryCharge&) = delete;

  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // The account that has refused memory; null: none has.
  const MemoryAccount* refused_by() const { return refused_by_.load(std::memory_order_acquire); }

  // A thread's share of a charge.
  struct ThreadShare {
    static constexpr int64_t kStep = 256 << 10;  // bytes after which the share goes to the accounts
    MemoryCharge* charge = nullptr;
    int64_t unsettled = 0;  // bytes that the accounts have not heard of; below 0: bytes that go back
    int64_t ask_at = kStep;
  };

  // Charges this thread's memory; null: to nobody. A scope within another one takes its place.
  class Scope {
   public:
    explicit Scope(MemoryCharge* charge);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const ThreadShare outer_;
  };
  // Whose scope this thread is in, for threads that it starts; null: nobody's.
  static MemoryCharge* of_this_thread();
  // False in a build whose operator new is another one's, such as the thread sanitizer's: nothing is charged there.
  static bool is_counting();

  // For operator new and delete alone. before() throws std::bad_alloc.
  static void before_allocation(size_t bytes);
  static void after_allocation(void* memory);
  static void before_release(void* memory);

 private:
  static void settle(ThreadShare& share);
  bool take(uint64_t bytes);
  void give_back(uint64_t bytes);

  const std::shared_ptr<MemoryAccount> account_;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<const MemoryAccount*> refused_by_{nullptr};
};

}  // namespace spdld
