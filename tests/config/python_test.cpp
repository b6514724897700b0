// The operation that calls the user's own function, and the table of the processes that run it.
#include <algorithm>

#include "config/catalogue.h"
#include "config/run_keys.h"
#include "config/segments.h"
#include "config/side_paths.h"
#include "config/text/value_type.h"
#include "tests/config/expect.h"

namespace spdld::config::python_test {
namespace {

const std::string kPicture = R"(gives = { dtype = "uint8", shape = [32, 48, 3] })";

// An operation that calls augment:blur.
std::string blur(const std::string& gives) { return R"({ op = "python", call = "augment:blur", )" + gives + " }"; }

PipelineSpec loaded(const std::string& ops, const std::string& rest = "") {
  const auto spec = load_with_line(11, "ops = [" + ops + "]\n" + rest);
  INFO(spec.sentences());
  REQUIRE(spec);
  return *spec.value;
}

Followed followed(const PipelineSpec& spec, Signature start = bytes_of(Origin::kContent), Form form = Form::kFixed) {
  return follow(spec.outputs[0].ops, std::move(start), form);
}

// What a chain of the function alone gives.
Signature given(const std::string& gives) {
  const Followed chain = followed(loaded(blur(gives)));
  INFO(chain.error);
  return chain.end();
}

void refuse(const std::string& ops, const std::string& key, const std::string& fragment) {
  INFO(ops);
  expect_complaints(load_with_ops(ops), {{11, "output[0].ops" + key, fragment}});
}

}  // namespace

TEST_CASE("a function gives bytes or a tensor, in each spelling", "[config]") {
  CHECK(given(kPicture) == tensor(DType::kUint8, {32, 48, 3}, Layout::kNhwc));
  CHECK(given(R"(gives = "uint8 [32, 48, 3]")") == given(kPicture));
  CHECK(given(R"(gives = "uint8[32,48 ,3 ]")") == given(kPicture));
  CHECK(given(R"(gives = { dtype = "int64", shape = [] })") == tensor(DType::kInt64, {}));
  CHECK(given(R"(gives = { dtype = "complex128", shape = 5 })") == tensor(DType::kComplex128, {5}));
  const auto spec = loaded(blur(kPicture));
  CHECK(spec.outputs[0].ops[0].text("gives") == "uint8 [32, 48, 3]");
  CHECK(spec.outputs[0].ops[0].text("call") == "augment:blur");
  CHECK(spec.outputs[0].ops[0].text("code").empty());
  const auto png =
      loaded(blur(R"(gives = "bytes")") + R"(, { op = "decode-image" }, { op = "resize", size = [8, 8] })");
  const Followed chain = followed(png);
  CHECK(chain.along[1] == bytes_of(Origin::kContent));
  CHECK(chain.end() == tensor(DType::kUint8, {8, 8, 3}, Layout::kNhwc));
}

TEST_CASE("a function gives every type that a batch may have", "[config]") {
  for (size_t i = 0; i < kDTypeCount; ++i) {
    const std::string name(dtype_name(static_cast<DType>(i)));
    INFO(name);
    CHECK(given("gives = { dtype = \"" + name + "\", shape = [7, 2] }") == tensor(static_cast<DType>(i), {7, 2}));
  }
}

TEST_CASE("a tensor that may be a picture counts as one", "[config]") {
  const auto layout = [](const std::string& dtype, const std::string& shape) {
    const std::string gives = "gives = { dtype = \"" + dtype + "\", shape = " + shape + " }";
    const auto spec =
        load_with_line(11, "ops = [" + blur(gives) + "]" + (shape[1] == '-' ? "\nragged = true\nlength_max = 9" : ""));
    INFO(spec.sentences());
    REQUIRE(spec);
    return layout_of(followed(*spec.value, bytes_of(Origin::kContent), spec.value->outputs[0].varying.form).end());
  };
  for (const char* channels : {"1", "3", "4"}) {
    INFO(channels);
    CHECK(layout("uint8", "[20, 30, " + std::string(channels) + "]") == Layout::kNhwc);
    CHECK(layout("float32", "[" + std::string(channels) + ", 20, 30]") == Layout::kNchw);
  }
  for (const char* dtype : {"uint8", "uint16", "float16", "bfloat16", "float32"})
    CHECK(layout(dtype, "[3, 20, 3]") == Layout::kNhwc);
  for (const char* dtype : {"float64", "int64", "int8", "bool", "complex64"}) CHECK_FALSE(layout(dtype, "[20, 30, 3]"));
  for (const char* shape : {"[20, 30]", "[20, 30, 2]", "[2, 30, 5]", "[-1, 30, 3]", "[9, 20, 30, 3]", "[]"})
    CHECK_FALSE(layout("uint8", shape));
  const auto erased = loaded(blur(kPicture) + R"(, { op = "random-erasing" })");
  CHECK(followed(erased).end() == tensor(DType::kUint8, {32, 48, 3}, Layout::kNhwc));
  refuse(blur(R"(gives = { dtype = "uint8", shape = [32, 48, 2] })") + R"(, { op = "random-erasing" })", "[1]",
         "one picture of one size");
}

TEST_CASE("a function takes bytes, a tensor, a picture or a sound as its tensor, and an integer", "[config]") {
  const auto names = [](const PipelineSpec& spec) {
    std::vector<std::string> all;
    for (const OperationSpec& op : spec.outputs[0].ops) all.push_back(op.op);
    return all;
  };
  const auto picture = loaded(R"({ op = "decode-image" }, )" + blur(kPicture));
  CHECK(names(picture) == std::vector<std::string>{"decode-image", "convert", "python"});
  const Signature takes = followed(picture).along[2];
  CHECK(takes.dtype() == DType::kUint8);
  CHECK(takes.dimensions == std::vector<Dimension>{Dimension(), Dimension(), Dimension(3)});
  const auto sound = loaded(R"({ op = "decode-audio" }, )" + blur(kPicture));
  CHECK(names(sound).size() == 3);
  CHECK(followed(sound).along[2].kind() == SignatureKind::kTensor);
  const auto two = loaded(blur(R"(gives = "bytes")") + ", " + blur(kPicture));
  CHECK(names(two) == std::vector<std::string>{"python", "python"});
  CHECK(segments_of(two.outputs[0].ops).size() == 3);
  CHECK(segments_of(two.outputs[0].ops)[1] == Segment{kUserExecutor, 0, 2});
  const auto number = load_with_line(10, "from = \"class\"");
  CHECK_FALSE(number);  // decode-image
  const auto from_class = load_pipeline_toml(
      "name = \"p\"\n[source]\ntype = \"image-folder\"\nuri = \"/d\"\n[[output]]\nname = \"y\"\nfrom = \"class\"\n"
      "ops = [" +
          blur(kPicture) + "]\n[batch]\nsize = 4\n",
      "p.toml");
  INFO(from_class.sentences());
  REQUIRE(from_class);
  CHECK(followed(*from_class.value, integer()).error.empty());
  CHECK(start_of(picture.outputs[0].ops) == bytes_of(Origin::kContent));
  CHECK(start_of(two.outputs[0].ops) == bytes_of(Origin::kContent));
  CHECK_THAT(
      follow(std::vector{picture.outputs[0].ops[0], picture.outputs[0].ops[2]}, bytes_of(Origin::kContent)).error,
      Catch::Contains("takes bytes, integer or tensor, and what comes before it is an image"));
}

TEST_CASE("samples of a function may differ in their first dimension", "[config]") {
  const std::string gives = R"(gives = { dtype = "float32", shape = [-1, 80] })";
  const auto spec = loaded(blur(gives), "pad = \"longest\"\nlength_max = 100");
  CHECK(followed(spec, bytes_of(Origin::kContent), Form::kPadded).end() ==
        tensor(DType::kFloat32, {Dimension(), Dimension(80)}));
  refuse(blur(gives), "", "differ in length: add pad = \"longest\"");
  refuse(blur(R"(gives = { dtype = "float32", shape = [-1, -1] })"), "[0].gives.shape", "-1 in the first place alone");
  refuse(blur(R"(gives = { dtype = "uint8", shape = [224, -1, 3] })"), "[0].gives.shape", "no other one");
  refuse(blur(R"(gives = { dtype = "uint8", shape = [-1, -1, 3] })"), "[0].gives.shape", "no other one");
}

TEST_CASE("what a function gives must be said, and must make sense", "[config]") {
  const std::string example = R"({ dtype = "uint8", shape = [224, 224, 3] })";
  refuse(R"({ op = "python", call = "augment:blur" })", "[0].gives",
         "is missing: it must be \"bytes\", or a table such as " + example);
  refuse(R"({ op = "decode-image" }, { op = "python", call = "a:b" }, { op = "random-erasing" })", "[1].gives",
         "is missing");
  for (const char* wrong :
       {"\"tensor\"", "\"\"", "7", "[224, 224, 3]", "true", "\"uint8\"", "\"uint8 3\"", "\"uint8 [3\"",
        "\"uint8 [3,]\"", "\"uint8 [3] \"", "\"float [3]\"", "\"uint8 [0]\"", "\"uint8 [3, -1]\"", "\"uint8 [x]\"",
        "\"[3]\"", "\"uint8 [1, 1, 1, 1, 1, 1, 1, 1]\"", "\"uint8 [99999999999999999999]\"", "\"Bytes\""})
    refuse(blur(std::string("gives = ") + wrong), "[0].gives", "must be \"bytes\", or a table such as " + example);
  refuse(blur(R"(gives = { shape = [3] })"), "[0].gives.dtype", "is missing");
  refuse(blur(R"(gives = { dtype = "uint8" })"), "[0].gives.shape", "is missing");
  refuse(blur(R"(gives = { dtype = "uint9", shape = [3] })"), "[0].gives.dtype", "did you mean \"uint8\"");
  refuse(blur(R"(gives = { dtype = "uint8", shape = [3], layout = "NHWC" })"), "[0].gives.layout",
         "known are dtype, shape");
  refuse(blur(R"(gives = { dtype = "uint8", shape = [3, 0] })"), "[0].gives.shape", "dimensions from 1 on");
  refuse(blur(R"(gives = { dtype = "uint8", shape = [2.5] })"), "[0].gives.shape", "whole numbers from -1");
  refuse(blur(R"(gives = { dtype = "uint8", shape = [-2] })"), "[0].gives.shape", "whole numbers from -1");
  refuse(blur(R"(gives = { dtype = "uint8", shape = [1, 1, 1, 1, 1, 1, 1, 1] })"), "[0].gives.shape", "no to 7");
  refuse(blur(R"(gives = { dtype = "uint8", shape = [65536, 65536] })"), "[0].gives.shape",
         "at most 268435456 elements");
  refuse(blur(R"(gives = { dtype = "uint8", shape = [1024, 1024, 1024] })"), "[0].gives.shape", "at most 268435456");
  refuse(blur(R"(gives = { dtype = "uint8", shape = [-1, 268435456, 2] })"), "[0].gives.shape", "at most 268435456");
  CHECK(given(R"(gives = { dtype = "uint8", shape = [16384, 16384] })").shape() == std::vector<int64_t>{16384, 16384});
  CHECK(given(R"(gives = { dtype = "uint8", shape = [1, 1, 1, 1, 1, 1, 1] })").dimensions.size() == 7);
  refuse(blur(R"(gives = "bytes")"), "", "gives bytes of any length");
}

TEST_CASE("a chain with a wrong `gives` is told of that alone", "[config]") {
  const std::string wrong = R"({ op = "python", call = "a:b", gives = "nothing" })";
  for (const char* behind : {"", R"(, { op = "random-erasing" })", R"(, { op = "decode-image" })"})
    refuse(wrong + behind, "[0].gives", "must be");
  expect_complaints(load_with_line(11, "ops = [" + wrong + "]\npad = \"longest\"\nlength_max = 9"),
                    {{11, "output[0].ops[0].gives", "must be"}});
}

TEST_CASE("a function is named by its module and its name", "[config]") {
  const auto call = [](const std::string& name, const std::string& more = "") {
    return R"({ op = "python", call = ")" + name + "\", " + more + kPicture + " }";
  };
  for (const char* name : {"augment:blur", "a.b.c:D.e.f", "_x1:_y2", "größe:maß"})
    CHECK(loaded(call(name)).outputs[0].ops[0].text("call") == name);
  for (const char* name : {"", ":", "a:", ":b", "a:b:c", "a.:b", ".a:b", "a..b:c", "a:b.", "1a:b", "a:1b", "a b:c",
                           "a:b()", "a-b:c", "a/b:c", "a:<lambda>", "a-b", "a b"})
    refuse(call(name), "[0].call", "must be \"module:function\", such as \"augment:blur\"");
  for (const char* name : {"blur", "augment.blur"})
    refuse(call(name), "[0].call", std::string("must name the module too, such as \"augment:") + name);
  CHECK(loaded(call("blur", "code = \"0f\", ")).outputs[0].ops[0].text("code") == "0f");
  refuse(call("a b", "code = \"0f\", "), "[0].call", "must be \"module:function\"");
  const std::string most = "a:" + std::string(254, 'b');
  CHECK(loaded(call(most)).outputs[0].ops[0].text("call") == most);
  refuse(call(most + "b"), "[0].call", "at most 256 bytes, not 257");
  CHECK(loaded(call("a:b", "code = \"" + std::string(64, 'f') + "\", ")).outputs[0].ops[0].text("code").size() == 64);
  for (const std::string& code : {std::string(65, 'f'), std::string("0x1"), std::string("AB"), std::string("g")})
    refuse(call("a:b", "code = \"" + code + "\", "), "[0].code",
           "at most 64 of the digits 0 to 9 and a to f: leave it out");
  refuse("{ op = \"python\", " + kPicture + " }", "[0].call", "is missing");
  refuse(R"({ op = "random-apply", ops = [{ op = "python", call = "a:b", gives = "bytes" }] })", "[0].ops[0]",
         "can't be python");
}

TEST_CASE("a function, what it gives and its code decide the bytes; its processes do not", "[config]") {
  const std::string text = canonical_json(loaded(blur(kPicture)));
  CHECK(canonical_json(loaded(blur(R"(gives = "uint8 [32,48,3]")"))) == text);
  CHECK(canonical_json(loaded(blur(R"(gives = { shape = [32, 48, 3.0], dtype = "uint8" })"))) == text);
  CHECK(canonical_json(loaded(blur(R"(gives = { dtype = "uint8", shape = [32, 48, 1] })"))) != text);
  CHECK(canonical_json(loaded(blur("code = \"ab\", " + kPicture))) != text);
  CHECK(canonical_json(loaded(R"({ op = "python", call = "augment:sharpen", )" + kPicture + " }")) != text);
  const auto tuned =
      loaded(blur(kPicture), "[python]\nprocesses = 3\ncall_limit_s = 0.5\nmemory = 4096\nscratch = \"2 MiB\"");
  CHECK(canonical_json(tuned) == text);
  const auto keys = run_keys(tuned);
  const auto has = [&](std::string_view path) {
    return std::ranges::any_of(keys, [&](const RunKey& key) { return key.path == path; });
  };
  CHECK(has("output/image/ops/python/code"));
  CHECK(has("output/image/ops/python/gives"));
  CHECK_FALSE(has("python/processes"));
  const auto again = load_pipeline_json(full_json(tuned), "again");
  INFO(again.sentences());
  REQUIRE(again);
  CHECK(full_json(*again.value) == full_json(tuned));
  CHECK(again.value->python.processes == 3);
  CHECK(again.value->python.call_limit_s == 0.5);
  CHECK(again.value->python.memory_bytes_max == 4096);
  CHECK(again.value->python.scratch_bytes == 2u << 20);
}

TEST_CASE("a dict in Python, as JSON, may say what a function gives by a table", "[config]") {
  const auto json = load_pipeline_json(
      R"({"name": "train", "seed": 7, "source": {"type": "image-folder", "uri": "/data/train"}, "order": {"epochs": 2},)"
      R"("output": [{"name": "image", "from": "image", "ops": [{"op": "python", "call": "augment:blur",)"
      R"("gives": {"dtype": "uint8", "shape": [32, 48, 3]}}]}], "batch": {"size": 8}, "python": {"processes": 2}})",
      "spec");
  INFO(json.sentences());
  REQUIRE(json);
  CHECK(full_json(*json.value) == full_json(loaded(blur(kPicture), "[python]\nprocesses = 2")));
}

TEST_CASE("the table of processes has bounds and defaults", "[config]") {
  const auto plain = loaded(blur(kPicture)).python;
  CHECK(plain.processes == 0);
  CHECK(plain.call_limit_s == 60);
  CHECK(plain.memory_bytes_max == 0);
  CHECK(plain.scratch_bytes == 256u << 20);
  const auto with = [](const std::string& line) {
    return load_with_line(11, "ops = [" + blur(kPicture) + "]\n[python]\n" + line);
  };
  for (const char* right : {"processes = 256", "call_limit_s = 3600", "call_limit_s = 0.001", "memory = \"0\"",
                            "memory = 0", "memory = \"1 GiB\"", "scratch = \"1 MiB\"", "scratch = \"16 GiB\"", ""}) {
    INFO(right);
    CHECK(with(right));
  }
  const std::pair<const char*, Expected> wrong[] = {
      {"processes = 257", {13, "python.processes", "from 0 to 256"}},
      {"processes = -1", {13, "python.processes", "from 0 to 256"}},
      {"call_limit_s = 0", {13, "python.call_limit_s", "above 0 and at most 3600"}},
      {"call_limit_s = 3601", {13, "python.call_limit_s", "above 0 and at most 3600"}},
      {"memory = \"lots\"", {13, "python.memory", "a size such as"}},
      {"scratch = \"1023 KiB\"", {13, "python.scratch", "from 1048576"}},
      {"scratch = \"17 GiB\"", {13, "python.scratch", "to 17179869184"}},
      {"workers = 2", {13, "python.workers", "known are processes, call_limit_s, memory, scratch"}},
      {"prefetch_depth = 2", {13, "python.prefetch_depth", "in [batch]"}}};
  for (const auto& [line, expected] : wrong) {
    INFO(line);
    expect_complaints(with(line), {expected});
  }
  expect_complaints(load_with_line(2, "python = 3"),
                    {{2, "python", "must be a table"}, {2, "python", "no output or source has any"}});
  expect_complaints(load_with_line(2, "call_limit_s = 3"), {{2, "call_limit_s", "in [python]"}});
}

TEST_CASE("a table of processes without a function for them is refused", "[config]") {
  expect_complaints(
      load_with_line(13, "size = 8\n[python]"),
      {{14, "python",
        "no output or source has any: write { op = \"python\" } where an operation is meant, or take the table out"}});
  expect_complaints(load_with_line(11, "ops = [{ op = \"pyton\" }]\n[python]"),
                    {{11, "output[0].ops[0].op", "did you mean \"python\""}});
}

TEST_CASE("a pipeline tells whether an executor has work in it", "[config]") {
  CHECK(uses_executor(loaded(R"({ op = "decode-image" }, )" + blur(kPicture)).outputs, kUserExecutor));
  const auto plain = load_with_line(0, "");
  REQUIRE(plain);
  CHECK_FALSE(uses_executor(plain.value->outputs, kUserExecutor));
  CHECK(uses_executor(plain.value->outputs, ""));
  CHECK_FALSE(uses_executor(loaded(blur(kPicture)).outputs, "workshop"));
}

TEST_CASE("the memory of samples for functions counts as their user's", "[config]") {
  CHECK(side_bytes_max_of(loaded(blur(kPicture))) == 256u << 20);
  PipelineSpec small = loaded(blur(kPicture));
  small.python.scratch_bytes = 3u << 20;
  CHECK(side_bytes_max_of(small) == 4u << 20);  // pieces are divided by halving
  const auto plain = load_with_line(0, "");
  REQUIRE(plain);
  CHECK(side_bytes_max_of(*plain.value) == 0);
}

TEST_CASE("the help says what a function takes and gives", "[config]") {
  CHECK_THAT(operations_text(), Catch::Contains("\n  python  (anything -> bytes or tensor)\n"));
  CHECK_THAT(operations_text(), Catch::Contains("gives: \"bytes\", or a table such as"));
  CHECK_THAT(operations_text(), Catch::Contains("\n  decode-image  (bytes -> image)\n"));
  CHECK(kinds_name({SignatureKind::kBytes, SignatureKind::kInteger, SignatureKind::kTensor}) ==
        "bytes, integer or tensor");
}

TEST_CASE("a function takes bunches of samples, or has several calls under way", "[config]") {
  const auto spec = loaded(blur(kPicture + ", batch = 64"));
  CHECK(bunch_of(spec.outputs[0].ops[0]) == 64);
  CHECK(in_flight_of(spec.outputs[0].ops[0]) == 0);
  const auto async = loaded(blur(kPicture + ", in_flight = 64"));
  CHECK(bunch_of(async.outputs[0].ops[0]) == 0);
  CHECK(in_flight_of(async.outputs[0].ops[0]) == 64);
  CHECK(bunch_of(loaded(blur(kPicture)).outputs[0].ops[0]) == 0);
  refuse(blur(kPicture + ", batch = 65"), "[0].batch", "must be an integer from 0 to 64, not 65");
  refuse(blur(kPicture + ", in_flight = -1"), "[0].in_flight", "must be an integer from 0 to 64, not -1");
  refuse(blur(kPicture + ", batch = 8, in_flight = 8"), "[0].in_flight",
         "is for a function that is given one sample, and batch gives it several: leave one of the two out");
}

TEST_CASE("how calls are divided is no part of a run", "[config]") {
  const auto deciding = [](const std::string& more) { return canonical_json(loaded(blur(kPicture + more))); };
  CHECK(deciding(", batch = 64") == deciding(""));
  CHECK(deciding(", in_flight = 2") == deciding(""));
  CHECK_FALSE(deciding(", code = \"0f3a0f3a0f3a0f3a0f3a0f3a0f3a0f3a\"") == deciding(""));
}

TEST_CASE("an operation on bunches has a segment of its own", "[config]") {
  const std::string one = blur(R"(gives = "bytes")"), bunch = blur(R"(gives = "bytes", batch = 4)");
  const auto counts = [](const std::string& ops) {
    std::vector<size_t> found;
    const PipelineSpec spec = loaded(ops + ", " + blur(kPicture));
    for (const Segment& segment : segments_of(spec.outputs[0].ops)) found.push_back(segment.count);
    return found;
  };
  CHECK(counts(one + ", " + one) == std::vector<size_t>{0, 3, 0});
  CHECK(counts(bunch) == std::vector<size_t>{0, 1, 0, 1, 0});
  CHECK(counts(one + ", " + bunch + ", " + bunch + ", " + one) == std::vector<size_t>{0, 1, 0, 1, 0, 1, 0, 2, 0});
}

}  // namespace spdld::config::python_test
