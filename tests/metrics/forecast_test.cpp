// Verdicts on figures that are given by hand: each number in them, and what it is where a share is all or nothing.
#include <catch2/catch.hpp>
#include <string>

#include "daemon/metrics/verdict.h"
#include "tests/metrics/stages.h"

namespace spdld::forecast_test {

using namespace spdld::metrics;
using Catch::Contains;

namespace {

constexpr double kSecondNs = 1e9;

// A pipeline of 200 samples a second in two seconds, with 4 reads and 2 decode threads at once. All parts have shares
// of the time, so that a test says what is busy and what waits.
struct Given {
  double waiting = 0.5;                                     // of the trainer
  double fetching = 0.1, decoding = 0.2, core_waiting = 0;  // of the lanes' time
  double fetch_core_waiting = 0;
  double own_part = 1;  // of the decoding
  uint64_t fetch_max = 4, decode_max = 2, batches = 10;
  PipelineFigures pipeline = {};

  Verdict judged() const {
    constexpr double kLongS = 2, kFetchS = 4 * kLongS, kDecodeS = 2 * kLongS;
    const auto ns = [](double seconds) { return static_cast<uint64_t>(seconds * kSecondNs); };
    Window window{kLongS, {}};
    window.figures.decode_busy_ns = ns(decoding * kDecodeS);
    window.figures.roles = {{.role = "fetch", .core_wait_ns = ns(fetch_core_waiting * kFetchS)},
                            {.role = "decode", .core_wait_ns = ns(core_waiting * kDecodeS)}};
    PipelineFigures of = pipeline;
    of.samples = 400;
    of.stages = {test::reading({.busy_ns = ns(fetching * kFetchS), .lanes = 4, .lanes_max = fetch_max}),
                 test::decoding({.busy_ns = ns(own_part * decoding * kDecodeS), .lanes = 2, .lanes_max = decode_max})};
    RingFigures ring{.batches = batches, .ready_sum = 3 * batches, .depth_max = 4};
    ring.readers = {{.name = "trainer", .waited_ns = ns(waiting * kLongS)}};
    of.rings.insert(of.rings.begin(), ring);
    window.figures.pipelines = {of};
    return judge(window, window.figures.pipelines.front());
  }
};

// The forecast of the remedy whose sentence has these words; -1: there is none.
double forecast(const Verdict& verdict, const std::string& words) {
  for (const Remedy& remedy : verdict.remedies)
    if (remedy.change.find(words) != std::string::npos) return remedy.speedup;
  return -1;
}

}  // namespace

TEST_CASE("a loader that could do more than its trainer takes is told by how much") {
  // Two threads could decode 1,000 samples a second, and four reads could bring 2,000. The trainer takes 200 a second.
  const Verdict verdict = Given{.waiting = 0, .fetching = 0.1, .decoding = 0.2}.judged();
  REQUIRE(verdict.limiter == limiter::kTrainer);
  CHECK_THAT(verdict.sentence, Contains("waits 0.0 %") && Contains("3.0 batches ready"));
  CHECK(forecast(verdict, "could deliver about 5.0 x as many") == 0);
  CHECK(forecast(Given{.waiting = 0, .fetching = 0.5, .decoding = 0.2}.judged(), "about 2.0 x as many") == 0);
  const Verdict close = Given{.waiting = 0, .fetching = 0.98}.judged();  // 2 % more are not worth a sentence
  CHECK(close.remedies.empty());
  const Verdict cores = Given{.waiting = 0, .decoding = 0.2, .core_waiting = 0.2}.judged();
  CHECK(forecast(cores, "wait for a core 50 % of their time") == 0);
}

TEST_CASE("a verdict has the rate now, the trainer's own, and how long the trainer waits") {
  const Verdict verdict = Given{.waiting = 0.5}.judged();
  CHECK(verdict.samples_per_s == Approx(200));
  CHECK(verdict.trainer_per_s == Approx(400));
  CHECK(verdict.waiting == Approx(0.5));
}

TEST_CASE("confidence grows with what was seen, and with how far the busiest part stands out") {
  const auto confidence = [](const Given& given, std::string_view limiter) {
    const Verdict verdict = given.judged();
    CHECK(verdict.limiter == limiter);
    return verdict.confidence;
  };
  SECTION("of a trainer") {
    CHECK(confidence({.waiting = 0}, limiter::kTrainer) == Approx(1));
    CHECK(confidence({.waiting = 0, .batches = 4}, limiter::kTrainer) == Approx(0.5));
    CHECK(confidence({.waiting = 0.015}, limiter::kTrainer) == Approx(0.75));
    CHECK(confidence({.waiting = 0, .decoding = 1}, limiter::kTrainer) == Approx(1));
    CHECK(confidence({.waiting = 0.001, .fetching = 1}, limiter::kTrainer) == Approx(1));
  }
  SECTION("of reads and of decoding") {
    CHECK(confidence({.fetching = 1, .decoding = 0.8}, "fetch") == Approx(0.7));
    CHECK(confidence({.fetching = 1, .decoding = 0.3}, "fetch") == Approx(1));
    CHECK(confidence({.fetching = 0.8, .decoding = 1}, "decode") == Approx(0.7));
    CHECK(confidence({.fetching = 0.3, .decoding = 1}, "decode") == Approx(1));
  }
  SECTION("where no part is busy, the busier one counts") {
    Given reads, memory, nothing;
    reads.pipeline.in_flight_waits = memory.pipeline.lent_waits = 1;
    for (auto [given, limiter] : {std::pair{reads, limiter::kMemory}, std::pair{memory, limiter::kMemory},
                                  std::pair{nothing, limiter::kStragglers}}) {
      given.fetching = 0.8, given.decoding = 0.2;
      CHECK(confidence(given, limiter) == Approx(0.7));
      given.fetching = 0.2, given.decoding = 0.8;
      CHECK(confidence(given, limiter) == Approx(0.7));
      given.decoding = 0.1;
      CHECK(confidence(given, limiter) == Approx(1));
    }
  }
}

TEST_CASE("lanes are forecast as far as they help, and never more than the daemon may take by itself") {
  // 400 samples in two seconds take 0.0185 s of a read each; the trainer would take 400 a second.
  const double read_s = 0.925 * 8 / 400;
  SECTION("as many as wanted") {
    const Verdict verdict = Given{.fetching = 0.925, .fetch_max = 16}.judged();
    CHECK(forecast(verdict, "up to 16 reads at once") == Approx(2));
    CHECK(forecast(verdict, "fetch_concurrency") == -1);
  }
  SECTION("fewer than wanted") {
    const Verdict verdict = Given{.fetching = 0.925, .fetch_max = 6}.judged();
    CHECK(forecast(verdict, "up to 6 reads at once") == Approx(6 / read_s / 200));
    CHECK(forecast(verdict, "fetch_concurrency = 8") == Approx(2));
  }
  SECTION("of threads") {
    const Verdict verdict = Given{.decoding = 0.925, .decode_max = 3}.judged();
    CHECK(forecast(verdict, "up to 3 decode threads") == Approx(3 / (0.925 * 4 / 400) / 200));
    CHECK(forecast(verdict, "With 4 cores") == Approx(2));
  }
}

TEST_CASE("what takes all of the time is forecast as a number") {
  SECTION("reads that never have a core") {
    const Verdict verdict =
        Given{.waiting = 1, .fetching = 1, .decoding = 0, .fetch_core_waiting = 1}.judged();  // nothing else limits
    REQUIRE(verdict.limiter == limiter::kCpu);
    CHECK(forecast(verdict, "Move other programs") == Approx(20));
  }
  SECTION("one operation") {
    Given given{.waiting = 1, .fetching = 0, .decoding = 1};
    given.pipeline.operations = {{"image", "gaussian-blur", 100, 100'000'000}};
    CHECK(forecast(given.judged(), "`gaussian-blur`") == Approx(100));
    given.fetching = 0.5;  // the reads allow twice as much
    CHECK(forecast(given.judged(), "`gaussian-blur`") == Approx(2));
  }
  SECTION("decoding pictures") {
    Given given{.waiting = 1, .fetching = 0, .decoding = 1};
    given.pipeline.operations = {{"image", "decode-image", 100, 100'000'000}};
    given.pipeline.can_keep_decoded = true;
    CHECK(forecast(given.judged(), "cache = \"decoded\"") == Approx(20));
    given.waiting = 0.5;  // the trainer would take twice as much
    CHECK(forecast(given.judged(), "cache = \"decoded\"") == Approx(2));
  }
}

TEST_CASE("the verdict tells how far a cache is filled, by the tier that holds more samples") {
  Given given{.fetching = 1};
  given.pipeline.caches = {{.field = "image", .samples = 100, .memory_entries = 60, .disk_entries = 70, .misses = 1}};
  CHECK(forecast(given.judged(), "it has 70 samples of 100 so far") == 0);
  given.pipeline.caches[0].memory_entries = 80;
  CHECK(forecast(given.judged(), "it has 80 samples of 100 so far") == 0);
}

TEST_CASE("the verdict names the prefetch depth of the deepest ring") {
  Given uneven;
  CHECK(forecast(uneven.judged(), "prefetch_depth (4 now)") > 0);
  for (const uint64_t depth : {9, 6}) uneven.pipeline.rings.push_back({.batches = 1, .depth_max = depth});
  CHECK(forecast(uneven.judged(), "prefetch_depth (9 now)") > 0);
}

}  // namespace spdld::forecast_test
