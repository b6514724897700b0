#include "daemon/base/system/memory_charge.h"

#include <catch2/catch.hpp>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace spdld::memory_charge_test {
namespace {

constexpr size_t kLarge = 4 << 20;

// Whether this thread gets `bytes` from operator new, at once.
bool gets(size_t bytes) try { return std::make_unique<char[]>(bytes) != nullptr; } catch (const std::bad_alloc&) {
  return false;
}

// The thread sanitizer's operator new charges nothing: the checks of amounts have no object there.
bool counts() { return MemoryCharge::is_counting(); }

}  // namespace

TEST_CASE("memory that a thread takes within a scope is charged, and given back when it is released") {
  if (!counts()) return;
  const auto account = std::make_shared<MemoryAccount>(64 << 20, "a bound");
  MemoryCharge charge(account);
  auto before = std::make_unique<std::string>(kLarge, 'x');
  {
    const MemoryCharge::Scope scope(&charge);
    auto within = std::make_unique<std::string>(kLarge, 'x');
    CHECK(charge.bytes() >= kLarge);
    CHECK(account->bytes() == charge.bytes());
    within.reset();
    CHECK(charge.bytes() < kLarge / 2);
    before.reset();  // was never charged
    CHECK(charge.bytes() < kLarge / 2);
  }
  std::string outside(kLarge, 'x');
  CHECK(charge.bytes() < kLarge / 2);
}

TEST_CASE("an allocation beyond a bound is not made, and the charge says which bound it was") {
  if (!counts()) return;
  const auto node = std::make_shared<MemoryAccount>(6 << 20, "the node's");
  const auto user = std::make_shared<MemoryAccount>(5 << 20, "the user's", node);
  const auto other = std::make_shared<MemoryAccount>(5 << 20, "the other's", node);
  MemoryCharge first(user), second(other);
  std::string held;
  {
    const MemoryCharge::Scope scope(&first);
    held.resize(kLarge);
    CHECK(first.refused_by() == nullptr);
    CHECK_FALSE(gets(kLarge));
    CHECK(first.refused_by() == user.get());
    CHECK_FALSE(gets(SIZE_MAX / 4));
    CHECK(gets(1000));  // the way out has memory
  }
  {
    const MemoryCharge::Scope scope(&second);
    CHECK_FALSE(gets(kLarge));
    CHECK(second.refused_by() == node.get());
    CHECK(other->bytes() < kLarge);
  }
  CHECK(gets(kLarge));  // nobody's
}

TEST_CASE("many small pieces are refused as one large one is") {
  if (!counts()) return;
  const auto account = std::make_shared<MemoryAccount>(8 << 20, "a bound");
  MemoryCharge charge(account);
  const MemoryCharge::Scope scope(&charge);
  std::vector<std::unique_ptr<std::string>> pieces;
  size_t bytes = 0;
  try {
    for (; bytes < size_t{64} << 20; bytes += 100) pieces.push_back(std::make_unique<std::string>(100, 'x'));
  } catch (const std::bad_alloc&) {
  }
  CHECK(bytes < size_t{8} << 20);
  CHECK(charge.refused_by() == account.get());
}

TEST_CASE("threads that work together share a charge, and its end gives all of it back") {
  if (!counts()) return;
  const auto account = std::make_shared<MemoryAccount>(256 << 20, "a bound");
  std::vector<std::string> made(8);
  {
    MemoryCharge charge(account);
    {
      const MemoryCharge::Scope scope(&charge);
      std::vector<std::jthread> threads;
      for (std::string& one : made)
        threads.emplace_back([&one, shared = MemoryCharge::of_this_thread()] {
          const MemoryCharge::Scope own(shared);
          for (int i = 0; i < 100; ++i) one = std::string(kLarge + static_cast<size_t>(i), 'x');
        });
    }
    CHECK(charge.bytes() >= 8 * kLarge);
    CHECK(charge.bytes() < 12 * kLarge);
    CHECK(account->bytes() == charge.bytes());
  }
  CHECK(account->bytes() == 0);
}

TEST_CASE("a scope within another one takes its place until it ends") {
  if (!counts()) return;
  const auto account = std::make_shared<MemoryAccount>(64 << 20, "a bound");
  MemoryCharge outer(account), inner(account);
  const MemoryCharge::Scope scope(&outer);
  std::string first, second, third;
  {
    const MemoryCharge::Scope within(&inner);
    first.resize(kLarge);
    const MemoryCharge::Scope nobody(nullptr);
    second.resize(kLarge);
  }
  third.resize(kLarge);
  CHECK(inner.bytes() >= kLarge);
  CHECK(inner.bytes() < 2 * kLarge);
  CHECK(outer.bytes() >= kLarge);
  CHECK(outer.bytes() < 2 * kLarge);
}

}  // namespace spdld::memory_charge_test
