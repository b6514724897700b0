#include "daemon/pipeline/caching.h"

#include <catch2/catch.hpp>

using namespace spdld;
using pipeline::CacheNeeds;
using pipeline::choose_cache;
using Form = config::CacheForm;

namespace {

constexpr uint64_t kGiga = 1'000'000'000;

// A thousand pictures of 300 KB decoded.
CacheNeeds needs(uint64_t available_bytes) {
  CacheNeeds given;
  given.samples = 1000, given.passes = 90, given.picture_bytes_mean = 300'000, given.available_bytes = available_bytes;
  return given;
}

}  // namespace

TEST_CASE("auto keeps pictures decoded where a good part of them fits") {
  CHECK(choose_cache(Form::kAuto, needs(kGiga)).form == Form::kDecoded);
  CHECK_THAT(choose_cache(Form::kAuto, needs(kGiga)).why, Catch::Contains("all 1000 samples fit: about 300 MB"));
  CHECK(choose_cache(Form::kAuto, needs(kGiga / 10)).form == Form::kDecoded);
  CHECK_THAT(choose_cache(Form::kAuto, needs(kGiga / 10)).why, Catch::StartsWith("33 % of the samples fit"));
  CHECK(choose_cache(Form::kAuto, needs(kGiga / 20)).form == Form::kOff);
  CHECK_THAT(choose_cache(Form::kAuto, needs(kGiga / 20)).why, Catch::StartsWith("only 16 %"));
}

TEST_CASE("auto keeps nothing that will not be read again, or that the system keeps already") {
  CacheNeeds once = needs(kGiga);
  once.passes = 1;
  CHECK(choose_cache(Form::kAuto, once).form == Form::kOff);
  once.passes = 0;  // endless
  CHECK(choose_cache(Form::kAuto, once).form == Form::kDecoded);
  CacheNeeds no_pictures = needs(kGiga);
  no_pictures.picture_bytes_mean = 0;
  CHECK(choose_cache(Form::kAuto, no_pictures).form == Form::kOff);
}

TEST_CASE("what is asked for is done where it can be, and the reason is told where not") {
  for (const Form asked : {Form::kOff, Form::kEncoded, Form::kDecoded})
    CHECK(choose_cache(asked, needs(kGiga / 100)).form == asked);
  for (const Form asked : {Form::kAuto, Form::kEncoded, Form::kDecoded}) {
    CHECK(choose_cache(asked, needs(0)).form == Form::kOff);
    CHECK_THAT(choose_cache(asked, needs(0)).why, Catch::Contains("cache.ram_bytes_max"));
  }
  CacheNeeds disk = needs(0);
  disk.has_disk = true;
  CHECK(choose_cache(Form::kDecoded, disk).form == Form::kDecoded);
  CacheNeeds no_planes = needs(kGiga);
  no_planes.picture_bytes_mean = 0;
  CHECK(choose_cache(Form::kDecoded, no_planes).form == Form::kEncoded);
}

TEST_CASE("what is decoded fast is never kept decoded, and the choice says why") {
  CacheNeeds fast = needs(kGiga);
  fast.has_fast = true;
  CHECK(choose_cache(Form::kAuto, fast).form == Form::kOff);
  CHECK_THAT(choose_cache(Form::kAuto, fast).why, Catch::Contains("fast = true leaves no planes to keep"));
  CHECK(choose_cache(Form::kEncoded, fast).form == Form::kEncoded);
  CHECK(choose_cache(Form::kOff, fast).form == Form::kOff);
}
