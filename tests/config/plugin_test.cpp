// The operation that calls a plug-in in C.
#include <algorithm>

#include "config/catalogue.h"
#include "config/run_keys.h"
#include "config/segments.h"
#include "tests/config/expect.h"

namespace spdld::config::plugin_test {
namespace {

const std::string kGives = R"(gives = { dtype = "uint8", shape = [32, 48, 3] })";

std::string blur(const std::string& more) {
  return R"({ op = "plugin", library = "libblur.so", call = "blur", )" + more + " }";
}

PipelineSpec loaded(const std::string& ops) {
  const auto spec = load_with_line(11, "ops = [" + ops + "]");
  INFO(spec.sentences());
  REQUIRE(spec);
  return *spec.value;
}

void refuse(const std::string& ops, const std::string& key, const std::string& fragment) {
  INFO(ops);
  expect_complaints(load_with_ops(ops), {{11, "output[0].ops" + key, fragment}});
}

}  // namespace

TEST_CASE("a plug-in is named by its library, and gives what the pipeline says", "[config]") {
  const auto spec = loaded(blur("settings = \"radius=3\", " + kGives));
  const OperationSpec& op = spec.outputs[0].ops[0];
  CHECK(op.text("library") == "libblur.so");
  CHECK(op.text("call") == "blur");
  CHECK(op.text("settings") == "radius=3");
  CHECK(op.text("code").empty());
  CHECK(loaded(blur(kGives)).outputs[0].ops[0].text("settings").empty());
  const Followed chain = follow(spec.outputs[0].ops, bytes_of(Origin::kContent));
  CHECK(chain.end() == tensor(DType::kUint8, {32, 48, 3}, Layout::kNhwc));
  const auto behind = loaded(R"({ op = "decode-image" }, )" + blur(R"(gives = "bytes")") +
                             R"(, { op = "decode-image" }, )" + R"({ op = "resize", size = [8, 8] })");
  CHECK(follow(behind.outputs[0].ops, bytes_of(Origin::kContent)).error.empty());
}

TEST_CASE("plug-ins and functions behind one another are one segment", "[config]") {
  const auto spec = loaded(blur(kGives) + R"(, { op = "python", call = "a:b", )" + kGives + " }, " + blur(kGives));
  const auto segments = segments_of(spec.outputs[0].ops);
  REQUIRE(segments.size() == 3);
  CHECK(segments[1] == Segment{kUserExecutor, 0, 3});
  CHECK(uses_executor(spec.outputs, kUserExecutor));
  CHECK(load_with_line(11, "ops = [" + blur(kGives) + "]\n[python]\nprocesses = 2"));
}

TEST_CASE("what makes no sense for a plug-in is refused", "[config]") {
  refuse(R"({ op = "plugin", call = "blur", )" + kGives + " }", "[0].library", "is missing");
  refuse(R"({ op = "plugin", library = "a.so", )" + kGives + " }", "[0].call", "is missing");
  refuse(R"({ op = "plugin", library = "a.so", call = "blur" })", "[0].gives", "is missing");
  refuse(R"({ op = "plugin", library = "", call = "blur", )" + kGives + " }", "[0].library",
         "must be the path of a plug-in's library, such as \"libblur.so\"");
  for (const std::string& call : {std::string(), std::string("Blur"), std::string("a b"), std::string("a:b"),
                                  std::string("a.b"), std::string("\u00e4"), std::string(65, 'a')})
    refuse(
        R"({ op = "plugin", library = "a.so", call = ")" + call + "\", " + kGives + " }", "[0].call",
        "must be the name of one of the library's operations, of 1 to 64 letters a to z, digits, \"-\" and \"_\", not");
  for (const std::string& call : {std::string("b"), std::string("blur-2_x"), std::string("0"), std::string(64, 'z')})
    CHECK(loaded(R"({ op = "plugin", library = "a.so", call = ")" + call + "\", " + kGives + " }").outputs.size() == 1);
  refuse(blur("code = \"0x1\", " + kGives), "[0].code", "at most 64 of the digits 0 to 9 and a to f: leave it out");
  CHECK(loaded(blur("settings = \"" + std::string(4096, 's') + "\", " + kGives)).outputs.size() == 1);
  refuse(blur("settings = \"" + std::string(4097, 's') + "\", " + kGives), "[0].settings",
         "at most 4096 bytes, not 4097");
  refuse(blur("settings = \"a\\u0000b\", " + kGives), "[0].settings", "must be a text without control characters");
  CHECK(loaded(R"({ op = "plugin", library = ")" + std::string(1024, 'a') + "\", call = \"blur\", " + kGives + " }")
            .outputs.size() == 1);
  refuse(R"({ op = "plugin", library = ")" + std::string(1025, 'a') + "\", call = \"blur\", " + kGives + " }",
         "[0].library", "at most 1024 bytes, not 1025");
  refuse(R"({ op = "random-apply", ops = [)" + blur(kGives) + "] }", "[0].ops[0]", "can't be plugin");
}

TEST_CASE("a plug-in's library, call, settings and code decide the bytes", "[config]") {
  const std::string text = canonical_json(loaded(blur(kGives)));
  CHECK(canonical_json(loaded(blur("settings = \"\", " + kGives))) == text);
  for (const char* more : {"settings = \"radius=3\", ", "code = \"ab\", "})
    CHECK(canonical_json(loaded(blur(more + kGives))) != text);
  CHECK(canonical_json(loaded(R"({ op = "plugin", library = "b.so", call = "blur", )" + kGives + " }")) != text);
  CHECK(canonical_json(loaded(R"({ op = "plugin", library = "libblur.so", call = "b", )" + kGives + " }")) != text);
  const auto keys = run_keys(loaded(blur(kGives)));
  for (const char* key : {"library", "call", "settings", "code", "gives"}) {
    INFO(key);
    const std::string path = std::string("output/image/ops/plugin/") + key;
    CHECK(std::ranges::any_of(keys, [&](const RunKey& one) { return one.path == path; }));
  }
}

}  // namespace spdld::config::plugin_test
