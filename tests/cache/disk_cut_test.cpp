// Appends that fail on a file system that cuts nothing off: what the limit counts is what the shelf takes.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>

#include "daemon/cache/disk/disk_shelf.h"
#include "tests/cache/entries.h"
#include "tests/support/temp_dir.h"

namespace {

std::atomic<bool> g_cuts_fail{false};

}  // namespace

// In the place of the C library's, for the whole program.
extern "C" int ftruncate(int fd, off_t bytes) noexcept {
  if (g_cuts_fail) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_ftruncate, fd, bytes));
}

namespace spdld::disk_cut_test {

using namespace spdld::test;
using cache::DiskShelf;

namespace {

constexpr uint64_t kLarge = 5 * kMiB;  // written in two pieces

struct Shelf {
  // As the tier's writing thread appends. `late_at`: the piece before which the daemon ends; 0: it does not.
  Status append(uint64_t sample, uint64_t bytes, int late_at = 0) {
    REQUIRE(limit.take(shelf.need(bytes)));
    REQUIRE(shelf.index().begin(sample));
    int pieces = 0;
    const Status written = shelf.append({sample, identity_of(sample), 0, 0, 0, cache::Form::kPrepared},
                                        entry_of(sample, bytes), 1, [&] { return ++pieces == late_at; });
    if (!written) shelf.index().abandon(sample);
    return written;
  }

  TempDir dir;
  cache::Limit limit{64 * kMiB};
  DiskShelf shelf{dir.path() / "shelf", cache::ShelfHeader{shelf_key("a"), 100}, limit};
};

}  // namespace

TEST_CASE("bytes that can't be cut off stay counted, once, and are cut off by the next append") {
  Shelf kept;
  DiskShelf& shelf = kept.shelf;
  REQUIRE(shelf.load());
  REQUIRE(kept.append(1, 1000));
  const uint64_t before = shelf.footprint();
  REQUIRE(kept.limit.used() == before);

  CHECK_FALSE(kept.append(2, kLarge, 2));  // its first piece is cut off
  CHECK(shelf.footprint() == before);
  CHECK(kept.limit.used() == before);

  g_cuts_fail = true;
  CHECK_FALSE(kept.append(2, kLarge, 2));
  const uint64_t with_rest = shelf.footprint();
  CHECK(with_rest >= before + kLarge);
  CHECK(kept.limit.used() == with_rest);
  const Status second = kept.append(2, kLarge);  // nothing is written behind such bytes
  REQUIRE_FALSE(second);
  CHECK_THAT(second.error().message, Catch::Contains("can't be cut off"));
  CHECK(kept.limit.used() == with_rest);
  g_cuts_fail = false;

  SECTION("the next append") {
    CHECK(kept.append(3, 2000));
    CHECK(kept.limit.used() == shelf.footprint());
    CHECK(shelf.footprint() == before + cache::kIndexRecordBytes + 2000);
    shelf.unload();
    CHECK(shelf.load());
    CHECK(shelf.entries() == 2);
    CHECK(kept.limit.used() == shelf.footprint());
  }
  SECTION("the next time that its index is read") {
    shelf.unload();
    CHECK(shelf.load());
    CHECK(shelf.footprint() == before);
    CHECK(kept.limit.used() == before);
  }
  SECTION("the shelf's end") {
    shelf.remove();
    CHECK(kept.limit.used() == 0);
  }
}

}  // namespace spdld::disk_cut_test
