// Real pictures through a cache that is too small for all their planes: the forms that they are kept in, and the same
// pixels from all of them.
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/checks/load.h"
#include "daemon/pipeline/pipeline.h"
#include "tests/source/fetching.h"
#include "tests/source/temp_folder.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/makers/photos.h"
#include "tests/support/temp_dir.h"

namespace spdld::mixture_test {

using namespace spdld;
using test::TempDir;

namespace {

constexpr uint64_t kPhotos = 240;

using Pixels = std::vector<std::vector<uint8_t>>;  // by sample

// A pipeline over the pictures of a folder, whose samples are walked one after another.
class Walker {
 public:
  Walker(const TempDir& photos, cache::Cache& cache, const std::string& form, int epochs = 90)
      : pool_(1),
        contexts_(pool_.runners()),
        fetcher_(1),
        pipeline_(spec_of(photos, form, epochs), listing_of(photos), 0.0,
                  pipeline::Resources{.pool = pool_, .fetcher = fetcher_, .contexts = contexts_, .cache = cache}),
        layout_(pipeline_.plan().tensors(), 1, 1 << 20),
        slot_(layout_.slot_bytes()) {
    pipeline_.open_cache();
  }
  ~Walker() { pipeline_.close_cache(); }
  Walker(const Walker&) = delete;
  Walker& operator=(const Walker&) = delete;

  Pixels epoch(uint64_t pass, bool has_spare_time = false) {
    Pixels all;
    for (uint64_t sample = 0; sample < kPhotos; ++sample) all.push_back(run(sample, pass, has_spare_time));
    return all;
  }
  const pipeline::CacheChoice& choice() const { return pipeline_.caching().choice(); }
  // By form.
  std::map<std::string, cache::ShelfReport> shelves() const {
    std::map<std::string, cache::ShelfReport> shelves;
    for (const auto& shelf : pipeline_.caching().report())
      shelves.emplace(std::string(cache::form_name(shelf.key)), shelf);
    return shelves;
  }
  uint64_t entries(const std::string& form) const { return shelves().at(form).memory_entries; }
  uint64_t misses() const {
    uint64_t misses = 0;
    for (const auto& [form, shelf] : shelves()) misses += shelf.misses;
    return misses;
  }
  uint64_t upgrades = 0;

 private:
  static config::PipelineSpec spec_of(const TempDir& photos, const std::string& form, int epochs) {
    test::PhotoSpec photo;
    photo.cache = form, photo.epochs = epochs, photo.batch_size = 1;
    auto spec = config::load_pipeline_toml(photo.toml(photos.path()), "test.toml");
    REQUIRE(spec);
    return *spec.value;
  }
  static std::unique_ptr<source::Listing> listing_of(const TempDir& photos) {
    return test::open("image-folder", photos.path().string());
  }

  std::vector<uint8_t> run(uint64_t sample, uint64_t pass, bool has_spare_time) {
    const pipeline::Plan& plan = pipeline_.plan();
    std::vector<source::FieldFetch> fields;
    for (const auto& use : plan.fetched()) fields.push_back({.field = use.field});
    auto request = test::request_for(pipeline_.listing(), sample, fields);
    std::vector<cache::Found> found;
    std::vector<pipeline::FieldBytes> held;
    const auto& caching = pipeline_.caching();
    if (caching.look_up(request, found, held, has_spare_time)) test::fetch_now(fetcher_, request);
    while (!caching.settle(request, found, held)) test::fetch_now(fetcher_, request);
    REQUIRE(
        plan.run({pipeline_.listing(), sample, held}, {11, pass, sample}, contexts_[0], {layout_, slot_.data(), 0}));
    for (const auto& field : held) upgrades += field.is_upgrade;
    const uint8_t* at = layout_.sample_at(slot_.data(), 0, 0);
    return {at, at + layout_.tensors()[0].sample_bytes};
  }

  FairPool pool_;
  std::vector<pipeline::DecodeContext> contexts_;
  source::LocalFetcher fetcher_;
  pipeline::Pipeline pipeline_;
  batch::Layout layout_;
  std::vector<uint8_t> slot_;
};

void add_photo(const TempDir& photos, uint64_t number, int width, const test::JpegOptions& options) {
  const auto jpeg = test::make_jpeg(width, width * 3 / 4, options);
  std::filesystem::create_directories(photos.path() / "class");
  const std::string name = std::to_string(100000 + number) + ".jpg";
  std::ofstream(photos.path() / "class" / name, std::ios::binary)
      .write(reinterpret_cast<const char*>(jpeg.data()), static_cast<std::streamsize>(jpeg.size()));
}

// The bytes that all pictures take in a form, with all that the cache needs for them.
uint64_t bytes_in(const TempDir& photos, const std::string& form) {
  cache::Cache cache({.ram_bytes_max = 64 << 20});
  Walker walker(photos, cache, form);
  walker.epoch(0);
  return walker.shelves().at(form).memory_bytes + kPhotos * 128;
}

struct Sizes {
  uint64_t packed, decoded;
  uint64_t between(double share) const {
    return packed + static_cast<uint64_t>(share * static_cast<double>(decoded - packed));
  }
};

}  // namespace

TEST_CASE("between packed and decoded all samples are kept, each in a form, and the pixels are those of none") {
  const TempDir photos;
  test::make_photos(photos.path(), kPhotos, 2);
  const Sizes sizes{bytes_in(photos, "packed"), bytes_in(photos, "decoded")};
  cache::Cache none({});
  Walker plain(photos, none, "off");
  const double share = GENERATE(0.2, 0.5, 0.8);
  const uint64_t limit = sizes.between(share);
  CAPTURE(share, limit, sizes.packed, sizes.decoded);
  cache::Cache cache({.ram_bytes_max = limit});
  Walker walker(photos, cache, "auto");
  CHECK(walker.choice().form == config::CacheForm::kDecoded);
  CHECK_THAT(walker.choice().why, Catch::StartsWith("decoded for ") && Catch::Contains("packed for the rest"));
  CHECK((walker.epoch(0) == plain.epoch(0)));
  CHECK(walker.misses() == kPhotos);
  CHECK((walker.epoch(1) == plain.epoch(1)));
  CHECK(cache.report().ram_bytes <= limit);
  // A segment of each shelf may stay open.
  CHECK(walker.entries("packed") + walker.entries("decoded") >= kPhotos * 95 / 100);
  CHECK(static_cast<double>(walker.entries("decoded")) == Approx(share * kPhotos).margin(0.15 * kPhotos));
  CHECK(walker.misses() <= kPhotos + kPhotos * 5 / 100);
}

TEST_CASE("what samples take in truth decides the mixture, whatever those that were looked at let expect") {
  const TempDir photos;
  for (uint64_t i = 0; i < kPhotos; ++i)  // every 15th is looked at
    add_photo(photos, i, i % 15 == 0 ? 72 : 96, {.seed = static_cast<uint32_t>(i)});
  const Sizes sizes{bytes_in(photos, "packed"), bytes_in(photos, "decoded")};
  const uint64_t limit = sizes.between(0.4);
  cache::Cache cache({.ram_bytes_max = limit});
  Walker walker(photos, cache, "auto");
  walker.epoch(0);
  CHECK(cache.report().ram_bytes <= limit);
  CHECK(walker.entries("packed") + walker.entries("decoded") >= kPhotos * 95 / 100);
}

TEST_CASE("two pipelines over the same pictures keep one mixture") {
  const TempDir photos;
  test::make_photos(photos.path(), kPhotos, 2);
  const Sizes sizes{bytes_in(photos, "packed"), bytes_in(photos, "decoded")};
  cache::Cache cache({.ram_bytes_max = sizes.between(0.5)});
  Walker first(photos, cache, "auto");
  const Pixels pixels = first.epoch(0);
  const uint64_t misses = first.misses();
  Walker second(photos, cache, "auto");  // all memory is in use, by the same shelves
  CHECK(second.choice().form == config::CacheForm::kDecoded);
  CHECK((second.epoch(0) == pixels));
  CHECK(second.misses() <= misses + kPhotos * 5 / 100);
}

TEST_CASE("after a restart with another limit what is on disk is used in the form that it has") {
  const TempDir photos, folder;
  // Of so many bytes that their planes are worth reading.
  for (uint64_t i = 0; i < kPhotos; ++i) add_photo(photos, i, 96, {.quality = 97, .seed = static_cast<uint32_t>(i)});
  const Sizes sizes{bytes_in(photos, "packed"), bytes_in(photos, "decoded")};
  const auto settings = [&](double share) {
    return cache::Settings{.folder = folder.path() / "cache", .disk_bytes_max = sizes.between(share) + (64 << 10)};
  };
  Pixels pixels;
  uint64_t decoded = 0;
  {
    cache::Cache cache(settings(0.4));
    Walker walker(photos, cache, "auto");
    CHECK(walker.choice().fills_disk);
    pixels = walker.epoch(0);
  }
  {
    cache::Cache cache(settings(0.7));
    Walker walker(photos, cache, "auto");
    auto shelves = walker.shelves();
    decoded = shelves.at("decoded").disk_entries;
    CHECK(decoded > 0);
    CHECK(decoded + shelves.at("packed").disk_entries >= kPhotos * 95 / 100);
    CHECK((walker.epoch(0) == pixels));
    CHECK(walker.misses() <= kPhotos * 5 / 100);
  }
  cache::Cache cache({.ram_bytes_max = sizes.between(0.5),
                      .folder = folder.path() / "cache",
                      .disk_bytes_max = sizes.between(0.7) + (64 << 10)});
  Walker walker(photos, cache, "auto");
  CHECK((walker.epoch(0) == pixels));
  CHECK(cache.report().ram_bytes <= cache.report().ram_bytes_max);
}

TEST_CASE("better forms are made in spare time alone, while there is room for them") {
  const TempDir photos;
  test::make_photos(photos.path(), kPhotos, 2);
  const Sizes sizes{bytes_in(photos, "packed"), bytes_in(photos, "decoded")};
  cache::Cache cache({.ram_bytes_max = sizes.packed + sizes.decoded});
  auto others = cache.open({"other", "f", "image"}, kPhotos);
  const uint64_t taken = sizes.packed + sizes.decoded - sizes.between(0.3);
  for (uint64_t i = 0; i < kPhotos; ++i) others->reserve(i, taken / kPhotos - 128).keep({});
  Walker walker(photos, cache, "auto");
  const Pixels pixels = walker.epoch(0);
  CHECK(walker.entries("decoded") < kPhotos / 2);
  others.reset();                      // another data set goes, and its room is there
  CHECK((walker.epoch(0) == pixels));  // of the samples that have found none
  const uint64_t before = walker.entries("decoded");
  CHECK(before < kPhotos / 2);
  CHECK((walker.epoch(0) == pixels));
  CHECK(walker.entries("decoded") == before);  // the trainer waits
  CHECK(walker.upgrades == 0);
  CHECK((walker.epoch(0, true) == pixels));
  CHECK(walker.upgrades > kPhotos / 4);
  CHECK(walker.entries("decoded") == before + walker.upgrades);
  CHECK(cache.report().ram_bytes <= cache.report().ram_bytes_max);
  CHECK((walker.epoch(0) == pixels));
  const uint64_t decoded = walker.entries("decoded"), hits = walker.shelves().at("decoded").memory_hits;
  CHECK((walker.epoch(0) == pixels));
  CHECK(walker.shelves().at("decoded").memory_hits == hits + decoded);  // the better form is found first
}

TEST_CASE("a run that ends soon makes no better forms") {
  const TempDir photos;
  test::make_photos(photos.path(), kPhotos, 2);
  const Sizes sizes{bytes_in(photos, "packed"), bytes_in(photos, "decoded")};
  cache::Cache cache({.ram_bytes_max = 2 * sizes.decoded});
  auto others = cache.open({"other", "f", "image"}, kPhotos);
  const uint64_t taken = 2 * sizes.decoded - sizes.between(0.3);
  for (uint64_t i = 0; i < kPhotos; ++i) others->reserve(i, taken / kPhotos - 128).keep({});
  const int epochs = GENERATE(8, 9);
  Walker walker(photos, cache, "auto", epochs);
  walker.epoch(0);
  others.reset();
  walker.epoch(1);
  walker.epoch(2, true);
  CHECK((walker.upgrades > 0) == (epochs > 8));
}

}  // namespace spdld::mixture_test
