// The least cost in so many bytes, by hand-made numbers.
#include "daemon/pipeline/forms/form_choice.h"

#include <catch2/catch.hpp>
#include <vector>

namespace spdld::form_choice_test {

using namespace spdld;
using pipeline::CacheChoice;
using pipeline::CacheNeeds;
using pipeline::KeptForm;
using Form = config::CacheForm;

namespace {

constexpr uint64_t kSamples = 1000, kMega = 1'000'000;

// A thousand JPEGs of 100 KB, and room for so many megabytes of them.
CacheNeeds needs(uint64_t memory, uint64_t disk = 0) {
  CacheNeeds given;
  given.samples = kSamples, given.passes = 90;
  given.available_bytes = memory * kMega, given.available_disk_bytes = disk * kMega, given.has_disk = disk > 0;
  given.fetched_bytes_mean = 100'000;
  given.forms = {{Form::kDecoded, 400'000, 0.13}, {Form::kPacked, 140'000, 0.26}, {Form::kIndexed, 102'000, 0.76}};
  return given;
}

std::vector<Form> forms_of(const CacheChoice& choice) {
  std::vector<Form> forms;
  for (const KeptForm& kept : choice.forms) forms.push_back(kept.form);
  return forms;
}

std::vector<Form> chosen(const CacheNeeds& given) { return forms_of(choose_cache(Form::kAuto, given)); }

using Forms = std::vector<Form>;

}  // namespace

TEST_CASE("a mixture has two neighbours, so that the bytes are just used up") {
  const std::vector<double> bytes = {100, 200, 600};
  const auto mix = [&](double wanted) { return pipeline::mix_for(bytes, wanted); };
  CHECK(mix(50).lower == 0);
  CHECK(mix(50).share == 0);
  CHECK(mix(100).upper() == 0);
  CHECK(mix(175).lower == 0);
  CHECK(mix(175).share == Approx(0.75));
  CHECK(mix(175).upper() == 1);
  CHECK(mix(200).lower == 1);
  CHECK(mix(200).upper() == 1);
  CHECK(mix(300).lower == 1);
  CHECK(mix(300).share == Approx(0.25));
  CHECK(mix(600).lower == 2);
  CHECK(mix(1e9).upper() == 2);
}

TEST_CASE("auto takes the best form that all samples fit in, and a mixture where the limit lies between two") {
  CHECK(chosen(needs(1000)) == Forms{Form::kDecoded});
  CHECK(chosen(needs(270)) == Forms{Form::kPacked, Form::kDecoded});
  CHECK(choose_cache(Form::kAuto, needs(270)).form == Form::kDecoded);
  CHECK(choose_cache(Form::kAuto, needs(270)).why ==
        "decoded for 49 % of the samples and packed for the rest: about 257 MiB, of 257 MiB");
  CHECK(chosen(needs(100)) == Forms{Form::kPacked});  // 71 % of them; no form saves more for a byte
  CHECK_THAT(choose_cache(Form::kAuto, needs(100)).why, Catch::StartsWith("71 % of the samples fit: about 134 MiB"));
  CHECK(chosen(needs(30)).empty());
  CHECK(chosen(needs(0)).empty());
}

TEST_CASE("where the samples may turn out a little larger there is a smaller form for them") {
  CHECK(chosen(needs(401)) == Forms{Form::kPacked, Form::kDecoded});
  CHECK_THAT(choose_cache(Form::kAuto, needs(401)).why,
             Catch::StartsWith("all 1000 samples fit: about 382 MiB decoded"));
  CHECK(chosen(needs(499)) == Forms{Form::kPacked, Form::kDecoded});
  CHECK(chosen(needs(501)) == Forms{Form::kDecoded});
}

TEST_CASE("a form above the line between its neighbours is not used") {
  CacheNeeds given = needs(270);
  given.forms[1].cost = 0.75, given.forms[2].cost = 0.9;
  CHECK(chosen(given) == Forms{Form::kDecoded});
  CHECK_THAT(choose_cache(Form::kAuto, given).why, Catch::StartsWith("67 % of the samples fit: about 382 MiB decoded"));
  given.forms[2].bytes_mean = 20'000;
  CHECK(chosen(given) == Forms{Form::kIndexed, Form::kDecoded});
}

TEST_CASE("what a remote store would have to send again is worth more room than a faster form") {
  const auto remote = [](uint64_t memory, uint64_t disk = 0) {
    CacheNeeds given = needs(memory, disk);
    given.is_remote = true;
    return given;
  };
  CHECK(chosen(remote(1000)) == Forms{Form::kDecoded});
  CHECK(chosen(remote(270)) == Forms{Form::kPacked, Form::kDecoded});
  CHECK(chosen(remote(120)) == Forms{Form::kIndexed, Form::kPacked});
  CHECK(chosen(remote(50)) == Forms{Form::kEncoded});  // half of them, indexed, save less than it is worth
  CHECK(choose_cache(Form::kAuto, remote(50)).why == "it comes from a remote store");
  CacheNeeds others = remote(1000);
  others.forms.clear();
  CHECK(chosen(others) == Forms{Form::kEncoded});
}

TEST_CASE("the disk's room counts: what does not fit in memory costs its reading") {
  CHECK(chosen(needs(0, 1000)) == Forms{Form::kDecoded});
  CHECK(choose_cache(Form::kAuto, needs(0, 1000)).fills_disk);
  CHECK_THAT(choose_cache(Form::kAuto, needs(0, 1000)).why,
             Catch::StartsWith("all 1000 samples fit: about 382 MiB decoded, of 954 MiB on disk"));
  CHECK(chosen(needs(10, 1000)) == Forms{Form::kDecoded});
  CHECK(chosen(needs(10, 270)) == Forms{Form::kPacked, Form::kDecoded});
  // Memory holds more than the disk.
  CHECK(chosen(needs(1000, 10)) == Forms{Form::kDecoded});
  CHECK_FALSE(choose_cache(Form::kAuto, needs(1000, 10)).fills_disk);
  // All fits in memory, and the disk does not change that.
  CHECK_FALSE(choose_cache(Form::kAuto, needs(1000, 1000)).fills_disk);
}

TEST_CASE("pictures that take many more bytes decoded are not read from disk so") {
  CacheNeeds given = needs(270, 10'000);
  given.forms[0].bytes_mean = 1'000'000;  // reading them costs more than packed coefficients do
  const CacheChoice choice = choose_cache(Form::kAuto, given);
  CHECK_FALSE(choice.fills_disk);
  CHECK(choice.why == "decoded for 15 % of the samples and packed for the rest: about 257 MiB, of 257 MiB");
  given.available_bytes = 0;
  CHECK(chosen(given) == Forms{Form::kPacked});
  CHECK(choose_cache(Form::kAuto, given).fills_disk);
}

TEST_CASE("a form that is asked for is kept alone") {
  for (const Form asked : {Form::kEncoded, Form::kIndexed, Form::kPacked, Form::kDecoded})
    CHECK(forms_of(choose_cache(asked, needs(270, 1000))) == Forms{asked});
  CHECK(choose_cache(Form::kOff, needs(270)).forms.empty());
}

}  // namespace spdld::form_choice_test
