#include "daemon/store/credentials/ini.h"

#include "tests/store/credentials/fixtures.h"

namespace spdld::store::credentials_test {

TEST_CASE("sections, settings and comments of a profile file are told apart") {
  const auto file = read_ini(
      "\xEF\xBB\xBF# a comment\r\n[ profile \t my  one ]\r\nRegion=eu-west-1 # where\r\nkey = a#b;c ;more\r\ns3 =\r\n"
      "  max_queue = 5\r\n  addressing_style = path\r\nempty =\r\n\n; [no]\n[default] # a "
      "comment\nkey=1\n[default]\nkey=2\na==b=\n  [in]dented",
      "f");
  REQUIRE(file);
  REQUIRE(file->size() == 2);
  CHECK(file->at("profile my one") == IniSection{{"region", "eu-west-1"}, {"key", "a#b;c"}, {"s3", ""}, {"empty", ""}});
  CHECK(file->at("default") == IniSection{{"key", "2"}, {"a", "=b="}});
  CHECK(read_ini("", "f")->empty());
}

TEST_CASE("a damaged profile file names the line, never what stands there") {
  const auto lines = {"[a]\nSeCrEt", "[a]\n= SeCrEt", "SeCrEt = SeCrEt", "[a]\nb = c\n[SeCrEt", "[]", "[a]\n\n[b]x"};
  for (const std::string text : lines) {
    CAPTURE(text);
    const auto file = read_ini(text, "/the/file");
    REQUIRE_FALSE(file);
    checked_error(file.error());
    CHECK(file.error().message.starts_with("/the/file, line "));
  }
  CHECK(read_ini("[a]\n\n[b]x", "f").error().message.find("line 3") != std::string::npos);
}

TEST_CASE("a profile file is bounded") {
  CHECK(read_ini(std::string(kIniBytesMax + 1, '\n'), "f").error().trouble == Trouble::kLimit);
  CHECK(read_ini(std::string(kIniBytesMax, '\n'), "f"));
  std::string many = "[a]\n";
  for (size_t i = 0; i < kIniEntriesMax; ++i) many += "a=\n";
  CHECK(read_ini(many, "f").error().trouble == Trouble::kLimit);
}

}  // namespace spdld::store::credentials_test
