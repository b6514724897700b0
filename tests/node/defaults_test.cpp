#include "daemon/node/defaults.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

#include "tests/support/temp_dir.h"

namespace spdld::defaults_test {

using namespace spdld;
using namespace spdld::test;

namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

// A variable of the environment, for as long as this lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    value ? setenv(name, value, 1) : unsetenv(name);
  }
  ~Variable() { before_.empty() ? unsetenv(name_) : setenv(name_, before_.c_str(), 1); }

 private:
  const char* name_;
  std::string before_;
};

}  // namespace

TEST_CASE("the memory that may be used is the least that any cgroup above grants") {
  const TempDir dir;
  write(dir.path() / "self", "1:cpu:/elsewhere\n0::/a/b\n");
  const auto usable = [&] { return node::usable_memory_bytes(dir.path() / "fs", dir.path() / "self"); };
  const uint64_t machine = usable();
  CHECK(machine > 100u << 20);
  write(dir.path() / "fs/a/b/memory.max", "max\n");
  CHECK(usable() == machine);
  write(dir.path() / "fs/a/memory.max", "50000000\n");
  CHECK(usable() == 50'000'000);
  write(dir.path() / "fs/a/b/memory.max", "40000000\n");
  CHECK(usable() == 40'000'000);
  write(dir.path() / "fs/memory.max", "30000000\n");
  CHECK(usable() == 30'000'000);
}

TEST_CASE("the limits of memory of cgroup version 1 hold as well") {
  const TempDir dir;
  write(dir.path() / "self", "7:cpu,cpuacct:/elsewhere\n4:memory:/a/b\n0::/\n");
  const auto usable = [&] { return node::usable_memory_bytes(dir.path() / "fs", dir.path() / "self"); };
  const uint64_t machine = usable();
  write(dir.path() / "fs/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");  // none
  CHECK(usable() == machine);
  write(dir.path() / "fs/cpu/elsewhere/memory.limit_in_bytes", "1000\n");  // another controller's
  CHECK(usable() == machine);
  write(dir.path() / "fs/memory/a/memory.limit_in_bytes", "60000000\n");
  CHECK(usable() == 60'000'000);
  write(dir.path() / "fs/memory/memory.limit_in_bytes", "50000000\n");
  CHECK(usable() == 50'000'000);
  write(dir.path() / "fs/memory.max", "40000000\n");  // both versions are mounted
  CHECK(usable() == 40'000'000);
}

TEST_CASE("the cache takes what the settings say, or a quarter") {
  config::DaemonSettings settings;
  CHECK(node::cache_bytes_max(settings, 4000) == 1000);
  settings.cache_ram_bytes_max = 0;
  CHECK(node::cache_bytes_max(settings, 4000) == 0);
}

TEST_CASE("the bytes in flight follow the node's memory where the settings leave them to the daemon") {
  config::DaemonSettings settings;
  const auto max = [&](uint64_t usable) { return node::in_flight_max(settings, usable); };
  CHECK(max(24ull << 30).node_bytes == 1536ull << 20);
  CHECK(max(24ull << 30).pipeline_bytes == 768ull << 20);
  CHECK(max(24ull << 30).user_bytes == 1ull << 30);
  CHECK(max(1ull << 40).node_bytes == 16ull << 30);
  CHECK(max(1ull << 40).pipeline_bytes == 8ull << 30);
  CHECK(max(1ull << 30).node_bytes == 256ull << 20);
  CHECK(max(1ull << 30).user_bytes == 256ull << 20);  // nobody has more than the node
  settings.inflight_bytes_max = 100;
  settings.inflight_bytes_per_pipeline_max = 70;
  CHECK(max(1ull << 40).node_bytes == 100);
  CHECK(max(1ull << 40).pipeline_bytes == 70);
}

TEST_CASE("what outlives the daemon lies where the settings, the service manager or the user say") {
  config::DaemonSettings settings;
  const Variable systemd("CACHE_DIRECTORY", nullptr), xdg("XDG_CACHE_HOME", "/x"), home("HOME", "/home/u");
  CHECK(node::state_folder(settings) == "/x/spdld");
  {
    const Variable none("XDG_CACHE_HOME", nullptr);
    CHECK(node::state_folder(settings) == "/home/u/.cache/spdld");
    const Variable nowhere("HOME", nullptr);
    CHECK(node::state_folder(settings).empty());
  }
  const Variable service("CACHE_DIRECTORY", "/var/cache/spdld:/other");
  CHECK(node::state_folder(settings) == "/var/cache/spdld");
  settings.state_folder = "/s";
  CHECK(node::state_folder(settings) == "/s");
  settings.state_kept = false;
  CHECK(node::state_folder(settings).empty());
}

TEST_CASE("the memory of listings follows the usable memory, and a user has half of it") {
  config::DaemonSettings settings;
  CHECK(node::listing_max(settings, 16ull << 30).node_bytes == 2ull << 30);
  CHECK(node::listing_max(settings, 16ull << 30).user_bytes == 1ull << 30);
  CHECK(node::listing_max(settings, 1ull << 30).node_bytes == 256ull << 20);
  settings.listing_bytes_max = 100ull << 20;
  settings.listing_bytes_per_user_max = 200ull << 20;
  CHECK(node::listing_max(settings, 16ull << 30).node_bytes == 100ull << 20);
  CHECK(node::listing_max(settings, 16ull << 30).user_bytes == 100ull << 20);
}

}  // namespace spdld::defaults_test
