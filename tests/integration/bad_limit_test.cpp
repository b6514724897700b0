// Bad samples have a ceiling, and reach the trainer's process with their reasons; so do pictures of other formats.
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/integration/shared_node.h"

namespace spdld::bad_limit_test {

using namespace spdld;
using namespace spdld::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

constexpr int kGoodPhotos = 80, kBadPhotos = 40;

// Pictures, and among them files that are none: so many text files and Photoshop pictures in turn.
void make_half_bad(const fs::path& folder) {
  make_photos(folder, kGoodPhotos, 2);
  for (int i = 0; i < kBadPhotos; i++)
    std::ofstream(folder / "class-0" / ("bad-" + std::to_string(i) + ".jpg"), std::ios::binary)
        << (i % 2 ? "this is no picture\n" : "8BPS and so on");
}

struct End {
  std::vector<Seen> seen;
  std::string why;  // empty: the run's end
};

End run(const Job& job) {
  Loader loader = attach(job);
  End end;
  try {
    for (;;) {
      const auto next = loader.next(20'000);
      if (next.result == SPDLD_END) return end;
      if (next.result == SPDLD_OK) end.seen.push_back(look(next.batch));
    }
  } catch (const Exception& error) {
    CHECK(error.result() == SPDLD_FAILED);
    end.why = error.what();
  }
  return end;
}

}  // namespace

TEST_CASE("more bad samples than bad_max end the run, in the same place every time, with the first reasons") {
  std::vector<End> ends;
  for (int daemons = 0; daemons < 2; daemons++) {
    DaemonProcess daemon(daemons ? "[limits]\ncpu_budget = 1\n" : "");
    make_half_bad(daemon.dir() / "photos");
    ends.push_back(run({.socket = daemon.socket(), .spec = PhotoSpec{}.toml(daemon.dir() / "photos")}));
    CHECK_THAT(ends.back().why, Contains("bad_max = \"auto\" allows 32 (") && Contains("no picture but text") &&
                                    Contains("a Photoshop picture") && Contains("order.exclude"));
    const auto described = nlohmann::json::parse(query("describe", "photos", daemon.socket().c_str()));
    CHECK(described["bad"]["unsupported"] > 0);
    CHECK(described["bad"]["damaged"] > 0);
  }
  CHECK(ends[0].seen == ends[1].seen);
  CHECK(ends[0].seen.size() > 10);
  CHECK(ends[0].why == ends[1].why);
}

TEST_CASE("below bad_max the run goes on, and the loader has the counts and the reasons") {
  DaemonProcess daemon;
  make_half_bad(daemon.dir() / "photos");
  PhotoSpec spec;
  spec.extra = "bad_max = 40";
  Loader loader = attach({.socket = daemon.socket(), .spec = spec.toml(daemon.dir() / "photos")});
  const std::vector<Seen> seen = take_all(loader);
  CHECK(seen.size() == 30);
  const Stats stats = loader.stats();
  CHECK(stats.counts.batches == 30);
  CHECK(stats.counts.samples == 120);
  CHECK(stats.counts.substituted == 40);
  CHECK(stats.counts.unsupported == 20);
  REQUIRE(stats.reasons.size() == 2);
  for (const auto& reason : stats.reasons) {
    CHECK(reason.count == 20);
    CHECK_THAT(reason.name, Contains("class-0/bad-"));
    CHECK_THAT(reason.reason,
               reason.unsupported ? Contains("a Photoshop picture: this build decodes JPEG") : Contains("text"));
  }
  const auto errors = nlohmann::json::parse(query("errors", "photos", daemon.socket().c_str()));
  for (const auto& error : errors["errors"])
    CHECK(error["kind"] ==
          (error["reason"].get<std::string>().find("Photoshop") != std::string::npos ? "unsupported" : "damaged"));
}

TEST_CASE("with on_bad = mask a picture of another format is masked and told") {
  DaemonProcess daemon;
  make_half_bad(daemon.dir() / "photos");
  PhotoSpec spec;
  spec.on_bad = "mask";  // the trainer sees for itself: no ceiling unless it is given
  Loader loader = attach({.socket = daemon.socket(), .spec = spec.toml(daemon.dir() / "photos")});
  CHECK(take_all(loader).size() == 30);
  CHECK(loader.stats().counts.masked == 40);
  CHECK(loader.stats().counts.unsupported == 20);
  spec.extra = "bad_max = 0";
  CHECK_THAT(run({.socket = daemon.socket(), .spec = spec.toml(daemon.dir() / "photos")}).why, Contains("allows 0"));
}

TEST_CASE("jobs that share a stream all get the counts, also where batches are cut anew, and all end at the ceiling") {
  DaemonProcess daemon;
  make_half_bad(daemon.dir() / "photos");
  PhotoSpec spec;
  spec.share = "stream";
  spec.extra = "bad_max = 40";
  const std::string toml = spec.toml(daemon.dir() / "photos");
  Loader one = attach({.socket = daemon.socket(), .spec = toml, .group = "one"});
  Job other{.socket = daemon.socket(), .spec = toml, .group = "other"};
  other.batch_size = 6;
  Loader two = attach(other);
  std::vector<Loader*> loaders = {&one, &two};
  std::vector<bool> ended(2);
  while (!ended[0] || !ended[1])  // in turn, since each holds the other back
    for (size_t i = 0; i < 2; i++)
      if (!ended[i]) ended[i] = loaders[i]->next(20'000).result == SPDLD_END;
  for (const Loader* loader : loaders) {
    const Stats stats = loader->stats();
    CHECK(stats.counts.samples == 120);
    CHECK(stats.counts.substituted == 40);
    CHECK(stats.counts.unsupported == 20);
    CHECK(stats.reasons.size() == 2);
  }
}

}  // namespace spdld::bad_limit_test
