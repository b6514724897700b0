// Chains in segments: what decode threads and another executor make of a sample in turns is what one chain would make.
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <set>

#include "config/segments.h"
#include "tests/pipeline/rig.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/soon.h"
#include "tests/support/workshop.h"

namespace spdld::segments_test {

using namespace spdld;
using namespace spdld::test;
using Catch::Contains;

namespace {

config::OperationSpec op(const std::string& name, config::Parameters parameters = {}) {
  const config::OperationType* const type = config::find_operation(name);
  REQUIRE(type != nullptr);
  const size_t given = parameters.size();
  for (const auto& parameter : type->parameters)
    if (parameter.fallback) parameters.emplace(parameter.name, *parameter.fallback);
  const auto has_no_fallback = [](const auto& parameter) { return !parameter.fallback; };
  const auto needed = std::ranges::count_if(type->parameters, has_no_fallback);
  REQUIRE(parameters.size() <= type->parameters.size());  // else one has a name that is none
  REQUIRE(given >= static_cast<size_t>(needed));
  return {name, std::move(parameters), {}};
}

config::OperationSpec resize(double height, double width) {
  return op("resize", {{"size", std::vector<double>{height, width}}});
}

config::PipelineSpec with(std::vector<config::OutputSpec> outputs) {
  config::PipelineSpec spec;
  spec.outputs = std::move(outputs);
  return spec;
}

// A plan whose errands are done in the test's own thread.
struct PlanRig {
  explicit PlanRig(std::vector<config::OutputSpec> outputs, size_t pieces_max = SIZE_MAX)
      : scratch(pieces_max), plan(with(std::move(outputs)), listing), layout(plan.tensors(), 2, 1 << 20) {
    batch::clear(layout, contents);
    for (const pipeline::Errand& errand : plan.errands()) {
      carried.emplace_back(scratch, errand.takes);
      carried.emplace_back(scratch, errand.gives);
    }
  }

  Status run(std::span<const uint8_t> content, uint64_t index = 1) {
    std::vector<pipeline::FieldBytes> fields(plan.fetched().size());
    for (auto& field : fields) field.bytes = content;
    const pipeline::Plan::Target target{layout, slot.data(), index, &contents, carried};
    Status status = plan.run({listing, 3, fields}, draws, context, target);
    for (size_t turn = 1; status && turn <= plan.turns(); turn++) {
      for (const pipeline::Errand& errand : plan.errands())
        if (status && errand.turn == turn) status = do_errand(errand, carried);
      if (status && plan.goes_on(turn)) status = plan.run_turn(turn, {listing, 3, fields}, draws, context, target);
    }
    return status;
  }
  Status run(const std::string& text) {
    return run(std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
  }
  std::vector<uint8_t> tensor(size_t number = 0, uint64_t index = 1) {
    const uint8_t* const at = layout.sample_at(slot.data(), number, index, contents.shape);
    return {at, at + layout.bytes_of(number, contents.shape)};
  }
  int64_t integer(size_t number = 0) {
    int64_t value = 0;
    std::memcpy(&value, tensor(number).data(), sizeof value);
    return value;
  }

  FakeListing listing{5};
  CountedScratch scratch;
  pipeline::Plan plan;
  batch::Layout layout;
  batch::Contents contents;
  std::vector<media::Carried> carried;
  std::vector<uint8_t> slot = std::vector<uint8_t>(layout.slot_bytes(), 0xee);
  pipeline::DecodeContext context;
  Draws draws{7, 0, 3};
};

config::OutputSpec picture(std::vector<config::OperationSpec> ops) { return {"picture", "text", std::move(ops), {}}; }

std::vector<uint8_t> inverted(std::vector<uint8_t> values) {
  for (uint8_t& value : values) value = static_cast<uint8_t>(255 - value);
  return values;
}

const std::vector<uint8_t>& photo() {
  static const std::vector<uint8_t> jpeg = make_jpeg(40, 30);
  return jpeg;
}

}  // namespace

TEST_CASE("a picture of one size goes to another executor, which writes the slot") {
  open_workshop();
  PlanRig plain({picture({op("decode-image"), resize(8, 6), op("convert")})});
  REQUIRE(plain.run(photo()));
  PlanRig rig({picture({op("decode-image"), resize(8, 6), op("convert"), op("negate")})});
  CHECK(plain.plan.errands().empty());
  CHECK(plain.plan.turns() == 0);
  REQUIRE(rig.plan.errands().size() == 1);
  CHECK(rig.plan.turns() == 1);
  CHECK_FALSE(rig.plan.goes_on(1));
  CHECK(rig.plan.errands()[0].executor == "workshop");
  CHECK(rig.plan.errands()[0].takes.shape() == std::vector<int64_t>{8, 6, 3});
  REQUIRE(rig.run(photo()));
  CHECK(rig.tensor() == inverted(plain.tensor()));
  CHECK(rig.tensor(0, 0) == std::vector<uint8_t>(8 * 6 * 3, 0xee));  // of the sample before it
  CHECK(rig.scratch.given() == 1);                                   // what it takes alone
}

TEST_CASE("decode threads go on with what another executor gives, in so many turns as are wanted") {
  open_workshop();
  const auto erase = op("random-erasing", {{"p", 1.0},
                                           {"scale", std::vector<double>{0.3, 0.3}},
                                           {"ratio", std::vector<double>{1, 1}}});  // four by four pixels
  PlanRig plain({picture({op("decode-image"), resize(8, 6), op("convert"), erase})});
  REQUIRE(plain.run(photo()));
  PlanRig rig(
      {picture({op("decode-image"), resize(8, 6), op("convert"), op("negate"), op("negate"), erase, op("negate")})});
  REQUIRE(rig.plan.errands().size() == 2);
  CHECK(rig.plan.errands()[0].ops.size() == 2);
  CHECK(rig.plan.turns() == 2);
  CHECK(rig.plan.goes_on(1));
  CHECK_FALSE(rig.plan.goes_on(2));
  REQUIRE(rig.run(photo()));
  CHECK(rig.tensor() == inverted(plain.tensor()));
  PlanRig last({picture({op("decode-image"), resize(8, 6), op("convert"), op("negate"), erase})});
  CHECK(last.plan.goes_on(1));
  REQUIRE(last.run(photo()));
  CHECK(last.tensor() != inverted(plain.tensor()));  // what is erased has its colour behind the negation
}

TEST_CASE("a picture of its own size passes as it is") {
  open_workshop();
  for (const char* layout : {"NHWC", "NCHW"}) {
    const auto convert = op("convert", {{"layout", std::string(layout)}});
    PlanRig rig({picture({op("decode-image"), convert, op("count")})});
    REQUIRE(rig.run(photo()));
    CHECK(rig.integer() == (layout == std::string("NHWC") ? 30 : 3));
    CHECK_FALSE(rig.plan.errands()[0].takes.is_fixed());
  }
  PlanRig rig({picture({op("decode-image"), op("convert"), op("cut")})});
  for (const auto& [width, height] : {std::pair{40, 30}, {9, 50}, {40, 30}, {4, 4}}) {
    const std::vector<uint8_t> jpeg = make_jpeg(width, height);
    int wide = 0, high = 0;
    const std::vector<uint8_t> pixels = decode_plainly(jpeg, wide, high);
    Piece piece{pixels, {high, wide, 3}};
    work_on(piece, "cut");
    REQUIRE(rig.run(jpeg));
    CHECK(rig.tensor() == piece.bytes);
  }
}

TEST_CASE("pictures that have the size of their batch pass another executor, and keep it") {
  open_workshop();
  const auto sized =
      op("random-resized-crop", {{"size", std::vector<double>{8, 6}}, {"by_epoch", std::string("2:4x10")}});
  PlanRig plain({picture({op("decode-image"), sized, op("convert")})});
  PlanRig rig({picture({op("decode-image"), sized, op("convert"), op("negate")})});
  CHECK(rig.plan.goes_on(1));
  for (const uint32_t shape : {0u, 1u, 0u}) {
    batch::clear(plain.layout, plain.contents, shape);
    batch::clear(rig.layout, rig.contents, shape);
    REQUIRE(plain.run(photo()));
    REQUIRE(rig.run(photo()));
    CHECK(rig.tensor().size() == (shape == 0 ? 144 : 120));
    CHECK(rig.tensor() == inverted(plain.tensor()));
  }
  PlanRig turned({picture({op("decode-image"), sized, op("convert"), op("transpose")})});
  const Status status = turned.run(photo());
  REQUIRE_FALSE(status);
  CHECK(status.error().trouble == Trouble::kContent);
  CHECK_THAT(status.error().message, Contains("'picture'") && Contains("differs from the shape of its batch"));
}

TEST_CASE("an integer goes to another executor as a tensor of one number") {
  const auto same = op("python", {{"call", std::string("numbers:same")}, {"gives", std::string("int64 []")}});
  const auto number = [&](std::vector<config::OperationSpec> ops, const std::string& from) {
    return config::OutputSpec{"number", from, std::move(ops), {}};
  };
  PlanRig label({number({same}, "class")});
  REQUIRE(label.plan.errands().size() == 1);
  const pipeline::Errand& errand = label.plan.errands()[0];
  CHECK(errand.executor == config::kUserExecutor);
  CHECK(errand.takes == config::tensor(config::DType::kInt64, {}));
  CHECK(errand.gives == config::tensor(config::DType::kInt64, {}));
  CHECK_FALSE(label.plan.goes_on(1));
  REQUIRE(label.run(""));
  CHECK(label.integer() == label.listing.integer(3, 1));
  CHECK(label.carried[0].shape().empty());
  CHECK(label.carried[0].bytes() == sizeof(int64_t));
  PlanRig parsed({number({op("parse-int"), same}, "text")});
  REQUIRE(parsed.run("-17"));
  CHECK(parsed.integer() == -17);
  PlanRig between({number({op("reverse"), op("parse-int"), same}, "text")});  // behind another executor as well
  CHECK(between.plan.turns() == 2);
  REQUIRE(between.run("321"));
  CHECK(between.integer() == 123);
  const Status damaged = between.run("x");
  REQUIRE_FALSE(damaged);
  CHECK(damaged.error().trouble == Trouble::kContent);
}

TEST_CASE("the code of a pipeline has another executor's operations too") {
  const auto encode = op("python", {{"call", std::string("a:b")}, {"gives", std::string("uint8 [2, 2, 3]")}});
  PlanRig rig({picture({encode, op("random-erasing")})});
  CHECK_THAT(rig.plan.code(), Contains("python 1"));
  CHECK_THAT(rig.plan.code(), Contains("random-erasing"));
  CHECK(rig.plan.errands()[0].takes.kind() == config::SignatureKind::kBytes);
}

TEST_CASE("bytes go to another executor, and come back as bytes, from which pictures are decoded") {
  open_workshop();
  PlanRig plain({picture({op("decode-image"), resize(8, 6), op("convert")})});
  REQUIRE(plain.run(photo()));
  PlanRig rig({picture({op("reverse"), op("decode-image"), resize(8, 6), op("convert")}),
               {"again", "text", {op("reverse"), op("decode-image"), resize(8, 6), op("convert"), op("negate")}, {}},
               {"number", "class", {}, {}}});
  std::vector<uint8_t> turned(photo().rbegin(), photo().rend());
  REQUIRE(rig.run(turned));
  CHECK(rig.plan.goes_on(1));
  CHECK(rig.tensor() == plain.tensor());
  CHECK(rig.tensor(1) == inverted(plain.tensor()));
  REQUIRE(rig.run(turned));
  CHECK(rig.tensor() == plain.tensor());
  const std::vector<uint8_t> other = make_jpeg(64, 20, {.seed = 9});
  REQUIRE(plain.run(other));
  REQUIRE(rig.run(std::vector<uint8_t>(other.rbegin(), other.rend())));
  CHECK(rig.tensor() == plain.tensor());
  const Status damaged = rig.run(photo());
  REQUIRE_FALSE(damaged);
  CHECK(damaged.error().trouble == Trouble::kContent);
  CHECK_FALSE(rig.run(std::string()));
}

TEST_CASE("samples that differ in length pass another executor, and fit their output behind it") {
  open_workshop();
  const auto list = op("parse-list", {{"dtype", std::string("int64")}});
  const config::VaryingSpec varying{.form = config::Form::kPadded, .length_max = 4};
  PlanRig rig({{"numbers", "text", {list, op("double")}, {}, varying}, {"count", "text", {list, op("count")}, {}}});
  REQUIRE(rig.run("[3, 4, 5]"));
  CHECK(rig.contents.lengths_of(rig.layout, 0)[1] == 3);
  const std::vector<uint8_t> bytes = rig.tensor();
  std::vector<int64_t> numbers(3);
  std::memcpy(numbers.data(), bytes.data(), 24);
  CHECK(numbers == std::vector<int64_t>{6, 8, 10});
  CHECK(rig.integer(1) == 3);
  const Status longer = rig.run("[1, 2, 3, 4, 5]");
  REQUIRE_FALSE(longer);
  CHECK_THAT(longer.error().message, Contains("'numbers'") && Contains("5 is above length_max = 4"));
  CHECK(rig.contents.lengths_of(rig.layout, 0)[1] == 0);
  REQUIRE(rig.run("[]"));
  CHECK(rig.contents.lengths_of(rig.layout, 0)[1] == 0);
  CHECK(rig.integer(1) == 0);
}

TEST_CASE("where there is no room for what is carried, the sample has to wait, and all of it is given back") {
  open_workshop();
  PlanRig rig({picture({op("decode-image"), op("convert"), op("negate"), op("cut")}),
               {"bytes", "text", {op("reverse"), op("decode-image"), resize(2, 2), op("convert")}, {}}},
              1);
  const Status status = rig.run(photo());
  REQUIRE_FALSE(status);
  CHECK(status.error().trouble == Trouble::kMemory);
  CHECK(rig.scratch.refused() == 1);
  rig.carried.clear();
  CHECK(rig.scratch.taken() == 0);
}

TEST_CASE("what is carried has the shape that its signature says") {
  CountedScratch scratch;
  const config::Signature any = config::tensor(
      config::DType::kInt16, {config::Dimension(), config::Dimension::bounded(5), 3}, config::Layout::kNhwc);
  media::Carried carried(scratch, any);
  const auto refused = [&](std::vector<int64_t> shape) {
    const auto opened = carried.open(shape);
    return opened ? std::string() : opened.error().message;
  };
  CHECK(refused({7, 5, 3}).empty());
  CHECK(carried.bytes() == 210);
  CHECK(*carried.length() == 7);
  CHECK(reinterpret_cast<uintptr_t>(carried.memory()) % 64 == 0);
  CHECK(refused({0, 5, 3}).empty());
  CHECK(carried.bytes() == 0);
  CHECK(refused({7, 6, 3}) == "its shape is [7, 6, 3], not [n, up to 5, 3]");
  CHECK_FALSE(refused({7, 5}).empty());
  CHECK_FALSE(refused({-1, 5, 3}).empty());
  CHECK_FALSE(refused({7, 5, 2}).empty());
  CHECK_THAT(refused({int64_t{1} << 60, 5, 3}), Contains("too large"));
  CHECK_THAT(refused({int64_t{1} << 33, 5, 3}), Contains("too large"));
  const config::Signature cube =
      config::tensor(config::DType::kInt16, {config::Dimension(), config::Dimension(), config::Dimension()});
  media::Carried huge(scratch, cube);
  CHECK_FALSE(huge.open(std::vector<int64_t>{int64_t{1} << 31, int64_t{1} << 31, 2}));  // 2^64 bytes
  CHECK(scratch.taken() == 1);
  media::Carried moved(std::move(carried));
  CHECK(moved.open_bytes(5));
  CHECK(moved.bytes() == 5);
  moved.give_back();
  CHECK(moved.memory() == nullptr);
  CHECK(scratch.taken() == 0);
}

namespace {

// The text of each sample is its number times ten; its digits are turned round.
int64_t turned(int64_t id) {
  std::string text = std::to_string(10 * id);
  std::reverse(text.begin(), text.end());
  return std::stoll(text);
}

std::vector<int64_t> turned(const std::vector<int64_t>& ids) {
  std::vector<int64_t> all;
  for (const int64_t id : ids) all.push_back(turned(id));
  return all;
}

Given given_with(Workshop& workshop) {
  return {.samples = 50,
          .batch_size = 8,
          .outputs =
              {{"value", "text", {op("reverse"), op("parse-int")}, {}},
               {"twice", "text", {op("parse-list", {{"dtype", std::string("int64")}}), op("double"), op("count")}, {}}},
          .delegates = workshop.delegates()};
}

}  // namespace

TEST_CASE("samples of a stream pass another executor's threads in any order, and batches stay what they are") {
  Workshop workshop(3);
  std::vector<std::string> names;
  Given given{.samples = 50,
              .batch_size = 8,
              .epochs = 2,
              .outputs = {{"value", "text", {op("reverse"), op("parse-int")}, {}}},
              .delegates = workshop.delegates()};
  Rig rig(given);
  for (const auto& stage : rig.pipeline->stages()) names.emplace_back(stage->name());
  CHECK(names == std::vector<std::string>{"fetch", "decode", "work", "transform"});
  rig.fill_all();
  for (int i = 0; i < 14; i++) {
    const Received batch = rig.take();
    CHECK(batch.values == turned(batch.ids));
  }
  for (const auto& stage : rig.pipeline->stages()) CHECK(stage->statistics().samples.value() == 100);
  CHECK(workshop.scratch().taken() == 0);  // while all tasks rest
  CHECK(rig.pipeline->stages()[1]->busy_ns() == rig.pipeline->stages()[1]->statistics().duration_ns.sum());
}

TEST_CASE("an errand that fails for a while is done again, with what was fetched and decoded") {
  std::mutex mutex;
  std::set<uint64_t> failed;
  Workshop workshop(2, SIZE_MAX, [&](uint64_t sample) {
    const std::scoped_lock lock(mutex);
    const bool fails = sample % 3 == 0 && failed.insert(sample).second;
    return fails ? Error{Trouble::kTransient, "the bench is taken"} : Error{};
  });
  Rig rig({.samples = 20,
           .outputs = {{"value", "text", {op("reverse"), op("parse-int")}, {}}},
           .delegates = workshop.delegates()});
  rig.fill_all();
  for (int i = 0; i < 5; i++) {
    rig.tick_until_ready();
    const Received batch = rig.take();
    CHECK(batch.values == turned(batch.ids));
  }
  const auto& stages = rig.pipeline->stages();
  CHECK(stages[0]->statistics().samples.value() == 20);
  CHECK(stages[1]->statistics().samples.value() == 20);
  CHECK(stages[2]->statistics().failures.value() == 7);
}

TEST_CASE("a sample whose errand finds bad content is substituted, and the error says which") {
  Workshop workshop(2, SIZE_MAX, [&](uint64_t sample) {
    return sample == 5 ? Error{Trouble::kContent, "it is ugly"} : Error{};
  });
  Rig rig({.samples = 20,
           .outputs = {{"value", "text", {op("reverse"), op("parse-int")}, {}}},
           .delegates = workshop.delegates()});
  rig.fill_all();
  std::multiset<int64_t> seen;
  for (int i = 0; i < 5; i++) {
    const Received batch = rig.take();
    CHECK(batch.values == turned(batch.ids));
    seen.insert(batch.ids.begin(), batch.ids.end());
  }
  CHECK_FALSE(seen.contains(5));
  CHECK(seen.size() == 20);
  const auto errors = rig.pipeline->errors().entries();
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].reason == "it is ugly");
}

TEST_CASE("little memory between segments makes samples wait, and none is lost") {
  Workshop workshop(2, 4);
  {
    Rig rig(given_with(workshop));
    uint8_t* const hogs[] = {workshop.scratch().take(1), workshop.scratch().take(1)};  // a sample needs three
    rig.fill_all();
    CHECK(soon([&] { return workshop.scratch().refused() > 0; }));
    for (uint8_t* const hog : hogs) workshop.scratch().give_back(hog, 1);
    for (int i = 0; i < 7; i++) {
      rig.tick_until_ready();
      const Received batch = rig.take();
      CHECK(batch.values == turned(batch.ids));
    }
    CHECK(workshop.scratch().refused() > 0);
    CHECK(rig.pipeline->statistics().memory_waits.value() > 0);
  }
  CHECK(workshop.scratch().taken() == 0);
}

TEST_CASE("a seek in the middle leaves nothing behind in the memory between segments") {
  Workshop workshop(2);
  {
    Rig rig(given_with(workshop));
    rig.fill_all();
    rig.take();
    for (uint32_t run = 2; run < 6; run++) {
      rig.seek(run, {});
      rig.fill_all();
    }
  }
  CHECK(workshop.scratch().taken() == 0);
}

TEST_CASE("an operation whose executor the daemon lacks is refused") {
  open_workshop();
  CHECK_THROWS_WITH(Rig({.outputs = {{"value", "text", {op("reverse"), op("parse-int")}, {}}}}),
                    "output 'value': reverse is an operation of workshop, which this daemon does not have");
}

}  // namespace spdld::segments_test
