// Outputs whose samples differ in length: their tensors in a plan, the lengths that are noted, and samples that are too
// long, on the way through a stream.
#include <catch2/catch.hpp>
#include <cstring>
#include <set>

#include "daemon/pipeline/order/bad_limit.h"
#include "tests/pipeline/rig.h"

namespace spdld::varying_test {

using namespace spdld;
using namespace spdld::test;
using config::Form;
using config::TooLong;

namespace {

config::OutputSpec bytes(const std::string& name, const config::VaryingSpec& varying) {
  return {name, "text", {{"bytes", {{"text", false}}, {}}}, {}, varying};
}

config::PipelineSpec with(std::vector<config::OutputSpec> outputs, config::OnBad on_bad = config::OnBad::kMask) {
  config::PipelineSpec spec;
  spec.outputs = std::move(outputs);
  spec.on_bad = on_bad;
  return spec;
}

// A plan, and a slot for batches of three.
struct PlanRig {
  explicit PlanRig(const config::PipelineSpec& spec) : plan(spec, listing), layout(plan.tensors(), 3, 1 << 20) {
    batch::clear(layout, contents);
  }
  Status run(const std::string& text, uint64_t index) {
    pipeline::FieldBytes field;
    field.bytes = {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
    return plan.run({listing, index, {&field, 1}}, {}, context, {layout, slot.data(), index, &contents});
  }
  uint32_t length(uint64_t index, size_t k = 0) const { return contents.lengths_of(layout, k)[index]; }

  FakeListing listing{5};
  pipeline::Plan plan;
  batch::Layout layout;
  batch::Contents contents;
  std::vector<uint8_t> slot = std::vector<uint8_t>(layout.slot_bytes(), 0xee);
  pipeline::DecodeContext context;
};

}  // namespace

TEST_CASE("a padded output is rows with lengths and a mask, and a ragged one is values with offsets") {
  const FakeListing listing(5);
  const pipeline::Plan plan(with({bytes("p", {.form = Form::kPadded,
                                              .length_max = 10,
                                              .pad_multiple = 4,
                                              .pad_value = 7,
                                              .lengths = "n",
                                              .pad_mask = "m"}),
                                  bytes("r", {.form = Form::kRagged, .length_max = 6})}),
                            listing);
  const auto tensors = plan.tensors();
  REQUIRE(tensors.size() == 7);
  CHECK(tensors[0].name == "p");
  CHECK(tensors[0].role == batch::Role::kRows);
  CHECK(tensors[0].sample_shape == std::vector<int64_t>{10});
  CHECK(tensors[0].padding->multiple == 4);
  CHECK(tensors[0].padding->element == std::vector<uint8_t>{7});
  CHECK(tensors[1].name == "n");
  CHECK(tensors[1].dtype == config::DType::kInt64);
  CHECK((tensors[1].role == batch::Role::kLengths && tensors[1].of == 0));
  CHECK(tensors[2].name == "m");
  CHECK(tensors[2].dtype == config::DType::kBool);
  CHECK((tensors[2].role == batch::Role::kMask && tensors[2].of == 0 && tensors[2].sample_bytes == 10));
  CHECK(tensors[3].name == "r");
  CHECK((tensors[3].role == batch::Role::kValues && tensors[3].sample_bytes == 6 && tensors[3].sample_shape.empty()));
  CHECK(tensors[4].name == "r.offsets");
  CHECK((tensors[4].role == batch::Role::kOffsets && tensors[4].of == 3));
  const batch::Layout layout(tensors, 4, 1 << 20);
  CHECK(std::vector<size_t>(layout.varying().begin(), layout.varying().end()) == std::vector<size_t>{0, 3});
  CHECK(layout.length_max(3) == 6);
}

TEST_CASE("an output without a bound is refused by the plan as well") {
  const FakeListing listing(5);
  CHECK_THROWS_WITH(pipeline::Plan(with({bytes("r", {.form = Form::kRagged})}), listing),
                    Catch::Contains("'r'") && Catch::Contains("length_max is missing"));
  CHECK_THROWS_WITH(pipeline::Plan(with({bytes("r", {})}), listing), Catch::Contains("ragged = true"));
}

TEST_CASE("a sample's length is noted, and what is too long is bad, cut or left out") {
  for (const auto too_long : {TooLong::kBad, TooLong::kCut, TooLong::kLeaveOut}) {
    PlanRig rig(with({bytes("r", {.form = Form::kRagged, .length_max = 4, .too_long = too_long})}));
    CHECK(rig.run("abcd", 0));
    CHECK(rig.run("", 1));
    CHECK(rig.length(0) == 4);
    CHECK(rig.length(1) == 0);
    const Status longer = rig.run("abcde", 2);
    CHECK(bool(longer) == (too_long == TooLong::kCut));
    CHECK(rig.length(2) == (too_long == TooLong::kCut ? 4 : 0));
    if (longer) continue;
    CHECK(longer.error().trouble == (too_long == TooLong::kBad ? Trouble::kContent : Trouble::kTooLong));
    CHECK(longer.error().message == "output 'r': a length of 5 is above length_max = 4");
  }
}

TEST_CASE("a sample that fails midway, or is masked, leaves no length and nothing in other samples' places") {
  config::OutputSpec number{"n", "text", {{"parse-int", {}, {}}}, {}};
  PlanRig rig(with({bytes("r", {.form = Form::kRagged, .length_max = 4}), number,
                    bytes("p", {.form = Form::kPadded, .length_max = 8})}));
  CHECK(rig.run("12", 0));
  CHECK(rig.run("34", 1));
  CHECK(rig.length(1, 1) == 2);
  CHECK_FALSE(rig.run("x", 1));
  CHECK(rig.length(1, 0) == 0);
  CHECK(rig.length(1, 1) == 0);
  CHECK(rig.run("567", 2));
  rig.plan.write_masked(2, {rig.layout, rig.slot.data(), 2, &rig.contents});
  CHECK(rig.length(0, 0) == 2);
  CHECK(rig.length(2, 0) == 0);
  CHECK(rig.length(2, 1) == 0);
  CHECK(rig.layout.sample_at(rig.slot.data(), 0, 0)[2] == 0xee);  // behind the two bytes of sample 0
}

TEST_CASE("samples that are too long are left out by a stream, and do not count as bad") {
  for (const auto on_bad : {config::OnBad::kSubstitute, config::OnBad::kMask, config::OnBad::kFail}) {
    Given given;
    given.on_bad = on_bad;
    given.outputs = {{"value", "text", {{"parse-int", {}, {}}}, {}},
                     bytes("v", {.form = Form::kRagged, .length_max = 2, .too_long = TooLong::kLeaveOut})};
    Rig rig(given);
    rig.fill_all();
    std::set<uint64_t> left_out;
    size_t replaced = 0;
    for (int step = 0; step < 5; step++) {
      const Received got = rig.take(false);
      const auto& lengths = got.batch.slot->contents;
      for (size_t i = 0; i < got.ids.size(); i++) {
        const bool is_there = got.mask.empty() || got.mask[i] == 1;
        const auto digits = static_cast<uint32_t>(std::to_string(10 * got.ids[i]).size());
        CHECK(lengths.lengths[i] == (is_there ? digits : 0));
        CHECK(got.values[i] == (is_there ? 10 * got.ids[i] : 0));
        CHECK((!is_there || got.ids[i] < 10));
      }
      replaced += got.batch.substituted.size() + got.batch.masked.size();
      for (const batch::Flaw& flaw : got.batch.flaws) {
        CHECK(flaw.kind == batch::FlawKind::kTooLong);
        CHECK(flaw.reason == "output 'v': a length of 3 is above length_max = 2");
        left_out.insert(flaw.sample);
      }
      rig.stream->fill(*got.batch.slot);
    }
    CHECK(replaced == 10);
    CHECK(left_out.size() == 10);
    const auto& statistics = rig.pipeline->statistics();
    CHECK(statistics.too_long.value() >= 10);
    CHECK(statistics.damaged.value() + statistics.unsupported.value() == 0);
    for (const auto& error : rig.pipeline->errors().entries()) CHECK(error.kind == batch::FlawKind::kTooLong);
  }
}

TEST_CASE("samples that are left out do not count against bad_max") {
  config::PipelineSpec spec;
  spec.bad_max = 1;
  spec.batch.size = 4;
  pipeline::BadLimit limit(spec, {100, spec.batch, 0, 1}, 100);
  batch::Batch batch;
  batch.slice.count = 4;
  batch.substituted = {0, 1, 2};
  batch.flaws = {{0, batch::FlawKind::kTooLong, 5, "e", "too long"},
                 {1, batch::FlawKind::kDamaged, 6, "f", "rubbish"},
                 {2, batch::FlawKind::kTooLong, 7, "g", "too long"}};
  CHECK(limit.note(batch));
  const Status second = limit.note(batch);
  REQUIRE_FALSE(second);
  CHECK_THAT(second.error().message,
             Catch::Contains("2 of the 8 samples") && Catch::Contains("f: rubbish") && !Catch::Contains("too long"));
  pipeline::BadLimit other(spec, {100, spec.batch, 0, 1}, 100);
  batch.substituted = {1}, batch.absent = {0, 2};
  batch.flaws[0].kind = batch.flaws[2].kind = batch::FlawKind::kDropped;
  CHECK(other.note(batch));
  CHECK_FALSE(other.note(batch));
}

}  // namespace spdld::varying_test
