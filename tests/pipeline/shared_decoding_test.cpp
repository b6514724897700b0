// Outputs that start from one picture share a decoding, and their pixels are those of outputs that stand alone.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/checks/load.h"
#include "daemon/media/image/picture_node.h"
#include "daemon/pipeline/plan.h"
#include "tests/pipeline/fake_source.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/makers/png_maker.h"

namespace spdld::shared_decoding_test {
namespace {

using Bytes = std::vector<uint8_t>;

struct Counts {
  int opened = 0, decoded = 0;
};

// Counts the work of a decoder.
class Counting final : public image::ImageDecoder {
 public:
  Counting(std::unique_ptr<ImageDecoder> decoder, Counts& counts) : decoder_(std::move(decoder)), counts_(counts) {}

  Result<Size> open(std::span<const uint8_t> bytes, bool exif, bool strict, const image::Pixels& pixels) override {
    ++counts_.opened;
    return decoder_->open(bytes, exif, strict, pixels);
  }
  Status decode(const Box& box, PixelRows& rows) override {
    ++counts_.decoded;
    return decoder_->decode(box, rows);
  }
  std::optional<PlanesShape> planes(int reduction) const override { return decoder_->planes(reduction); }
  Status decode_planes(uint8_t* memory) override {
    ++counts_.decoded;
    return decoder_->decode_planes(memory);
  }
  Status decode_planes(const Box& box, int reduction, uint8_t* memory) override {
    ++counts_.decoded;
    return decoder_->decode_planes(box, reduction, memory);
  }

 private:
  std::unique_ptr<ImageDecoder> decoder_;
  Counts& counts_;
};

std::string output(int number, const std::string& options = "", const std::string& from = "text") {
  const std::string n = std::to_string(number);
  return "[[output]]\nname = \"crop-" + n + "\"\nfrom = \"" + from + "\"\nops = [{ op = \"decode-image\"" + options +
         " }, { op = \"random-resized-crop\", size = 32, scale = [0.05, 0.4], draw = \"crop-" + n + "\" }]\n";
}

config::PipelineSpec spec_of(const std::string& outputs) {
  auto spec = config::load_pipeline_toml(
      "name = \"t\"\n[source]\ntype = \"webdataset\"\nuri = \"/a.tar\"\n[batch]\nsize = 1\n" + outputs, "test.toml");
  INFO(spec.sentences());
  REQUIRE(spec);
  return *spec.value;
}

struct Made {
  std::vector<Bytes> tensors;  // of the outputs
  Counts counts;
  Status status = Done{};
};

class Runner {
 public:
  explicit Runner(const std::string& outputs)
      : plan_(spec_of(outputs), listing_), layout_(plan_.tensors(), 1, 64 << 20), slot_(layout_.slot_bytes()) {
    auto& work = context_.workspace.of<image::PictureWork>();
    work.decoder = std::make_unique<Counting>(std::move(work.decoder), counts_);
  }

  Made run(const Bytes& picture, uint64_t sample) {
    counts_ = {};
    pipeline::FieldBytes field;
    field.bytes = picture;
    Made made;
    made.status = plan_.run({listing_, sample, {&field, 1}}, {1, 1, sample}, context_, {layout_, slot_.data(), 0});
    for (size_t i = 0; i + 1 < layout_.tensors().size(); ++i) {  // the last one is sample_id
      const uint8_t* at = layout_.sample_at(slot_.data(), i, 0);
      made.tensors.emplace_back(at, at + layout_.tensors()[i].sample_bytes);
    }
    made.counts = counts_;
    return made;
  }

 private:
  test::FakeListing listing_{5};
  pipeline::Plan plan_;
  batch::Layout layout_;
  Bytes slot_;
  pipeline::DecodeContext context_;
  Counts counts_;
};

std::vector<Bytes> pictures() {
  return {test::make_jpeg(300, 200, {}), test::make_jpeg(640, 480, {}), test::make_png(120, 90).bytes};
}

constexpr int kCrops = 6;

}  // namespace

TEST_CASE("outputs of one picture open and decode it once, and have the pixels of outputs that stand alone") {
  std::string together;
  for (int i = 0; i < kCrops; ++i) together += output(i);
  Runner all(together);
  std::vector<std::unique_ptr<Runner>> alone;
  for (int i = 0; i < kCrops; ++i) alone.push_back(std::make_unique<Runner>(output(i)));
  for (const Bytes& picture : pictures()) {
    for (uint64_t sample = 0; sample < 4; ++sample) {
      const Made made = all.run(picture, sample);
      REQUIRE(made.status);
      CHECK(made.counts.opened == 1);
      CHECK(made.counts.decoded == 1);
      for (size_t i = 0; i < kCrops; ++i) CHECK(made.tensors[i] == alone[i]->run(picture, sample).tensors[0]);
    }
  }
}

TEST_CASE("a picture is decoded once for all pieces of all outputs, and also smaller") {
  const auto five = [](const std::string& options) {
    return "[[output]]\nname = \"five\"\nfrom = \"text\"\nops = [{ op = \"decode-image\"" + options +
           " }, { op = \"resize\", size = 40 }, { op = \"five-crop\", size = 32 }]\n";
  };
  Runner both(output(0) + five("")), crop(output(0)), alone(five(""));
  for (const Bytes& picture : pictures()) {
    const Made made = both.run(picture, 3);
    REQUIRE(made.status);
    CHECK(made.counts.decoded == 1);
    CHECK(made.tensors[0] == crop.run(picture, 3).tensors[0]);
    CHECK(made.tensors[1] == alone.run(picture, 3).tensors[0]);
  }
  const Made fast = Runner(five(", fast = true")).run(test::make_jpeg(1600, 1200, {}), 3);
  REQUIRE(fast.status);
  CHECK(fast.counts.decoded == 1);
}

TEST_CASE("outputs that decode in different ways share what is alike") {
  Runner all(output(0) + output(1, ", exif = false") + output(2) + output(3, ", colours = \"grey\""));
  Runner first(output(0)), stored(output(1, ", exif = false")), grey(output(3, ", colours = \"grey\""));
  for (const Bytes& picture : pictures()) {
    const Made made = all.run(picture, 3);
    REQUIRE(made.status);
    CHECK(made.counts.decoded == 3);
    CHECK(made.tensors[0] == first.run(picture, 3).tensors[0]);
    CHECK(made.tensors[1] == stored.run(picture, 3).tensors[0]);
    CHECK(made.tensors[3] == grey.run(picture, 3).tensors[0]);
  }
}

TEST_CASE("fast outputs share a decoding where they are reduced alike") {
  const std::string fast = ", fast = true";
  std::string together;
  for (int i = 0; i < kCrops; ++i) together += output(i, fast);
  Runner all(together);
  const Bytes picture = test::make_jpeg(1600, 1200, {});
  int decoded = 0, runs = 0;
  for (uint64_t sample = 0; sample < 8; ++sample, ++runs) {
    const Made made = all.run(picture, sample);
    REQUIRE(made.status);
    decoded += made.counts.decoded;
    for (int i = 0; i < kCrops; ++i)
      CHECK(made.tensors[static_cast<size_t>(i)] == Runner(output(i, fast)).run(picture, sample).tensors[0]);
  }
  CHECK(decoded < runs * kCrops);  // some are reduced alike
  CHECK(decoded >= runs);
}

TEST_CASE("a damaged picture of several outputs is bad content, and the next one is sound") {
  Runner all(output(0) + output(1));
  const Bytes sound = test::make_jpeg(300, 200, {});
  const Bytes cut(sound.begin(), sound.begin() + 40);
  const Made good = all.run(sound, 1);
  const Made bad = all.run(cut, 1);
  REQUIRE_FALSE(bad.status);
  CHECK(bad.status.error().trouble == Trouble::kContent);
  const Made again = all.run(sound, 1);
  REQUIRE(again.status);
  CHECK(again.tensors == good.tensors);
}

TEST_CASE("a view's boxes are read before pictures that share a field say what they need") {
  test::FakeListing listing(5);
  listing.add_field("boxes");
  const std::string view =
      "[[output]]\nname = \"image\"\nfrom = \"text\"\nview = \"v\"\nops = [{ op = \"decode-image\" }, "
      "{ op = \"random-iou-crop\", boxes = \"boxes\", max_scale = 0.6, sampler_options = 0 }, "
      "{ op = \"resize\", size = [20, 20] }]\n"
      "[[output]]\nname = \"boxes\"\nfrom = \"boxes\"\nview = \"v\"\nops = [{ op = \"boxes\" }]\nragged = true\n"
      "length_max = 9\n";
  const std::string boxes = "[[4, 4, 60, 50], [70, 60, 96, 76]]", damaged = "[[4, 4, 60, 50], [70, 60, 10, 76]]";
  const Bytes picture = test::make_jpeg(100, 80, {});
  const auto run = [&](const std::string& outputs, const std::string& list, uint64_t sample, Bytes& image) {
    const config::PipelineSpec spec = spec_of(outputs);
    const pipeline::Plan plan(spec, listing);
    const batch::Layout layout(plan.tensors(), 1, 64 << 20);
    std::vector<uint8_t> slot(layout.slot_bytes());
    batch::Contents contents;
    batch::clear(layout, contents);
    pipeline::DecodeContext context;
    std::vector<pipeline::FieldBytes> fields(2);
    for (size_t i = 0; i < 2; ++i) {
      const bool is_picture = plan.fetched()[i].field == 0;
      fields[i].bytes = is_picture ? std::span<const uint8_t>(picture)
                                   : std::span(reinterpret_cast<const uint8_t*>(list.data()), list.size());
    }
    Status status = plan.run({listing, sample, fields}, {1, 1, sample}, context, {layout, slot.data(), 0, &contents});
    const uint8_t* at = layout.sample_at(slot.data(), 0, 0);
    image.assign(at, at + layout.tensors().front().sample_bytes);
    return status;
  };
  Bytes alone, shared, other;
  for (uint64_t sample = 0; sample < 5; ++sample) {
    REQUIRE(run(view, boxes, sample, alone));
    REQUIRE(run(view + output(2), boxes, sample, shared));
    CHECK(alone == shared);
    CHECK(other != alone);
    other = alone;
  }
  const Status bad = run(view, damaged, 1, alone);
  REQUIRE_FALSE(bad);
  CHECK(bad.error().trouble == Trouble::kContent);
  CHECK_THAT(bad.error().message, Catch::Contains("output 'boxes': box 1"));
}

}  // namespace spdld::shared_decoding_test
