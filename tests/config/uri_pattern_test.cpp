#include "config/uri_pattern.h"

#include <catch2/catch.hpp>

namespace spdld::config::uri_pattern_test {

using Paths = std::vector<std::string>;

TEST_CASE("braces make the paths that a shell makes, in its order", "[config]") {
  CHECK(expand_braces("/d/a.tar") == Paths{"/d/a.tar"});
  CHECK(expand_braces("a-{008..011}") == Paths{"a-008", "a-009", "a-010", "a-011"});
  CHECK(expand_braces("a-{8..11}") == Paths{"a-8", "a-9", "a-10", "a-11"});
  CHECK(expand_braces("{1..9..4}") == Paths{"1", "5", "9"});
  CHECK(expand_braces("{1..8..4}") == Paths{"1", "5"});
  CHECK(expand_braces("{a,b}/{0..1}") == Paths{"a/0", "a/1", "b/0", "b/1"});
  CHECK(expand_braces("{a,b{1..2},}.tar") == Paths{"a.tar", "b1.tar", "b2.tar", ".tar"});
}

TEST_CASE("what is counted is what is made", "[config]") {
  for (const char* path : {"/d/a.tar", "a-{008..011}", "{1..9..4}", "{1..8..4}", "{a,b}/{0..1}", "{a,b{1..2},}.tar"}) {
    uint64_t bytes = 0;
    const Paths paths = expand_braces(path);
    for (const auto& one : paths) bytes += one.size();
    const Expansion counted = expansion_of(path);
    INFO(path);
    CHECK(counted.paths == paths.size());
    CHECK(counted.bytes >= bytes);  // each number is counted as wide as the last
  }
}

TEST_CASE("the folder of a pattern ends before its first sign", "[config]") {
  CHECK(fixed_folder("/d/e/a.tar") == "/d/e/a.tar");
  CHECK(fixed_folder("/d/e/a-{0..1}.tar") == "/d/e");
  CHECK(fixed_folder("/d/*/e/a.tar") == "/d");
  CHECK(fixed_folder("/d/{x,y}/e/a-[01].tar") == "/d");
  CHECK(fixed_folder("/*/a.tar") == "/");
  CHECK(fixed_folder("/a-?.tar") == "/");
}

}  // namespace spdld::config::uri_pattern_test
