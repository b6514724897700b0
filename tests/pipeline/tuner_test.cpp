#include "daemon/pipeline/tuner.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/pipeline/simulated_node.h"

namespace spdld::tuner_test {

using spdld::pipeline::Tuner;
using spdld::pipeline::TunerDecision;
using spdld::pipeline::TunerInput;
using spdld::pipeline::TunerLimits;
using spdld::test::Load;
using spdld::test::SimulatedNode;

namespace {

constexpr double kStepMs = 250;
enum Stage : size_t { kFetch, kDecode };
const std::vector<pipeline::TunedStage> kStages = {
    {.account = {.work = "Reading", .lane = "read", .behind = " at once"}, .min = 2, .start = 4},
    {.account = {.work = "Decoding", .lane = "decode thread"}}};

TunerLimits limits_of(uint32_t decode_max, uint32_t fetch_max, uint32_t depth_max) {
  return {{{fetch_max, 0}, {decode_max, 0}}, {depth_max, 0}};
}
const TunerLimits kLimits = limits_of(32, 256, 8);
const uint32_t kDecodeMax = kLimits.stages[kDecode].max, kFetchMax = kLimits.stages[kFetch].max;

struct Span {
  double starved = 0;  // share of the time
  TunerDecision last;
  uint64_t changes = 0;
};

Span run(Tuner& tuner, SimulatedNode& node, int steps) {
  Span span;
  const uint64_t before = tuner.decision().changes;
  for (int i = 0; i < steps; i++) {
    const TunerInput input = node.run(kStepMs, tuner.decision());
    span.starved += input.starved_s / (steps * kStepMs / 1000);
    tuner.step(input);
    UNSCOPED_INFO(i << ": " << tuner.decision().stages[kDecode] << " " << tuner.decision().stages[kFetch] << " "
                    << tuner.decision().depth << " starved " << input.starved_s << " s, decode "
                    << input.stages[kDecode].busy_s << " s, fetch " << input.stages[kFetch].busy_s << " s, low "
                    << input.ready_low << ", " << tuner.decision().reason);
  }
  span.last = tuner.decision();
  span.changes = tuner.decision().changes - before;
  return span;
}

// The fewest threads with which the trainer is not starved, all else being plenty.
uint32_t least_decode(const Load& load) {
  for (uint32_t decode = 1; decode <= kDecodeMax; decode++) {
    SimulatedNode node(load);
    TunerDecision fixed;
    fixed.stages = {kFetchMax, decode}, fixed.depth = kLimits.depth.max;
    node.run(5000, fixed);
    if (node.run(25'000, fixed).starved_s < 0.25) return decode;
  }
  return kDecodeMax;
}

uint32_t least_fetch(const Load& load) {
  for (uint32_t fetch = 1; fetch <= kFetchMax; fetch++) {
    SimulatedNode node(load);
    TunerDecision fixed;
    fixed.stages = {fetch, kDecodeMax}, fixed.depth = kLimits.depth.max;
    node.run(5000, fixed);
    if (node.run(15'000, fixed).starved_s < 0.15) return fetch;
  }
  return kFetchMax;
}

uint32_t third_more(uint32_t least) { return static_cast<uint32_t>(std::ceil(1.3 * least)); }

}  // namespace

TEST_CASE("starts with all that may decode, four reads and full depth") {
  const Tuner tuner(kStages, kLimits);
  CHECK(tuner.decision().stages[kDecode] == 32);
  CHECK(tuner.decision().stages[kFetch] == 4);
  CHECK(tuner.decision().depth == 8);
  CHECK(tuner.decision().changes == 0);
  CHECK(Tuner(kStages, limits_of(1, 1, 1)).decision().stages[kFetch] == 1);
}

TEST_CASE("within 20 steps little more runs than is needed, and the trainer does not wait") {
  const Load load = GENERATE(Load{.decode_ms = 1, .train_ms = 100},  // a third of a thread
                             Load{.decode_ms = 1, .train_ms = 13},   // 2.5 threads
                             Load{.decode_ms = 4, .train_ms = 13},   // 10
                             Load{.decode_ms = 10, .train_ms = 16},  // 20
                             Load{.decode_ms = 2, .fetch_ms = 4, .train_ms = 20});
  SimulatedNode node(load);
  Tuner tuner(kStages, kLimits);
  run(tuner, node, 22);
  const uint32_t decode = least_decode(load), fetch = least_fetch(load);
  CHECK(tuner.decision().stages[kDecode] <= third_more(decode));
  CHECK(tuner.decision().stages[kFetch] <= std::max(third_more(fetch), 2u));
  CHECK(tuner.decision().depth <= 4);
  const Span steady = run(tuner, node, 400);
  CHECK(steady.starved < 0.01);
  CHECK(steady.last.stages[kDecode] <= third_more(decode));
  CHECK(steady.last.stages[kFetch] <= std::max(third_more(fetch), 2u));
  CHECK(steady.changes <= 12);
}

TEST_CASE("what is too much comes down by half at a time, and stays for some steps in between") {
  Tuner tuner(kStages, kLimits);
  TunerInput input{.seconds = 0.25, .batches = 10, .ready_low = 1, .stages = {}};
  input.stages.resize(kStages.size());
  input.stages[kDecode].busy_s = 0.1;  // less than a thread
  std::vector<uint32_t> decode;
  for (int i = 0; i < 16; i++) decode.push_back(tuner.step(input).stages[kDecode]);
  CHECK(decode == std::vector<uint32_t>{32, 32, 32, 16, 16, 16, 16, 8, 8, 8, 8, 4, 4, 4, 4, 2});
}

TEST_CASE("a source of high latency gets as many reads at once as hide it") {
  const Load load{.decode_ms = 1, .fetch_ms = 100, .train_ms = 40};  // 80 at once
  SimulatedNode node(load);
  Tuner tuner(kStages, kLimits);
  run(tuner, node, 8);
  CHECK(tuner.decision().stages[kFetch] >= 80);
  run(tuner, node, 32);
  const Span steady = run(tuner, node, 200);
  CHECK(steady.starved < 0.01);
  CHECK(steady.last.stages[kFetch] <= third_more(least_fetch(load)));
  CHECK(steady.last.stages[kDecode] <= third_more(least_decode(load)));
}

TEST_CASE("a trainer that becomes three times as fast is kept up with in a few steps, and a slower one saves threads") {
  SimulatedNode node({.decode_ms = 2, .train_ms = 24});  // 2.7 threads
  Tuner tuner(kStages, kLimits);
  run(tuner, node, 60);
  const uint32_t slow = tuner.decision().stages[kDecode];
  REQUIRE(slow <= 4);
  node.load.train_ms = 8;  // 8 threads
  run(tuner, node, 6);
  CHECK(tuner.decision().stages[kDecode] >= 8);
  run(tuner, node, 20);
  const Span fast = run(tuner, node, 100);
  CHECK(fast.starved < 0.01);
  CHECK(fast.last.stages[kDecode] <= third_more(8));
  node.load.train_ms = 24;
  const Span again = run(tuner, node, 60);
  CHECK(again.starved < 0.01);
  CHECK(again.last.stages[kDecode] <= slow + 1);
}

TEST_CASE("stragglers are bridged by batches that lie ready, not by more threads") {
  const Load load{.decode_ms = 1, .train_ms = 20, .straggler_share = 0.001, .straggler_factor = 60};
  SimulatedNode node(load);
  Tuner tuner(kStages, kLimits);
  run(tuner, node, 100);
  const Span steady = run(tuner, node, 800);
  CHECK(steady.starved < 0.01);
  CHECK(steady.last.depth >= 4);  // 60 ms, of 20 each
  CHECK(steady.last.stages[kDecode] <= 6);
  CHECK(steady.changes <= 40);
}

TEST_CASE(
    "what can't be kept up with takes all that may decode, changes nothing for it, and reads no more than it takes") {
  SimulatedNode node({.decode_ms = 4, .train_ms = 2});
  Tuner tuner(kStages, kLimits);
  const Span span = run(tuner, node, 200);
  CHECK(span.starved > 0.3);
  CHECK(span.last.stages[kDecode] == 32);
  CHECK(span.last.depth == 8);
  CHECK(span.last.stages[kFetch] == 2);
  CHECK(span.changes <= 2);
}

TEST_CASE("phases that change all the time change the decision less and less") {
  SimulatedNode node({.decode_ms = 2, .train_ms = 24});
  Tuner tuner(kStages, kLimits);
  uint64_t late = 0;
  double starved = 0;
  for (int phase = 0; phase < 80; phase++) {
    node.load.train_ms = phase % 2 ? 8 : 24;
    const Span span = run(tuner, node, 20);
    if (phase < 40) continue;
    late += span.changes;
    starved += span.starved / 40;
  }
  CHECK(late <= 80);  // in 800 steps
  CHECK(starved < 0.01);
}

TEST_CASE("pinned values are kept, and the others tuned") {
  TunerLimits limits = kLimits;
  limits.stages[kDecode].pinned = 5, limits.depth.pinned = 20;
  SimulatedNode node({.decode_ms = 1, .fetch_ms = 20, .train_ms = 40});
  Tuner tuner(kStages, limits);
  CHECK(tuner.decision().stages[kDecode] == 5);
  CHECK(tuner.decision().depth == 8);  // no more than there can be
  for (int i = 0; i < 60; i++) {
    const Span span = run(tuner, node, 1);
    REQUIRE(span.last.stages[kDecode] == 5);
    REQUIRE(span.last.depth == 8);
  }
  CHECK(tuner.decision().stages[kFetch] >= 16);
  limits.stages[kFetch].pinned = 3;
  tuner.set_limits(limits);
  CHECK(tuner.decision().stages[kFetch] == 3);
  CHECK(run(tuner, node, 20).last.stages[kFetch] == 3);
}

TEST_CASE("limits that change hold at once, and what stood where it started starts anew") {
  Tuner tuner(kStages, limits_of(8, 2, 1));
  tuner.set_limits(limits_of(4, 64, 6));
  CHECK(tuner.decision().stages[kDecode] == 4);
  CHECK(tuner.decision().stages[kFetch] == 4);
  CHECK(tuner.decision().depth == 6);
  SimulatedNode node({.decode_ms = 1, .train_ms = 200});
  run(tuner, node, 80);
  REQUIRE(tuner.decision().stages[kDecode] == 1);
  tuner.set_limits(limits_of(16, 64, 12));
  CHECK(tuner.decision().stages[kDecode] == 1);
}

TEST_CASE("a trainer that does something else for a while finds everything as it left it") {
  SimulatedNode node({.decode_ms = 2, .train_ms = 10});
  Tuner tuner(kStages, kLimits);
  run(tuner, node, 80);
  const TunerDecision before = tuner.decision();
  for (int i = 0; i < 5000; i++) tuner.step({.seconds = 0.25, .stages = {}});
  CHECK(tuner.decision().changes == before.changes);
  CHECK(run(tuner, node, 20).starved < 0.01);
}

TEST_CASE("a trainer that waits for a batch that does not come gets threads at once, where decoding is busy") {
  const auto [busy_s, waiting] = GENERATE(table<double, uint32_t>({{0.25, 0}, {0, 3}}));
  Tuner tuner(kStages, limits_of(8, 8, 4));
  const TunerInput calm{.seconds = 0.25, .batches = 5, .ready_low = 1, .stages = {{0.1, 0}, {0.1, 0}}};
  for (int i = 0; i < 40; i++) tuner.step(calm);
  REQUIRE(tuner.decision().stages[kDecode] == 1);
  TunerInput vain{.seconds = 0.25, .starved_s = 0.25, .ready_low = UINT32_MAX, .stages = {{0, 0}, {0, 0}}};
  const uint64_t changes = tuner.decision().changes;
  for (int i = 0; i < 4; i++) tuner.step(vain);  // nothing is done: the source may be down
  CHECK(tuner.decision().changes == changes);
  vain.seconds = vain.starved_s = 2;              // what came before counts, too
  vain.stages[kDecode] = {12 * busy_s, waiting};  // of three seconds
  tuner.step(vain);
  CHECK(tuner.decision().stages[kDecode] >= 2);
  CHECK(tuner.decision().reason.find("trainers waited") != std::string::npos);
}

TEST_CASE("a number that turned out too low is left alone for twice as long, however many raises mend it") {
  const int raises = GENERATE(1, 2, 3);
  Tuner tuner({{.account = {.work = "Working", .lane = "thread"}, .min = 1, .start = 16}}, {{{32, 0}}, {4, 4}});
  const auto step = [&](double starved_s, double busy_s) {
    return tuner.step({.seconds = 1, .batches = 1, .starved_s = starved_s, .stages = {{.busy_s = busy_s}}}).stages[0];
  };
  const auto calm_steps = [&] {  // until it comes down
    const uint32_t before = tuner.decision().stages[0];
    int steps = 1;
    while (step(0, 0.9) == before) REQUIRE(++steps < 100);
    return steps;
  };
  REQUIRE(calm_steps() == 4);
  REQUIRE(calm_steps() == 4);
  uint32_t value = tuner.decision().stages[0];
  REQUIRE(value == 4);
  for (int i = 0; i < raises; ++i) {
    const uint32_t raised = step(0.2, value);
    REQUIRE(raised > value);
    value = raised;
  }
  CHECK(calm_steps() == 8);
}

TEST_CASE("every change says why") {
  Tuner tuner(kStages, limits_of(8, 8, 4));
  CHECK(tuner.decision().reason.empty());
  const TunerInput calm{.seconds = 0.25, .batches = 5, .ready_low = 1, .stages = {{0.4, 0}, {0.3, 0}}};
  for (int i = 0; i < 4; i++) tuner.step(calm);
  CHECK(tuner.decision().reason ==
        "no trainer waited and decoding took 1.2: 8 -> 4 decode threads; "
        "no trainer waited and reading took 1.6: 4 -> 2 reads at once");
  for (int i = 0; i < 8; i++) tuner.step(calm);
  REQUIRE(tuner.decision().stages[kDecode] == 2);
  TunerInput starved = calm;
  starved.starved_s = 0.125, starved.stages[kDecode].busy_s = 0.5;
  tuner.step(starved);
  CHECK(tuner.decision().reason ==
        "trainers waited 50 % of the time and decoding was busy: 2 -> 5 decode threads; "
        "trainers waited 50 % of the time and reading was busy: 2 -> 4 reads at once");
}

}  // namespace spdld::tuner_test
