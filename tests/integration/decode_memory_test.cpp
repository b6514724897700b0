// Small files that claim large pictures, on 16 decode threads: what decoding takes stays within the daemon's budget,
// and another pipeline's ordinary pictures go on meanwhile.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "daemon/base/fair_pool.h"
#include "tests/integration/other_user.h"
#include "tests/integration/trainer.h"
#include "tests/support/daemon_process.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/makers/photos.h"
#include "tests/support/makers/png_maker.h"

namespace spdld::decode_memory_test {

using namespace spdld;
using namespace spdld::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr uid_t kGreedy = 12345, kOther = 12346;
constexpr int kHostile = 16, kSide = 3000;
constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kBudget = 160 * kMiB;
// What one of them takes: 128 bytes for each block's coefficients, and its planes. Unbounded, 16 take 648 MiB at once.
constexpr uint64_t kEach = uint64_t{kSide} * kSide * 3 / 2 * 3;

uint64_t peak_bytes(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) << 10;
  return 0;
}

// One file under many names.
void write_many(const fs::path& folder, const std::vector<uint8_t>& bytes, const std::string& ending, int count) {
  fs::create_directories(folder / "class");
  const fs::path first = folder / "class" / ("0" + ending);
  std::ofstream(first, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  for (int i = 1; i < count; i++) fs::create_hard_link(first, folder / "class" / (std::to_string(i) + ending));
}

// A flat picture that is coded in a few hundred bytes, arithmetically and in several scans: all of its coefficients
// must be in memory at once.
std::vector<uint8_t> hostile_jpeg(int side = kSide) {
  return make_jpeg(side, side, {.progressive = true, .arithmetic = true, .flat = true});
}

Job job_of(const DaemonProcess& daemon, const std::string& name, const fs::path& data) {
  PhotoSpec spec;
  spec.name = name, spec.cache = "off", spec.batch_size = 4, spec.extra_source = "extensions = \"jpg,png\"";
  Job job;
  job.socket = daemon.socket(), job.spec = spec.toml(data / name), job.timeout_ms = 120'000;
  job.group = name;
  return job;
}

// Takes all batches, and tells how many samples there were.
std::string take_as(const Job& job) {
  Loader loader = attach(job);
  uint64_t samples = 0;
  for (const Seen& seen : take_all(loader)) samples += seen.valid;
  return std::to_string(samples);
}

json status_of(const DaemonProcess& daemon) { return json::parse(query("status", "", daemon.socket().c_str())); }

json described(const DaemonProcess& daemon, const std::string& name) {
  return json::parse(query("describe", name.c_str(), daemon.socket().c_str()));
}

// How often samples of the pipeline waited for memory; 0 before the pipeline is open.
uint64_t waits_of(const DaemonProcess& daemon, const std::string& name) {
  const json pipelines = status_of(daemon)["pipelines"];
  const auto is_it = [&](const json& one) { return one["name"] == name && one["state"] != "listing"; };
  if (std::none_of(pipelines.begin(), pipelines.end(), is_it)) return 0;
  return described(daemon, name)["lent"]["waits"].get<uint64_t>();
}

}  // namespace

TEST_CASE("hostile pictures of any codec on 16 threads stay within the memory for decoding, beside a good neighbour") {
  const std::string budget = std::to_string(kBudget / kMiB) + " MiB";
  DaemonProcess daemon("[limits]\ncpu_budget = 16\ndecode_bytes_max = \"" + budget +
                       "\"\n[tuning]\nenabled = false\ndecode = 16\n");
  const bool is_png = GENERATE(false, true);
  const std::vector<uint8_t> hostile =
      is_png ? make_png(kSide * 2, kSide, {.interlaced = true, .flat = true}).bytes : hostile_jpeg();
  INFO((is_png ? "PNG" : "JPEG") << " of " << hostile.size() << " bytes");
  write_many(daemon.dir() / "hostile", hostile, is_png ? ".png" : ".jpg", kHostile);
  make_photos(daemon.dir() / "photos", 200, 2);
  const uint64_t before_bytes = peak_bytes(daemon.pid());
  Loader greedy = attach(job_of(daemon, "hostile", daemon.dir()));
  Loader ordinary = attach(job_of(daemon, "photos", daemon.dir()));
  uint64_t samples = 0;
  for (const Seen& seen : take_all(ordinary)) samples += seen.valid;
  CHECK(samples == 200);
  CHECK(described(daemon, "photos")["lent"]["waits"] == 0);
  samples = 0;
  for (const Seen& seen : take_all(greedy)) samples += seen.valid;
  CHECK(samples == kHostile);
  const json lent = described(daemon, "hostile")["lent"];
  CHECK(described(daemon, "hostile")["bad"]["damaged"] == 0);
  CHECK(lent["waits"] > 0);
  CHECK(lent["bytes"] == 0);
  CHECK(lent["waiting"] == 0);
  CHECK(lent["peak_bytes"] > 10 * kMiB);
  CHECK(lent["peak_bytes"] <= std::max(lent["bytes_max"].get<uint64_t>(), 2 * kEach));
  const json status = status_of(daemon);
  CHECK(status["limits"]["decode_bytes_max"] == kBudget);
  CHECK(status["limits"]["decode_bytes_per_thread"] == kBudget / 8 / FairPool::runners_of(16));
  CHECK(status["memory"]["lent_bytes"] == 0);
  const uint64_t grown_bytes = peak_bytes(daemon.pid()) - before_bytes;
  UNSCOPED_INFO("the daemon's peak grew by " << grown_bytes / kMiB << " MiB");
  // Beside the budget: batches, and what the allocator keeps.
  if (!SPDLD_SANITIZED) CHECK(grown_bytes <= kBudget + 64 * kMiB);
}

TEST_CASE(
    "a user's pictures of 13,000 x 13,000 fit into what the service's unit leaves, beside another user's pictures") {
  if (!is_root() || SPDLD_SANITIZED) return;       // sanitizers take longer than a test may
  constexpr int kLargest = 13'000, kPictures = 8;  // unbounded, these take 6.5 GB at once
  constexpr uint64_t kOfUnit = 3072 * kMiB;        // an eighth of MemoryHigh=
  const TempDir data;
  chmod(data.path().c_str(), 0755);
  write_many(data.path() / "hostile", hostile_jpeg(kLargest), ".jpg", kPictures);
  make_photos(data.path() / "photos", 200, 2);
  const auto daemon = shared_daemon(
      "[limits]\ncpu_budget = 16\ndecode_bytes_max = \"3 GiB\"\n[tuning]\nenabled = false\ndecode = 16\n"
      "[[data.roots]]\npath = \"" +
      data.path().string() + "\"\nusers = [\"*\"]\n");
  const uint64_t before_bytes = peak_bytes(daemon->pid());
  const Job greedy_job = job_of(*daemon, "hostile", data.path()), other_job = job_of(*daemon, "photos", data.path());
  OtherUser greedy(kGreedy, [&](Pipe& told) {
    Job job = greedy_job;
    job.timeout_ms = 300'000;
    told.write("begins\n");
    return take_as(job);
  });
  REQUIRE(greedy.said() == "begins");
  REQUIRE(soon([&] { return waits_of(*daemon, "hostile") > 0; }));
  const auto start = std::chrono::steady_clock::now();
  CHECK(as_user(kOther, [&] { return take_as(other_job); }) == "200");
  const std::chrono::duration<double> other_s = std::chrono::steady_clock::now() - start;
  const json meanwhile = status_of(*daemon)["memory"];
  CHECK(meanwhile["lent_bytes"] > 0);  // the greedy user's pictures are still being decoded
  CHECK(greedy.read_line() == std::to_string(kPictures));
  const std::chrono::duration<double> all_s = std::chrono::steady_clock::now() - start;
  const json lent = status_of(*daemon)["memory"];
  CHECK(lent["lent_bytes"] == 0);
  CHECK(lent["lent_peak_bytes"] <= kOfUnit);
  CHECK(lent["lent_peak_bytes"] > 500 * kMiB);
  const uint64_t grown_bytes = peak_bytes(daemon->pid()) - before_bytes;
  UNSCOPED_INFO("the daemon's peak grew by " << grown_bytes / kMiB << " MiB; the other user was done after "
                                             << other_s.count() << " s, and all after " << all_s.count() << " s");
  CHECK(grown_bytes <= kOfUnit);
}

}  // namespace spdld::decode_memory_test
