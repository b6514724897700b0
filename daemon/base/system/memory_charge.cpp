#include "daemon/base/system/memory_charge.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace spdld {
namespace {

// A thread that was refused may take so much for its way out, before it is refused again.
constexpr int64_t kGrace = 1 << 20;

constinit thread_local MemoryCharge::ThreadShare own_share;  // operator new finds it at any time

}  // namespace

const MemoryAccount* MemoryAccount::take(uint64_t bytes) {
  uint64_t held = bytes_.load(std::memory_order_relaxed);
  do {
    const uint64_t max = bytes_max();
    if (bytes > max || held > max - bytes) return this;
  } while (!bytes_.compare_exchange_weak(held, held + bytes, std::memory_order_relaxed));
  const MemoryAccount* const full = above_ ? above_->take(bytes) : nullptr;
  if (full != nullptr) bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  return full;
}

void MemoryAccount::take_anyhow(uint64_t bytes) {
  for (MemoryAccount* account = this; account != nullptr; account = account->above_.get())
    account->bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

void MemoryAccount::give_back(uint64_t bytes) {
  for (MemoryAccount* account = this; account != nullptr; account = account->above_.get())
    account->bytes_.fetch_sub(bytes, std::memory_order_relaxed);
}

MemoryCharge::~MemoryCharge() { account_->give_back(bytes()); }

bool MemoryCharge::take(uint64_t bytes) {
  const MemoryAccount* const full = account_->take(bytes);
  if (full != nullptr)
    refused_by_.store(full, std::memory_order_release);
  else
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
  return full == nullptr;
}

// Never more than is charged: a thread may free what was there before.
void MemoryCharge::give_back(uint64_t bytes) {
  uint64_t held = bytes_.load(std::memory_order_relaxed);
  uint64_t given = 0;
  do {
    given = std::min(held, bytes);
  } while (!bytes_.compare_exchange_weak(held, held - given, std::memory_order_relaxed));
  account_->give_back(given);
}

// Without a question: the memory is taken, or free, already.
void MemoryCharge::settle(ThreadShare& share) {
  const int64_t bytes = share.unsettled;
  share.unsettled = 0;
  share.ask_at = ThreadShare::kStep;
  if (bytes < 0) share.charge->give_back(static_cast<uint64_t>(-bytes));
  if (bytes <= 0) return;
  share.charge->account_->take_anyhow(static_cast<uint64_t>(bytes));
  share.charge->bytes_.fetch_add(static_cast<uint64_t>(bytes), std::memory_order_relaxed);
}

void MemoryCharge::before_allocation(size_t bytes) {
  ThreadShare& share = own_share;
  if (share.charge == nullptr) return;
  // A number above all memory is refused as well: it is cut before it is added up.
  const auto wanted = static_cast<int64_t>(std::min<size_t>(bytes, INT64_MAX / 2));
  if (share.unsettled + wanted < share.ask_at) return;
  if (const int64_t all = share.unsettled + wanted; share.charge->take(static_cast<uint64_t>(all))) {
    share.unsettled = -wanted;  // after_allocation() adds it
    share.ask_at = ThreadShare::kStep;
    return;
  }
  share.ask_at = std::max(share.unsettled, int64_t{0}) + kGrace;
  throw std::bad_alloc();
}

void MemoryCharge::after_allocation(void* memory) {
  if (own_share.charge != nullptr) own_share.unsettled += static_cast<int64_t>(malloc_usable_size(memory));
}

void MemoryCharge::before_release(void* memory) {
  ThreadShare& share = own_share;
  if (share.charge == nullptr || memory == nullptr) return;
  share.unsettled -= static_cast<int64_t>(malloc_usable_size(memory));
  if (share.unsettled <= -ThreadShare::kStep) settle(share);
}

MemoryCharge::Scope::Scope(MemoryCharge* charge) : outer_(own_share) { own_share = {.charge = charge}; }

MemoryCharge::Scope::~Scope() {
  if (own_share.charge != nullptr) settle(own_share);
  own_share = outer_;
}

MemoryCharge* MemoryCharge::of_this_thread() { return own_share.charge; }

bool MemoryCharge::is_counting() {
  MemoryCharge charge(std::make_shared<MemoryAccount>(UINT64_MAX, "a trial"));
  const Scope scope(&charge);
  void* const memory = ::operator new(1);
  const bool is_counted = own_share.unsettled > 0;
  ::operator delete(memory);
  return is_counted;
}

}  // namespace spdld
