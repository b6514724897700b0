// Which form a sample gets that is not kept, by what the samples before it have taken.
#include "daemon/pipeline/forms/form_shelves.h"

#include <catch2/catch.hpp>
#include <vector>

namespace spdld::form_shelves_test {
namespace {

constexpr uint64_t kSamples = 1000;
constexpr double kSmall = 1000, kLarge = 3000;  // bytes that the samples let expect
const cache::ShelfKey kSmallKey{"u", "f", "image", "packed 1"}, kLargeKey{"u", "f", "image", "decoded 1"};

// A cache with so many bytes for each sample, and two forms.
struct Fixture {
  cache::Cache cache;
  std::shared_ptr<cache::Shelf> small = cache.open(kSmallKey, kSamples), large = cache.open(kLargeKey, kSamples);
  pipeline::FormShelves shelves;

  explicit Fixture(double bytes)
      : cache({.ram_bytes_max = static_cast<uint64_t>((bytes + pipeline::kBytesPerEntry) * kSamples)}) {
    shelves.open({&cache,
                  {config::CacheForm::kPacked, config::CacheForm::kDecoded},
                  {{{small, kSmall}, {large, kLarge}}},
                  kSamples,
                  false,
                  false});
  }
  // The part of the samples from `first` on that would get the better form.
  double share(uint64_t first = 0) const {
    uint64_t better = 0;
    for (uint64_t sample = first; sample < kSamples; ++sample) better += shelves.rung_for(sample);
    return static_cast<double>(better) / static_cast<double>(kSamples - first);
  }
  // In the smaller form.
  void keep(uint64_t end, uint64_t bytes) {
    for (uint64_t sample = 0; sample < end; ++sample) small->reserve(sample, bytes, cache::Form::kPrepared).keep({});
  }
};

}  // namespace

TEST_CASE("the first samples of a mixture leave room for larger ones", "[form_shelves]") {
  const Fixture half(2000);
  // A quarter of the room is held back while sixteen samples are all that is known.
  CHECK(half.share() == Approx((0.75 * 2128 - 1128) / 2000).margin(0.05));
  Fixture later(2000);
  later.keep(900, 1000);  // what these leave is enough for all others' better form
  CHECK(later.share(900) == 1);
}

TEST_CASE("a mixture follows what its samples take in truth", "[form_shelves]") {
  Fixture as_expected(1800), larger(1800);
  as_expected.keep(400, 1000);
  larger.keep(400, 1500);
  // 0.95 of what is left for each of 600 samples, 2494 and 2164 bytes, of forms of about 1128 and 3128, or 1608 and
  // 3128.
  CHECK(as_expected.share(400) == Approx(0.62).margin(0.1));
  CHECK(larger.share(400) == Approx(0.30).margin(0.1));
}

TEST_CASE("with room for the smaller form alone all samples get it, and with room for the larger one all get that",
          "[form_shelves]") {
  CHECK(Fixture(1000).share() == 0);
  CHECK(Fixture(4500).share() == 1);
}

}  // namespace spdld::form_shelves_test
