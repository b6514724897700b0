// The node's cache under real trainers: what it holds is never another picture than the file's.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "proto/unique_fd.h"
#include "tests/integration/trainer.h"
#include "tests/support/daemon_process.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/makers/photos.h"
#include "tests/support/makers/png_maker.h"
#include "tests/support/makers/tar_writer.h"

namespace spdld::cache_test {

using namespace spdld;
using namespace spdld::test;
using nlohmann::json;

namespace {

constexpr int kPhotos = 24;

std::string settings(const std::string& cache) { return "[cache]\n" + cache + "\n"; }

Job job(const DaemonProcess& daemon, const std::string& cache, int epochs, const std::string& name = "photos") {
  PhotoSpec spec;
  spec.name = name, spec.cache = cache, spec.epochs = epochs;
  Job job;
  job.socket = daemon.socket(), job.spec = spec.toml(daemon.dir() / "photos");
  return job;
}

json describe(const DaemonProcess& daemon, const std::string& name = "photos") {
  return json::parse(query("describe", name.c_str(), daemon.socket().c_str()));
}

json field(const DaemonProcess& daemon, const std::string& name = "photos") {
  return describe(daemon, name)["cache"]["fields"].at(0);
}

json cache(const DaemonProcess& daemon) {
  return json::parse(query("status", nullptr, daemon.socket().c_str()))["cache"];
}

// All pixels by (epoch, sample).
using Pixels = std::map<std::pair<uint64_t, int64_t>, std::vector<float>>;

Pixels take_pixels(Loader& loader) {
  Pixels all;
  for (;;) {
    const auto next = loader.next(20'000);
    if (next.result == SPDLD_END) return all;
    if (next.result == SPDLD_END_OF_EPOCH) continue;
    if (next.result != SPDLD_OK) throw Exception(next.result, "no batch in time");
    const spdld_tensor image = next.batch["image"], ids = next.batch["sample_id"];
    const auto size = static_cast<size_t>(image.shape[1] * image.shape[2] * image.shape[3]);
    for (size_t i = 0; i < next.batch.info().valid; i++) {
      int64_t id = 0;
      std::memcpy(&id, static_cast<const char*>(ids.address) + i * sizeof id, sizeof id);
      std::vector<float>& pixels = all[{next.batch.info().epoch, id}];
      pixels.resize(size);
      std::memcpy(pixels.data(), static_cast<const float*>(image.address) + i * size, size * sizeof(float));
    }
  }
}

Pixels pixels(const Job& job) {
  Loader loader = attach(job);
  return take_pixels(loader);
}

// A job whose pictures become 32 x 32 pixels, of a folder or an archive. `decode`: further parameters of decode-image.
Job small_job(const DaemonProcess& daemon, const std::string& name, const std::string& uri, const std::string& cache,
              const std::string& decode = {}) {
  const bool is_archive = uri.ends_with(".tar");
  Job job;
  job.socket = daemon.socket();
  job.spec = "name = \"" + name + "\"\nseed = 3\ncache = \"" + cache + "\"\n[source]\ntype = \"" +
             (is_archive ? "webdataset" : "image-folder") + "\"\nuri = \"" + uri +
             "\"\n[order]\nepochs = 2\n[batch]\nsize = 4\n[[output]]\nname = \"image\"\nfrom = \"" +
             (is_archive ? "jpg" : "image") + "\"\nops = [{ op = \"decode-image\"" + decode +
             " }, { op = \"random-resized-crop\", size = 32 }, { op = \"convert\", dtype = \"float32\" }]\n";
  return job;
}

// Two thirds of these pictures stand upright only when their EXIF orientation is followed.
void make_turned_photos(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (int i = 0; i < kPhotos; i++) {
    JpegOptions options;
    options.exif_orientation = i % 3 == 0 ? 1 : 2 + i % 7;
    options.seed = static_cast<uint32_t>(i);
    const auto jpeg = make_jpeg(90, 60, options);
    std::ofstream(folder / (std::to_string(i) + ".jpg"), std::ios::binary)
        .write(reinterpret_cast<const char*>(jpeg.data()), static_cast<std::streamsize>(jpeg.size()));
  }
}

// An archive of pictures that depend on `seed`. Archives of other seeds have members of the same names, sizes and
// places: every picture is filled up to one size.
void write_archive(const std::filesystem::path& path, uint32_t seed) {
  constexpr size_t kPictureBytes = 8192;
  TarWriter tar;
  for (uint32_t i = 0; i < kPhotos; i++) {
    JpegOptions options;
    options.seed = seed + i;
    const auto jpeg = make_jpeg(90, 60, options);
    REQUIRE(jpeg.size() < kPictureBytes);
    std::string content(jpeg.begin(), jpeg.end());
    content.resize(kPictureBytes);
    tar.file(std::to_string(100 + i) + ".jpg", content);
  }
  const std::string& bytes = tar.end().bytes();
  // In place: the same file, of the same size.
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(::pwrite(file.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
}

// Writes the archive anew as a copying program does that keeps times: only the time of the status change tells it.
void rewrite_with_its_time(const std::filesystem::path& path, uint32_t seed) {
  struct stat before {
  }, after{};
  REQUIRE(::stat(path.c_str(), &before) == 0);
  write_archive(path, seed);
  const struct timespec times[2] = {before.st_atim, before.st_mtim};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
  REQUIRE(::stat(path.c_str(), &after) == 0);
  REQUIRE(after.st_ino == before.st_ino);
  REQUIRE(after.st_size == before.st_size);
  REQUIRE(after.st_mtim.tv_sec == before.st_mtim.tv_sec);
  REQUIRE(after.st_mtim.tv_nsec == before.st_mtim.tv_nsec);
}

bool is_unused(const DaemonProcess& daemon) {
  const json shelves = cache(daemon)["shelves"];
  return std::none_of(shelves.begin(), shelves.end(), [](const json& shelf) { return shelf["in_use"].get<bool>(); });
}

}  // namespace

TEST_CASE("every form of the cache gives the pictures that decoding gives") {
  DaemonProcess daemon(settings("ram_bytes_max = \"256MiB\""));
  make_photos(daemon.dir() / "photos", kPhotos, 2);
  const Pixels plain = pixels(job(daemon, "off", 3));
  REQUIRE(plain.size() == 3 * kPhotos);
  CHECK(describe(daemon)["cache"]["fields"].empty());
  CHECK(cache(daemon)["ram_bytes"] == 0);

  CHECK((pixels(job(daemon, "encoded", 3, "bytes")) == plain));
  CHECK(describe(daemon, "bytes")["cache"]["form"] == "encoded");

  const Pixels decoded = pixels(job(daemon, "decoded", 3, "planes"));
  CHECK((decoded == plain));
  CHECK((pixels(job(daemon, "decoded", 3, "again")) == decoded));  // all of it from the cache
  CHECK((pixels(job(daemon, "auto", 3, "auto")) == decoded));
  CHECK((pixels(job(daemon, "indexed", 3, "index")) == plain));
  CHECK((pixels(job(daemon, "indexed", 3, "by-index")) == plain));
  CHECK((pixels(job(daemon, "packed", 3, "packed")) == plain));
  CHECK((pixels(job(daemon, "packed", 3, "unpacked")) == plain));
  CHECK(field(daemon, "unpacked")["memory_entries"] == kPhotos);
}

TEST_CASE("what is kept is read once, for all pipelines and jobs") {
  DaemonProcess daemon(settings("ram_bytes_max = \"256MiB\""));
  make_photos(daemon.dir() / "photos", kPhotos, 2);
  Loader first = attach(job(daemon, "auto", 3));
  take_pixels(first);
  CHECK(field(daemon)["form"] == "decoded");
  CHECK(field(daemon)["memory_entries"] == kPhotos);
  // An epoch's first samples are looked up while the last ones of that before are still on their way.
  const int misses = field(daemon)["misses"];
  CHECK(misses >= kPhotos);
  CHECK(misses < 2 * kPhotos);
  CHECK(field(daemon)["memory_hits"] == 3 * kPhotos - misses);
  Job other = job(daemon, "decoded", 1, "other");
  other.group = "another";
  Loader second = attach(other);
  take_pixels(second);
  CHECK(field(daemon, "other")["misses"] == misses);  // of both: they share it
  CHECK(describe(daemon, "other")["stages"][0]["samples"] == 0);
}

TEST_CASE("pictures that have no planes are kept as they were fetched, on the same shelf") {
  TempDir disk;
  DaemonProcess daemon(settings("ram_bytes_max = \"16MiB\"\nfolder = \"" + disk.path().string() + "\""));
  make_photos(daemon.dir() / "photos", kPhotos, 2);
  const auto add = [&](const char* name, const std::vector<uint8_t>& content) {
    const auto folder = std::filesystem::directory_iterator(daemon.dir() / "photos")->path();
    std::ofstream(folder / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
  };
  add("cmyk.jpg", make_jpeg(96, 72, {.cmyk = true}));
  add("turned.jpg", make_jpeg(96, 72, {.exif_orientation = 6}));
  add("odd.jpg", make_jpeg(96, 72, {.subsampling = Subsampling::k411}));
  add("png.jpg", make_png(96, 72).bytes);
  const Pixels plain = pixels(job(daemon, "off", 2));
  const std::string form = GENERATE("decoded", "indexed", "packed");
  {
    Loader loader = attach(job(daemon, form, 2, "kept"));
    CHECK((take_pixels(loader) == plain));
    CHECK(field(daemon, "kept")["memory_entries"] == kPhotos + 4);
    CHECK_THAT(field(daemon, "kept")["representation"].get<std::string>(),
               Catch::Matches((form == "decoded" ? "planes [0-9]+, libjpeg-turbo " : form + " [0-9]+") + ".*"));
    CHECK(field(daemon, "kept")["form"] == form);
  }
  {
    Loader loader = attach(job(daemon, form, 2, "again"));
    CHECK((take_pixels(loader) == plain));
    CHECK(describe(daemon, "again")["stages"][0]["bytes"] == 0);  // nothing was fetched
  }
  daemon.stop(SIGTERM);
  daemon.start();
  Loader loader = attach(job(daemon, form, 2, "restarted"));
  CHECK((take_pixels(loader) == plain));
  CHECK(field(daemon, "restarted")["misses"] == 0);
}

TEST_CASE("a file that was replaced is read again by the next run") {
  DaemonProcess daemon(settings("ram_bytes_max = \"256MiB\""));
  const auto photos = daemon.dir() / "photos";
  make_photos(photos, kPhotos, 2);
  const Pixels before = pixels(job(daemon, "decoded", 1));
  for (int looks = 0; looks < 10'000 && cache(daemon)["shelves"].at(0)["in_use"]; looks++) poll(nullptr, 0, 1);
  // Another picture under the same name; its folder does not change by that.
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(photos))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::ifstream from(files[5], std::ios::binary);
  std::stringstream content;
  content << from.rdbuf();
  std::ofstream(files[0], std::ios::binary) << content.str();
  const Pixels after = pixels(job(daemon, "decoded", 1, "again"));
  CHECK((after.at({0, 0}) != before.at({0, 0})));
  for (int64_t id = 1; id < kPhotos; id++) CHECK((after.at({0, id}) == before.at({0, id})));
}

TEST_CASE("the limit holds, and a pipeline whose pictures do not all fit gives the same pixels") {
  DaemonProcess daemon(settings("ram_bytes_max = \"256MiB\""));
  make_photos(daemon.dir() / "photos", kPhotos, 2);
  const Pixels roomy = pixels(job(daemon, "decoded", 2));
  DaemonProcess tight(settings("ram_bytes_max = \"128KiB\""));
  make_photos(tight.dir() / "photos", kPhotos, 2);
  Loader loader = attach(job(tight, "decoded", 2));
  CHECK((take_pixels(loader) == roomy));
  CHECK(cache(tight)["ram_bytes"] <= 128 << 10);
  CHECK(field(tight)["memory_entries"] > 0);
  CHECK(field(tight)["memory_entries"] < kPhotos);
  CHECK(field(tight)["refused"] > 0);
}

TEST_CASE("between two forms auto keeps each picture in one of them, and gives the same pixels, also after a restart") {
  TempDir disk;
  const int photos = 10 * kPhotos;
  DaemonProcess roomy(settings("ram_bytes_max = \"64MiB\""));
  make_photos(roomy.dir() / "photos", photos, 2);
  const Pixels plain = pixels(job(roomy, "off", 3));
  const auto bytes_in = [&](const std::string& form) {
    Loader loader = attach(job(roomy, form, 1, form));
    take_pixels(loader);
    return field(roomy, form)["memory_bytes"].get<uint64_t>() + photos * 128;
  };
  const uint64_t limit = (bytes_in("packed") + bytes_in("decoded")) / 2;
  DaemonProcess tight(
      settings("ram_bytes_max = " + std::to_string(limit) + "\nfolder = \"" + disk.path().string() + "\""));
  make_photos(tight.dir() / "photos", photos, 2);
  for (const bool is_restarted : {false, true}) {
    CAPTURE(is_restarted);
    if (is_restarted) {
      tight.stop(SIGTERM);
      tight.start();
    }
    Loader loader = attach(job(tight, "auto", 3));
    CHECK((take_pixels(loader) == plain));
    const json told = describe(tight)["cache"];
    CHECK(told["form"] == "decoded");
    CHECK_THAT(told["why"].get<std::string>(), Catch::StartsWith("decoded for "));
    std::map<std::string, uint64_t> entries;
    for (const json& one : told["fields"]) entries[one["form"]] = one["memory_entries"];
    CHECK(entries["packed"] > photos / 4);
    CHECK(entries["decoded"] > photos / 4);
    CHECK(entries["packed"] + entries["decoded"] >= photos * 9 / 10);
    CHECK(cache(tight)["ram_bytes"] <= limit);
  }
}

TEST_CASE("a folder on disk outlives the daemon, and a damaged one costs time alone") {
  TempDir disk;
  const std::string on_disk = settings("ram_bytes_max = 0\nfolder = \"" + disk.path().string() + "\"");
  DaemonProcess daemon(on_disk);
  make_photos(daemon.dir() / "photos", kPhotos, 2);
  const Pixels before = pixels(job(daemon, "decoded", 2));
  daemon.stop(SIGTERM);
  daemon.start();
  {
    Loader loader = attach(job(daemon, "decoded", 2));
    CHECK((take_pixels(loader) == before));
    CHECK(field(daemon)["disk_hits"] == 2 * kPhotos);
    CHECK(field(daemon)["misses"] == 0);
  }
  daemon.stop(SIGKILL);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(disk.path())) {
    if (!entry.is_regular_file() || entry.file_size() < 100'000) continue;
    std::fstream file(entry.path(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(entry.file_size() / 2));
    file.write("damage", 6);
  }
  daemon.start();
  Loader loader = attach(job(daemon, "decoded", 2));
  CHECK((take_pixels(loader) == before));
  CHECK(cache(daemon)["damaged"] == 1);
}

// Two pipelines over the same pictures that decode them in different ways: `name` and, with `decode`, `other`. The one
// does not take what the cache keeps for the other, in memory and on disk, also after a restart.
void check_that_nothing_is_shared(const std::string& name, const std::string& other, const std::string& decode) {
  TempDir disk;
  const bool on_disk = GENERATE(false, true);
  const std::string folder = "\nfolder = \"" + disk.path().string() + "\"";
  DaemonProcess daemon(settings(on_disk ? "ram_bytes_max = 0" + folder : "ram_bytes_max = \"256MiB\""));
  const std::string photos = daemon.dir() / "turned";
  make_turned_photos(std::filesystem::path(photos) / "class");
  const auto first = [&](const std::string& cache) { return small_job(daemon, name + "-" + cache, photos, cache); };
  const auto second = [&](const std::string& cache) {
    return small_job(daemon, other + "-" + cache, photos, cache, decode);
  };
  const Pixels of_first = pixels(first("off")), of_second = pixels(second("off"));
  REQUIRE((of_first != of_second));
  for (const std::string cache : {"decoded", "packed", "indexed", "encoded"}) {
    CAPTURE(on_disk, cache);
    CHECK((pixels(first(cache)) == of_first));
    CHECK((pixels(second(cache)) == of_second));
    CHECK((pixels(first(cache)) == of_first));
  }
  if (!on_disk) return;
  daemon.stop(SIGTERM);
  daemon.start();
  for (const std::string cache : {"decoded", "packed", "indexed", "encoded"}) {
    CAPTURE(cache);
    Loader of_other = attach(second(cache));  // open while the cache is looked at: an idle pipeline lets its own go
    CHECK((take_pixels(of_other) == of_second));
    CHECK(field(daemon, other + "-" + cache)["disk_hits"] == 2 * kPhotos);
    CHECK(field(daemon, other + "-" + cache)["form"] == cache);
    Loader of_name = attach(first(cache));
    CHECK((take_pixels(of_name) == of_first));
    CHECK(field(daemon, name + "-" + cache)["disk_hits"] > 0);
    CHECK(field(daemon, name + "-" + cache)["form"] == cache);
  }
}

TEST_CASE("pipelines that turn pictures and pipelines that do not share no planes, in memory and on disk") {
  check_that_nothing_is_shared("turned", "stored", ", exif = false");
}

TEST_CASE("pipelines in colours and in grey share no planes, in memory and on disk") {
  check_that_nothing_is_shared("colours", "grey", ", colours = \"grey\"");
}

TEST_CASE("an archive that is rewritten in place, with its time set back, is read again by the next run") {
  TempDir disk;
  const bool on_disk = GENERATE(false, true);
  const std::string form = GENERATE("decoded", "packed", "indexed", "encoded");
  CAPTURE(on_disk, form);
  const std::string folder = "\nfolder = \"" + disk.path().string() + "\"";
  DaemonProcess daemon(settings(on_disk ? "ram_bytes_max = 0" + folder : "ram_bytes_max = \"256MiB\""));
  const std::string archive = daemon.dir() / "a.tar";
  write_archive(archive, 1);
  const Pixels before = pixels(small_job(daemon, "plain", archive, "off"));
  CHECK((pixels(small_job(daemon, "kept", archive, form)) == before));
  REQUIRE(soon([&] { return is_unused(daemon); }));
  if (on_disk) daemon.stop(SIGTERM);
  rewrite_with_its_time(archive, 1000);
  if (on_disk) daemon.start();
  const Pixels after = pixels(small_job(daemon, "plain", archive, "off"));
  REQUIRE((after != before));
  Loader kept = attach(small_job(daemon, "kept", archive, form));
  CHECK((take_pixels(kept) == after));
  CHECK(field(daemon, "kept")["stale"] >= kPhotos);
}

}  // namespace spdld::cache_test
