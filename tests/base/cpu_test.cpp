#include "daemon/base/cpu.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <thread>

#include "tests/support/temp_dir.h"

namespace fs = std::filesystem;

namespace {

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

}  // namespace

TEST_CASE("the cgroup's grant bounds the cores, wherever it stands on the way to the root") {
  spdld::test::TempDir dir;
  const unsigned all = spdld::usable_cores(dir.path() / "none", dir.path() / "none").cores;
  write(dir.path() / "self", "0::/outer/inner\n");
  write(dir.path() / "fs/outer/inner/cpu.max", "max 100000\n");

  SECTION("no limit") {
    const auto limit = spdld::usable_cores(dir.path() / "fs", dir.path() / "self");
    CHECK(limit.cores == all);
    CHECK(limit.limited_by != "cgroup");
  }
  SECTION("a limit of an outer group, rounded up") {
    write(dir.path() / "fs/outer/cpu.max", "50000 100000\n");
    const auto limit = spdld::usable_cores(dir.path() / "fs", dir.path() / "self");
    CHECK(limit.cores == 1);
    CHECK((all == 1 || limit.limited_by == "cgroup"));
  }
  SECTION("nonsense is no limit") {
    write(dir.path() / "fs/outer/cpu.max", "lots of it\n");
    CHECK(spdld::usable_cores(dir.path() / "fs", dir.path() / "self").cores == all);
  }
}

TEST_CASE("clocks go forward, and a thread's name is cut to what the kernel takes") {
  const uint64_t a = spdld::monotonic_ns();
  CHECK(spdld::monotonic_ns() >= a);
  CHECK(spdld::process_cpu_ns() > 0);
  CHECK(spdld::own_pss_bytes() > 0);
  std::thread([] {
    spdld::name_thread("a-very-long-thread-name", 7);
    std::string name;
    std::getline(std::ifstream("/proc/thread-self/comm"), name);
    CHECK(name == "a-very-long-thr");
  }).join();
}
