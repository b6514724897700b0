#include "tests/config/expect.h"

namespace spdld::config::pipeline_test {

TEST_CASE("a plain pipeline loads, with its defaults written out", "[config]") {
  const auto loaded = load_with_line(0, "");
  INFO(loaded.sentences());
  REQUIRE(loaded);
  const auto& spec = *loaded.value;
  CHECK(spec.name == "train");
  CHECK(spec.seed == 7);
  CHECK(spec.on_bad == OnBad::kSubstitute);
  CHECK(spec.cache == CacheForm::kAuto);
  CHECK(spec.sources[0].type == "image-folder");
  CHECK(spec.sources[0].uris.at(0) == "/data/train");
  CHECK(std::get<std::string>(spec.sources[0].parameters.at("extensions")) == "jpg,jpeg");
  CHECK(spec.order.shuffle == Shuffle::kGlobal);
  CHECK(spec.order.epochs == 2);
  CHECK(spec.batch.size == 8);
  CHECK(spec.batch.global_size == 0);
  CHECK(spec.batch.last == LastBatch::kShort);
  CHECK(spec.batch.prefetch_depth == 4);
  CHECK(spec.batch.held_max == 2);
  CHECK(spec.batch.device == "auto");
  REQUIRE(spec.outputs.size() == 1);
  CHECK(spec.outputs[0].where.line == 8);
  const auto& ops = spec.outputs[0].ops;
  REQUIRE(ops.size() == 3);  // convert is implied
  CHECK(ops[0].op == "decode-image");
  CHECK(ops[0].flag("exif"));
  CHECK(ops[1].op == "resize");
  CHECK(ops[1].numbers("size") == std::vector<double>{32, 48});
  CHECK(ops[1].flag("antialias"));
  CHECK(ops[1].where.line == 11);
  CHECK(ops[2].op == "convert");
  CHECK(ops[2].text("dtype") == "uint8");
  CHECK(ops[2].text("layout") == "NHWC");
  CHECK(ops[2].number("scale") == 1.0);
}

TEST_CASE("the whole range of each key is taken", "[config]") {
  CHECK(load_with_line(1, "name = \"0.a_b-C\""));
  CHECK(load_with_line(2, "seed = 9223372036854775807"));
  CHECK(load_with_line(2, "on_bad = \"mask\"").value->on_bad == OnBad::kMask);
  CHECK(load_with_line(2, "on_bad = \"fail\"").value->on_bad == OnBad::kFail);
  CHECK_FALSE(load_with_line(2, "on_drop = \"auto\"").value->on_drop.has_value());
  CHECK(load_with_line(2, "on_drop = \"substitute\"").value->on_drop == OnDrop::kSubstitute);
  CHECK(load_with_line(2, "on_drop = \"shorter\"").value->on_drop == OnDrop::kShorter);
  CHECK(load_with_line(2, "on_drop = \"mask\"").value->on_drop == OnDrop::kMask);
  for (const auto form : {CacheForm::kAuto, CacheForm::kOff, CacheForm::kEncoded, CacheForm::kIndexed,
                          CacheForm::kPacked, CacheForm::kDecoded})
    CHECK(load_with_line(2, "cache = \"" + std::string(cache_form_name(form)) + "\"").value->cache == form);
  CHECK(load_with_line(7, "epochs = 0\nshuffle = false").value->order.epochs == 0);
  CHECK(load_with_line(13, "size = 65536").value->batch.size == 65536);
  CHECK(load_with_line(13, "global_size = 1").value->batch.global_size == 1);
  CHECK(load_with_line(13, "size = 1\nlast = \"drop\"").value->batch.last == LastBatch::kDrop);
  CHECK(load_with_line(13, "size = 1\nlast = \"pad\"").value->batch.last == LastBatch::kPad);
  CHECK(load_with_line(13, "size = 1\nprefetch_depth = 16\nheld_max = 16\ndevice = \"cpu\""));
  for (const char* device : {"auto", "pinned", "cuda", "cuda:0", "cuda:99"})
    CHECK(load_with_line(13, "size = 1\ndevice = \"" + std::string(device) + "\"").value->batch.device == device);
}

TEST_CASE("a pipeline with a gap is refused with the gap's own sentence, at its line", "[config]") {
  const std::string first = "line 12 of train.py: transforms[1], RandomCrop: it needs args.size.";
  expect_complaints(load_with_line(1, "name = \"train\"\ngaps = [\n  \"" + first + "\",\n  \"line 9: the rest.\",\n]"),
                    {{3, "gaps[0]", first}, {4, "gaps[1]", "line 9: the rest."}});
  CHECK(load_with_line(1, "name = \"train\"\ngaps = []"));
  expect_complaints(load_with_line(1, "name = \"train\"\ngaps = \"line 12\""),
                    {{2, "gaps", "must be a list of texts"}});
  expect_complaints(load_with_line(1, "name = \"train\"\ngaps = [7]"), {{2, "gaps[0]", "must be a text"}});
}

TEST_CASE("an output is called mask unless the pipeline makes a tensor of this name", "[config]") {
  const auto named = [](const std::string& on_bad) {
    std::string text = with_line(9, "name = \"mask\"");
    return load_pipeline_toml("on_bad = \"" + on_bad + "\"\n" + text, "p.toml", "/files");
  };
  for (const char* on_bad : {"substitute", "fail"}) {
    const auto loaded = named(on_bad);
    INFO(loaded.sentences());
    REQUIRE(loaded);
    CHECK(loaded.value->outputs[0].name == "mask");
  }
  expect_complaints(named("mask"),
                    {{10, "output[0].name", "on_bad or on_drop = \"mask\" gives every batch a tensor of this name"}});
  expect_complaints(load_pipeline_toml("on_drop = \"mask\"\n" + with_line(9, "name = \"mask\""), "p.toml", "/files"),
                    {{10, "output[0].name", "on_bad or on_drop = \"mask\" gives every batch a tensor of this name"}});
}

TEST_CASE("one error in a plain pipeline is found at its key and line", "[config]") {
  struct Case {
    int line;
    std::string text;
    Expected expected;
  };
  const std::vector<Case> cases = {
      {1, "name = \"-a\"", {1, "name", "begin with a letter or digit"}},
      {1, "name = \"\"", {1, "name", "1 to 64"}},
      {1, "name = \"" + std::string(65, 'a') + "\"", {1, "name", "1 to 64"}},
      {1, "name = 3", {1, "name", "must be a text, not 3"}},
      {1, "name = \"a\\u0007\"", {1, "name", "control characters"}},
      {1, "name = \"\"\"a\nb\"\"\"", {1, "name", "control characters"}},
      {1, "", {0, "name", "is missing"}},
      {2, "seed = -1", {2, "seed", "an integer from 0 to 9223372036854775807, not -1"}},
      {2, "seed = 1.5", {2, "seed", "not 1.5"}},
      {2, "seed = 8.0", {2, "seed", "must be an integer from 0 to 9223372036854775807, not 8.0: write 8"}},
      {13, "size = 8.0", {13, "batch.size", "must be an integer from 1 to 65536, not 8.0: write 8"}},
      {13, "size = 1e3", {13, "batch.size", "not 1000.0: write 1000"}},
      {13, "size = 0.0", {13, "batch.size", "an integer from 1 to 65536, not 0.0"}},
      {2, "prefetch_depth = 2", {2, "prefetch_depth", "does not belong here, but in [batch]; known are "}},
      {13, "size = 8\nseed = 1", {14, "batch.seed", "but at the top level, before the first [table]; known"}},
      {13, "size = 8\ninclude = \"a\"", {14, "batch.include", "but in [order] or in [[sources]]; known"}},
      {13, "size = 8\nstd = 0", {14, "batch.std", "but in { op = \"normalize\" }; known"}},
      {4,
       "type = \"webdataset\"\nextensions = \"jpg\"",
       {5, "source.extensions",
        "but in [source] with type = \"image-folder\", in [source] with type = \"yolo\" or in [source] with type = "
        "\"image-pairs\"; known"}},
      {2, "cpu_budget = 2", {2, "cpu_budget", "but in [limits] of the daemon's file; known"}},
      {2, "seed = 1979-05-27", {2, "seed", "not a date or time"}},
      {2, "sede = 1", {2, "sede", "did you mean \"seed\"?"}},
      {2, "on_bad = \"skip\"", {2, "on_bad", "\"substitute\", \"mask\" or \"fail\", not \"skip\""}},
      {2, "on_drop = \"leave-out\"", {2, "on_drop", "\"substitute\", \"shorter\" or \"mask\", not \"leave-out\""}},
      {2, "on_bad = \"masks\"", {2, "on_bad", "did you mean \"mask\"?"}},
      {2,
       "cache = \"planes\"",
       {2, "cache", "\"auto\", \"off\", \"encoded\", \"indexed\", \"packed\" or \"decoded\", not \"planes\""}},
      {2, "cache = \"decode\"", {2, "cache", "did you mean \"decoded\"?"}},
      {2, "cache = false", {2, "cache", "not false"}},
      {2, "cach = \"off\"", {2, "cach", "did you mean \"cache\"?"}},
      {6, "[[order]]", {6, "order", "must be a table, not a list"}},
      {7, "epochs = -1", {7, "order.epochs", "from 0 to"}},
      {7,
       "shuffle = 1",
       {7, "order.shuffle", "must be true, false, \"global\", \"window\", \"off\" or \"client\", not 1"}},
      {7, "epoch = 1", {7, "order.epoch", "did you mean \"epochs\"?"}},
      {9, "name = \"sample_id\"", {9, "output[0].name", "every batch has that one already"}},
      {9, "name = \"0image\"", {9, "output[0].name", "begin with a letter"}},
      {9, "name = \"a b\"", {9, "output[0].name", "1 to 64 letters"}},
      {9, "", {8, "output[0].name", "is missing"}},
      {10, "", {8, "output[0].from", "is missing"}},
      {10, "from = \"imgae\"", {10, "output[0].from", "did you mean \"image\"?"}},
      {10, "from = \"image\"\nform = \"x\"", {11, "output[0].form", "did you mean \"from\"?"}},
      {11, "ops = 3", {11, "output[0].ops", "a list of operations, not an integer"}},
      {12, "[batches]", {12, "batches", "did you mean \"batch\"?"}},
      {13, "", {12, "batch.size", "size (a rank's samples a step), global_size"}},
      {13, "size = 8\nglobal_size = 8", {14, "batch.global_size", "must not stand beside size"}},
      {13, "size = 0", {13, "batch.size", "an integer from 1 to 65536, not 0"}},
      {13, "size = 65537", {13, "batch.size", "not 65537"}},
      {13, "size = \"8\"", {13, "batch.size", "not \"8\""}},
      {13, "size = 8\nlast = \"keep\"", {14, "batch.last", "\"short\", \"drop\" or \"pad\""}},
      {13, "size = 8\nprefetch_depth = 17", {14, "batch.prefetch_depth", "from 1 to 16"}},
      {13, "size = 8\nheld_max = 0", {14, "batch.held_max", "from 1 to 16"}},
      {13, "size = 8\ndevice = \"gpu\"", {14, "batch.device", "\"cuda:N\""}},
      {13, "size = 8\ndevice = \"cuda:x\"", {14, "batch.device", "\"cuda:N\" (N from 0 to 99), not"}},
      {13, "size = 8\ndevice = \"cuda:100\"", {14, "batch.device", "(N from 0 to 99), not"}},
      {13, "size = 8\ndevice = \"cuda:\"", {14, "batch.device", "\"pinned\", \"cuda\" or"}},
  };
  for (const auto& one : cases) {
    if (one.line == 12) continue;
    INFO(one.text);
    expect_complaints(load_with_line(one.line, one.text), {one.expected});
  }
  expect_complaints(load_with_line(12, "[batches]"),
                    {{0, "batch", "is missing"}, {12, "batches", "did you mean \"batch\"?"}});
}

TEST_CASE("one error in a chain of operations is found at its key", "[config]") {
  struct Case {
    std::string ops;
    Expected expected;
  };
  const std::string decode = "{ op = \"decode-image\" }, ", crop = "{ op = \"center-crop\", size = 8 }, ";
  const std::string rrc = "{ op = \"random-resized-crop\", size = 8, ";
  const std::string mean = "mean = [0, 0, 0], ", std = "std = [1, 1, 1]";
  const std::vector<Case> cases = {
      {"3", {11, "output[0].ops[0]", "must be a table such as { op = \"decode-image\" }, not an integer"}},
      {"{ }", {11, "output[0].ops[0].op", "is missing"}},
      {"{ op = 1 }", {11, "output[0].ops[0].op", "must be a text, not 1"}},
      {decode + "{ op = \"centre-crop\", size = 8 }", {11, "output[0].ops[1].op", "did you mean \"center-crop\"?"}},
      {decode + "{ op = \"shift\" }", {11, "output[0].ops[1].op", "known are \"decode-image\", \"resize\""}},
      {"{ op = \"decode-image\", exfi = true }, " + crop, {11, "output[0].ops[0].exfi", "did you mean \"exif\"?"}},
      {"{ op = \"decode-image\", exif = 1 }, " + crop, {11, "output[0].ops[0].exif", "must be true or false"}},
      {decode + "{ op = \"resize\" }",
       {11, "output[0].ops[1].size", "is missing: it must be one or two whole numbers"}},
      {decode + "{ op = \"resize\", size = 0 }", {11, "output[0].ops[1].size", "from 1 to 16384, not 0"}},
      {decode + "{ op = \"resize\", size = [8, 16385] }", {11, "output[0].ops[1].size", "not [8, 16385]"}},
      {decode + "{ op = \"resize\", size = [8, 8, 8] }", {11, "output[0].ops[1].size", "one or two"}},
      {decode + "{ op = \"resize\", size = [] }", {11, "output[0].ops[1].size", "one or two"}},
      {decode + "{ op = \"resize\", size = [8.5, 8] }", {11, "output[0].ops[1].size", "whole numbers"}},
      {decode + "{ op = \"resize\", size = [nan, 8] }", {11, "output[0].ops[1].size", "whole numbers"}},
      {decode + "{ op = \"resize\", size = [[8], 8] }", {11, "output[0].ops[1].size", "not [a list, 8]"}},
      {decode + "{ op = \"resize\", size = 8 }",
       {11, "output[0].ops", "add center-crop, random-crop, random-resized-crop, or"}},
      {decode + "{ op = \"horizontal-flip\" }", {11, "output[0].ops", "whose size is not fixed"}},
      {decode + "{ op = \"normalize\", " + mean + std + " }", {11, "output[0].ops[1]", "whose size is not fixed"}},
      {decode + rrc + "scale = [0.5, 0.1] }", {11, "output[0].ops[1].scale", "least number first"}},
      {decode + rrc + "ratio = [2, 1] }", {11, "output[0].ops[1].ratio", "least number first"}},
      {decode + rrc + "scale = [0, 1] }", {11, "output[0].ops[1].scale", "two numbers above 0 and at most 1"}},
      {decode + rrc + "scale = 1 }", {11, "output[0].ops[1].scale", "two numbers"}},
      {decode + rrc + "scale = [0.1, inf] }", {11, "output[0].ops[1].scale", "not [0.1, inf]"}},
      {decode + rrc + "ratio = [0, 1] }", {11, "output[0].ops[1].ratio", "two numbers from 0.01 to 100"}},
      {decode + rrc + "box = \"image\" }", {11, "output[0].ops[1].box", "is the name of output[0].name already"}},
      {decode + rrc + "box = \"sample_id\" }", {11, "output[0].ops[1].box", "every batch has that one"}},
      {decode + rrc + "draw = \"a b\" }", {11, "output[0].ops[1].draw", "letters, digits"}},
      {decode + rrc + "box = 4 }", {11, "output[0].ops[1].box", "must be a text"}},
      {decode + crop + "{ op = \"horizontal-flip\", p = 1.5 }", {11, "output[0].ops[2].p", "a number from 0 to 1"}},
      {decode + crop + "{ op = \"color-jitter\", hue = 0.6 }", {11, "output[0].ops[2].hue", "from -0.5 to 0.5"}},
      {decode + crop + "{ op = \"hsv-gains\", value = 1.5 }", {11, "output[0].ops[2].value", "at most 1 where"}},
      {decode + crop + "{ op = \"hsv-gains\", hue = [1.1, 0.9] }", {11, "output[0].ops[2].hue", "least number first"}},
      {decode + crop + "{ op = \"color-jitter\", hue = -0.1 }", {11, "output[0].ops[2].hue", "at least 0"}},
      {decode + crop + "{ op = \"color-jitter\", contrast = [2, 1] }",
       {11, "output[0].ops[2].contrast", "least number first"}},
      {decode + crop + "{ op = \"brightness\", factor = [2, 1] }",
       {11, "output[0].ops[2].factor", "least number first"}},
      {decode + crop + "{ op = \"jpeg\" }", {11, "output[0].ops[2].quality", "one or two whole numbers from 1 to 100"}},
      {decode + crop + "{ op = \"jpeg\", quality = [90, 40] }", {11, "output[0].ops[2].quality", "least number first"}},
      {decode + crop + "{ op = \"jpeg\", quality = 40.5 }", {11, "output[0].ops[2].quality", "whole numbers"}},
      {decode + crop + "{ op = \"gaussian-blur\", kernel_size = 4 }", {11, "output[0].ops[2].kernel_size", "odd"}},
      {decode + crop + "{ op = \"grayscale\", channels = 2 }", {11, "output[0].ops[2].channels", "must be 1 or 3"}},
      {decode + crop + "{ op = \"grayscale\", channels = 1, p = 0.5 }",
       {11, "output[0].ops[2].channels", "with p below 1"}},
      {decode + crop + "{ op = \"normalize\", " + std + " }",
       {11, "output[0].ops[2].mean", "is missing: it must be one to four"}},
      {decode + crop + "{ op = \"normalize\", " + mean + "std = [1, 0, 1] }", {11, "output[0].ops[2].std", "above 0"}},
      {decode + crop + "{ op = \"normalize\", " + mean + std + ", dtype = \"uint8\" }",
       {11, "output[0].ops[2].dtype", "\"float16\", \"bfloat16\" or \"float32\", not \"uint8\""}},
      {decode + crop + "{ op = \"normalize\", " + mean + std + ", layout = \"nchw\" }",
       {11, "output[0].ops[2].layout", "did you mean \"NCHW\"?"}},
      {decode + crop + "{ op = \"convert\", scale = 0.5 }", {11, "output[0].ops[2].scale", "must be 1 with dtype"}},
      {decode + crop + "{ op = \"convert\" }, { op = \"horizontal-flip\" }",
       {11, "output[0].ops[3]",
        "writes the tensor, which random-erasing, spec-augment, python or plugin alone can change"}},
      {decode + crop + "{ op = \"random-erasing\" }", {11, "output[0].ops[2]", "add { op = \"normalize\" }"}},
      {decode + crop + "{ op = \"convert\" }, { op = \"random-erasing\", noise = \"pixel\" }",
       {11, "output[0].ops[3]", "uint8 can't hold"}},
      {decode + crop + "{ op = \"convert\" }, { op = \"random-erasing\", value = 256 }",
       {11, "output[0].ops[3]", "a `value` that is no uint8"}},
      {decode + crop + "{ op = \"convert\" }, { op = \"random-erasing\", value = [1, 2] }",
       {11, "output[0].ops[3]", "a `value` of 2 numbers for a picture of 3 channels"}},
      {decode + crop + "{ op = \"convert\" }, { op = \"random-erasing\", scale = [0.5, 0.1] }",
       {11, "output[0].ops[3].scale", "least number first"}},
      {decode + crop +
           "{ op = \"convert\", dtype = \"float32\" }, { op = \"random-erasing\", noise = \"pixel\", value = 1 }",
       {11, "output[0].ops[3].value", "may not stand beside noise"}},
      {"{ op = \"parse-float\" }, { op = \"random-erasing\" }",
       {11, "output[0].ops[1]", "behind normalize or convert"}},
      {crop, {11, "output[0].ops[0]", "center-crop works on an image: add { op = \"decode-image\" }"}},
      {decode + decode + crop, {11, "output[0].ops[1]", "it must be the first operation"}},
      {"{ op = \"parse-int\" }, " + crop, {11, "output[0].ops[1]", "what comes before it is an integer"}},
      {"{ op = \"parse-float\", dtype = \"float16\" }", {11, "output[0].ops[0].dtype", "\"float32\" or \"float64\""}},
      {"{ op = \"parse-float\" }, { op = \"parse-int\" }",
       {11, "output[0].ops[1]",
        "writes the tensor, which random-erasing, spec-augment, python or plugin alone can change"}},
      {"{ op = \"pad-bytes\" }", {11, "output[0].ops[0].length", "an integer from 1 to 1048576"}},
      {"{ op = \"pad-bytes\", length = 1048577 }", {11, "output[0].ops[0].length", "not 1048577"}},
      {"{ op = \"pad-bytes\", length = 8.0 }", {11, "output[0].ops[0].length", "an integer"}},
      {"",
       {11, "output[0].ops", "add decode-image (with a fixed size), decode-video (with a fixed size), decode-audio"}},
  };
  for (const auto& one : cases) {
    INFO(one.ops);
    expect_complaints(load_with_ops(one.ops), {one.expected});
  }
}

TEST_CASE("chains that end in each kind of tensor load", "[config]") {
  const std::string decode = "{ op = \"decode-image\" }, ";
  CHECK(load_with_ops("{ op = \"parse-int\" }").value->outputs[0].ops.size() == 1);
  CHECK(load_with_ops("{ op = \"pad-bytes\", length = 9 }").value->outputs[0].ops[0].integer("length") == 9);
  CHECK(load_with_ops(decode + "{ op = \"random-resized-crop\", size = 8, box = \"crop\", draw = \"pair\" }"));
  // A resize by the shorter side keeps a size fixed that was fixed before.
  CHECK(load_with_ops(decode + "{ op = \"center-crop\", size = [8, 9] }, { op = \"resize\", size = 4 }"));
  const auto scaled = load_with_ops(decode +
                                    "{ op = \"center-crop\", size = 8 }, "
                                    "{ op = \"convert\", dtype = \"float32\", scale = 0.5 }");
  REQUIRE(scaled);
  CHECK(scaled.value->outputs[0].ops[2].number("scale") == 0.5);
  CHECK(scaled.value->outputs[0].ops[1].numbers("size") == std::vector<double>{8});
  const auto defaults = load_with_ops(decode + "{ op = \"random-resized-crop\", size = 8 }");
  REQUIRE(defaults);
  CHECK(defaults.value->outputs[0].ops[1].numbers("scale") == std::vector<double>{0.08, 1.0});
  CHECK(defaults.value->outputs[0].ops[1].numbers("ratio") == std::vector<double>{0.75, 4.0 / 3.0});
  CHECK(defaults.value->outputs[0].ops[1].text("box").empty());
}

TEST_CASE("class is an integer, path a name", "[config]") {
  CHECK(load_with_line(11, "[[output]]\nname = \"label\"\nfrom = \"class\"").complaints.size() ==
        1);  // image's ops went
  const auto label = load_with_line(10, "from = \"class\"");
  expect_complaints(label, {{11, "output[0].ops[0]", "what comes before it is an integer"}});
  const auto path = load_with_line(10, "from = \"path\"");
  expect_complaints(path, {{11, "output[0].ops[0]", "can't decode \"path\""}});
  const auto whole = load_pipeline_toml(with_line(11,
                                                  "ops = [{ op = \"pad-bytes\", length = 99 }]\n"
                                                  "[[output]]\nname = \"label\"\nfrom = \"class\"\n"
                                                  "[[output]]\nname = \"key\"\nfrom = \"path\"\n"
                                                  "ops = [{ op = \"pad-bytes\", length = 99 }]"),
                                        "p.toml");
  INFO(whole.sentences());
  REQUIRE(whole);
  CHECK(whole.value->outputs[1].ops.empty());
}

TEST_CASE("names of outputs are unique, also against boxes", "[config]") {
  const std::string crop = "{ op = \"random-resized-crop\", size = 8, box = \"box\" }]";
  const auto loaded = load_with_line(11, "ops = [{ op = \"decode-image\" }, " + crop +
                                             "\n[[output]]\nname = \"image\"\nfrom = \"class\""
                                             "\n[[output]]\nname = \"box\"\nfrom = \"class\"");
  expect_complaints(loaded, {{13, "output[1].name", "\"image\" is the name of output[0].name already"},
                             {16, "output[2].name", "\"box\" is the name of output[0].ops[1].box already"}});
}

TEST_CASE("all errors of a file come at once, in the order of its lines", "[config]") {
  const auto loaded = load_pipeline_toml(R"(name = "a b"
seed = "x"
colour = 1
[source]
type = "image-folder"
uri = "gs://bucket/train"
extension = "png"
[[output]]
name = "image"
from = "image"
ops = [
  { op = "decode-image" },
  { op = "random-resized-crop", size = 0, scale = [1, 0.5] },
  { op = "flip" },
]
[[output]]
name = "image"
from = "klass"
[batch]
size = -1
device = "gpu:1"
)",
                                         "bad.toml");
  expect_complaints(loaded, {{1, "name", "letters"},
                             {2, "seed", "integer"},
                             {3, "colour", "not a key that is known here"},
                             {6, "source.uri", "\"gs\" is not supported by this version"},
                             {7, "source.extension", "did you mean \"extensions\"?"},
                             {13, "output[0].ops[1].size", "from 1"},
                             {13, "output[0].ops[1].scale", "least"},
                             {14, "output[0].ops[2].op", "not a known operation"},
                             {17, "output[1].name", "already"},
                             {18, "output[1].from", "not a field of image-folder"},
                             {20, "batch.size", "from 1"},
                             {21, "batch.device", "not \"gpu:1\""}});
  CHECK(loaded.complaints[0].sentence() ==
        "bad.toml:1: name: must be 1 to 64 letters, digits, \"_\", \".\" or \"-\" and begin with a letter or digit");
  CHECK(loaded.sentences().find("\nbad.toml:21: batch.device: ") != std::string::npos);
}

TEST_CASE("an empty file lacks what a pipeline must have", "[config]") {
  expect_complaints(load_pipeline_toml("", "p.toml"), {{0, "name", "is missing"},
                                                       {0, "source", "is missing"},
                                                       {0, "output", "is missing"},
                                                       {0, "batch", "is missing"}});
  expect_complaints(
      load_pipeline_json("{\"name\":\"a\",\"source\":1,\"output\":{},\"batch\":[]}", "spec"),
      {{0, "source", "must be a table"}, {0, "output", "must be a list"}, {0, "batch", "must be a table"}});
}

TEST_CASE("outputs, operations and complaints are bounded", "[config]") {
  std::string outputs;
  for (int i = 0; i < 65; ++i) outputs += "[[output]]\nname = \"o" + std::to_string(i) + "\"\nfrom = \"class\"\n";
  const std::string head = "name = \"a\"\nbatch.size = 1\n[source]\ntype = \"image-folder\"\nuri = \"/d\"\n";
  expect_complaints(load_pipeline_toml(head + outputs, "p"), {{6, "output", "at most 64 times"}});
  outputs.resize(outputs.rfind("[[output]]"));
  expect_complaints(load_pipeline_toml(head + outputs, "p"), {{6, "output", "batches of 65 tensors"}});
  outputs.resize(outputs.rfind("[[output]]"));
  CHECK(load_pipeline_toml(head + outputs, "p"));

  std::string ops;
  for (int i = 0; i < 33; ++i) ops += "{ op = \"decode-image\" }, ";
  expect_complaints(load_with_ops(ops), {{11, "output[0].ops", "at most 32 operations"}});

  std::string unknown;
  for (int i = 0; i < 200; ++i) unknown += "k" + std::to_string(i) + " = 1\n";
  const auto many = load_pipeline_toml(unknown, "p");
  CHECK(many.complaints.size() == 100);
  CHECK(many.complaints[0].text == "has more errors than are shown");
}

TEST_CASE("pictures that are decoded fast are not kept decoded", "[config]") {
  const auto load = [](const std::string& cache, const std::string& fast) {
    return load_pipeline_toml(
        cache + with_line(11, "ops = [{ op = \"decode-image\"" + fast + " }, { op = \"resize\", size = [32, 48] }]"),
        "p.toml", "/files");
  };
  expect_complaints(load("cache = \"decoded\"\n", ", fast = true"),
                    {{12, "output[0].ops[0].fast", "write cache = \"encoded\", \"off\" or \"auto\""}});
  CHECK(load("cache = \"decoded\"\n", ", fast = false"));
  for (const std::string form : {"auto", "off", "encoded"}) CHECK(load("cache = \"" + form + "\"\n", ", fast = true"));
  const auto fast = load("", ", fast = true"), plain = load("", "");
  REQUIRE(fast);
  REQUIRE(plain);
  CHECK(fast.value->outputs[0].ops[0].flag("fast"));
  CHECK_FALSE(plain.value->outputs[0].ops[0].flag("fast"));
  CHECK(canonical_json(*fast.value) != canonical_json(*plain.value));
  // Beside other errors too.
  CHECK(load("cache = \"decoded\"\n", ", fast = 1").complaints.size() == 1);
}

}  // namespace spdld::config::pipeline_test
