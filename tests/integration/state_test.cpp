// What a daemon leaves on disk: listings that are taken up after a restart, and files that may not grow any more.
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/integration/trainer.h"
#include "tests/support/daemon_process.h"
#include "tests/support/makers/photos.h"

namespace spdld::state_test {

using namespace spdld;
using namespace spdld::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr int kPhotos = 12, kClasses = 3;

std::string keeping_in(const fs::path& folder) { return "[state]\nfolder = \"" + folder.string() + "\"\n"; }

Job job(const DaemonProcess& daemon, const std::string& cache = "off") {
  PhotoSpec spec;
  spec.cache = cache;
  Job job;
  job.socket = daemon.socket(), job.spec = spec.toml(daemon.dir() / "photos");
  return job;
}

json listing(const DaemonProcess& daemon) {
  return json::parse(query("describe", "photos", daemon.socket().c_str()))["listing"];
}

// As if nothing had happened to the folders for an hour: what has changed just now may change again unseen, and is not
// kept.
void let_settle(const fs::path& photos) {
  for (const auto& entry : fs::directory_iterator(photos))
    fs::last_write_time(entry.path(), fs::file_time_type::clock::now() - std::chrono::hours(1));
}

size_t count_of(const std::string& words, const std::string& text) {
  size_t count = 0;
  for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) count++;
  return count;
}

// The one file in which the listing is kept.
fs::path kept_file(const fs::path& state) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(state))
    if (entry.path().extension() == ".listing") files.push_back(entry.path());
  REQUIRE(files.size() == 1);
  return files[0];
}

struct Taken {
  std::vector<Seen> batches;
  uint64_t samples = 0, kept = 0, read = 0;
};

Taken take(const DaemonProcess& daemon) {
  Loader loader = attach(job(daemon));
  Taken taken;
  taken.batches = take_all(loader);
  for (const Seen& batch : taken.batches) taken.samples += batch.valid;
  const json told = listing(daemon);
  taken.kept = told.at("kept"), taken.read = told.at("read");
  return taken;
}

}  // namespace

TEST_CASE("a listing is kept over a restart, and only what has changed is read") {
  const TempDir state;
  DaemonProcess daemon(keeping_in(state.path()));
  const fs::path photos = daemon.dir() / "photos";
  make_photos(photos, kPhotos, kClasses);
  let_settle(photos);
  const Taken first = take(daemon);
  CHECK(first.samples == kPhotos);
  CHECK(first.kept == 0);
  CHECK(first.read == kClasses);

  daemon.stop(SIGTERM);
  daemon.start();
  const Taken same = take(daemon);
  CHECK(same.kept == kClasses);
  CHECK(same.read == 0);
  CHECK((same.batches == first.batches));

  daemon.stop(SIGTERM);
  fs::copy_file(photos / "class-0/00000.jpg", photos / "class-0/more.jpg");
  daemon.start();
  const Taken more = take(daemon);
  CHECK(more.samples == kPhotos + 1);
  CHECK(more.kept == kClasses - 1);
  CHECK(more.read == 1);
  CHECK(count_of("13 samples listed in", daemon.log()) == 1);
  CHECK(count_of("of 3 folders or archives 2 as they were kept", daemon.log()) == 1);
}

TEST_CASE("a kept listing that is damaged is as good as none") {
  const TempDir state;
  DaemonProcess daemon(keeping_in(state.path()));
  make_photos(daemon.dir() / "photos", kPhotos, kClasses);
  let_settle(daemon.dir() / "photos");
  const Taken first = take(daemon);

  daemon.stop(SIGTERM);
  const fs::path file = kept_file(state.path());
  SECTION("other bytes") {
    std::fstream bytes(file, std::ios::binary | std::ios::in | std::ios::out);
    bytes.seekp(static_cast<std::streamoff>(fs::file_size(file) / 2));
    bytes.write("damage", 6);
  }
  SECTION("cut short") { fs::resize_file(file, fs::file_size(file) / 2); }
  SECTION("empty") { fs::resize_file(file, 0); }
  daemon.start();
  const Taken anew = take(daemon);
  CHECK(anew.kept == 0);
  CHECK(anew.read == kClasses);
  CHECK((anew.batches == first.batches));

  daemon.stop(SIGTERM);
  daemon.start();
  CHECK(take(daemon).kept == kClasses);  // a sound one was written in its place
}

// As `ulimit -f` or LimitFSIZE= of a service: the kernel sends a signal with the error, which by default kills.
TEST_CASE("a limit of files' sizes ends what is kept on disk, and not the daemon") {
  constexpr rlim_t kFileBytesMax = 128 << 10;
  constexpr int kLongNames = 700;
  const TempDir disk;
  DaemonProcess daemon("[cache]\nram_bytes_max = 0\nfolder = \"" + (disk.path() / "cache").string() + "\"\n" +
                       keeping_in(disk.path() / "state"));
  const rlimit limit = {kFileBytesMax, kFileBytesMax};
  REQUIRE(prlimit(daemon.pid(), RLIMIT_FSIZE, &limit, nullptr) == 0);
  const fs::path photos = daemon.dir() / "photos";
  make_photos(photos, kPhotos, kClasses);
  for (int i = 0; i < kLongNames; i++) {  // they alone make the listing larger than it may be
    const std::string name = std::to_string(i) + std::string(200, 'x') + ".jpg";
    fs::create_hard_link(photos / "class-0/00000.jpg", photos / "class-1" / name);
  }
  let_settle(photos);

  for (const char* group : {"first", "second"}) {
    Job of_group = job(daemon, "decoded");
    of_group.group = group;
    Loader loader = attach(of_group);
    CHECK(take_all(loader).size() == (kPhotos + kLongNames) / 4);
  }
  const std::string unkept = "the listing can't be kept in", unwritten = "the cache's folder is read only from here on";
  for (int looks = 0; looks < 10'000 && count_of(unwritten, daemon.log()) == 0; looks++) poll(nullptr, 0, 1);
  const json status = json::parse(query("status", nullptr, daemon.socket().c_str()));
  CHECK(status["cache"]["disk_trouble"].get<std::string>().find(unwritten) != std::string::npos);
  CHECK(count_of("File too large", daemon.log()) == 2);  // of the one and of the other
  CHECK(count_of(unkept, daemon.log()) == 1);
  CHECK(count_of(unwritten, daemon.log()) == 1);
  CHECK(WIFEXITED(daemon.stop(SIGTERM)));
}

}  // namespace spdld::state_test
