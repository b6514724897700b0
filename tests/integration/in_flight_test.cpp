// Fields of 64 MiB, with 16 reads at once: the daemon's memory stays within the pipeline's bytes in flight.
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/integration/trainer.h"
#include "tests/support/daemon_process.h"
#include "tests/support/makers/photos.h"

namespace spdld::in_flight_memory_test {

using namespace spdld;
using namespace spdld::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr int kFields = 40;
constexpr uint64_t kFieldBytes = 64u << 20;
constexpr uint64_t kBytesMax = 256u << 20;
constexpr uint64_t kOtherBytes = 48u << 20;  // what decoding and the batches take

// The most memory that a process ever had.
uint64_t peak_bytes(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) << 10;
  return 0;
}

// One picture under many names. It has zeros behind its end, which take no room on the disk.
void make_fields(const fs::path& folder) {
  make_photos(folder, 1, 1);
  fs::path picture;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) picture = entry.path();
  fs::resize_file(picture, kFieldBytes);
  for (int i = 1; i < kFields; i++)
    fs::create_hard_link(picture, picture.parent_path() / ("again-" + std::to_string(i) + ".jpg"));
}

}  // namespace

TEST_CASE("a pipeline of 64 MiB fields with 16 reads at once stays within its bytes in flight") {
  DaemonProcess daemon(
      "[limits]\ncpu_budget = 2\nfetch_concurrency = 16\ninflight_bytes_per_pipeline_max = \"256 MiB\"\n"
      "inflight_bytes_max = \"1 GiB\"\n[tuning]\nfetch = 16\n");
  make_fields(daemon.dir() / "photos");
  const uint64_t before_bytes = peak_bytes(daemon.pid());
  REQUIRE(before_bytes > 0);
  PhotoSpec spec;
  spec.cache = "off", spec.batch_size = 8;
  Job job;
  job.socket = daemon.socket(), job.spec = spec.toml(daemon.dir() / "photos"), job.timeout_ms = 60'000;
  Loader loader = attach(job);
  uint64_t samples = 0;
  for (const Seen& seen : take_all(loader)) samples += seen.valid;
  CHECK(samples == kFields);
  const json described = json::parse(query("describe", "photos", daemon.socket().c_str()));
  CHECK(described["bad"]["substituted"] == 0);
  CHECK(described["in_flight"]["bytes_max"] == kBytesMax);
  CHECK(described["in_flight"]["peak_bytes"] > kFieldBytes);
  CHECK(described["in_flight"]["peak_bytes"] <= kBytesMax);
  CHECK(described["in_flight"]["waits"] > 0);
  CHECK(described["in_flight"]["bytes"] == 0);
  const uint64_t grown_bytes = peak_bytes(daemon.pid()) - before_bytes;
  UNSCOPED_INFO("the daemon's peak grew by " << (grown_bytes >> 20) << " MiB");
  // Sanitizers keep what is freed for a while.
  if (!SPDLD_SANITIZED) CHECK(grown_bytes <= kBytesMax + kOtherBytes);
  if (!SPDLD_SANITIZED) CHECK(grown_bytes > kFieldBytes);
}

}  // namespace spdld::in_flight_memory_test
