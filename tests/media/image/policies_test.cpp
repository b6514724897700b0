// Policies of augmentation and operations that hold others: what they draw, by torchvision's probabilities, and that a
// mix is the sum of its branches. Their values are held to torchvision's in tests/pixels/compare_policies.py, and to
// timm's in compare_timm.py.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>

#include "tests/support/allocations.h"
#include "tests/support/distributions.h"
#include "tests/support/image_programs.h"
#include "tests/support/steady.h"

namespace spdld::policies_test {
namespace {

using image::Adjustment;
using image::AdjustmentType;
using image::Geometry;
using image::Warp;
using test::noise;
using test::program_of;
using Counts = std::map<std::string, double>;

constexpr uint64_t kDraws = 100'000;
const std::string kCrop = "{ op = \"center-crop\", size = [96, 128] }, ";

template <typename Use>
void each_drawn(const std::string& ops, Use use) {
  const auto program = program_of(kCrop + ops);
  Geometry geometry;
  for (uint64_t sample = 0; sample < kDraws; ++sample) {
    program.resolve({128, 96}, {3, 1, sample}, geometry);
    use(geometry);
  }
}

// Of a warp that policies draw, and of no identity.
std::string name_of(const Warp& warp) {
  const auto& back = warp.back;
  const auto signed_name = [](const std::string& name, double number) { return name + (number > 0 ? "+" : "-"); };
  if (back[1] != 0 && back[3] != 0) return signed_name("rotate", back[1]);
  if (back[1] != 0) return signed_name("shear-x", back[1]);
  if (back[3] != 0) return signed_name("shear-y", back[3]);
  if (back[2] != 0) return signed_name("translate-x", back[2]);
  return signed_name("translate-y", back[5]);
}

std::string name_of(const Adjustment& adjustment) {
  switch (adjustment.type) {
    case AdjustmentType::kWarp:
      return name_of(adjustment.warp);
    case AdjustmentType::kBrightness:
      return adjustment.amount > 1 ? "brightness+" : "brightness-";
    case AdjustmentType::kSaturation:
      return adjustment.amount > 1 ? "colour+" : "colour-";
    case AdjustmentType::kContrast:
      return adjustment.amount > 1 ? "contrast+" : "contrast-";
    case AdjustmentType::kSharpness:
      return adjustment.amount > 1 ? "sharpness+" : "sharpness-";
    case AdjustmentType::kPosterize:
      return "posterize";
    case AdjustmentType::kSolarize:
      return "solarize";
    case AdjustmentType::kSolarizeAdd:
      return "solarize-add";
    case AdjustmentType::kAutocontrast:
      return "autocontrast";
    case AdjustmentType::kEqualize:
      return "equalize";
    case AdjustmentType::kInvert:
      return "invert";
    default:
      return "another";
  }
}

// Pearson's sum, for counts whose expected parts of `total` are these; infinite where something else was counted.
double chi_squared(const Counts& counts, const Counts& parts, double total) {
  double sum = 0;
  for (const auto& [name, part] : parts) {
    const auto found = counts.find(name);
    const double wanted = part * total, difference = (found == counts.end() ? 0 : found->second) - wanted;
    sum += difference * difference / wanted;
  }
  for (const auto& [name, count] : counts)
    if (!parts.contains(name)) sum += INFINITY;
  return sum;
}

// Each signed name twice, as often as each other name.
Counts signed_parts(std::vector<std::string> with_sign, std::vector<std::string> without) {
  const double each = 1 / static_cast<double>(with_sign.size() + without.size());
  Counts parts;
  for (const auto& name : with_sign) parts[name + "+"] = parts[name + "-"] = each / 2;
  for (const auto& name : without) parts[name] = each;
  return parts;
}

const std::vector<std::string> kSigned = {"shear-x",    "shear-y", "translate-x", "translate-y", "rotate",
                                          "brightness", "colour",  "contrast",    "sharpness"};

TEST_CASE("rand-augment draws its changes and signs alike", "[policies]") {
  Counts counts, pairs;
  each_drawn("{ op = \"rand-augment\", num_ops = 1 }", [&](const Geometry& geometry) {
    ++counts[geometry.adjustments.empty() ? "identity" : name_of(geometry.adjustments.front())];
  });
  const Counts parts = signed_parts(kSigned, {"identity", "posterize", "solarize", "autocontrast", "equalize"});
  CHECK(chi_squared(counts, parts, kDraws) < 56);  // 22 degrees: beyond 56 in one of 10,000
  each_drawn("{ op = \"rand-augment\", num_ops = 2 }",
             [&](const Geometry& geometry) { ++pairs[std::to_string(geometry.adjustments.size())]; });
  const double none = 1.0 / 14;
  CHECK(chi_squared(pairs, {{"0", none * none}, {"1", 2 * none * (1 - none)}, {"2", (1 - none) * (1 - none)}}, kDraws) <
        19);  // 2 degrees
}

TEST_CASE("trivial-augment draws its changes, bins and signs alike", "[policies]") {
  Counts counts, bins;
  each_drawn("{ op = \"trivial-augment\", bins = 11 }", [&](const Geometry& geometry) {
    const auto& made = geometry.adjustments;
    const std::string name = made.empty() ? "identity" : name_of(made.front());
    ++counts[name.substr(0, name.find_last_not_of("+-") + 1)];
    if (!made.empty() && made.front().type == AdjustmentType::kBrightness)
      ++bins[std::to_string(static_cast<int>(std::lround((made.front().amount - 1) / 0.99 * 10)))];
  });
  Counts parts;
  // The least magnitude of a move is none, and no name tells which move it is.
  for (const char* name : {"shear-x", "shear-y", "translate-x", "translate-y", "rotate"}) parts[name] = 10.0 / 11 / 14;
  parts["translate-y"] += 5.0 / 11 / 14;
  for (const char* name : {"identity", "brightness", "colour", "contrast", "sharpness", "posterize", "solarize",
                           "autocontrast", "equalize"})
    parts[name] = 1.0 / 14;
  CHECK(chi_squared(counts, parts, kDraws) < 41);  // 13 degrees
  Counts bin_parts = {{"0", 1.0 / 11}};
  for (int bin = 1; bin <= 10; ++bin) bin_parts[std::to_string(bin)] = bin_parts[std::to_string(-bin)] = 0.5 / 11;
  double brightened = 0;
  for (const auto& [bin, count] : bins) brightened += count;
  CHECK(chi_squared(bins, bin_parts, brightened) < 53);  // 20 degrees
}

TEST_CASE("timm-rand-augment draws its changes and signs alike, and does half of them", "[policies]") {
  Counts counts, pairs;
  each_drawn("{ op = \"timm-rand-augment\", num_ops = 1 }", [&](const Geometry& geometry) {
    ++counts[geometry.adjustments.empty() ? "none" : name_of(geometry.adjustments.front())];
  });
  Counts parts = signed_parts(kSigned, {"posterize", "solarize", "solarize-add", "autocontrast", "equalize", "invert"});
  for (auto& [name, part] : parts) part /= 2;
  parts["none"] = 0.5;
  CHECK(chi_squared(counts, parts, kDraws) < 58);  // 24 degrees: beyond 58 in one of 10,000
  each_drawn("{ op = \"timm-rand-augment\", num_ops = 2, change_p = 0.3 }",
             [&](const Geometry& geometry) { ++pairs[std::to_string(geometry.adjustments.size())]; });
  CHECK(chi_squared(pairs, {{"0", 0.49}, {"1", 0.42}, {"2", 0.09}}, kDraws) < 19);  // 2 degrees
}

TEST_CASE("timm-rand-augment's magnitudes are normal, cut off at the greatest one, and anew for each change",
          "[policies]") {
  std::vector<double> within, products;
  double all = 0, greatest = 0, sum = 0;
  const auto below = [](double magnitude) { return std::erfc(-(magnitude - 9) / 0.5 / std::sqrt(2.0)) / 2; };
  each_drawn("{ op = \"timm-rand-augment\", num_ops = 2, change_p = 1 }", [&](const Geometry& geometry) {
    std::vector<double> found;
    for (const Adjustment& adjustment : geometry.adjustments) {
      if (adjustment.type == AdjustmentType::kBrightness || adjustment.type == AdjustmentType::kSaturation ||
          adjustment.type == AdjustmentType::kContrast || adjustment.type == AdjustmentType::kSharpness)
        if (adjustment.amount > 1) found.push_back((adjustment.amount - 1) / 0.09);
    }
    for (const double magnitude : found) {
      ++all;
      if (magnitude > 10 - 1e-9)
        ++greatest;
      else
        within.push_back(below(magnitude));
    }
    if (found.size() == 2) products.push_back((found[0] - 9) * (found[1] - 9));
  });
  CHECK(all > 20'000);
  CHECK(test::uniform_distance(within, 0, below(10)) < test::kUniformMost);
  const double wanted = all * (1 - below(10));
  CHECK(std::abs(greatest - wanted) < 4 * std::sqrt(wanted));
  for (const double product : products) sum += product;
  CHECK(products.size() > 1000);
  CHECK(std::abs(sum) < 5 * 0.25 * std::sqrt(static_cast<double>(products.size())));  // they do not depend on another
}

TEST_CASE("timm-rand-augment draws its filter where it is told to", "[policies]") {
  Counts counts;
  double warps = 0;
  each_drawn("{ op = \"timm-rand-augment\", num_ops = 1, change_p = 1, filter = \"random\" }",
             [&](const Geometry& geometry) {
               const Adjustment& made = geometry.adjustments.front();
               if (made.type != AdjustmentType::kWarp) return;
               ++counts[made.warp.filter == image::Filter::kBicubic ? "bicubic" : "bilinear"], ++warps;
             });
  CHECK(chi_squared(counts, {{"bilinear", 0.5}, {"bicubic", 0.5}}, warps) < 16);  // 1 degree
}

TEST_CASE("auto-augment makes each change as often as torchvision's pairs say", "[policies]") {
  // The sums of the changes' probabilities over the 25 pairs in torchvision's _auto_augment.py; magnitude 0 of Color
  // changes nothing, and is an adjustment all the same.
  const std::map<std::string, Counts> sums = {{"imagenet",
                                               {{"autocontrast", 1.2},
                                                {"colour", 3.8},
                                                {"contrast", 2.0},
                                                {"equalize", 11.2},
                                                {"invert", 1.8},
                                                {"posterize", 2.8},
                                                {"rotate", 3.6},
                                                {"sharpness", 0.4},
                                                {"shear-x", 0.6},
                                                {"solarize", 3.6}}},
                                              {"cifar10",
                                               {{"autocontrast", 5.0},
                                                {"brightness", 2.3},
                                                {"colour", 2.9},
                                                {"contrast", 0.8},
                                                {"equalize", 4.7},
                                                {"invert", 0.2},
                                                {"posterize", 0.3},
                                                {"rotate", 0.7},
                                                {"sharpness", 2.8},
                                                {"shear-y", 0.7},
                                                {"solarize", 1.9},
                                                {"translate-x", 0.8},
                                                {"translate-y", 3.4}}},
                                              {"svhn",
                                               {{"autocontrast", 2.3},
                                                {"contrast", 0.3},
                                                {"equalize", 3.9},
                                                {"invert", 7.6},
                                                {"rotate", 3.4},
                                                {"shear-x", 4.2},
                                                {"shear-y", 6.1},
                                                {"solarize", 2.2},
                                                {"translate-x", 0.9},
                                                {"translate-y", 2.0}}}};
  for (const auto& [policy, wanted] : sums) {
    INFO(policy);
    Counts counts;
    each_drawn("{ op = \"auto-augment\", policy = \"" + policy + "\" }", [&](const Geometry& geometry) {
      for (const Adjustment& adjustment : geometry.adjustments) {
        const std::string name = name_of(adjustment);
        ++counts[name.substr(0, name.find_last_not_of("+-") + 1)];
      }
    });
    CHECK(counts.size() == wanted.size());
    for (const auto& [name, sum] : wanted) {
      INFO(name);
      const double expected = sum / 25 * kDraws;
      CHECK(std::abs(counts[name] - expected) < 5 * std::sqrt(2 * expected));  // a pair may make a change twice
    }
  }
}

TEST_CASE("aug-mix draws weights of one whole, and copies with one to three changes", "[policies]") {
  Counts depths, counts;
  double own = 0, squares = 0, changes = 0;
  each_drawn("{ op = \"aug-mix\", severity = 10 }", [&](const Geometry& geometry) {
    const auto& made = geometry.adjustments;
    REQUIRE(made.front().type == AdjustmentType::kMix);
    REQUIRE(made.front().held + 1 == made.size());
    double sum = made.front().amount;
    own += sum, squares += sum * sum;
    size_t branches = 0;
    for (size_t i = 1; i < made.size(); i += 1 + made[i].held, ++branches) {
      REQUIRE(made[i].type == AdjustmentType::kBranch);
      sum += made[i].amount;
      ++depths[std::to_string(made[i].held)];
      for (size_t k = i + 1; k <= i + made[i].held; ++k, ++changes) {
        const std::string name = name_of(made[k]);
        ++counts[name.substr(0, name.find_last_not_of("+-") + 1)];
      }
    }
    REQUIRE(branches == 3);
    REQUIRE(std::abs(sum - 1) < 1e-9);
    REQUIRE(geometry.passes.size() == 2);
  });
  CHECK(std::abs(own / kDraws - 0.5) < 5 * std::sqrt(1.0 / 12 / kDraws));  // Beta(1, 1) is uniform
  CHECK(std::abs(squares / kDraws - 1.0 / 3) < 0.005);
  CHECK(chi_squared(depths, {{"1", 1.0 / 3}, {"2", 1.0 / 3}, {"3", 1.0 / 3}}, 3 * kDraws) < 19);
  Counts parts;
  for (const char* name : {"shear-x", "shear-y", "translate-x", "translate-y", "rotate"}) parts[name] = 0.9 / 13;
  parts["translate-y"] += 0.5 / 13;
  for (const char* name :
       {"brightness", "colour", "contrast", "sharpness", "posterize", "solarize", "autocontrast", "equalize"})
    parts[name] = 1.0 / 13;
  CHECK(chi_squared(counts, parts, changes) < 40);  // 12 degrees
}

TEST_CASE("random-choice keeps its weights, and random-order all orders", "[policies]") {
  const std::string held =
      "ops = [{ op = \"invert\", p = 1 }, { op = \"equalize\", p = 1 }, { op = \"autocontrast\", p = 1 }] }";
  Counts counts, alike, orders, applied;
  each_drawn("{ op = \"random-choice\", weights = [1, 0, 3], " + held,
             [&](const Geometry& geometry) { ++counts[name_of(geometry.adjustments.at(0))]; });
  CHECK(chi_squared(counts, {{"invert", 0.25}, {"autocontrast", 0.75}}, kDraws) < 16);  // 1 degree
  each_drawn("{ op = \"random-choice\", " + held,
             [&](const Geometry& geometry) { ++alike[name_of(geometry.adjustments.at(0))]; });
  CHECK(chi_squared(alike, {{"invert", 1.0 / 3}, {"equalize", 1.0 / 3}, {"autocontrast", 1.0 / 3}}, kDraws) < 19);
  each_drawn("{ op = \"random-order\", " + held, [&](const Geometry& geometry) {
    std::string order;
    for (const Adjustment& adjustment : geometry.adjustments) order += name_of(adjustment).front();
    ++orders[order];
  });
  const double each = 1.0 / 6;
  CHECK(chi_squared(orders, {{"iea", each}, {"iae", each}, {"eia", each}, {"eai", each}, {"aie", each}, {"aei", each}},
                    kDraws) < 26);
  each_drawn("{ op = \"random-apply\", p = 0.8, " + held,
             [&](const Geometry& geometry) { ++applied[std::to_string(geometry.adjustments.size())]; });
  CHECK(chi_squared(applied, {{"0", 0.2}, {"3", 0.8}}, kDraws) < 16);
}

TEST_CASE("equal operations that are held draw apart", "[policies]") {
  Counts counts;
  const std::string invert = "{ op = \"invert\" }";
  each_drawn("{ op = \"random-order\", ops = [" + invert + ", " + invert + "] }",
             [&](const Geometry& geometry) { ++counts[std::to_string(geometry.adjustments.size())]; });
  CHECK(chi_squared(counts, {{"0", 0.25}, {"1", 0.5}, {"2", 0.25}}, kDraws) < 19);
}

TEST_CASE("a chosen crop decides the geometry", "[policies]") {
  const auto program = program_of(
      "{ op = \"random-choice\", ops = [{ op = \"center-crop\", size = 32 }, "
      "{ op = \"random-resized-crop\", size = 32 }] }, { op = \"random-apply\", ops = [{ op = \"horizontal-flip\", "
      "p = 1 }] }");
  Geometry geometry;
  std::map<std::pair<bool, bool>, int> seen;
  for (uint64_t sample = 0; sample < 100; ++sample) {
    program.resolve({200, 160}, {3, 1, sample}, geometry);
    const image::Pass& pass = geometry.passes.back();
    CHECK(shown(pass) == Size{32, 32});
    ++seen[{resamples(pass), pass.mirrored}];
  }
  CHECK(seen.size() == 4);
}

// A copy that is changed by nothing but an inversion: white less the picture.
TEST_CASE("a mix is the sum of its branches, and leaves the picture as it was for each", "[policies]") {
  image::Adjuster adjuster;
  const PixelRows rows = noise({31, 17}, 4);
  ByteBuffer memory;
  image::AdjustedPicture picture{memory, {31, 17}};
  memory.resize(picture.bytes() + PixelRows::kSlackBytes);
  for (int y = 0; y < 17; ++y) std::copy_n(rows.row(y), picture.row_bytes(), memory.data() + y * picture.row_bytes());
  const std::vector<uint8_t> before(memory.data(), memory.data() + picture.bytes());
  std::vector<Adjustment> mix = {{.type = AdjustmentType::kMix, .amount = 0.25, .held = 7}};
  const auto held = [&](Adjustment adjustment) {
    adjustment.pass = Adjustment::kNoPass;
    mix.push_back(adjustment);
  };
  held({.type = AdjustmentType::kBranch, .amount = 0.25, .held = 1});
  held({.type = AdjustmentType::kInvert});
  held({.type = AdjustmentType::kBranch, .amount = 0.25, .held = 2});
  held({.type = AdjustmentType::kWarp, .warp = image::affine_warp({31, 17}, {.translate_x = 31})});
  held({.type = AdjustmentType::kInvert});
  held({.type = AdjustmentType::kBranch,
        .amount = 0.25,
        .held = 1});  // also behind a branch that left nothing of the picture
  held({.type = AdjustmentType::kInvert});
  mix.push_back({.type = AdjustmentType::kPosterize, .amount = 8});
  adjuster.run(mix, 0, picture);
  REQUIRE(picture.size == Size{31, 17});
  // 0.25 of the value, 0.5 of white less it, and 0.25 of white: in the second branch all of the picture has moved away.
  for (size_t i = 0; i < before.size(); ++i)
    REQUIRE(picture.pixels()[i] == static_cast<uint8_t>(0.25F * before[i] + 0.5F * (255 - before[i]) + 0.25F * 255));
}

TEST_CASE("policies allocate nothing in steady state", "[policies]") {
  const auto program = program_of(
      "{ op = \"random-resized-crop\", size = 64 }, { op = \"random-choice\", ops = [{ op = \"rand-augment\" }, "
      "{ op = \"trivial-augment\", filter = \"bilinear\" }, { op = \"timm-rand-augment\", num_ops = 4 }, { op = "
      "\"auto-augment\", policy = \"svhn\" }, "
      "{ op = \"aug-mix\" }] }, { op = \"random-order\", ops = [{ op = \"horizontal-flip\" }, { op = \"invert\" }] }");
  const PixelRows rows = noise({200, 150}, 5);
  Geometry geometry;
  image::Scratch scratch;
  std::vector<uint8_t> tensor(program.tensor().bytes());
  test::check_steady([&] {
    for (uint64_t sample = 0; sample < 60; ++sample) {
      program.resolve(rows.picture, {1, 1, sample}, geometry);
      program.render(rows, geometry, scratch, tensor.data());
    }
    return 0;
  });
}

}  // namespace
}  // namespace spdld::policies_test
