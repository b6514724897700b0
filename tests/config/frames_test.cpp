// decode-image with frames: its tensor, and what may stand beside it.
#include "config/checks/load.h"
#include "config/operation.h"
#include "config/picture_pixels.h"
#include "tests/config/expect.h"

namespace spdld::config::frames_test {
namespace {

std::string decode(const std::string& more = "") { return "{ op = \"decode-image\", frames = 4" + more + " }, "; }
const std::string kCrop = "{ op = \"center-crop\", size = [6, 9] }";

Signature end_of(const std::string& ops) {
  const auto loaded = load_with_ops(decode() + ops);
  INFO(loaded.sentences());
  REQUIRE(loaded);
  const OutputSpec& output = loaded.value->outputs.front();
  CHECK(picture_pixels(output.ops.front()).frames == 4);
  return follow(output.ops, start_of(output.ops), output.varying.form).end();
}

}  // namespace

TEST_CASE("frames are the first dimension of a tensor", "[config]") {
  const Signature end = end_of(kCrop);
  CHECK(end.shape() == std::vector<int64_t>{4, 6, 9, 3});
  CHECK_FALSE(layout_of(end));
  CHECK(end_of("{ op = \"resize\", size = [8, 8] }, { op = \"random-apply\", ops = [{ op = \"invert\" }] }, "
               "{ op = \"normalize\", mean = [0, 0, 0], std = [1, 1, 1], layout = \"NCHW\" }")
            .shape() == std::vector<int64_t>{4, 3, 8, 8});
}

TEST_CASE("frames are in every shape of a bucket", "[config]") {
  const Signature end = end_of("{ op = \"aspect-bucket\", sizes = [\"8x16\", \"16x8\"] }");
  CHECK(end.tensor().shapes == std::vector<std::vector<int64_t>>{{4, 8, 16, 3}, {4, 16, 8, 3}});
}

TEST_CASE("no frames are what a spec of before asks for", "[config]") {
  const auto plain = load_with_ops("{ op = \"decode-image\" }, " + kCrop);
  const auto none = load_with_ops("{ op = \"decode-image\", frames = 0 }, " + kCrop);
  REQUIRE(plain);
  REQUIRE(none);
  CHECK(canonical_json(*plain.value) == canonical_json(*none.value));
  CHECK(canonical_json(*load_with_ops(decode() + kCrop).value) != canonical_json(*plain.value));
}

TEST_CASE("what can't stand beside frames is complained about", "[config]") {
  expect_complaints(load_with_ops(decode(", frame = 2") + kCrop),
                    {{11, "output[0].ops[0].frame", "can't stand beside frames"}});
  expect_complaints(load_with_ops(decode(", fast = true") + kCrop),
                    {{11, "output[0].ops[0].fast", "can't be true beside frames"}});
  for (const char* cutting : {"five-crop", "ten-crop", "grid"})
    expect_complaints(load_with_ops(decode() + "{ op = \"" + cutting + "\", size = 6 }"),
                      {{11, "output[0].ops[1]", "can't follow several frames"}});
  expect_complaints(load_with_ops(decode() + kCrop + ", { op = \"convert\" }, { op = \"random-erasing\" }"),
                    {{11, "output[0].ops[3]", "tensor of one picture"}});
  expect_complaints(load_with_ops("{ op = \"decode-image\", frames = 1025 }, " + kCrop),
                    {{11, "output[0].ops[0].frames", "an integer from 0 to 1024"}});
  const OperationSpec decoding{"decode-image", {{"frames", Value(int64_t{4})}, {"fast", Value(false)}}, {}};
  const auto hindrance = find_operation("decode-image")->hindrance(decoding);
  REQUIRE(hindrance);
  CHECK(hindrance->parameter == "frames");
}

}  // namespace spdld::config::frames_test
