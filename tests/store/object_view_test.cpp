#include "daemon/store/object_view.h"

#include <catch2/catch.hpp>
#include <future>
#include <random>

#include "tests/support/memory_store.h"
#include "tests/support/soon.h"

namespace spdld::store::object_view_test {
namespace {

using test::MemoryStore;

std::string content_of(size_t bytes) {
  std::string content(bytes, '\0');
  std::minstd_rand random(7);
  for (char& c : content) c = static_cast<char>(random() >> 8);
  return content;
}

std::string read_at(ObjectView& view, uint64_t offset, size_t bytes) {
  std::string memory(bytes, '-');
  const auto got = view.read(offset, {reinterpret_cast<uint8_t*>(memory.data()), bytes});
  INFO((got ? "" : got.error().message));
  REQUIRE(got);
  memory.resize(*got);
  return memory;
}

// For other threads than the test's, on which nothing may be checked. An error is its message.
std::string unchecked_read(ObjectView& view, uint64_t offset, size_t bytes) {
  std::string memory(bytes, '-');
  const auto got = view.read(offset, {reinterpret_cast<uint8_t*>(memory.data()), bytes});
  return got ? memory.substr(0, *got) : got.error().message;
}

Error error_at(ObjectView& view, uint64_t offset) {
  uint8_t byte = 0;
  const auto got = view.read(offset, {&byte, 1});
  REQUIRE_FALSE(got);
  return got.error();
}

}  // namespace

TEST_CASE("who reads an object from its beginning gets all of it, in few requests") {
  MemoryStore store;
  const std::string content = content_of(10 << 20);
  store.put("a", content);
  ObjectView view(store, "a", store.identity("a"));
  CHECK(view.size() == content.size());
  std::string all;
  for (std::string part; !(part = read_at(view, all.size(), 10'007)).empty();) all += part;
  CHECK(all == content);
  CHECK(store.count("read") < 20);
  uint64_t bytes = 0;
  for (const auto& asked : store.asked()) bytes += asked.bytes;
  CHECK(bytes == content.size());
}

TEST_CASE("who jumps about in an object gets what he asks for, and little more is read") {
  MemoryStore store;
  const std::string content = content_of(8 << 20);
  store.put("a", content);
  ObjectView view(store, "a", store.identity("a"));
  std::minstd_rand random(3);
  for (int i = 0; i < 60; ++i) {
    const size_t at = random() % content.size(), bytes = random() % 3'000;
    CHECK(read_at(view, at, bytes) == content.substr(at, bytes));
  }
  for (const auto& asked : store.asked()) CHECK(asked.bytes <= 2 * ObjectView::kBlockMin);
}

TEST_CASE("reads of all sizes, forwards and backwards, are right") {
  MemoryStore store;
  const std::string content = content_of(12'345'678);
  store.put("a", content);
  ObjectView view(store, "a", store.identity("a"));
  std::minstd_rand random(5);
  size_t at = 0;
  for (int i = 0; i < 200; ++i) {
    const size_t bytes = random() % (i % 10 == 0 ? 6 << 20 : 100'000);
    REQUIRE(read_at(view, at, bytes) == content.substr(std::min(at, content.size()), bytes));
    switch (random() % 4) {
      case 0:
        at = random() % content.size();
        break;
      case 1:
        at -= std::min<size_t>(at, random() % 100'000);
        break;
      default:
        at = std::min(content.size(), at + bytes + random() % 50'000);
    }
  }
}

TEST_CASE("behind the end of an object there is nothing") {
  MemoryStore store;
  store.put("a", "abcdef");
  store.put("empty", "");
  ObjectView view(store, "a", store.identity("a")), empty(store, "empty", store.identity("empty"));
  CHECK(read_at(view, 4, 10) == "ef");
  CHECK(read_at(view, 6, 10).empty());
  CHECK(read_at(view, 1'000, 10).empty());
  CHECK(read_at(view, 0, 0).empty());
  CHECK(read_at(empty, 0, 10).empty());
  CHECK(store.count("read") == 1);
}

TEST_CASE("an error is told, and the next read asks again") {
  MemoryStore store;
  const std::string content = content_of(1 << 20);
  store.put("a", content);
  ObjectView view(store, "a", store.identity("a"));
  store.fail(1, {Trouble::kTransient, "it is down."});
  CHECK(error_at(view, 0).trouble == Trouble::kTransient);
  CHECK(read_at(view, 0, 100) == content.substr(0, 100));
  CHECK(error_at(*std::make_unique<ObjectView>(store, "none", Identity{5, 0}), 0).trouble == Trouble::kContent);
}

TEST_CASE("an error of bytes that were read ahead is not told to who jumps elsewhere") {
  MemoryStore store;
  const std::string content = content_of(16 << 20);
  store.put("a", content);
  ObjectView view(store, "a", store.identity("a"));
  CHECK(read_at(view, 0, ObjectView::kBlockMin) == content.substr(0, ObjectView::kBlockMin));
  store.hold(true);
  // This one goes on, and so more is read ahead.
  auto going_on = std::async(std::launch::async, [&] { return unchecked_read(view, ObjectView::kBlockMin, 10); });
  REQUIRE(test::soon([&] { return store.waiting() == 2; }));
  store.hold(false);
  CHECK(going_on.get() == content.substr(ObjectView::kBlockMin, 10));
  // The bytes ahead come; those after them are asked for, and given up at the jump.
  REQUIRE(test::soon([&] { return store.waiting() == 0; }));
  const auto ahead = store.asked().back();
  store.hold(true);
  auto jumping = std::async(std::launch::async, [&] {
    const std::string first = unchecked_read(view, ahead.offset, 10);
    return first + unchecked_read(view, 12 << 20, 10);
  });
  REQUIRE(test::soon([&] { return store.asked().back().offset == 12 << 20; }));
  CHECK(store.waiting() == 1);
  store.hold(false);
  CHECK(jumping.get() == content.substr(ahead.offset, 10) + content.substr(12 << 20, 10));
  const auto all = store.asked();
  CHECK(std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.offset == ahead.offset + ahead.bytes; }));
}

TEST_CASE("an object that was replaced or is shorter than told is an error") {
  MemoryStore store;
  store.put("a", content_of(300'000));
  ObjectView view(store, "a", store.identity("a"));
  CHECK(read_at(view, 0, 10).size() == 10);
  store.put("a", content_of(200'000));
  CHECK(error_at(view, 290'000).trouble == Trouble::kContent);
  ObjectView longer(store, "a", {300'000, 0});
  CHECK(error_at(longer, 0).trouble == Trouble::kContent);
}

TEST_CASE("a view that waits ends when it is stopped, and when it is left") {
  MemoryStore store;
  store.put("a", content_of(10 << 20));
  store.hold(true);
  std::stop_source stop;
  ObjectView view(store, "a", store.identity("a"), stop.get_token());
  auto reading = std::async(std::launch::async, [&] {
    uint8_t byte = 0;
    const auto got = view.read(0, {&byte, 1});
    return got ? Trouble::kInternal : got.error().trouble;
  });
  REQUIRE(test::soon([&] { return store.waiting() == 1; }));
  stop.request_stop();
  CHECK(reading.get() == Trouble::kStopping);
  CHECK(error_at(view, 5).trouble == Trouble::kStopping);
  {
    store.hold(false);
    ObjectView left(store, "a", store.identity("a"));
    CHECK(read_at(left, 0, ObjectView::kBlockMin).size() == ObjectView::kBlockMin);
    CHECK(read_at(left, ObjectView::kBlockMin, 10).size() == 10);
  }
  CHECK(store.waiting() == 0);
}

}  // namespace spdld::store::object_view_test
