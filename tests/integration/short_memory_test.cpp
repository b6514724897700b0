// A daemon whose address space is bounded while it serves: what it can't allocate, it waits for, and says so.
#if SPDLD_SANITIZED
// The sanitizers reserve terabytes of address space, so that no bound of it means anything.
#else

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/integration/trainer.h"
#include "tests/support/daemon_process.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/makers/photos.h"

namespace spdld::short_memory_test {

using namespace spdld;
using namespace spdld::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

uint64_t address_space_bytes(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  uint64_t pages = 0;
  REQUIRE((file >> pages));
  return pages * 4096;
}

void bound(pid_t pid, rlim_t bytes) {
  const rlimit limit{bytes, RLIM_INFINITY};
  REQUIRE(prlimit(pid, RLIMIT_AS, &limit, nullptr) == 0);
}

// One heap for all threads, whose growth counts at once: else each thread has 64 MiB of address space in advance.
struct OneHeap {
  OneHeap() { setenv("MALLOC_ARENA_MAX", "1", 1); }
  ~OneHeap() { unsetenv("MALLOC_ARENA_MAX"); }
};

}  // namespace

TEST_CASE("a daemon that is short of memory waits for it, answers meanwhile, and gives every picture in the end") {
  const OneHeap one_heap;
  DaemonProcess daemon("[limits]\ncpu_budget = 2\n");
  const fs::path photos = daemon.dir() / "photos";
  make_photos(photos, 40, 1);
  // They come last. Their coefficients need 46 MB, which libjpeg asks of the decoder's own memory, and their pixels
  // less.
  const auto progressive =
      make_jpeg(3200, 2400, {.quality = 50, .subsampling = Subsampling::k444, .progressive = true});
  fs::create_directory(photos / "large");
  for (int i = 0; i < 8; i++)
    std::ofstream(photos / "large" / (std::to_string(i) + ".jpg"), std::ios::binary)
        .write(reinterpret_cast<const char*>(progressive.data()), static_cast<std::streamsize>(progressive.size()));
  PhotoSpec spec;
  spec.prefetch_depth = 1, spec.cache = "off", spec.extra_order = "shuffle = false";
  const std::string socket = daemon.socket();
  Loader loader = attach({.socket = socket, .spec = spec.toml(photos)});
  std::vector<Seen> first = take_all(loader, 1);
  REQUIRE(first.size() == 1);

  bound(daemon.pid(), address_space_bytes(daemon.pid()) + (36 << 20));
  auto rest = std::async(std::launch::async, [&] { return take_all(loader); });
  nlohmann::json described;
  const auto is_short = [&] {
    try {
      described = nlohmann::json::parse(query("describe", "photos", socket.c_str()));
    } catch (const Exception& e) {
      CHECK_THAT(e.what(), Contains("short of memory"));
      return false;
    }
    return described["memory"]["waits"] > 2 && described["state"] == "degraded";
  };
  while (!is_short()) std::this_thread::yield();
  CHECK_THAT(described["reason"].get<std::string>(), Contains("short of memory"));
  CHECK(described["memory"]["waiting"] > 0);
  for (int i = 0; i < 200; i++) {
    try {
      query(i % 2 ? "status" : "errors", "", socket.c_str());
    } catch (const Exception& e) {
      CHECK_THAT(e.what(), Contains("short of memory"));
    }
  }
  bound(daemon.pid(), RLIM_INFINITY);
  const std::vector<Seen> seen = rest.get();
  CHECK(seen.size() == 11);  // of 48 pictures
  described = nlohmann::json::parse(query("describe", "photos", socket.c_str()));
  CHECK(described["memory"]["waiting"] == 0);
  CHECK(described["bad"]["substituted"] == 0);
  CHECK(nlohmann::json::parse(query("errors", "", socket.c_str()))["total"] == 0);
  CHECK_THAT(daemon.log(), Contains("spdld is short of memory: samples have waited for memory"));
  CHECK_THAT(daemon.log(), !Contains("source to recover"));
}

}  // namespace spdld::short_memory_test

#endif
