// The verdict on simulated pipelines: each is made slow in one way, the verdict must name that way, and its forecast is
// compared with a simulation of the pipeline with the change made.
#include "daemon/metrics/verdict.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/metrics/simulation.h"
#include "tests/metrics/stages.h"

using namespace spdld;
using metrics::judge;
namespace limiter = metrics::limiter;
using metrics::Verdict;
using test::simulate;
using test::SimulatedPipeline;
using test::SimulatedRun;

namespace {

Verdict verdict_on(const SimulatedRun& run) { return judge(run.window, run.pipeline()); }

// The forecast of the remedy whose sentence has these words; 0: there is none.
double forecast(const Verdict& verdict, const std::string& words) {
  for (const auto& remedy : verdict.remedies)
    if (remedy.change.find(words) != std::string::npos) return remedy.speedup;
  return 0;
}

void check_forecast(double forecast, const SimulatedRun& before, const SimulatedPipeline& changed) {
  const double truth = simulate(changed).samples_per_s / before.samples_per_s;
  INFO("forecast " << forecast << ", in truth " << truth);
  CHECK(std::abs(forecast - truth) <= 0.2 * truth);
}

}  // namespace

TEST_CASE("a trainer that computes longer than its batches take sets the pace") {
  for (const double trainer_ms : {40.0, 80.0, 400.0}) {
    const SimulatedRun run = simulate({.decode_ms = 1, .trainer_ms = trainer_ms});
    const Verdict verdict = verdict_on(run);
    CHECK(verdict.limiter == limiter::kTrainer);
    CHECK(verdict.waiting < 0.02);
    CHECK(verdict.trainer_per_s == Approx(32 / trainer_ms * 1000).epsilon(0.1));
    CHECK(verdict.confidence > 0.4);
  }
}

TEST_CASE("a field whose samples are kept in two forms is no cache that is being filled") {
  SimulatedRun run = simulate({.decode_ms = 4, .trainer_ms = 10});
  metrics::PipelineFigures pipeline = run.pipeline();
  pipeline.caches = {
      {.field = "image", .form = "packed", .samples = 100, .memory_entries = 60, .disk_entries = 60, .misses = 1},
      {.field = "image", .form = "decoded", .samples = 100, .memory_entries = 40}};
  const auto is_filled = [&] {
    const Verdict verdict = judge(run.window, pipeline);
    REQUIRE(verdict.limiter == "decode");
    return std::none_of(verdict.remedies.begin(), verdict.remedies.end(),
                        [](const auto& remedy) { return remedy.change.find("being filled") != std::string::npos; });
  };
  CHECK(is_filled());
  pipeline.caches[1].memory_entries = 39;
  CHECK_FALSE(is_filled());
}

TEST_CASE("decoding that takes all threads is named, and the threads that would end the waiting") {
  for (const unsigned cores : {2u, 4u, 8u}) {
    SimulatedPipeline slow{.decode_lanes = cores, .decode_lanes_max = cores, .decode_ms = 4};
    slow.trainer_ms = 32 * slow.decode_ms / cores / 2;  // twice as fast as the decoding
    const SimulatedRun run = simulate(slow);
    const Verdict verdict = verdict_on(run);
    CHECK(verdict.limiter == "decode");
    CHECK(verdict.waiting > 0.4);
    SimulatedPipeline mended = slow;
    mended.decode_lanes = mended.decode_lanes_max = 2 * cores;
    check_forecast(forecast(verdict, std::to_string(2 * cores) + " cores for decoding"), run, mended);
  }
}

TEST_CASE("a trainer that waits nearly always is not promised what its own rate would need") {
  const SimulatedPipeline slow{.decode_ms = 4, .trainer_ms = 2.5};  // which would take 25 times as much
  const SimulatedRun run = simulate(slow);
  const Verdict verdict = verdict_on(run);
  REQUIRE(verdict.limiter == "decode");
  for (const auto& remedy : verdict.remedies) CHECK(remedy.speedup <= 4);
  SimulatedPipeline mended = slow;
  mended.decode_lanes = mended.decode_lanes_max = 4;
  check_forecast(forecast(verdict, "With 4 cores for decoding in place of 2, more samples"), run, mended);
}

TEST_CASE("where the tuning may still add threads, the verdict says so and forecasts what they bring") {
  const SimulatedPipeline slow{.decode_lanes = 2, .decode_lanes_max = 3, .decode_ms = 4, .trainer_ms = 20};
  const SimulatedRun run = simulate(slow);
  const Verdict verdict = verdict_on(run);
  REQUIRE(verdict.limiter == "decode");
  REQUIRE(!verdict.remedies.empty());
  CHECK(verdict.remedies.front().is_done);
  SimulatedPipeline mended = slow;
  mended.decode_lanes = 3;
  check_forecast(verdict.remedies.front().speedup, run, mended);
}

TEST_CASE("reads from a slow disk are named, with the number of reads that would be enough") {
  for (const double fetch_ms : {5.0, 20.0, 100.0}) {
    const SimulatedPipeline slow{
        .fetch_lanes = 8, .fetch_lanes_max = 8, .slots = 16, .fetch_ms = fetch_ms, .decode_ms = 0.2};
    const SimulatedRun run = simulate(slow);
    const Verdict verdict = verdict_on(run);
    CHECK(verdict.limiter == "fetch");
    REQUIRE(forecast(verdict, "fetch_concurrency = ") > 1);
    // Without reading at all, the trainer or decoding limits.
    SimulatedPipeline cached = slow;
    cached.fetch_ms = 0.001;
    check_forecast(forecast(verdict, "cache = \"encoded\""), run, cached);
  }
}

TEST_CASE("a remote store with a long delay is named, and more connections are forecast") {
  SimulatedPipeline slow{.fetch_lanes = 64,
                         .fetch_lanes_max = 64,
                         .batch_size = 64,
                         .slots = 16,
                         .fetch_ms = 50,
                         .decode_ms = 0.1,
                         .trainer_ms = 25,
                         .is_remote = true};
  const SimulatedRun run = simulate(slow);
  const Verdict verdict = verdict_on(run);
  CHECK(verdict.limiter == limiter::kStore);
  CHECK_THAT(verdict.sentence, Catch::Contains("s3://bucket") && Catch::Contains("50 ms a sample"));
  slow.fetch_lanes = slow.fetch_lanes_max = 130;
  check_forecast(forecast(verdict, "connections_max = "), run, slow);
}

TEST_CASE("other pipelines on the same threads are told from the pipeline's own work") {
  SimulatedPipeline slow{.decode_ms = 2, .trainer_ms = 20, .other_pipelines_part = 0.5};
  const SimulatedRun run = simulate(slow);
  const Verdict verdict = verdict_on(run);
  CHECK(verdict.limiter == limiter::kCpu);
  CHECK_THAT(verdict.sentence, Catch::Contains("Other pipelines have 50 %"));
  slow.other_pipelines_part = 0;
  check_forecast(forecast(verdict, "cpu_weight"), run, slow);
}

TEST_CASE("cores that other programs take are told from threads that work") {
  SimulatedPipeline slow{.decode_ms = 2, .trainer_ms = 20, .core_part = 0.5};
  const SimulatedRun run = simulate(slow);
  const Verdict verdict = verdict_on(run);
  CHECK(verdict.limiter == limiter::kCpu);
  CHECK_THAT(verdict.sentence, Catch::Contains("other programs have the cores"));
  slow.core_part = 1;
  check_forecast(forecast(verdict, "Move other programs"), run, slow);
}

TEST_CASE("cores that other programs take are named where no part is busy all the time") {
  SimulatedRun run = simulate({.fetch_lanes = 16,
                               .fetch_lanes_max = 16,
                               .slots = 3,
                               .fetch_ms = 1,
                               .decode_ms = 0.1,
                               .trainer_ms = 10,
                               .slow_one_in = 400,
                               .slow_factor = 100},
                              40);
  REQUIRE(verdict_on(run).limiter == limiter::kStragglers);
  metrics::NodeFigures& node = run.window.figures;
  const double lanes_ns = 2 * run.window.seconds * 1e9;  // of both decode threads
  node.decode_busy_ns = static_cast<uint64_t>(0.3 * lanes_ns);
  for (const double waited : {0.2, 0.35}) {
    node.roles = {{"decode", 2, node.decode_busy_ns, static_cast<uint64_t>(waited * lanes_ns)}};
    const Verdict verdict = verdict_on(run);
    CHECK(verdict.limiter == limiter::kCpu);
    CHECK_THAT(verdict.sentence, Catch::Contains("other programs have the cores"));
    CHECK(verdict.confidence > 0.4);
  }
  node.roles = {{"decode", 2, node.decode_busy_ns, static_cast<uint64_t>(0.05 * lanes_ns)}};
  CHECK(verdict_on(run).limiter == limiter::kStragglers);
}

TEST_CASE("reads that wait for cores are told from reads that wait for the disk") {
  SimulatedRun run =
      simulate({.fetch_lanes = 4, .fetch_lanes_max = 4, .fetch_ms = 10, .decode_ms = 0.5, .trainer_ms = 10});
  REQUIRE(verdict_on(run).limiter == "fetch");
  const double lanes_ns = 4 * run.window.seconds * 1e9;
  run.window.figures.roles.push_back({"fetch", 4, 0, static_cast<uint64_t>(0.6 * lanes_ns)});
  const Verdict verdict = verdict_on(run);
  CHECK(verdict.limiter == limiter::kCpu);
  CHECK_THAT(verdict.sentence, Catch::Contains("read threads wait for a core 60 %"));
  CHECK(forecast(verdict, "Move other programs") > 1.5);
}

TEST_CASE("a few cores that other programs take are a remedy beside the decoding") {
  const SimulatedRun run = simulate({.decode_ms = 4, .trainer_ms = 20, .core_part = 0.85});
  const Verdict verdict = verdict_on(run);
  CHECK(verdict.limiter == "decode");
  CHECK(forecast(verdict, "Move other programs") > 1);
}

TEST_CASE("a bound of bytes in flight that is too low is named") {
  SimulatedPipeline slow{.fetch_lanes = 64,
                         .fetch_lanes_max = 64,
                         .slots = 16,
                         .fetch_ms = 20,
                         .decode_ms = 0.5,
                         .trainer_ms = 10,
                         .sample_bytes = 1e6,
                         .in_flight_bytes_max = 8e6,
                         .is_remote = true};
  const SimulatedRun run = simulate(slow);
  const Verdict verdict = verdict_on(run);
  CHECK(verdict.limiter == limiter::kMemory);
  CHECK_THAT(verdict.sentence, Catch::Contains("bytes in flight"));
  slow.in_flight_bytes_max = 1e12;
  check_forecast(forecast(verdict, "inflight_bytes_per_pipeline_max"), run, slow);
}

TEST_CASE("memory for decoding that is used up is named") {
  // As a bound of bytes in flight holds the stages back; but samples wait for the memory that is lent.
  SimulatedRun run = simulate({.fetch_lanes = 64,
                               .fetch_lanes_max = 64,
                               .slots = 16,
                               .fetch_ms = 20,
                               .decode_ms = 0.5,
                               .trainer_ms = 10,
                               .sample_bytes = 1e6,
                               .in_flight_bytes_max = 8e6,
                               .is_remote = true});
  auto& pipeline = run.window.figures.pipelines.front();
  pipeline.lent_waits = pipeline.in_flight_waits;
  pipeline.in_flight_waits = 0;
  const Verdict verdict = verdict_on(run);
  CHECK(verdict.limiter == limiter::kMemory);
  CHECK_THAT(verdict.sentence, Catch::Contains("Decoding waits for memory"));
  CHECK(forecast(verdict, "decode_bytes_per_pipeline_max") > 1);
}

TEST_CASE("copies to a GPU that take all of the time are named") {
  const SimulatedRun run = simulate({.decode_ms = 0.2, .trainer_ms = 5, .copy_ms = 20});
  CHECK(verdict_on(run).limiter == limiter::kCopy);
}

TEST_CASE("few samples that take long are named, and a deeper ring is forecast") {
  SimulatedPipeline slow{.fetch_lanes = 16,
                         .fetch_lanes_max = 16,
                         .slots = 3,
                         .fetch_ms = 1,
                         .decode_ms = 0.1,
                         .trainer_ms = 10,
                         .slow_one_in = 400,
                         .slow_factor = 100};
  const SimulatedRun run = simulate(slow, 40);
  const Verdict verdict = verdict_on(run);
  CHECK(verdict.limiter == limiter::kStragglers);
  CHECK_THAT(verdict.sentence, Catch::Contains("reading a sample takes"));
  slow.slots = 24;
  check_forecast(forecast(verdict, "prefetch_depth"), run, slow);
}

TEST_CASE("a source that fails and short memory are named before anything else") {
  SimulatedRun run = simulate({.decode_ms = 4});
  run.window.figures.pipelines.front().waiting_out_faults = 3;
  CHECK(judge(run.window, run.pipeline()).limiter == limiter::kSource);
  run.window.figures.pipelines.front().waiting_out_faults = 0;
  run.window.figures.pipelines.front().memory_waits = 2;
  CHECK(judge(run.window, run.pipeline()).limiter == limiter::kMemory);
}

TEST_CASE("an operation that takes most of the decoding is named, with the rate without it") {
  const SimulatedPipeline slow{.decode_ms = 4, .trainer_ms = 10};
  SimulatedRun run = simulate(slow);
  run.window.figures.pipelines.front().operations = {{"image", "decode-image", 100, 100'000'000},
                                                     {"image", "gaussian-blur", 100, 300'000'000}};
  const Verdict verdict = judge(run.window, run.pipeline());
  REQUIRE(verdict.limiter == "decode");
  SimulatedPipeline without = slow;
  without.decode_ms = 1;
  check_forecast(forecast(verdict, "`gaussian-blur` of output 'image' takes 75 %"), run, without);
}

TEST_CASE("operations of another stage count neither as decoding nor as a part of it") {
  SimulatedRun run = simulate({.decode_ms = 4, .trainer_ms = 10});
  auto& pipeline = run.window.figures.pipelines.front();
  pipeline.operations = {{"image", "decode-image", 100, 100'000'000},
                         {"image", "gaussian-blur", 100, 300'000'000},
                         {"image", "augment:blur", 100, 900'000'000, "python"}};
  const Verdict verdict = judge(run.window, pipeline);
  REQUIRE(verdict.limiter == "decode");
  CHECK_THAT(verdict.sentence, Catch::Contains("gaussian-blur 75 %, decode-image 25 %") && !Catch::Contains("augment"));
  REQUIRE(pipeline.stages.back().name == "decode");
  pipeline.stages.back().account.runs_operations = false;
  pipeline.stages.back().name = "python";
  CHECK_THAT(judge(run.window, pipeline).sentence, Catch::Contains(": augment:blur 100 %)"));
}

TEST_CASE("a cache of decoded pictures is forecast where pictures have such a form and decoding them costs") {
  const SimulatedPipeline slow{.decode_ms = 4, .trainer_ms = 10};
  SimulatedRun run = simulate(slow);
  auto& pipeline = run.window.figures.pipelines.front();
  pipeline.operations = {{"image", "decode-image", 100, 300'000'000}, {"image", "resample", 100, 100'000'000}};
  CHECK(forecast(judge(run.window, pipeline), "cache = \"decoded\"") == 0);
  pipeline.can_keep_decoded = true;
  SimulatedPipeline kept = slow;
  kept.decode_ms = 1;
  check_forecast(forecast(judge(run.window, pipeline), "cache = \"decoded\""), run, kept);
  CHECK_THAT(judge(run.window, pipeline).sentence, Catch::Contains("decode-image 75 %, resample 25 %"));
  pipeline.cache_form = "decoded";
  CHECK(forecast(judge(run.window, pipeline), "cache = \"decoded\"") == 0);
}

TEST_CASE("nobody is advised to leave out what decodes, a step that operations share, or what no pipeline can write") {
  SimulatedRun run = simulate({.decode_ms = 4, .trainer_ms = 10});
  auto& pipeline = run.window.figures.pipelines.front();
  for (const char* op : {"decode-image", "decode-video", "decode-audio", "decode-mask", "object-masks", "resample",
                         "store", "grey", "permute-channels"}) {
    INFO(op);
    pipeline.operations = {{"a", op, 100, 300'000'000}, {"a", "gaussian-blur", 100, 100'000'000}};
    const Verdict verdict = judge(run.window, pipeline);
    REQUIRE(verdict.limiter == "decode");
    CHECK(forecast(verdict, "`" + std::string(op) + "`") == 0);
    CHECK(forecast(verdict, "`gaussian-blur`") > 0);
  }
}

TEST_CASE("nothing is claimed before there is something to judge by") {
  SimulatedRun run = simulate({});
  run.window.figures.pipelines.front().rings.front().readers.clear();
  CHECK(judge(run.window, run.pipeline()).limiter == limiter::kUnknown);
  CHECK_THAT(judge(run.window, run.pipeline()).sentence, Catch::Contains("No trainer"));
  const SimulatedRun brief = simulate({}, 0.5);
  CHECK(verdict_on(brief).limiter == limiter::kUnknown);
  CHECK(judge({}, metrics::PipelineFigures()).limiter == limiter::kUnknown);
}

TEST_CASE("a trainer that stands still is told from a loader that stands still") {
  metrics::Window window{10, {}};
  metrics::PipelineFigures pipeline{.name = "train", .number = 1};
  pipeline.stages = {test::reading({.lanes = 1, .lanes_max = 1}), test::decoding({.lanes = 1, .lanes_max = 1})};
  metrics::RingFigures ring{.slots = 4, .ready = 3};
  ring.readers = {{.name = "trainer"}};
  pipeline.rings = {ring};
  window.figures.pipelines = {pipeline};
  CHECK(judge(window, pipeline).limiter == limiter::kTrainer);
  pipeline.rings.front().ready = 0, pipeline.rings.front().filling = 4;
  CHECK(judge(window, pipeline).waiting == 1);
  CHECK(judge(window, pipeline).limiter != limiter::kTrainer);
}
