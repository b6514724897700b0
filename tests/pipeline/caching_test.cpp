#include "daemon/pipeline/forms/caching.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "daemon/media/image/picture_node.h"
#include "daemon/source/opening/opening.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/makers/photos.h"
#include "tests/support/temp_dir.h"

namespace spdld::caching_test {

using namespace spdld;
using pipeline::CacheNeeds;
using pipeline::choose_cache;
using Form = config::CacheForm;

namespace {

constexpr uint64_t kGiga = 1'000'000'000;

// A thousand pictures of 300 KB decoded.
CacheNeeds needs(uint64_t available_bytes) {
  CacheNeeds given;
  given.samples = 1000, given.passes = 90, given.available_bytes = available_bytes;
  given.forms = {{Form::kDecoded, 300'000, 0.22}};
  return given;
}

}  // namespace

TEST_CASE("auto keeps pictures decoded where a good part of them fits") {
  CHECK(choose_cache(Form::kAuto, needs(kGiga)).form == Form::kDecoded);
  CHECK_THAT(choose_cache(Form::kAuto, needs(kGiga)).why,
             Catch::Contains("all 1000 samples fit: about 286 MiB decoded, of 954 MiB"));
  CHECK(choose_cache(Form::kAuto, needs(kGiga / 10)).form == Form::kDecoded);
  CHECK_THAT(choose_cache(Form::kAuto, needs(kGiga / 10)).why, Catch::StartsWith("33 % of the samples fit"));
  CHECK(choose_cache(Form::kAuto, needs(kGiga / 20)).form == Form::kOff);
  CHECK_THAT(choose_cache(Form::kAuto, needs(kGiga / 20)).why, Catch::StartsWith("only 16 %"));
}

TEST_CASE("auto keeps the form that saves most, by its cost and by what fits") {
  const auto chosen = [](uint64_t available_bytes, bool is_remote = false) {
    CacheNeeds given = needs(available_bytes);
    given.is_remote = is_remote, given.fetched_bytes_mean = 92'000;
    given.forms = {{Form::kDecoded, 400'000, 0.22}, {Form::kPacked, 130'000, 0.35}, {Form::kIndexed, 94'000, 0.78}};
    return choose_cache(Form::kAuto, given);
  };
  CHECK(chosen(401 * kGiga / 1000).form == Form::kDecoded);
  CHECK(chosen(350 * kGiga / 1000).form == Form::kDecoded);
  CHECK(chosen(320 * kGiga / 1000).form == Form::kDecoded);
  CHECK(chosen(320 * kGiga / 1000).why ==
        "decoded for 70 % of the samples and packed for the rest: about 305 MiB, of 305 MiB");
  CHECK(chosen(131 * kGiga / 1000).form == Form::kPacked);
  CHECK_THAT(chosen(131 * kGiga / 1000).why,
             Catch::StartsWith("all 1000 samples fit: about 124 MiB packed, of 125 MiB"));
  CHECK(chosen(50 * kGiga / 1000).form == Form::kPacked);
  CHECK_THAT(chosen(50 * kGiga / 1000).why, Catch::StartsWith("38 % of the samples fit: about 124 MiB packed"));
  CHECK(chosen(30 * kGiga / 1000).form == Form::kOff);
  CHECK_THAT(chosen(30 * kGiga / 1000).why, Catch::StartsWith("only 23 % of the samples fit: about 124 MiB packed"));
  // What does not fit is fetched again: more samples are better.
  CHECK(chosen(401 * kGiga / 1000, true).form == Form::kDecoded);
  CHECK(chosen(350 * kGiga / 1000, true).form == Form::kDecoded);
  CHECK(chosen(100 * kGiga / 1000, true).why ==
        "packed for 16 % of the samples and indexed for the rest: about 95 MiB, of 95 MiB");
  CHECK(chosen(942 * kGiga / 10000, true).form == Form::kIndexed);
  CHECK(chosen(50 * kGiga / 1000, true).form == Form::kEncoded);
  CHECK(chosen(50 * kGiga / 1000, true).why == "it comes from a remote store");
}

TEST_CASE("auto keeps nothing that will not be read again, or that the system keeps already") {
  CacheNeeds once = needs(kGiga);
  once.passes = 1;
  CHECK(choose_cache(Form::kAuto, once).form == Form::kOff);
  once.passes = 0;  // endless
  CHECK(choose_cache(Form::kAuto, once).form == Form::kDecoded);
  CacheNeeds no_pictures = needs(kGiga);
  no_pictures.forms.clear();
  CHECK(choose_cache(Form::kAuto, no_pictures).form == Form::kOff);
}

TEST_CASE("what is asked for is done where it can be, and the reason is told where not") {
  CacheNeeds little = needs(kGiga / 100);
  little.forms = {{Form::kDecoded, 400'000, 0.22}, {Form::kPacked, 130'000, 0.35}, {Form::kIndexed, 94'000, 0.78}};
  for (const Form asked : {Form::kOff, Form::kEncoded, Form::kIndexed, Form::kPacked, Form::kDecoded})
    CHECK(choose_cache(asked, little).form == asked);
  for (const Form asked : {Form::kAuto, Form::kEncoded, Form::kIndexed, Form::kPacked, Form::kDecoded}) {
    CHECK(choose_cache(asked, needs(0)).form == Form::kOff);
    CHECK_THAT(choose_cache(asked, needs(0)).why, Catch::Contains("cache.ram_bytes_max"));
  }
  CacheNeeds disk = needs(0);
  disk.has_disk = true;
  CHECK(choose_cache(Form::kDecoded, disk).form == Form::kDecoded);
  CacheNeeds no_planes = needs(kGiga);
  no_planes.forms.clear();
  CHECK(choose_cache(Form::kDecoded, no_planes).form == Form::kEncoded);
  CHECK(choose_cache(Form::kIndexed, no_planes).form == Form::kEncoded);
  CHECK(choose_cache(Form::kIndexed, no_planes).why ==
        "indexed was asked for, but nothing here has an indexed form to keep");
  CHECK(choose_cache(Form::kPacked, no_planes).why ==
        "packed was asked for, but nothing here has a packed form to keep");
}

TEST_CASE("what is decoded fast is never kept decoded, and the choice says why") {
  CacheNeeds fast = needs(kGiga);
  fast.why_unprepared = "decode-image with fast = true leaves no planes to keep";
  CHECK(choose_cache(Form::kAuto, fast).form == Form::kOff);
  CHECK_THAT(choose_cache(Form::kAuto, fast).why, Catch::Contains("fast = true leaves no planes to keep"));
  CHECK(choose_cache(Form::kEncoded, fast).form == Form::kEncoded);
  CHECK(choose_cache(Form::kOff, fast).form == Form::kOff);
}

TEST_CASE("auto counts the samples that the pipeline takes, not all that are listed") {
  const test::TempDir dir;
  test::make_photos(dir.path(), 40, 2);
  config::SourceSpec source;
  source.type = "image-folder", source.uris = {dir.path().string()};
  const auto listing = source::open_listing(source, {}, {});
  source::LocalFetcher fetcher(1, 1 << 20);
  config::PipelineSpec spec;
  spec.sources = {source};
  spec.order.epochs = 90;
  cache::Settings settings;
  settings.ram_bytes_max = 100'000;  // some eight of these pictures
  cache::Cache cache(settings);
  source::FieldId image = 0;
  REQUIRE(listing->find_field("image", &image));
  const image::PlanesForm planes({});
  const std::vector<pipeline::FieldUse> uses = {{.field = image, .representations = {&planes}}};
  const auto choice = [&](const sampler::Order& order) {
    pipeline::Caching caching(cache, spec);
    const sampler::Mix mix(17, {{order, 0}}, {1}, sampler::Mix::Spread::kShuffled, 0);
    caching.open(*listing, mix, uses, fetcher);
    return caching.choice();
  };
  const sampler::Subset three(40, {{0, 20, 39}}, {}, 0);
  const auto some = choice({{}, three});
  CHECK(some.form == Form::kDecoded);
  CHECK_THAT(some.why, Catch::StartsWith("all 3 samples fit"));
  const auto all = choice({{}, sampler::Subset(40)});
  CHECK(all.form == Form::kOff);
  CHECK_THAT(all.why, Catch::Contains("% of the samples fit"));
  spec.order.epochs = 1;
  CHECK_THAT(choice({{}, three}).why, Catch::Contains("reads every sample once"));
  CHECK(choice({17, three, {{1, 1, 1}, true, 30}}).form == Form::kDecoded);  // each of them ten times
}

TEST_CASE("pictures without planes count with their bytes among pictures that have them") {
  const test::TempDir dir;
  const auto jpeg = [&](const char* name, bool cmyk) {
    const auto content = test::make_jpeg(400, 300, {.cmyk = cmyk});
    std::ofstream(dir.path() / "a" / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
    return content.size();
  };
  std::filesystem::create_directory(dir.path() / "a");
  const auto size_text = [](uint64_t bytes) {
    return "about " + std::to_string((bytes + 512) / 1024) + " KiB decoded";
  };
  const uint64_t cmyk_bytes = jpeg("cmyk.jpg", true);
  config::SourceSpec source;
  source.type = "image-folder", source.uris = {dir.path().string()};
  config::PipelineSpec spec;
  spec.sources = {source};
  source::LocalFetcher fetcher(1, 1 << 20);
  cache::Cache cache({.ram_bytes_max = 10'000'000});
  const image::PlanesForm planes({});
  const auto why = [&] {
    const auto listing = source::open_listing(source, {}, {});
    source::FieldId field = 0;
    REQUIRE(listing->find_field("image", &field));
    const std::vector<pipeline::FieldUse> uses = {{.field = field, .representations = {&planes}}};
    pipeline::Caching caching(cache, spec);
    caching.open(*listing, {17, {{{{}, sampler::Subset(listing->size())}, 0}}, {1}, sampler::Mix::Spread::kShuffled, 0},
                 uses, fetcher);
    return caching.choice().why;
  };
  spec.order.epochs = 90;
  CHECK_THAT(why(), Catch::Contains("nothing to keep decoded"));
  jpeg("plain.jpg", false);
  const uint64_t planes_bytes = PlanesLayout(PlanesShape{{400, 300}}).bytes, entries_bytes = 2 * 128;
  CHECK_THAT(why(), Catch::Contains(size_text((planes_bytes + cmyk_bytes) / 2 * 2 + entries_bytes)));
  for (int i = 0; i < 6; ++i) jpeg(("cmyk-" + std::to_string(i) + ".jpg").c_str(), true);
  CHECK_THAT(why(), Catch::Contains("few of its samples can be kept decoded"));  // one of eight
}

}  // namespace spdld::caching_test
