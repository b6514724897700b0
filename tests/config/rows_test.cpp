// [rows]: how rows are made of records, and what goes beside it.
#include "config/rows.h"
#include "tests/config/expect.h"

namespace spdld::config::rows_test {
namespace {

// [rows] is on lines 5 to 8 and what follows; the output's operations stand on their own line after it.
std::string pictures(const std::string& rows, const std::string& ops = "{ op = \"decode-image\" }, { op = \"tile\" }",
                     const std::string& rest = "") {
  return "name = \"t\"\n[source]\ntype = \"image-folder\"\nuri = \"/d\"\n[rows]\n" + rows +
         "\n[[output]]\nname = \"image\"\nfrom = \"image\"\nops = [" + ops + "]\n" + rest + "[batch]\nsize = 8\n";
}

std::string documents(const std::string& rows, const std::string& rest = "") {
  return "name = \"t\"\n[source]\ntype = \"webdataset\"\nuri = \"/d.tar\"\n[rows]\n" + rows +
         "\n[[output]]\nname = \"text\"\nfrom = \"txt\"\nops = [{ op = \"pad-bytes\", length = 8 }]\n" + rest +
         "[batch]\nsize = 8\n";
}

PipelineSpec loaded(const std::string& toml) {
  const auto spec = load_pipeline_toml(toml, "p.toml");
  INFO(toml << spec.sentences());
  REQUIRE(spec);
  const auto again = load_pipeline_json(full_json(*spec.value), "again");
  INFO(again.sentences());
  REQUIRE(again);
  CHECK(full_json(*again.value) == full_json(*spec.value));
  CHECK(canonical_json(*again.value) == canonical_json(*spec.value));
  return *spec.value;
}

// The only complaint is about this key and holds this text.
void refused(const std::string& toml, const std::string& key, const std::string& fragment) {
  const auto spec = load_pipeline_toml(toml, "p.toml");
  INFO(toml << spec.sentences());
  CHECK_FALSE(spec);
  REQUIRE(spec.complaints.size() == 1);
  CHECK(spec.complaints[0].key == key);
  CHECK_THAT(spec.complaints[0].text, Catch::Contains(fragment));
}

std::string videos(const std::string& rows, const std::string& clip = "frames = 8, stride = 2, pick = \"row\"",
                   const std::string& rest = "") {
  return pictures("kind = \"clips\"\nfrom = \"image\"\n" + rows,
                  "{ op = \"decode-video\", " + clip + " }, { op = \"resize\", size = [8, 8] }", rest);
}

const std::string kTiles = "kind = \"tiles\"\nfrom = \"image\"\nsize = [16, 24]";
const std::string kWindows = "kind = \"windows\"\nfrom = \"txt\"\nlength = 8";
const std::string kPacked = "kind = \"packed\"\nfrom = \"txt\"\nlength = 8";

}  // namespace

TEST_CASE("tiles have a size, a stride that is the size by default, and an operation that knows it", "[config]") {
  const PipelineSpec spec = loaded(pictures(kTiles));
  CHECK(spec.rows.kind == RowKind::kTiles);
  CHECK(spec.rows.from == "image");
  CHECK((spec.rows.height == 16 && spec.rows.width == 24 && spec.rows.stride_y == 16 && spec.rows.stride_x == 24));
  CHECK(spec.rows.keeps_partial);
  CHECK(spec.outputs[0].ops[1].numbers("size") == std::vector<double>{16, 24});
  CHECK(tiles_are_upright(spec));
  const PipelineSpec other = loaded(pictures(kTiles + "\nstride = [4, 6]\npartial = \"drop\"",
                                             "{ op = \"decode-image\", exif = false }, { op = \"tile\" }"));
  CHECK((other.rows.stride_y == 4 && other.rows.stride_x == 6 && !other.rows.keeps_partial));
  CHECK_FALSE(tiles_are_upright(other));
  CHECK(canonical_json(other) != canonical_json(spec));
  loaded(pictures(kTiles, "{ op = \"decode-image\" }, { op = \"tile\", size = [16, 24] }",
                  "[[output]]\nname = \"x\"\nfrom = \"row.x\"\n[[output]]\nname = \"part\"\nfrom = \"row.part\"\n"));
}

TEST_CASE("windows and packed rows have a length", "[config]") {
  const PipelineSpec windows = loaded(documents(kWindows));
  CHECK((windows.rows.length == 8 && windows.rows.stride == 8 && !windows.rows.separator));
  CHECK(loaded(documents(kWindows + "\nstride = 5")).rows.stride == 5);
  CHECK(loaded(documents(kPacked)).rows.kind == RowKind::kPacked);
  const PipelineSpec parted = loaded(documents(kPacked + "\nseparator = 0"));
  CHECK(parted.rows.separator == uint8_t{0});
  CHECK(canonical_json(parted) != canonical_json(loaded(documents(kPacked))));
  loaded(documents(kPacked, "[[output]]\nname = \"first\"\nfrom = \"row.first\"\n"));
}

TEST_CASE("clips have the frames that decode-video says", "[config]") {
  const RowsSpec rows = loaded(videos("")).rows;
  CHECK((rows.clip_frames == 8 && rows.clip_step == 8 && rows.frame_stride == 2 && rows.fps == 0));
  const RowsSpec overlapping =
      loaded(videos("step = 3\npartial = \"drop\"", "frames = 4, fps = 2.5, pick = \"row\"")).rows;
  CHECK((overlapping.clip_frames == 4 && overlapping.clip_step == 3 && overlapping.fps == 2.5));
  // Another clip of the same video begins at the same moment, and has frames of its own.
  const std::string other =
      "[[output]]\nname = \"b\"\nfrom = \"image\"\nops = [{ op = \"decode-video\", frames = 2, stride = 8, "
      "pick = \"row\" }, { op = \"resize\", size = [8, 8] }]\n";
  CHECK(loaded(videos("", "frames = 8, stride = 2, pick = \"row\"", other)).rows.clip_frames == 8);
  loaded(videos("", "frames = 8, stride = 2, pick = \"row\"", "[[output]]\nname = \"part\"\nfrom = \"row.part\"\n"));
}

TEST_CASE("what clips can't be is refused", "[config]") {
  refused(videos("step = 9"), "rows.step", "at most the 8 frames of a clip");
  refused(videos("step = 0"), "rows.step", "from 1 to 1024");
  refused(videos("length = 9"), "rows.length", "does not go with kind = \"clips\"");
  refused(documents(kWindows + "\nstep = 9"), "rows.step", "does not go with kind = \"windows\"");
  refused(videos("", "frames = 8"), "rows.from", "begins with decode-video and pick = \"row\"");
  refused(videos("", "frames = 8, clips = 2, pick = \"row\""), "output[0].ops[0].clips", "takes the row's clip");
  refused(videos("", "frames = 8, key_frames = true, pick = \"row\""), "output[0].ops[0].key_frames", "all frames");
  refused(
      "name = \"t\"\n[source]\ntype = \"webdataset\"\nuri = \"/d.tar\"\n[rows]\nkind = \"clips\"\nfrom = \"mp4\"\n"
      "[[output]]\nname = \"clip\"\nfrom = \"mp4\"\nops = [{ op = \"decode-video\", frames = 8, pick = \"row\", "
      "start = \"part\" }, { op = \"resize\", size = [8, 8] }]\n[[output]]\nname = \"part\"\nfrom = \"txt\"\n"
      "ops = [{ op = \"parse-float\" }]\n[batch]\nsize = 8\n",
      "output[0].ops[0].start", "takes clips of whole videos");
  refused(videos("", "frames = 8, pick = \"row\", beyond = \"bad\""), "output[0].ops[0].beyond", "partial = \"keep\"");
  loaded(videos("partial = \"drop\"", "frames = 8, pick = \"row\", beyond = \"bad\""));
  refused(
      videos("", "frames = 8, pick = \"row\"",
             "[[output]]\nname = \"b\"\nfrom = \"image\"\nops = [{ op = \"decode-video\", frames = 2, fps = 8, pick = "
             "\"row\" }, { op = \"resize\", size = [8, 8] }]\n"),
      "output[1].ops[0]", "must have fps where the first output");
  refused(with_line(
              11, "ops = [{ op = \"decode-video\", frames = 2, pick = \"row\" }, { op = \"resize\", size = [8, 8] }]"),
          "output[0].ops[0].pick", "without [rows] with kind = \"clips\"");
}

TEST_CASE("a pipeline without [rows] says nothing of them", "[config]") {
  const auto spec = load_pipeline_toml(with_line(1, "name = \"a\""), "p.toml");
  REQUIRE(spec);
  CHECK_FALSE(spec.value->rows.is_on());
  CHECK(full_json(*spec.value).find("rows") == std::string::npos);
}

TEST_CASE("what [rows] can't be is refused at its key", "[config]") {
  refused(pictures("kind = \"slices\"\nfrom = \"image\""), "rows.kind",
          "\"tiles\", \"clips\", \"windows\" or \"packed\"");
  refused(pictures("kind = \"tiles\"\nfrom = \"image\""), "rows.size", "is missing");
  refused(documents("kind = \"windows\"\nfrom = \"txt\""), "rows.length", "is missing");
  refused(pictures(kTiles + "\nlength = 4"), "rows.length", "does not go with kind = \"tiles\"");
  refused(documents(kWindows + "\nseparator = 4"), "rows.separator", "does not go with kind = \"windows\"");
  refused(documents(kPacked + "\nstride = 4"), "rows.stride", "does not go with kind = \"packed\"");
  refused(documents(kPacked + "\nseparator = 256"), "rows.separator", "from 0 to 255");
  refused(pictures(kTiles + "\nstride = [17, 24]"), "rows.stride", "at most size");
  refused(documents(kWindows + "\nstride = 9"), "rows.stride", "at most length");
  refused(documents(kWindows + "\nstride = [2, 3]"), "rows.stride", "one number");
  refused(documents(kWindows + "\ndepth = 1"), "rows.depth", "is not a key that is known here");
  refused(documents("kind = \"windows\"\nfrom = \"path\"\nlength = 8"), "rows.from", "bytes of its own");
}

TEST_CASE("what does not go beside [rows] is refused", "[config]") {
  refused(pictures(kTiles, "{ op = \"decode-image\" }, { op = \"center-crop\", size = 8 }"), "rows.from", "\"tile\"");
  refused(pictures(kTiles, "{ op = \"decode-image\" }, { op = \"horizontal-flip\" }, { op = \"tile\" }"),
          "output[0].ops[2]", "right behind decode-image");
  refused(pictures(kTiles, "{ op = \"decode-image\" }, { op = \"tile\", size = 16 }"), "output[0].ops[1].size",
          "the size that [rows] has");
  refused(with_line(11, "ops = [{ op = \"decode-image\" }, { op = \"tile\" }]"), "output[0].ops[1]", "needs [rows]");
  refused(with_line(11, "ops = [{ op = \"decode-image\" }, { op = \"tile\", size = 8 }]"), "output[0].ops[1]",
          "needs [rows]");
  refused(pictures(kTiles, "{ op = \"decode-image\" }, { op = \"tile\" }",
                   "[[output]]\nname = \"b\"\nfrom = \"image\"\nops = [{ op = \"decode-image\", exif = false }, "
                   "{ op = \"tile\" }]\n"),
          "rows.from", "turned by exif in one output");
  refused(documents(kPacked, "[[output]]\nname = \"label\"\nfrom = \"cls\"\nops = [{ op = \"parse-int\" }]\n"),
          "output[1].from", "made of several records");
  refused(documents(kPacked, "[order]\ninclude = \"/a.txt\"\n"), "rows.kind",
          "include, exclude, part, weights or where");
  refused(documents(kPacked, "[order]\npart = { fraction = 0.5 }\n"), "rows.kind",
          "include, exclude, part, weights or where");
  refused(documents(kWindows, "[[output]]\nname = \"v\"\nfrom = \"txt:a\"\ndtype = \"int64\"\n"), "output[1].from",
          "[rows] cuts this field");
}

}  // namespace spdld::config::rows_test
