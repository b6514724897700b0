// Random chains of all operations: what the checks say of a chain holds for the daemon too. A chain either compiles,
// with exactly the tensors that its signatures promise, and writes no byte beside them, or it is refused by a sentence.
#include <catch2/catch.hpp>
#include <cstring>
#include <optional>
#include <random>
#include <set>

#include "config/operation.h"
#include "config/steps.h"
#include "daemon/pipeline/plan.h"
#include "tests/pipeline/fake_source.h"
#include "tests/support/makers/jpeg_maker.h"

namespace spdld::chains_test {
namespace {

constexpr int kChains = 8000;
constexpr double kSizeMost = 40;  // sizes are small, so that thousands of chains are run in seconds
constexpr double kShapeMost = 4;  // of each dimension of an array
constexpr uint8_t kUntouched = 0xA5;

// The operations of the decode threads, which are the first ones of the table: no other executor is there.
std::span<const config::OperationType> operations_here() {
  const auto all = config::operations();
  const auto is_theirs = [](const config::OperationType& type) { return !type.executor.empty(); };
  return all.first(static_cast<size_t>(std::ranges::find_if(all, is_theirs) - all.begin()));
}

class Chains {
 public:
  explicit Chains(uint32_t seed) : random_(seed) {}

  uint64_t below(uint64_t bound) { return random_() % bound; }

  // A value that the parameter allows.
  config::Value value_of(const config::Parameter& parameter) {
    using Type = config::ParameterType;
    const auto number = [&] {
      const double most = parameter.name == "size" ? kSizeMost : parameter.name == "shape" ? kShapeMost : parameter.max;
      const double part = static_cast<double>(1 + below(100)) / 100;
      const double value = parameter.min + (most - parameter.min) * part;
      return parameter.whole ? std::max(1.0, std::floor(value)) : value;
    };
    switch (parameter.type) {
      case Type::kFlag:
        return below(2) == 0;
      case Type::kInteger:
        return static_cast<int64_t>(parameter.min) +
               static_cast<int64_t>(below(static_cast<uint64_t>(std::min(kSizeMost, parameter.max - parameter.min))));
      case Type::kNumber:
        return number();
      case Type::kNumbers: {
        const auto range = static_cast<uint64_t>(parameter.count_max - parameter.count_min + 1);
        std::vector<double> numbers(static_cast<size_t>(parameter.count_min) + below(range));
        for (double& each : numbers) each = number();
        if (numbers.size() == 2 && parameter.name != "size") std::sort(numbers.begin(), numbers.end());
        return numbers;
      }
      case Type::kChoice:
        return std::string(parameter.choices[below(parameter.choices.size())]);
      case Type::kNames:
        return std::string(below(4) == 0 ? "" : "9x16,20x12");  // sizes of pictures
      default:
        return std::string(below(4) == 0 ? "name" + std::to_string(below(3)) : "");
    }
  }

  // An operation that fits more often than chance would have it, so that long chains come up. It stands in `depth`
  // others.
  config::OperationSpec operation(const config::Signature& before, int depth = 0) {
    std::vector<const config::OperationType*> fitting;
    const bool any = below(8) == 0;
    for (const auto& type : operations_here())
      // Followers of a view fit no chain that stands alone.
      if (depth > 0 ? fits_inside(type, depth)
                    : any || (type.takes == before.kind() && type.picture().view_part != config::ViewPart::kFollows))
        fitting.push_back(&type);
    // Few operations give pictures that end a chain by themselves, whatever stands before them.
    for (const auto& type : operations_here())
      if (depth == 0 && before.kind() == config::SignatureKind::kImage &&
          type.picture().view_part == config::ViewPart::kBuckets)
        fitting.insert(fitting.end(), 5, &type);
    if (fitting.empty()) fitting.push_back(&operations_here()[below(operations_here().size())]);
    const config::OperationType& type = *fitting[below(fitting.size())];
    if (reads_files(type)) return operation(before, depth);  // none lie beside this test
    const std::optional<config::OperationSpec> made = sound(type, before, depth);
    return made ? *made : operation(before, depth);
  }

  // The operation with random parameters; none: they make no sense together.
  std::optional<config::OperationSpec> sound(const config::OperationType& type, const config::Signature& before,
                                             int depth) {
    config::OperationSpec spec{.op = std::string(type.name), .parameters = {}, .where = {}};
    for (const auto& parameter : type.parameters)
      if (config::is_value(parameter.type)) spec.parameters.emplace(parameter.name, value_of(parameter));
    const uint64_t held = type.holds == config::Holds::kNone ? 0 : 1 + below(3);
    while (spec.ops.size() < held) spec.ops.push_back(operation(before, depth + 1));
    // Some parameters of sound types make no sense together; the checks of a file complain about them.
    if (type.check != nullptr) {
      bool makes_sense = true;
      if (type.name == "normalize") spec.parameters["scale"] = int64_t{255};
      if (type.name == "decode-image") choose_picture(spec);
      type.check(spec, [&](std::string_view, const std::string&) { makes_sense = false; });
      if (!makes_sense) return std::nullopt;
    }
    return spec;
  }

  // The numbers of a decode-image that makes sense. The picture is a JPEG, which has one frame.
  void choose_picture(config::OperationSpec& spec) {
    spec.parameters["bits"] = int64_t{8} << (below(8) == 0 ? 1 + below(2) : 0);
    spec.parameters["frame"] = int64_t{below(16) == 0};
  }

  static bool reads_files(const config::OperationType& type) {
    return std::any_of(type.parameters.begin(), type.parameters.end(),
                       [](const auto& parameter) { return parameter.type == config::ParameterType::kPath; });
  }

  static bool fits_inside(const config::OperationType& type, int depth) {
    constexpr int kDepthMax = 2;  // deeper, nearly no chain is sound
    return config::may_be_held(type) && (type.holds == config::Holds::kNone || depth < kDepthMax);
  }

  std::vector<config::OperationSpec> chain(config::Signature signature) {
    std::vector<config::OperationSpec> ops;
    const uint64_t length = below(6);
    while (ops.size() < length) {
      ops.push_back(operation(signature));
      const config::Followed one = config::follow_one(ops.back(), signature);
      if (!one.error.empty()) return ops;
      signature = one.end();
    }
    if (signature.kind() == config::SignatureKind::kImage && below(4) > 0)
      ops.push_back(config::with_defaults(*config::chain_end(config::SignatureKind::kImage), {}));
    return ops;
  }

 private:
  std::mt19937_64 random_;
};

// The tensors of a plan are those that the signatures promise; the first is the output's own.
void check_tensors(const pipeline::Plan& plan, const config::OutputSpec& output, const config::Followed& followed) {
  const auto tensors = plan.tensors();
  const auto extras = config::extras_of(output.ops);
  REQUIRE(tensors.size() == 2 + extras.size());  // and sample_id
  CHECK(tensors[0].dtype == followed.end().dtype());
  const auto shapes = shapes_of(followed.end());
  CHECK(std::equal(tensors[0].shapes.begin(), tensors[0].shapes.end(), shapes.begin(), shapes.end()));
  if (shapes.empty()) CHECK(tensors[0].sample_shape == followed.end().shape());
  for (size_t i = 0; i < extras.size(); ++i) {
    CHECK(tensors[1 + i].name == extras[i].name);
    CHECK(tensors[1 + i].dtype == extras[i].dtype);
    CHECK(tensors[1 + i].sample_shape == extras[i].shape);
  }
}

// Runs the second of three samples, in a batch of the shape with this number, and looks at the bytes around its
// tensors.
void check_run(const pipeline::Plan& plan, const test::FakeListing& listing, std::span<const uint8_t> content,
               pipeline::DecodeContext& context, uint32_t shape) {
  const batch::Layout layout(plan.tensors(), 3, 1 << 24);
  std::vector<uint8_t> slot(layout.slot_bytes(), kUntouched);
  pipeline::FieldBytes field;
  field.bytes = content;
  const size_t fields = plan.fetched().size();
  batch::Contents contents;
  batch::clear(layout, contents, shape);
  const Status status =
      plan.run({listing, 2, {&field, fields}}, {1, 1, 2}, context, {layout, slot.data(), 1, &contents});
  if (!status) CHECK(status.error().trouble == Trouble::kContent);
  for (size_t i = 0; i < layout.tensors().size(); ++i) {
    const size_t bytes = layout.bytes_of(i, shape);
    for (const uint64_t other : {0, 2}) {
      const uint8_t* at = layout.sample_at(slot.data(), i, other, shape);
      CHECK(std::all_of(at, at + bytes, [](uint8_t byte) { return byte == kUntouched; }));
    }
  }
}

}  // namespace

TEST_CASE("a random chain compiles to the tensors of its signatures, or is refused by a sentence") {
  const test::FakeListing listing(5);
  const std::vector<uint8_t> picture = test::make_jpeg(50, 40, {});
  const std::string number = "3";
  const std::span digits(reinterpret_cast<const uint8_t*>(number.data()), number.size());
  Chains chains(20);
  pipeline::DecodeContext context;
  int compiled = 0, refused = 0, shaped = 0;
  for (int i = 0; i < kChains; ++i) {
    const std::string from = std::vector{"text", "class", "path"}[chains.below(8) < 6 ? 0 : 1 + chains.below(2)];
    const config::Signature start = from == "class"  ? config::integer()
                                    : from == "path" ? config::bytes_of(config::Origin::kName)
                                                     : config::bytes_of(config::Origin::kContent);
    config::PipelineSpec spec;
    spec.outputs = {{"out", from, chains.chain(start), {}}};
    const config::Followed followed = config::follow(spec.outputs[0].ops, start);
    std::string text = from;
    for (const auto& op : spec.outputs[0].ops) text += " " + op.op;
    INFO(text << ": " << followed.error);
    if (!followed.error.empty()) {
      ++refused;
      CHECK_THROWS_WITH(pipeline::Plan(spec, listing), Catch::Contains("'out'") && Catch::Contains(followed.error));
      continue;
    }
    ++compiled;
    const pipeline::Plan plan(spec, listing);
    check_tensors(plan, spec.outputs[0], followed);
    check_run(plan, listing, i % 4 == 0 ? digits : std::span<const uint8_t>(picture), context,
              static_cast<uint32_t>(i % 2));
    shaped += plan.tensors()[0].shapes.empty() ? 0 : 1;
  }
  CHECK(compiled > kChains / 8);
  CHECK(refused > kChains / 8);
  CHECK(shaped > 2);
}

// The names under which the plan's work on samples was measured.
void add_names(const pipeline::Plan& plan, std::set<std::string>& names) {
  plan.for_each_output([&](const std::string&, const media::WorkTimes& times) {
    times.for_each([&](std::string_view name, uint64_t) { names.emplace(name); });
  });
}

TEST_CASE("reports show work under names of operations, or of steps that they share") {
  constexpr int kTries = 24;
  const test::FakeListing listing(5);
  const std::vector<uint8_t> picture = test::make_jpeg(50, 40, {});
  Chains chains(7);
  pipeline::DecodeContext context;
  std::set<std::string> seen;
  const auto with = [](const char* name, config::Parameters parameters) {
    config::OperationSpec spec = {name, std::move(parameters), {}};
    for (const auto& parameter : config::find_operation(name)->parameters)
      if (parameter.fallback) spec.parameters.emplace(parameter.name, *parameter.fallback);
    return spec;
  };
  for (const auto& type : operations_here()) {
    if (type.takes != config::SignatureKind::kImage || Chains::reads_files(type)) continue;
    for (int i = 0; i < kTries; ++i) {
      std::optional<config::OperationSpec> made = chains.sound(type, config::image(3, 8), 0);
      if (!made) continue;
      if (made->parameters.contains("p")) made->parameters["p"] = 1.0;
      config::PipelineSpec spec;
      spec.outputs = {{"out", "text", {with("decode-image", {}), *made}, {}}};
      auto& ops = spec.outputs[0].ops;
      if (type.gives == config::SignatureKind::kImage && type.picture().view_part != config::ViewPart::kPieces)
        ops.push_back(with("center-crop", {{"size", std::vector<double>{8}}}));
      if (type.gives == config::SignatureKind::kImage) ops.push_back(with("convert", {}));
      if (!config::follow(ops, config::bytes_of(config::Origin::kContent)).error.empty()) continue;
      const pipeline::Plan plan(spec, listing);
      context.untimed = 0;  // this sample is measured
      check_run(plan, listing, picture, context, 0);
      add_names(plan, seen);
    }
  }
  for (const std::string& name : seen) {
    INFO(name);
    const bool is_shared = std::any_of(config::kSharedSteps.begin(), config::kSharedSteps.end(),
                                       [&](const config::SharedStep& step) { return step.name == name; });
    CHECK((is_shared || config::find_operation(name) != nullptr));
  }
  if (!kHasStatistics) return;
  // Among them those that several operations make by the same code.
  for (const char* name :
       {"affine", "rotate", "perspective", "elastic", "pad", "aug-mix", "grayscale", "channel-permutation",
        "brightness", "contrast", "gaussian-blur", "decode-image", "resample"}) {
    INFO(name);
    CHECK(seen.contains(name));
  }
}

}  // namespace spdld::chains_test
