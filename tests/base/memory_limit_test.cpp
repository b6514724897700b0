#include "daemon/base/system/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/support/temp_dir.h"

namespace spdld::memory_limit_test {

using test::write_file;

namespace {

struct Files {
  test::TempDir dir;
  const MemoryPaths paths{dir.path() / "fs", dir.path() / "self", dir.path() / "statm"};
  MemoryLimit tightest() const {
    const std::vector<MemoryLimit> limits = memory_limits(paths);
    return *std::min_element(limits.begin(), limits.end(), [](const MemoryLimit& a, const MemoryLimit& b) {
      return a.left_bytes() < b.left_bytes();
    });
  }
};

}  // namespace

TEST_CASE("without a cgroup's limit the machine's memory bounds the process, less what the process has") {
  Files files;
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  write_file(files.paths.self_cgroup, "0::/a\n");
  write_file(files.paths.self_statm, "900 7 3 1 0 2 0\n");
  write_file(files.paths.cgroup_root / "a/memory.max", "max\n");
  write_file(files.paths.cgroup_root / "a/memory.high", "max\n");
  const auto limits = memory_limits(files.paths);
  REQUIRE(limits.size() == 1);
  CHECK(limits[0].name == "the machine has");
  CHECK(limits[0].bytes > 100u << 20);
  CHECK(limits[0].used_bytes == 7 * page);
  CHECK(limits[0].left_bytes() == limits[0].bytes - 7 * page);
}

TEST_CASE("of all groups up to the root, the limit that leaves the least counts, not the lowest") {
  Files files;
  write_file(files.paths.self_cgroup, "1:cpu:/elsewhere\n0::/a/b\n");
  write_file(files.paths.cgroup_root / "a/b/memory.max", "40000000\n");
  write_file(files.paths.cgroup_root / "a/b/memory.current", "1000000\n");
  write_file(files.paths.cgroup_root / "a/memory.max", "50000000\n");
  write_file(files.paths.cgroup_root / "a/memory.current", "45000000\n");  // a neighbour of b has most of it
  CHECK(files.tightest().name == (files.paths.cgroup_root / "a/memory.max").string() + " grants");
  CHECK(files.tightest().left_bytes() == 5'000'000);
  write_file(files.paths.cgroup_root / "memory.max", "46000000\n");
  write_file(files.paths.cgroup_root / "memory.current", "45500000\n");
  CHECK(files.tightest().left_bytes() == 500'000);
}

TEST_CASE("memory.high counts as memory.max does") {
  Files files;
  write_file(files.paths.self_cgroup, "0::/a\n");
  write_file(files.paths.cgroup_root / "a/memory.max", "40000000\n");
  write_file(files.paths.cgroup_root / "a/memory.high", "30000000\n");
  write_file(files.paths.cgroup_root / "a/memory.current", "1000000\n");
  CHECK(files.tightest().left_bytes() == 29'000'000);
  CHECK(files.tightest().name == (files.paths.cgroup_root / "a/memory.high").string() + " grants");
}

TEST_CASE("copies of files, which the kernel drops, are not in use; shared memory is") {
  Files files;
  write_file(files.paths.self_cgroup, "0::/a\n");
  write_file(files.paths.cgroup_root / "a/memory.max", "40000000\n");
  write_file(files.paths.cgroup_root / "a/memory.current", "30000000\n");
  write_file(files.paths.cgroup_root / "a/memory.stat",
             "anon 5000000\nfile 25000000\nshmem 5000000\ninactive_file 12000000\nactive_file 8000000\n");
  CHECK(files.tightest().used_bytes == 10'000'000);
  write_file(files.paths.cgroup_root / "a/memory.stat", "inactive_file 90000000\n");  // read later than memory.current
  CHECK(files.tightest().used_bytes == 0);
}

TEST_CASE("a group that tells no use counts what this process has") {
  Files files;
  write_file(files.paths.self_cgroup, "0::/a\n");
  write_file(files.paths.self_statm, "900 7 3 1 0 2 0\n");
  write_file(files.paths.cgroup_root / "a/memory.max", "40000000\n");
  CHECK(files.tightest().used_bytes == 7 * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
  write_file(files.paths.cgroup_root / "a/memory.current", "50000000\n");  // the limit was lowered below the use
  CHECK(files.tightest().left_bytes() == 0);
}

TEST_CASE("limits of memory of cgroup version 1 count, with their own names for copies of files") {
  Files files;
  write_file(files.paths.self_cgroup, "7:cpu,cpuacct:/elsewhere\n4:memory:/a/b\n0::/\n");
  const std::filesystem::path group = files.paths.cgroup_root / "memory/a";
  write_file(group / "b/memory.limit_in_bytes", "9223372036854771712\n");  // none
  write_file(group / "memory.limit_in_bytes", "60000000\n");
  write_file(group / "memory.usage_in_bytes", "50000000\n");
  write_file(group / "memory.stat", "cache 45000000\ntotal_inactive_file 30000000\ntotal_active_file 10000000\n");
  CHECK(files.tightest().left_bytes() == 50'000'000);
  CHECK(files.tightest().name == (group / "memory.limit_in_bytes").string() + " grants");
}

TEST_CASE("limits that are no numbers, and endless statistics, are no limits and end") {
  Files files;
  write_file(files.paths.self_cgroup, "0::/a\n");
  write_file(files.paths.cgroup_root / "a/memory.max", "lots\n");
  write_file(files.paths.cgroup_root / "a/memory.high", "");
  CHECK(memory_limits(files.paths).size() == 1);
  write_file(files.paths.cgroup_root / "a/memory.max", "40000000\n");
  write_file(files.paths.cgroup_root / "a/memory.current", "30000000\n");
  std::string stat;
  for (int i = 0; i < 10'000; i++) stat += "other 1\n";
  write_file(files.paths.cgroup_root / "a/memory.stat", stat + "inactive_file 30000000\n");
  CHECK(files.tightest().used_bytes == 30'000'000);
}

TEST_CASE("the memory that may be used is the least that any cgroup above grants") {
  const Files files;
  write_file(files.paths.self_cgroup, "1:cpu:/elsewhere\n0::/a/b\n");
  const auto usable = [&] { return usable_memory_bytes(files.paths); };
  const uint64_t machine = usable();
  CHECK(machine > 100u << 20);
  write_file(files.paths.cgroup_root / "a/b/memory.max", "max\n");
  CHECK(usable() == machine);
  write_file(files.paths.cgroup_root / "a/memory.max", "50000000\n");
  CHECK(usable() == 50'000'000);
  write_file(files.paths.cgroup_root / "a/b/memory.max", "40000000\n");
  CHECK(usable() == 40'000'000);
  write_file(files.paths.cgroup_root / "memory.max", "30000000\n");
  CHECK(usable() == 30'000'000);
  write_file(files.paths.cgroup_root / "a/b/memory.high", "20000000\n");  // above, the kernel slows the daemon down
  CHECK(usable() == 20'000'000);
}

TEST_CASE("the limits of memory of cgroup version 1 hold as well") {
  const Files files;
  write_file(files.paths.self_cgroup, "7:cpu,cpuacct:/elsewhere\n4:memory:/a/b\n0::/\n");
  const auto usable = [&] { return usable_memory_bytes(files.paths); };
  const uint64_t machine = usable();
  write_file(files.paths.cgroup_root / "memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");  // none
  CHECK(usable() == machine);
  write_file(files.paths.cgroup_root / "cpu/elsewhere/memory.limit_in_bytes", "1000\n");  // another controller's
  CHECK(usable() == machine);
  write_file(files.paths.cgroup_root / "memory/a/memory.limit_in_bytes", "60000000\n");
  CHECK(usable() == 60'000'000);
  write_file(files.paths.cgroup_root / "memory/memory.limit_in_bytes", "50000000\n");
  CHECK(usable() == 50'000'000);
  write_file(files.paths.cgroup_root / "memory.max", "40000000\n");  // both versions are mounted
  CHECK(usable() == 40'000'000);
}

TEST_CASE("the limits of this process can be read") {
  const auto limits = memory_limits();
  REQUIRE(!limits.empty());
  CHECK(limits[0].used_bytes > 1 << 20);
  for (const auto& limit : limits) CHECK(limit.bytes > 0);
}

}  // namespace spdld::memory_limit_test
