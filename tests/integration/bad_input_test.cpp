#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/integration/trainer.h"
#include "tests/support/daemon_process.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/makers/photos.h"

namespace spdld::bad_input_test {

using namespace spdld;
using namespace spdld::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

void write(const fs::path& file, const std::vector<uint8_t>& bytes) {
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

std::vector<uint8_t> text(const std::string& words) { return {words.begin(), words.end()}; }

// A sound picture whose header says side x side: the height and width behind the marker SOF0 or SOF10 are replaced.
std::vector<uint8_t> huge_header(uint16_t side, const JpegOptions& options = {}) {
  auto bytes = make_jpeg(32, 32, options);
  const auto high = static_cast<uint8_t>(side >> 8), low = static_cast<uint8_t>(side);
  for (size_t i = 0; i + 9 < bytes.size(); i++)
    if (bytes[i] == 0xff && (bytes[i + 1] == 0xc0 || bytes[i + 1] == 0xca)) {
      bytes[i + 5] = bytes[i + 7] = high, bytes[i + 6] = bytes[i + 8] = low;
      break;
    }
  return bytes;
}

// Four bad files among good ones, in class-0.
void add_bad_files(const fs::path& folder) {
  auto cut = make_jpeg(200, 150);
  cut.resize(cut.size() / 2);
  write(folder / "class-0/bad-cut.jpg", cut);
  write(folder / "class-0/bad-text.jpg", text("this is no picture\n"));
  write(folder / "class-0/bad-empty.jpg", {});
  write(folder / "class-0/bad-huge.jpg", huge_header(65'000));
}

std::string refusal(const Job& job) {
  try {
    attach(job);
  } catch (const Exception& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("bad pictures are substituted by default, counted, and named in errors; nothing else stops") {
  DaemonProcess daemon;
  const fs::path photos = daemon.dir() / "photos";
  make_photos(photos, 40, 2);
  add_bad_files(photos);
  const std::string socket = daemon.socket();
  PhotoSpec spec;
  spec.epochs = 2;

  SECTION("substitute: the same ones every time") {
    std::vector<std::vector<Seen>> runs;
    for (int run = 0; run < 2; run++) {
      Loader loader = attach({.socket = socket, .spec = spec.toml(photos)});
      runs.push_back(take_all(loader));
    }
    CHECK(runs[0].size() == 22);
    CHECK(runs[0] == runs[1]);
    const auto errors = nlohmann::json::parse(query("errors", "photos", socket.c_str()));
    CHECK(errors["errors"].size() == 4);
    std::string names;
    for (const auto& error : errors["errors"]) {
      names += error["name"].get<std::string>() + " ";
      CHECK(error["reason"].get<std::string>().size() > 10);
      CHECK(error["count"] >= 4);  // two runs of two epochs; more where it was itself drawn as a substitute
    }
    for (const char* name : {"bad-cut", "bad-text", "bad-empty", "bad-huge"}) CHECK_THAT(names, Contains(name));
  }
  SECTION("mask: zeros and a mark") {
    spec.on_bad = "mask";
    Loader loader = attach({.socket = socket, .spec = spec.toml(photos)});
    size_t masked = 0, marked = 0;
    for (;;) {
      const auto next = loader.next(20'000);
      if (next.result == SPDLD_END) break;
      if (next.result != SPDLD_OK) continue;
      masked += next.batch.info().masked;
      const auto mask = next.batch["mask"];
      for (uint64_t i = 0; i < next.batch.info().valid; i++) marked += static_cast<uint8_t*>(mask.address)[i] == 0;
    }
    CHECK(masked == 8);
    CHECK(marked == 8);
  }
  SECTION("fail: one sentence with the sample's name") {
    spec.on_bad = "fail";
    Loader loader = attach({.socket = socket, .spec = spec.toml(photos)});
    std::string why;
    try {
      take_all(loader);
    } catch (const Exception& e) {
      CHECK(e.result() == SPDLD_FAILED);
      why = e.what();
    }
    CHECK_THAT(why, Contains("bad-") && Contains("on_bad"));
  }
}

TEST_CASE("a picture that costs more than it may is bad content, and status shows the limits") {
  DaemonProcess daemon("[limits]\nsample_ms_max = 9000\nsample_bytes_max = \"1 MiB\"\n");
  const fs::path photos = daemon.dir() / "photos";
  make_photos(photos, 12, 2);
  JpegOptions options;
  options.progressive = true;
  write(photos / "class-0/bad-large.jpg", make_jpeg(900, 700, options));
  options.arithmetic = options.flat = true;
  write(photos / "class-0/bad-bomb.jpg", huge_header(13'000, options));
  Loader loader = attach({.socket = daemon.socket(), .spec = PhotoSpec{}.toml(photos)});
  CHECK(take_all(loader).size() == 4);
  std::string reasons;
  const auto errors = nlohmann::json::parse(query("errors", "photos", daemon.socket().c_str()));
  for (const auto& error : errors["errors"])
    reasons += error["name"].get<std::string>() + ": " + error["reason"].get<std::string>() + "\n";
  CHECK_THAT(reasons, Contains("bad-large.jpg: a JPEG that costs too much") && Contains("limits.sample_bytes_max"));
  CHECK_THAT(reasons, Contains("bad-bomb.jpg: a JPEG whose header claims 13000 x 13000") && Contains("more work"));
  const auto status = nlohmann::json::parse(query("status", nullptr, daemon.socket().c_str()));
  CHECK(status["decode"]["sample_ms_max"] == 9000);
  CHECK(status["decode"]["sample_bytes_max"] == 1 << 20);
}

TEST_CASE("what can't be opened is refused with a sentence") {
  DaemonProcess daemon;
  const fs::path dir = daemon.dir();
  make_photos(dir / "photos", 8, 2);
  fs::create_directories(dir / "empty");
  fs::create_directories(dir / "classes-only/a");
  const auto of = [&](const std::string& spec) { return refusal({.socket = daemon.socket(), .spec = spec}); };
  const PhotoSpec spec;
  CHECK_THAT(of(spec.toml(dir / "missing")), Contains("missing"));
  CHECK_THAT(of(spec.toml(dir / "empty")), Contains("empty"));
  CHECK_THAT(of(spec.toml(dir / "classes-only")), Contains("classes-only"));
  CHECK_THAT(of(spec.toml(dir / "photos") + "[nonsense]\nx = 1\n"), Contains("nonsense"));
  std::string unknown = spec.toml(dir / "photos");
  unknown.replace(unknown.find("random-resized-crop"), 19, "random-resized-crip");
  CHECK_THAT(of(unknown), Contains("random-resized-crip") && Contains("random-resized-crop"));
  std::string field = spec.toml(dir / "photos");
  field.replace(field.find("from = \"image\""), 14, "from = \"imgae\"");
  CHECK_THAT(of(field), Contains("imgae"));
  CHECK_THAT(of("this is no TOML ["), Contains("spec"));
  CHECK_THAT(refusal({.socket = daemon.socket(), .pipeline = "nobody-made-this"}), Contains("nobody-made-this"));
  // And the daemon serves on.
  Loader loader = attach({.socket = daemon.socket(), .spec = spec.toml(dir / "photos")});
  CHECK(take_all(loader).size() == 2);
}

TEST_CASE("a tar that is cut is refused, or with on_missing = warn gives the samples before the cut and says so") {
  DaemonProcess daemon;
  const fs::path dir = daemon.dir();
  make_photos(dir / "photos", 9, 1);
  const std::string make = "cd " + (dir / "photos/class-0").string() + " && tar cf ../../whole.tar *.jpg && head -c " +
                           "$(($(stat -c %s ../../whole.tar) * 6 / 10)) ../../whole.tar > ../../cut.tar";
  REQUIRE(system(make.c_str()) == 0);
  std::string spec = PhotoSpec{}.toml(dir / "cut.tar");
  spec.replace(spec.find("image-folder"), 12, "webdataset");
  spec.replace(spec.find("from = \"image\""), 14, "from = \"jpg\"");
  spec.replace(spec.find("name = \"label\"\nfrom = \"class\""), 29,
               "name = \"label\"\nfrom = \"path\"\nops = [{ op = \"pad-bytes\", length = 64 }]");
  CHECK_THAT(refusal({.socket = daemon.socket(), .spec = spec}),
             Contains("cut.tar is not whole") && Contains("on_missing = \"warn\""));
  spec.insert(spec.find("[order]"), "on_missing = \"warn\"\n");
  Loader loader = attach({.socket = daemon.socket(), .spec = spec});
  CHECK(loader.info().samples >= 3);
  CHECK(loader.info().samples < 9);
  const auto described = nlohmann::json::parse(query("describe", "photos", daemon.socket().c_str()));
  REQUIRE(described["listing"]["remark_count"] >= 1);
  CHECK_THAT(described["listing"]["remarks"][0].get<std::string>(), Contains("cut.tar"));
  CHECK(described["listing"]["missing"] == described["listing"]["remarks"]);
  CHECK(described["listing"]["missing_count"] == 1);
  const auto errors = nlohmann::json::parse(query("errors", "photos", daemon.socket().c_str()));
  REQUIRE(errors["missing_count"] == 1);
  CHECK(errors["missing"][0]["what"] == described["listing"]["missing"][0]);
  CHECK_THAT(daemon.log(), Contains("pipeline photos: missing: cut.tar"));
  const Stats stats = loader.stats();
  CHECK(stats.counts.missing_count == 1);
  REQUIRE(stats.missing.size() == 1);
  CHECK_THAT(stats.missing[0], Contains("cut.tar"));
}

}  // namespace spdld::bad_input_test
