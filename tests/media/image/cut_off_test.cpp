// Operations on pictures tell the guard of their sample of each part of their work, and may be cut off there.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "daemon/base/byte_buffer.h"
#include "daemon/base/random.h"
#include "daemon/media/image/adjustments/adjustment.h"
#include "daemon/media/work_guard.h"
#include "tests/support/image_programs.h"

namespace spdld::cut_off_test {

using test::noise;
using test::PictureChain;
using test::program_of;

namespace {

constexpr Size kPicture{1200, 1100};
const std::string kEnd = "{ op = \"center-crop\", size = [300, 280] }";

uint64_t looks = 0;
uint64_t clock_of_looks() { return ++looks * 1'000'000; }

// A thread's memory and its guard. The clock goes on by a millisecond with each look.
class Thread {
 public:
  explicit Thread(uint64_t ms_max) : guard_({.cpu_ms_max = ms_max, .cpu_ns = clock_of_looks}) {
    scratch_.set_work(nullptr, &guard_);
  }
  void end_bound() { scratch_.set_work(nullptr, nullptr); }
  std::vector<uint8_t> render(const PictureChain& program, const PixelRows& rows) {
    image::Geometry geometry;
    program.resolve(rows.picture, {3, 1, 4}, geometry);
    std::vector<uint8_t> tensor(program.tensor().bytes());
    guard_.begin();
    looks = 0;
    program.render(rows, geometry, scratch_, tensor.data());
    return tensor;
  }

 private:
  media::WorkGuard guard_;
  image::Scratch scratch_;
};

}  // namespace

TEST_CASE("operations on a large picture look at the clock while they work", "[cut-off]") {
  const std::string op = GENERATE(
      as<std::string>(), "{ op = \"brightness\", factor = 0.5 }", "{ op = \"contrast\", factor = 0.5 }",
      "{ op = \"saturation\", factor = 0.5 }", "{ op = \"grayscale\", p = 1.0 }", "{ op = \"equalize\", p = 1.0 }",
      "{ op = \"autocontrast\", p = 1.0 }", "{ op = \"posterize\", bits = 3, p = 1.0 }",
      "{ op = \"gaussian-blur\", kernel_size = 9 }", "{ op = \"gaussian-noise\" }",
      "{ op = \"rotate\", degrees = [30, 30] }", "{ op = \"perspective\", distortion_scale = 0.5, p = 1.0 }",
      "{ op = \"elastic\", alpha = 20.0, sigma = 3.0 }", "{ op = \"pad\", padding = 500, mode = \"reflect\" }",
      "{ op = \"aug-mix\" }");
  INFO(op);
  const PixelRows rows = noise(kPicture, 3);
  Thread thread(0);
  (void)thread.render(program_of(kEnd), rows);
  CHECK(looks == 0);  // a small part of a picture
  Thread bounded(1'000'000);
  (void)bounded.render(program_of(op + ", " + kEnd), rows);
  CHECK(looks > 0);
}

// In one piece, a blur's copy of a picture of 13,000 x 13,000 held its thread for longer than a second.
TEST_CASE("a copy of a whole picture looks at the clock in each part of it", "[cut-off]") {
  ByteBuffer memory;
  media::WorkGuard guard({.cpu_ms_max = 1'000'000, .cpu_ns = clock_of_looks});
  const image::AdjustedPicture picture{memory, {4000, 3000}, 3, &guard};
  std::vector<uint8_t> copy(picture.bytes());
  memory.resize(copy.size());
  for (size_t i = 0; i < copy.size(); i++) memory.data()[i] = static_cast<uint8_t>(mix_bits(i));
  guard.begin();
  looks = 0;
  picture.copy_to(copy.data());
  CHECK(looks > 10);
  CHECK(std::equal(copy.begin(), copy.end(), memory.data()));
}

TEST_CASE("an operation that is cut off says which it was", "[cut-off]") {
  const auto [op, name] =
      GENERATE(table<std::string, std::string>({{"{ op = \"elastic\", alpha = 20.0, sigma = 9.0 }", "elastic"}}));
  Thread thread(2);
  CHECK_THROWS_WITH(thread.render(program_of(op + ", " + kEnd), noise(kPicture, 3)),
                    Catch::StartsWith(name + " takes more CPU time than the operator's limit of 2 ms for a sample"));
}

TEST_CASE("a blur whose sizes tell that it can't end in time does not begin", "[cut-off]") {
  Thread thread(10);
  CHECK_THROWS_WITH(
      thread.render(program_of("{ op = \"gaussian-blur\", kernel_size = 127 }, " + kEnd), noise(kPicture, 3)),
      Catch::StartsWith("gaussian-blur would take more CPU time"));
}

TEST_CASE("what was cut off leaves no trace in the next sample", "[cut-off]") {
  const std::string op =
      GENERATE(as<std::string>(), "{ op = \"brightness\", factor = 0.5 }, { op = \"gaussian-blur\", kernel_size = 99 }",
               "{ op = \"elastic\", alpha = 20.0, sigma = 9.0 }",
               "{ op = \"posterize\", bits = 1, p = 1.0 }, { op = \"gaussian-blur\", kernel_size = 99 }");
  INFO(op);
  const PixelRows rows = noise(kPicture, 3);
  const PictureChain dear = program_of(op + ", " + kEnd);
  const PictureChain cheap =
      program_of("{ op = \"resize\", size = [310, 320] }, { op = \"sharpness\", factor = 2 }, " + kEnd);
  Thread fresh(0);
  const auto of_cheap = fresh.render(cheap, rows), of_dear = fresh.render(dear, rows);
  for (const uint64_t ms : {1, 2, 4}) {
    Thread thread(ms);
    CHECK_THROWS_AS(thread.render(dear, rows), media::WorkEnded);
    thread.end_bound();
    CHECK(thread.render(cheap, rows) == of_cheap);
    CHECK(thread.render(dear, rows) == of_dear);
  }
}

}  // namespace spdld::cut_off_test
