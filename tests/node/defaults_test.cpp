#include "daemon/node/defaults.h"

#include <catch2/catch.hpp>
#include <cstdlib>

namespace spdld::defaults_test {

using namespace spdld;

namespace {

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
