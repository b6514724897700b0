// Good samples of whose sound a tag was left out are counted, with the last one's id.
#include <catch2/catch.hpp>

#include "daemon/pipeline/plan.h"
#include "tests/media/audio/chains.h"
#include "tests/media/audio/sounds.h"
#include "tests/pipeline/fake_source.h"

namespace spdld::trimmed_test {

TEST_CASE("samples of whose sound a tag was left out are counted") {
  const std::string wav = test::wav_of(test::rising_tones(44'100, 2, 1), 44'100, 2);
  const std::string sound = test::by_ffmpeg(wav, "wav", "", "mp3");
  REQUIRE(!sound.empty());
  config::PipelineSpec spec;
  spec.outputs.push_back({"wave", "text", {}, {}});
  spec.outputs[0].ops = {test::operation("decode-audio", {{"samples", int64_t{1000}}}),
                         test::operation("convert-audio", {})};
  const test::FakeListing listing(9);
  const pipeline::Plan plan(spec, listing);
  const batch::Layout layout(plan.tensors(), 1, 1 << 20);
  std::vector<uint8_t> slot(layout.slot_bytes());
  pipeline::DecodeContext context;
  const auto run = [&](uint64_t sample, const std::string& text) {
    pipeline::FieldBytes field;
    field.bytes = test::bytes_of(text);
    return plan.run({listing, sample, {&field, 1}}, {}, context, {layout, slot.data(), 0});
  };
  REQUIRE(run(3, sound));
  CHECK(plan.trimmed().samples.value() == 0);
  REQUIRE(run(4, sound + std::string(5000, '\0')));
  REQUIRE(run(5, sound));
  CHECK(plan.trimmed().samples.value() == 1);
  CHECK(plan.trimmed().last == 4);
  CHECK(!run(6, "no sound"));
  CHECK(plan.trimmed().samples.value() == 1);
}

}  // namespace spdld::trimmed_test
