// Damaged pictures have one verdict and the same pixels, whatever crop is drawn of them, and whether they are read from
// their bytes or from what the cache keeps in memory or on disk: planes, packed coefficients, or bytes with an index.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <random>

#include "config/checks/load.h"
#include "daemon/cache/cache.h"
#include "daemon/media/image/codecs/planes.h"
#include "daemon/pipeline/plan.h"
#include "tests/pipeline/fake_source.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/temp_dir.h"

namespace spdld::damaged_test {
namespace {

using Bytes = std::vector<uint8_t>;
using Where = cache::Found::Where;

constexpr uint64_t kPictures = 1000, kCrops = 4;

config::PipelineSpec spec_of(const std::string& decode_options, const std::string& form) {
  auto spec = config::load_pipeline_toml(
      "name = \"t\"\ncache = \"" + form +
          "\"\n[source]\ntype = \"webdataset\"\nuri = \"/a.tar\"\n[batch]\nsize = 1\n[[output]]\n"
          "name = \"image\"\nfrom = \"text\"\nops = [{ op = \"decode-image\"" +
          decode_options + " }, { op = \"random-resized-crop\", size = 24, scale = [0.05, 0.6] }]\n",
      "test.toml");
  INFO(spec.sentences());
  REQUIRE(spec);
  return *spec.value;
}

// What became of a crop: its tensor, or nothing where the picture is bad content.
using Rendered = std::optional<Bytes>;

class Renderer {
 public:
  explicit Renderer(const std::string& decode_options = "", const std::string& form = "auto")
      : form_(config::cache_form_named(form)),
        plan_(spec_of(decode_options, form), listing_),
        layout_(plan_.tensors(), 1, 64 << 20),
        slot_(layout_.slot_bytes()) {}

  Rendered render(pipeline::FieldBytes& field, uint64_t sample, uint64_t crop) {
    field.form = form_;
    const Status status =
        plan_.run({listing_, sample, {&field, 1}}, {1, crop, sample}, context_, {layout_, slot_.data(), 0});
    if (status) return Bytes(slot_.begin(), slot_.begin() + static_cast<ptrdiff_t>(plan_.tensors()[0].sample_bytes));
    const Trouble trouble = status.error().trouble;
    CHECK((trouble == Trouble::kContent || trouble == Trouble::kUnsupported));
    return std::nullopt;
  }
  Rendered render_bytes(const Bytes& jpeg, uint64_t sample, uint64_t crop) {
    pipeline::FieldBytes field;
    field.bytes = jpeg;
    return render(field, sample, crop);
  }
  // The way of a sample that its shelf would like to keep.
  Rendered render_and_keep(const Bytes& jpeg, cache::Shelf& shelf, uint64_t sample, uint64_t crop) {
    pipeline::FieldBytes field;
    field.bytes = jpeg;
    field.keeps_on = &shelf;
    return render(field, sample, crop);
  }
  // From the shelf, in memory or on disk; as bytes where the shelf has no planes of this sample.
  Rendered render_kept(const Bytes& jpeg, cache::Shelf& shelf, uint64_t sample, uint64_t crop) {
    const cache::Found found = shelf.find(sample);
    if (found.where == Where::kNowhere) return render_bytes(jpeg, sample, crop);
    ++found_;
    pipeline::FieldBytes field;
    field.is_prepared = found.form == cache::Form::kPrepared;
    field.bytes = {found.memory, found.bytes};
    std::vector<uint8_t> read;
    if (found.where == Where::kDisk) {
      read.resize(found.bytes + PlanesLayout::kAlignment);
      uint8_t* at =
          read.data() + PlanesLayout::kAlignment - reinterpret_cast<uintptr_t>(read.data()) % PlanesLayout::kAlignment;
      REQUIRE(pread(found.fd, at, found.bytes, static_cast<off_t>(found.offset)) == static_cast<ssize_t>(found.bytes));
      field.bytes = {at, found.bytes};
    }
    return render(field, sample, crop);
  }
  uint64_t found() const { return found_; }

 private:
  config::CacheForm form_;
  test::FakeListing listing_{kPictures};
  pipeline::Plan plan_;
  batch::Layout layout_;
  Bytes slot_;
  pipeline::DecodeContext context_;
  uint64_t found_ = 0;
};

Bytes sound_jpeg(uint64_t sample) {
  test::JpegOptions options = test::coded(static_cast<int>(sample % test::kCodings),
                                          static_cast<test::Subsampling>(sample / test::kCodings % 4));
  options.seed = static_cast<uint32_t>(sample);
  options.cmyk = sample % (5 * test::kCodings) == 0;  // plainly coded
  options.exif_orientation = sample % 13 == 0 ? 6 : 0;
  const int growth = static_cast<int>(sample % 30);
  return test::make_jpeg(90 + growth, 120 - growth, options);
}

// One of the ways in which files are damaged: wrong bytes, lost bytes, foreign bytes, zeros, an end that is missing.
Bytes damaged_jpeg(uint64_t sample) {
  Bytes jpeg = sound_jpeg(sample);
  std::mt19937 random(static_cast<uint32_t>(sample));
  const auto below = [&](size_t bound) { return static_cast<size_t>(random() % bound); };
  const Bytes marker = {0xFF, 0xDA};
  const auto scan = std::search(jpeg.begin(), jpeg.end(), marker.begin(), marker.end());
  const size_t first = sample % 10 == 0 ? 2 : static_cast<size_t>(scan - jpeg.begin());
  const size_t place = first + below(jpeg.size() - first), left = jpeg.size() - place;
  const auto at = jpeg.begin() + static_cast<ptrdiff_t>(place);
  const auto run = static_cast<ptrdiff_t>(std::min(left, 1 + below(300)));
  const auto noise = [&] { return static_cast<uint8_t>(random()); };
  switch (sample / 7 % 6) {
    case 0:
      *at = noise();
      break;
    case 1:
      for (int i = 0; i < 8; ++i) jpeg[first + below(jpeg.size() - first)] = noise();
      break;
    case 2:
      jpeg.erase(at, at + run);
      break;
    case 3:
      std::generate(at, at + run, noise);
      break;
    case 4:
      std::fill(at, at + run, uint8_t{0});
      break;
    case 5:
      if (sample % 2 == 0) {
        jpeg.erase(at, jpeg.end());
      } else {
        jpeg.insert(at, 1 + below(40), noise());
      }
      break;
  }
  return jpeg;
}

const std::vector<Bytes>& pictures() {
  static const std::vector<Bytes> all = [] {
    std::vector<Bytes> made;
    for (uint64_t i = 0; i < kPictures; ++i) made.push_back(damaged_jpeg(i));
    return made;
  }();
  return all;
}

struct Counts {
  int verdicts = 0, tensors = 0, accepted = 0;
};

// `other` beside `first`, of one picture.
void compare(const Rendered& first, const Rendered& other, Counts& differing) {
  differing.verdicts += first.has_value() != other.has_value();
  differing.tensors += first && other && *first != *other;
}

void check_none(const Counts& differing) {
  CHECK(differing.verdicts == 0);
  CHECK(differing.tensors == 0);
}

// Every crop of every picture, as bytes; and whether the verdict depends on the crop.
std::vector<Rendered> from_bytes(Renderer& renderer, Counts& differing) {
  std::vector<Rendered> outcomes;
  for (uint64_t sample = 0; sample < kPictures; ++sample) {
    for (uint64_t crop = 0; crop < kCrops; ++crop) {
      outcomes.push_back(renderer.render_bytes(pictures()[sample], sample, crop));
      differing.verdicts += outcomes.back().has_value() != outcomes[sample * kCrops].has_value();
    }
    differing.accepted += outcomes.back().has_value();
  }
  return outcomes;
}

Counts from_shelf(Renderer& renderer, const std::vector<Rendered>& expected, cache::Shelf& shelf, bool keep) {
  Counts differing;
  for (uint64_t sample = 0; sample < kPictures; ++sample) {
    for (uint64_t crop = 0; crop < kCrops; ++crop) {
      const Bytes& jpeg = pictures()[sample];
      if (keep && crop > 0) continue;
      const Rendered outcome =
          keep ? renderer.render_and_keep(jpeg, shelf, sample, crop) : renderer.render_kept(jpeg, shelf, sample, crop);
      compare(expected[sample * kCrops + crop], outcome, differing);
    }
  }
  return differing;
}

void check_every_form(const std::string& decode_options) {
  const std::string form = GENERATE("decoded", "indexed", "packed");
  Renderer renderer(decode_options, form);
  Counts differing;
  const std::vector<Rendered> expected = from_bytes(renderer, differing);
  check_none(differing);
  CHECK(differing.accepted > 50);
  CHECK(differing.accepted < 950);

  const cache::ShelfKey key{"/a", "f", "text", form};
  {
    cache::Cache memory(cache::Settings{.ram_bytes_max = 256u << 20});
    const auto shelf = memory.open(key, kPictures);
    check_none(from_shelf(renderer, expected, *shelf, true));
    check_none(from_shelf(renderer, expected, *shelf, false));
  }
  const uint64_t in_memory = renderer.found();
  CHECK(in_memory > 20 * kCrops);
  const test::TempDir folder;
  const cache::Settings settings{.folder = folder.path() / "cache", .disk_bytes_max = 256u << 20};
  {
    cache::Cache disk(settings);
    check_none(from_shelf(renderer, expected, *disk.open(key, kPictures), true));
  }
  cache::Cache disk(settings);  // once the entries were written
  check_none(from_shelf(renderer, expected, *disk.open(key, kPictures), false));
  CHECK(renderer.found() == 2 * in_memory);
}

}  // namespace

TEST_CASE("a damaged picture has one verdict and the same pixels in every form and crop") { check_every_form(""); }

TEST_CASE("a strict pipeline refuses damage in every form and crop") {
  check_every_form(", strict = true");
  Counts differing;
  Renderer plain, strict(", strict = true");
  const std::vector<Rendered> accepted = from_bytes(plain, differing), undamaged = from_bytes(strict, differing);
  int refused = 0;
  for (size_t i = 0; i < accepted.size(); ++i) {
    if (undamaged[i]) CHECK(accepted[i] == undamaged[i]);
    refused += accepted[i].has_value() && !undamaged[i].has_value();
  }
  CHECK(refused > 100);
  for (uint64_t sample = 0; sample < 100; ++sample) CHECK(strict.render_bytes(sound_jpeg(sample), sample, 0));
}

TEST_CASE("a damaged picture that is decoded smaller has the verdict of the plain way") {
  Counts differing;
  Renderer plain, fast(", fast = true");
  const std::vector<Rendered> expected = from_bytes(plain, differing), reduced = from_bytes(fast, differing);
  int other_pixels = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    differing.verdicts += expected[i].has_value() != reduced[i].has_value();
    other_pixels += expected[i] != reduced[i];
  }
  CHECK(differing.verdicts == 0);
  CHECK(other_pixels > 20);  // else nothing was decoded smaller
}

}  // namespace spdld::damaged_test
