// What the tests of config/ share: an expected complaint, and a small pipeline to break.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "config/checks/load.h"

namespace spdld::config {

struct Expected {
  int line;
  std::string key;
  std::string fragment;  // of the complaint's text
};

// Exactly these complaints, in this order, and no value.
template <typename T>
void expect_complaints(const Loaded<T>& loaded, const std::vector<Expected>& expected) {
  INFO(loaded.sentences());
  CHECK_FALSE(loaded.value.has_value());
  REQUIRE(loaded.complaints.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    CHECK(loaded.complaints[i].where.line == expected[i].line);
    CHECK(loaded.complaints[i].key == expected[i].key);
    CHECK_THAT(loaded.complaints[i].text, Catch::Contains(expected[i].fragment));
  }
}

// Lines 1 to 13; each case puts its own text in the place of one of them.
inline const std::vector<std::string>& plain_lines() {
  static const std::vector<std::string> lines = {
      "name = \"train\"",                                                        // 1
      "seed = 7",                                                                // 2
      "[source]",                                                                // 3
      "type = \"image-folder\"",                                                 // 4
      "uri = \"/data/train\"",                                                   // 5
      "[order]",                                                                 // 6
      "epochs = 2",                                                              // 7
      "[[output]]",                                                              // 8
      "name = \"image\"",                                                        // 9
      "from = \"image\"",                                                        // 10
      R"(ops = [{ op = "decode-image" }, { op = "resize", size = [32, 48] }])",  // 11
      "[batch]",                                                                 // 12
      "size = 8"};                                                               // 13
  return lines;
}

// plain_lines() with line `line` replaced by `text`, which may hold several.
inline std::string with_line(int line, std::string_view text) {
  std::string all;
  for (size_t i = 0; i < plain_lines().size(); ++i) {
    all += (i + 1 == static_cast<size_t>(line) ? std::string(text) : plain_lines()[i]) + "\n";
  }
  return all;
}

inline Loaded<PipelineSpec> load_with_line(int line, std::string_view text) {
  return load_pipeline_toml(with_line(line, text), "p.toml", "/files");
}

// The plain pipeline with other operations.
inline Loaded<PipelineSpec> load_with_ops(const std::string& ops) { return load_with_line(11, "ops = [" + ops + "]"); }

}  // namespace spdld::config
