#include "daemon/base/system/cpu.h"

#include <sched.h>

#include <catch2/catch.hpp>
#include <thread>

#include "tests/support/temp_dir.h"

namespace spdld::cpu_test {

using test::write_file;

TEST_CASE("the cgroup's grant bounds the cores, wherever it stands on the way to the root") {
  spdld::test::TempDir dir;
  const unsigned all = spdld::usable_cores({dir.path() / "none", dir.path() / "none", dir.path() / "none"}).cores;
  const spdld::CpuPaths paths{dir.path() / "fs", dir.path() / "self", dir.path() / "nodes"};
  write_file(paths.self_cgroup, "0::/outer/inner\n");
  write_file(paths.cgroup_root / "outer/inner/cpu.max", "max 100000\n");

  SECTION("no limit") {
    const auto limit = spdld::usable_cores(paths);
    CHECK(limit.cores == all);
    CHECK(limit.limited_by != "cgroup");
    CHECK(limit.cgroup_quota == 0);
    CHECK(limit.cores == std::min(limit.machine, limit.affinity));
  }
  SECTION("the least limit of all groups, rounded up") {
    write_file(paths.cgroup_root / "outer/cpu.max", "50000 100000\n");
    write_file(paths.cgroup_root / "cpu.max", "75000 100000\n");
    const auto limit = spdld::usable_cores(paths);
    CHECK(limit.cores == 1);
    CHECK(limit.cgroup_quota == 0.5);
    CHECK((all == 1 || limit.limited_by == "cgroup"));
  }
  SECTION("the limits of version 1") {
    write_file(paths.self_cgroup, "9:memory:/outer/inner\n4:cpu,cpuacct:/outer/inner\n0::/\n");
    write_file(paths.cgroup_root / "cpu/outer/inner/cpu.cfs_quota_us", "-1\n");
    write_file(paths.cgroup_root / "cpu/outer/inner/cpu.cfs_period_us", "100000\n");
    CHECK(spdld::usable_cores(paths).cgroup_quota == 0);
    write_file(paths.cgroup_root / "cpu,cpuacct/outer/cpu.cfs_quota_us", "75000\n");
    write_file(paths.cgroup_root / "cpu,cpuacct/outer/cpu.cfs_period_us", "100000\n");
    CHECK(spdld::usable_cores(paths).cgroup_quota == 0.75);
    // In a container the root that is mounted is the group itself, under a path that only the host knows.
    write_file(paths.cgroup_root / "cpu/cpu.cfs_quota_us", "50000\n");
    write_file(paths.cgroup_root / "cpu/cpu.cfs_period_us", "100000\n");
    const auto limit = spdld::usable_cores(paths);
    CHECK(limit.cgroup_quota == 0.5);
    CHECK(limit.cores == 1);
  }
  SECTION("nonsense is no limit") {
    write_file(paths.cgroup_root / "outer/cpu.max", "lots of it\n");
    CHECK(spdld::usable_cores(paths).cores == all);
  }
}

TEST_CASE("the NUMA nodes are those that this process's cores lie on") {
  spdld::test::TempDir dir;
  const spdld::CpuPaths paths{dir.path() / "none", dir.path() / "none", dir.path() / "nodes"};
  cpu_set_t allowed;
  REQUIRE(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  std::string mine, others;
  for (unsigned core = 0; core < CPU_SETSIZE; core++)
    (CPU_ISSET(core, &allowed) ? mine : others) += std::to_string(core) + ",";
  CHECK(spdld::usable_cores(paths).numa_nodes == std::vector<unsigned>{0});  // a kernel without NUMA
  write_file(paths.nodes / "node10/cpulist", mine + "\n");
  write_file(paths.nodes / "node2/cpulist", others + "\n");
  write_file(paths.nodes / "node3/cpulist", "0-1023\n");
  write_file(paths.nodes / "node4/cpulist", "\n");  // memory alone
  write_file(paths.nodes / "nodes/cpulist", mine + "\n");
  write_file(paths.nodes / "possible", "0-10\n");
  CHECK(spdld::usable_cores(paths).numa_nodes == std::vector<unsigned>{3, 10});
}

TEST_CASE("the kernel's lists are read, and what is no list is left out") {
  using List = std::vector<unsigned>;
  CHECK(spdld::parse_cpu_list("0-3,8,10-11") == List{0, 1, 2, 3, 8, 10, 11});
  CHECK(spdld::parse_cpu_list("5\n") == List{5});
  CHECK(spdld::parse_cpu_list("").empty());
  CHECK(spdld::parse_cpu_list("x,3-1,-,7,4-,0-99999999,99999999999").size() == 1);
}

TEST_CASE("what may be used is said in one line") {
  spdld::CpuLimit limit{2, "cgroup", 64, 8, 1.5, {0, 1, 2, 5}};
  CHECK(spdld::text_of(limit) == "2 cores (machine 64, affinity 8, cgroup 1.5), NUMA nodes 0-2,5");
  limit = {1, "machine", 1, 1, 0, {0}};
  CHECK(spdld::text_of(limit) == "1 core (machine 1, affinity 1), NUMA node 0");
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

}  // namespace spdld::cpu_test
