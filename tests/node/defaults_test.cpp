#include "daemon/node/settings/defaults.h"

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

TEST_CASE("the memory for decoding is an eighth, and all that the service holds fits into what the unit grants") {
  constexpr uint64_t kGiB = 1ull << 30;
  config::DaemonSettings settings;
  const auto all = [&](uint64_t usable) { return node::decode_memory(settings, usable, 16).bytes_max; };
  CHECK(all(24 * kGiB) == 3 * kGiB);
  CHECK(all(200 * kGiB) == 25 * kGiB);
  for (const uint64_t usable : {24 * kGiB, 48 * kGiB, 200 * kGiB, 2000 * kGiB}) {
    const uint64_t held = settings.slot_bytes_max + settings.spare_slot_bytes_max +
                          node::cache_bytes_max(settings, usable) + node::in_flight_max(settings, usable).node_bytes +
                          node::listing_max(settings, usable).node_bytes;
    CHECK(held == node::held_bytes_max(settings, usable));
    CHECK(held + all(usable) <= usable - usable / 16);
  }
  settings.slot_bytes_max = 9 * kGiB;  // which leave less than an eighth
  CHECK(all(24 * kGiB) == 2 * kGiB);
  settings = {};
  CHECK(all(4 * kGiB) == kGiB / 4);         // settings that promise more than there is: half of its share
  CHECK(all(512ull << 20) == 64ull << 20);  // never less
  settings.decode_bytes_max = 3 * kGiB;
  CHECK(all(4 * kGiB) == 3 * kGiB);
}

TEST_CASE("threads have a part of the memory for decoding of their own, and the rest is lent") {
  constexpr uint64_t kMiB = 1ull << 20;
  config::DaemonSettings settings;
  settings.decode_bytes_max = 2048 * kMiB;
  const auto threads = [&](unsigned count) { return node::decode_memory(settings, 1ull << 40, count); };
  const auto lent = [&](unsigned count) { return node::lent_max(settings, 1ull << 40, threads(count)); };
  CHECK(threads(16).bytes_per_thread == 16 * kMiB);
  CHECK(lent(16).node_bytes == 1536 * kMiB);  // each has it twice: for its sample, and for what it keeps
  CHECK(lent(16).pipeline_bytes == 768 * kMiB);
  CHECK(lent(16).user_bytes == 768 * kMiB);
  CHECK(threads(2).bytes_per_thread == 32 * kMiB);
  CHECK(lent(2).node_bytes == 1920 * kMiB);
  CHECK(threads(1024).bytes_per_thread == kMiB / 4);
  CHECK(lent(1024).node_bytes == 1536 * kMiB);
  settings.decode_bytes_per_pipeline_max = 100 * kMiB, settings.decode_bytes_per_user_max = 4096 * kMiB;
  CHECK(lent(16).pipeline_bytes == 100 * kMiB);
  CHECK(lent(16).user_bytes == 1536 * kMiB);  // nobody has more than the node
  // The settings are read anew; threads keep what they have.
  const node::DecodeMemory before = threads(16);
  settings.decode_bytes_max = 600 * kMiB;
  CHECK(node::lent_max(settings, 1ull << 40, before).node_bytes == 300 * kMiB);
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
