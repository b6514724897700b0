// The operations that follow a view's leader, each by itself: what they write, and what they refuse.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>

#include "config/operation.h"
#include "daemon/media/chain.h"
#include "daemon/media/image/geometry/view.h"
#include "daemon/media/image/operations/views/mask_colours.h"
#include "daemon/media/text/json/json_reader.h"
#include "tests/support/makers/png_maker.h"

namespace spdld::followers_test {
namespace {

constexpr size_t kView = 2;  // a view's number
constexpr uint64_t kSample = 7;

config::OperationSpec op(std::string_view name, config::Parameters parameters = {}) {
  config::OperationSpec spec{.op = std::string(name), .parameters = std::move(parameters), .where = {}};
  for (const auto& parameter : config::find_operation(name)->parameters)
    if (parameter.fallback) spec.parameters.emplace(parameter.name, *parameter.fallback);
  return spec;
}

// A leader that has cut the box (10, 20, 40 x 30) out of 100 x 80 pixels, made 20 x 30 of it, and mirrored that.
class Sample {
 public:
  Sample() {
    const image::Pass pass{.box = {10, 20, 40, 30}, .size = {20, 30}, .window = {0, 0, 20, 30}, .mirrored = true};
    image::Geometry geometry;
    geometry.passes = {pass};
    image::lead(call_of({}), {100, 80}, geometry);
  }

  // What the operation writes of the content, whose value at "v" it takes where it starts from JSON.
  template <typename T>
  Result<std::vector<T>> run(const config::OperationSpec& spec, std::string_view content, bool is_json = false,
                             const std::string& output = "out") {
    config::Signature start = config::bytes_of(is_json ? config::Origin::kJson : config::Origin::kContent);
    start.bytes().frame = config::Frame{30, 20};
    const bool is_list = spec.op != "decode-mask";
    const config::Followed followed =
        config::follow({&spec, 1}, start, is_list ? config::Form::kRagged : config::Form::kFixed);
    REQUIRE(followed.error.empty());
    const media::Chain chain({&spec, 1}, followed, output);
    std::vector<T> elements((is_list ? length_max + 1 : 1) * 20 * 30, T{77});
    uint32_t length = 0;
    media::TensorOut out{.memory = reinterpret_cast<uint8_t*>(elements.data())};
    if (is_list) out.length_max = length_max, out.length = &length, out.too_long = too_long;
    const std::span bytes(reinterpret_cast<const uint8_t*>(content.data()), content.size());
    media::Value value{.bytes = bytes};
    text::JsonReader reader;
    const auto steps = config::parse_field_path("json:v").steps;
    const text::JsonPlace place{reader, steps};
    if (is_json) {
      if (Status read = reader.read(bytes); !read) return read.error();
      value.json = &place;
    }
    const Status status = chain.run(value, call_of({&out, 1}));
    if (!status) return status.error();
    const auto& sizes = followed.end().dimensions;
    size_t count = is_list ? length : 30;
    for (size_t i = 1; i < sizes.size(); ++i) count *= static_cast<size_t>(sizes[i].value());
    elements.resize(count);
    return elements;
  }
  template <typename T>
  std::string error(const config::OperationSpec& spec, std::string_view content, bool is_json = false) {
    const auto result = run<T>(spec, content, is_json);
    REQUIRE_FALSE(result);
    CHECK(result.error().trouble == Trouble::kContent);
    return result.error().message;
  }

  // The geometry has dropped these boxes of the list that `output` is made of.
  void drop(const std::string& output, std::vector<bool> dropped) {
    const std::vector<float> numbers(4 * dropped.size());
    image::list_boxes(call_of({}), output, {}, numbers);
    image::Geometry geometry;
    geometry.passes = {{.box = {0, 0, 100, 80}, .size = {20, 30}, .window = {0, 0, 20, 30}}};
    geometry.boxes.is_dropped = std::move(dropped);
    image::lead(call_of({}), {100, 80}, geometry);
  }

  uint64_t length_max = 40;
  config::TooLong too_long = config::TooLong::kBad;
  uint64_t number = kSample;

 private:
  media::Call call_of(std::span<const media::TensorOut> tensors) {
    return {number, draws_, workspace_, nullptr, tensors, {}, kView};
  }

  Draws draws_{};
  media::Workspace workspace_;
};

std::string_view text_of(const std::vector<uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

using Floats = std::vector<float>;

TEST_CASE("boxes are cut off, moved, mirrored, and dropped where nothing is left", "[view]") {
  Sample sample;
  const auto boxes =
      sample.run<float>(op("boxes"), "[[10, 20, 30, 35], [0, 0, 9, 9], [40, 40, 99, 79], [12, 22, 12, 30]]");
  REQUIRE(boxes);
  CHECK(*boxes == Floats{10, 0, 20, 15, 0, 20, 5, 30});
  const auto classes =
      sample.run<int64_t>(op("keep-with", {{"of", std::string("out")}}), "[5, 6, 7, 8]", false, "classes");
  REQUIRE(classes);
  CHECK(*classes == std::vector<int64_t>{5, 7});
  const config::OperationSpec pairs =
      op("keep-with", {{"of", std::string("out")}, {"width", int64_t{2}}, {"dtype", std::string("float32")}});
  CHECK(*sample.run<float>(pairs, R"({"v": [[1, 2], [3, 4], [5, 6], [7, 8]]})", true, "pairs") == Floats{1, 2, 5, 6});
}

TEST_CASE("boxes that the geometry has dropped are left out, with what belongs to them", "[view]") {
  Sample sample;
  sample.drop("out", {true, false, true, false});
  const std::string list = "0 0 10 8  10 8 20 16  20 16 30 24  30 24 40 32";
  CHECK(*sample.run<float>(op("boxes", {{"min_size", 0.0}}), list) == Floats{2, 3, 4, 6, 6, 9, 8, 12});
  const config::OperationSpec keep = op("keep-with", {{"of", std::string("out")}});
  CHECK(*sample.run<int64_t>(keep, "5 6 7 8", false, "c") == std::vector<int64_t>{6, 8});
  CHECK(sample.run<float>(op("boxes"), list, false, "other")->size() == 16);  // its list decided nothing
}

TEST_CASE("boxes in other formats, and as parts of the picture", "[view]") {
  const std::string xywh = "xywh", cxcywh = "cxcywh", xyxy = "xyxy";
  CHECK(*Sample().run<float>(op("boxes", {{"format", xywh}}), "10 20 20 15") == Floats{10, 0, 10, 15});
  CHECK(*Sample().run<float>(op("boxes", {{"format", xywh}, {"gives", cxcywh}}), "10 20 20 15") ==
        Floats{15, 7.5, 10, 15});
  CHECK(*Sample().run<float>(op("boxes", {{"format", cxcywh}, {"gives", xyxy}}), "20 27.5 20 15") ==
        Floats{10, 0, 20, 15});
  CHECK(*Sample().run<float>(op("boxes", {{"relative", true}}), R"({"v": [[0.25, 0.25, 0.375, 0.5]]})", true) ==
        Floats{6.25, 0, 12.5, 20});
}

TEST_CASE("how much must be left of a box", "[view]") {
  const auto left = [](double size, double area) {  // of a box that comes out as 2 x 3 pixels
    return Sample().run<float>(op("boxes", {{"min_size", size}, {"min_area", area}}), "10 20 14 23")->size() / 4;
  };
  CHECK(left(2, 6) == 1);
  CHECK(left(2.01, 1) == 0);
  CHECK(left(1, 6.01) == 0);
  // With no bounds, boxes that lie outside stay, as boxes without area.
  CHECK(Sample().run<float>(op("boxes", {{"min_size", 0.0}, {"min_area", 0.0}}), "0 0 5 5 1e9 1e9 2e9 2e9")->size() ==
        8);
}

TEST_CASE("boxes that lie are bad content, and far ones are not", "[view]") {
  Sample sample;
  CHECK_THAT(sample.error<float>(op("boxes"), "5 5 4 9"), Catch::Contains("output 'out'") && Catch::Contains("box 0") &&
                                                              Catch::Contains("negative width or height"));
  CHECK_THAT(sample.error<float>(op("boxes", {{"format", std::string("xywh")}}), "1 1 5 5\n5 5 4 -9"),
             Catch::Contains("box 1"));
  CHECK_THAT(sample.error<float>(op("boxes", {{"relative", true}}), "1e38 1 2e38 2"), Catch::Contains("too large"));
  CHECK_THAT(sample.error<float>(op("boxes"), "nan 5 4 9"), Catch::Contains("nan"));
  CHECK_THAT(sample.error<float>(op("boxes"), "1 2 3"), Catch::Contains("4"));
  CHECK_THAT(sample.error<float>(op("boxes"), R"({"v": {"a": 1}})", true), Catch::Contains("output 'out'"));
  CHECK(sample.run<float>(op("boxes"), "-1000000000 -1000000000 1000000000 1000000000").value() ==
        Floats{0, 0, 20, 30});
  CHECK(sample.run<float>(op("boxes"), "").value().empty());
  CHECK(sample.run<float>(op("boxes"), R"({"v": []})", true).value().empty());
  std::string many;
  for (int i = 0; i <= 65'536; ++i) many += "1 1 2 2\n";
  CHECK_THAT(sample.error<float>(op("boxes"), many), Catch::Contains("65537 elements; at most 65536"));
}

TEST_CASE("what is too long is cut off from the list that belongs to it, too", "[view]") {
  Sample sample;
  sample.length_max = 1;
  CHECK_THAT(sample.error<float>(op("boxes"), "10 20 30 35 40 40 99 79"), Catch::Contains("a length of 2"));
  Sample cut;
  cut.length_max = 1;
  cut.too_long = config::TooLong::kCut;
  CHECK(cut.run<float>(op("boxes"), "10 20 30 35 40 40 99 79")->size() == 4);
  cut.length_max = 40;
  CHECK(*cut.run<int64_t>(op("keep-with", {{"of", std::string("out")}}), "1 2", false, "c") == std::vector<int64_t>{1});
}

TEST_CASE("a list that belongs to boxes has as many elements", "[view]") {
  Sample sample;
  REQUIRE(sample.run<float>(op("boxes"), "10 20 30 35", false, "boxes"));
  CHECK_THAT(sample.error<int64_t>(op("keep-with", {{"of", std::string("boxes")}}), "1 2"),
             Catch::Contains("has 2 elements, and the list of output 'boxes' has 1"));
}

// The leader cuts 40 x 30 pixels from (10, 20) on out, halves their columns and mirrors them.
TEST_CASE("instance masks are cut, resized and mirrored", "[view]") {
  const std::string list =
      R"([[[10, 20, 20, 20, 20, 30, 10, 30]], [], {"size": [80, 100], "counts": [0, 8000]}, [[0, 0, 9, 0, 9, 9]]])";
  const auto check = [](const std::vector<uint8_t>& masks, size_t place, int left, int right, int bottom) {
    for (int y = 0; y < 30; ++y)
      for (int x = 0; x < 20; ++x) {
        const bool inside = x >= left && x < right && y < bottom;
        if (masks[600 * place + static_cast<size_t>(20 * y + x)] != (inside ? 1 : 0)) return false;
      }
    return true;
  };
  for (const bool is_json : {false, true}) {
    const auto masks = Sample().run<uint8_t>(op("instance-masks"), is_json ? "{\"v\": " + list + "}" : list, is_json);
    REQUIRE(masks);
    REQUIRE(masks->size() == 4 * 600);
    CHECK(check(*masks, 0, 15, 20, 10));
    CHECK(check(*masks, 1, 0, 0, 0));
    CHECK(check(*masks, 2, 0, 20, 30));
    CHECK(check(*masks, 3, 0, 0, 0));
  }
  Sample sample;
  REQUIRE(sample.run<float>(op("boxes"), "0 0 5 5  10 20 30 35  0 0 1 1  10 20 30 35", false, "boxes"));
  const config::OperationSpec kept = op("instance-masks", {{"of", std::string("boxes")}});
  const auto some = sample.run<uint8_t>(kept, list);
  REQUIRE(some);
  REQUIRE(some->size() == 2 * 600);
  CHECK(check(*some, 0, 0, 0, 0));
  CHECK_THAT(sample.error<uint8_t>(kept, "[[], []]"),
             Catch::Contains("has 2 elements, and the list of output 'boxes' has 4"));
  const auto relative = Sample().run<uint8_t>(op("instance-masks", {{"relative", true}}),
                                              "[[[0.1, 0.25, 0.2, 0.25, 0.2, 0.375, 0.1, 0.375]]]");
  REQUIRE(relative);
  CHECK(check(*relative, 0, 15, 20, 10));
}

TEST_CASE("instance masks of shapes that are none are bad content", "[view]") {
  Sample sample;
  CHECK_THAT(sample.error<uint8_t>(op("instance-masks"), "[[], [[1, 2, 3]]]"),
             Catch::Contains("output 'out': object 1 (counted from 0): a polygon of it has 3 numbers"));
  CHECK_THAT(sample.error<uint8_t>(op("instance-masks"), R"([{"size": [100, 80], "counts": [8000]}])"),
             Catch::Contains("for a picture of 80 x 100 pixels, and its picture has 100 x 80"));
  CHECK_THAT(sample.error<uint8_t>(op("instance-masks"), "[[1,"), Catch::Contains("no sound JSON"));
  CHECK_THAT(sample.error<uint8_t>(op("instance-masks"), R"({"v": 3})", true), Catch::Contains("not a list of shapes"));
  sample.length_max = 1;
  CHECK_THAT(sample.error<uint8_t>(op("instance-masks"), "[[], []]"), Catch::Contains("a length of 2"));
}

TEST_CASE("a mask of objects is split by their numbers", "[view]") {
  auto made = test::make_png(100, 80, {.colour = 0, .depth = 8});
  const auto value = [&](int x, int y) {
    return made.rgb[3 * static_cast<size_t>(100 * (20 + y) + 10 + 2 * (19 - x))];
  };
  const std::set<uint8_t> all = [&] {
    std::set<uint8_t> values;
    for (size_t i = 0; i < made.rgb.size(); i += 3) values.insert(made.rgb[i]);
    return values;
  }();
  REQUIRE(all.size() > 2);
  Sample sample;
  sample.length_max = 300;
  const auto masks = sample.run<uint8_t>(op("object-masks"), text_of(made.bytes));
  REQUIRE(masks);
  size_t place = 0;
  for (const uint8_t id : all) {
    if (id == 0 || id == 255) continue;
    for (int y = 0; y < 30; ++y)
      for (int x = 0; x < 20; ++x)
        REQUIRE((*masks)[600 * place + static_cast<size_t>(20 * y + x)] == (value(x, y) == id ? 1 : 0));
    ++place;
  }
  CHECK(masks->size() == 600 * place);
  const auto with_all = sample.run<uint8_t>(op("object-masks", {{"ignore", int64_t{-1}}}), text_of(made.bytes));
  REQUIRE(with_all);
  CHECK(with_all->size() == 600 * (place + all.count(255)));
}

TEST_CASE("a mask of objects keeps the objects of boxes that were kept", "[view]") {
  const auto made = test::make_png(100, 80, {.colour = 3, .depth = 1});  // the numbers 0 and 1
  Sample sample;
  const config::OperationSpec kept = op("object-masks", {{"of", std::string("boxes")}});
  REQUIRE(sample.run<float>(op("boxes"), "10 20 30 35  0 0 5 5  10 20 30 35", false, "boxes"));
  const auto masks = sample.run<uint8_t>(kept, text_of(made.bytes));
  REQUIRE(masks);
  REQUIRE(masks->size() == 2 * 600);
  const auto values = sample.run<uint8_t>(op("decode-mask"), text_of(made.bytes));
  REQUIRE(values);
  CHECK(std::equal(values->begin(), values->end(), masks->begin()));
  CHECK(std::all_of(masks->begin() + 600, masks->end(), [](uint8_t pixel) { return pixel == 0; }));
  Sample fewer;
  REQUIRE(fewer.run<float>(op("boxes"), "", false, "boxes"));
  CHECK_THAT(fewer.error<uint8_t>(kept, text_of(made.bytes)),
             Catch::Contains("the mask has an object 1, and the list of output 'boxes' has 0 elements"));
  const auto small = test::make_png(80, 80, {.colour = 0, .depth = 8});
  CHECK_THAT(fewer.error<uint8_t>(op("object-masks"), text_of(small.bytes)), Catch::Contains("80 x 80 pixels"));
}

TEST_CASE("points are moved, and dropped or kept where they are outside", "[view]") {
  CHECK(*Sample().run<float>(op("points"), "10 20 9 20 30 35 50 30") == Floats{20, 0, 10, 15});
  CHECK(*Sample().run<float>(op("points", {{"outside", std::string("keep")}}), "10 20 8 20 54 50") ==
        Floats{20, 0, 21, 0, -2, 30});
  CHECK(*Sample().run<float>(op("points", {{"relative", true}}), "0.375 0.4375") == Floats{6.25, 15});
}

TEST_CASE("a mask gives the values of a PNG, cut, resized and mirrored", "[view]") {
  const auto made = test::make_png(100, 80, {.colour = 0, .depth = 8});
  const auto mask = Sample().run<uint8_t>(op("decode-mask"), text_of(made.bytes));
  REQUIRE(mask);
  for (size_t y = 0; y < 30; ++y)
    for (size_t x = 0; x < 20; ++x) REQUIRE((*mask)[20 * y + x] == made.rgb[3 * (100 * (20 + y) + 10 + 2 * (19 - x))]);
  const auto wide = Sample().run<int64_t>(op("decode-mask", {{"dtype", std::string("int64")}}), text_of(made.bytes));
  REQUIRE(wide);
  CHECK(std::equal(mask->begin(), mask->end(), wide->begin()));
  const auto deep = test::make_png(100, 80, {.colour = 0, .depth = 16});
  const auto values =
      Sample().run<uint16_t>(op("decode-mask", {{"dtype", std::string("uint16")}}), text_of(deep.bytes));
  REQUIRE(values);
  CHECK((*values)[0] / 256 == deep.rgb[size_t{3} * (100 * 20 + 10 + 2 * 19)]);  // rgb has the upper halves
}

std::string colour_text(const uint8_t* rgb) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "#%02x%02X%02x", unsigned{rgb[0]}, unsigned{rgb[1]}, unsigned{rgb[2]});
  return text.data();
}

// All colours of a PNG, by their first pixels.
std::vector<std::string> colours_of(const std::vector<uint8_t>& rgb) {
  std::vector<std::string> colours;
  for (size_t at = 0; at < rgb.size(); at += 3) {
    const std::string colour = colour_text(rgb.data() + at);
    if (std::find(colours.begin(), colours.end(), colour) == colours.end()) colours.push_back(colour);
  }
  return colours;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ",") + text;
  return all;
}

TEST_CASE("a mask in colours gives the numbers of its colours, cut, resized and mirrored", "[view]") {
  const auto made = test::make_png(100, 80, {.colour = 3, .depth = 4});
  const auto colours = colours_of(made.rgb);
  const auto wanted = [&](size_t x, size_t y) {
    const std::string colour = colour_text(made.rgb.data() + 3 * (100 * (20 + y) + 10 + 2 * (19 - x)));
    return std::find(colours.begin(), colours.end(), colour) - colours.begin();
  };
  const auto mask = Sample().run<uint8_t>(op("decode-mask", {{"colours", joined(colours)}}), text_of(made.bytes));
  const auto wide = Sample().run<int64_t>(
      op("decode-mask", {{"colours", joined(colours)}, {"dtype", std::string("int64")}}), text_of(made.bytes));
  REQUIRE(mask);
  REQUIRE(wide);
  for (size_t y = 0; y < 30; ++y) {
    for (size_t x = 0; x < 20; ++x) {
      REQUIRE((*mask)[20 * y + x] == wanted(x, y));
      REQUIRE((*wide)[20 * y + x] == wanted(x, y));
    }
  }
}

TEST_CASE("a colour that is not known makes a mask bad content, or has the value `other`", "[view]") {
  const auto made = test::make_png(100, 80, {.colour = 2, .depth = 8});
  const std::string first = colour_text(made.rgb.data() + size_t{3} * (100 * 20 + 10 + 2 * 19));  // is shown first
  CHECK_THAT(Sample().error<uint8_t>(op("decode-mask", {{"colours", first}}), text_of(made.bytes)),
             Catch::Contains("the mask has the colour #") && Catch::Contains("in row 0, column 0"));
  const auto mask =
      Sample().run<uint8_t>(op("decode-mask", {{"colours", first}, {"other", int64_t{9}}}), text_of(made.bytes));
  REQUIRE(mask);
  CHECK((*mask)[0] == 0);
  CHECK(std::count(mask->begin(), mask->end(), 9) > 500);
  CHECK_THROWS_WITH(Sample().run<uint8_t>(op("decode-mask", {{"colours", first}, {"other", int64_t{300}}}), ""),
                    Catch::Contains("values up to 300"));
}

// The values of these pixels; -1: of an unknown colour.
int value_of(const image::MaskColours& colours, uint8_t red, uint8_t green, uint8_t blue) {
  PixelRows rows;
  rows.format = {3, 1};
  rows.picture = {1, 1};
  rows.covers = {0, 0, 1, 1};
  rows.stride_bytes = 3;
  uint8_t* const pixel = rows.memory.resize(3 + PixelRows::kSlackBytes);
  pixel[0] = red, pixel[1] = green, pixel[2] = blue;
  uint16_t value = 0;
  return colours.convert(rows, std::nullopt, &value) ? value : -1;
}

TEST_CASE("a file of colours is read as data sets write it", "[view]") {
  const auto of_file = [](std::string_view text) {
    return image::MaskColours::of_file("colours.txt", {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  };
  for (const std::string_view text :
       {"64 128 64\tAnimal\n192 0 128\tArchway\n0 128 192\tBicyclist\n",  // CamVid's label_colors.txt
        "name,r,g,b\r\nAnimal,64,128,64\r\nArchway,192,0,128\r\n\r\nBicyclist,0,128,192",
        "\xEF\xBB\xBF#408040\n#c00080\n#0080C0\n",
        "# value red green blue\n2 0 128 192\n# more\n0 64 128 64\n1 192 0 128\n",
        "Class2;64;128;64\nClass3;192;0;128\nClass4;0;128;192"}) {
    CAPTURE(text);
    const auto colours = of_file(text);
    CHECK(colours.largest() == 2);
    CHECK(value_of(colours, 64, 128, 64) == 0);
    CHECK(value_of(colours, 192, 0, 128) == 1);
    CHECK(value_of(colours, 0, 128, 192) == 2);
    CHECK(value_of(colours, 1, 128, 192) == -1);
  }
  CHECK_THROWS_WITH(of_file("0 0 0\n0 0 300\n"), Catch::Contains("colours.txt, line 2: a colour of a mask is"));
  CHECK_THROWS_WITH(of_file("0 0 0\nroad\n"), Catch::Contains("colours.txt, line 2"));
  CHECK_THROWS_WITH(of_file("0 0 0\n1 1 1\n#000000\n"), Catch::Contains("the colour #000000 is there twice"));
  CHECK_THROWS_WITH(of_file("road, sky\n"), Catch::Contains("has no line with a colour"));
  CHECK_THROWS_WITH(of_file(""), Catch::Contains("has no line with a colour"));
}

TEST_CASE("masks that do not fit are bad content", "[view]") {
  Sample sample;
  const auto refused = [&](int width, int height, int colour, int depth) {
    const auto made = test::make_png(width, height, {.colour = colour, .depth = depth});
    return sample.error<uint8_t>(op("decode-mask"), text_of(made.bytes));
  };
  CHECK_THAT(refused(80, 100, 0, 8), Catch::Contains("80 x 100 pixels, and its picture has 100 x 80"));
  refused(100, 80, 2, 8);
  refused(100, 80, 6, 8);
  refused(100, 80, 0, 16);
  CHECK_THAT(sample.error<uint8_t>(op("decode-mask"), "\xff\xd8\xff\xe0 a JPEG"), Catch::Contains("must be a PNG"));
  const auto whole = test::make_png(100, 80, {.colour = 3, .depth = 4});
  CHECK(sample.run<uint8_t>(op("decode-mask"), text_of(whole.bytes)));
  sample.error<uint8_t>(op("decode-mask"), text_of(whole.bytes).substr(0, whole.bytes.size() / 2));
}

TEST_CASE("a geometry serves its own sample alone", "[view]") {
  Sample sample;
  sample.number = kSample + 1;
  const auto boxes = sample.run<float>(op("boxes"), "10 20 30 35");
  REQUIRE_FALSE(boxes);
  CHECK(boxes.error().trouble == Trouble::kInternal);
}

}  // namespace
}  // namespace spdld::followers_test
