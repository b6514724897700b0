// The token's file is read only where it is kept from others.
#include "daemon/http/token.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "config/text/http_token.h"
#include "daemon/base/result.h"
#include "tests/support/temp_dir.h"

namespace spdld::http::token_test {
namespace {

struct File {
  explicit File(std::string_view text, mode_t mode = 0600) : path(folder.write("token", text)) {
    REQUIRE(::chmod(path.c_str(), mode) == 0);
  }
  test::TempDir folder;
  std::string path;
};

void refuses(const std::string& path, const std::string& fragment) {
  try {
    load_token(path);
    FAIL("it was taken");
  } catch (const SetupError& error) {
    CHECK_THAT(error.what(), Catch::Contains(fragment) && Catch::Contains(path));
  }
}

const std::string kToken = "0123456789abcdef";

}  // namespace

TEST_CASE("the only line of the file is the token", "[http]") {
  CHECK(load_token(File(kToken + "\n").path) == kToken);
  CHECK(load_token(File(kToken).path) == kToken);
  CHECK(load_token(File(kToken + "-._~+/=\n").path) == kToken + "-._~+/=");
  CHECK(load_token(File(std::string(config::kHttpTokenBytesMax, 'x') + "\n").path).size() ==
        config::kHttpTokenBytesMax);
}

TEST_CASE("a file that others can read or change is refused", "[http]") {
  for (const mode_t open : {0644, 0604, 0602, 0601, 0620, 0660}) {
    INFO(open);
    refuses(File(kToken, open).path, "chmod 600 or 640");
  }
  CHECK(load_token(File(kToken, 0640).path) == kToken);
  CHECK(load_token(File(kToken, 0400).path) == kToken);
}

TEST_CASE("what is no token is refused", "[http]") {
  for (const std::string& text : {std::string(), std::string("\n"), std::string(config::kHttpTokenBytesMin - 1, 'x'),
                                  kToken + "\n\n", kToken + " x", kToken + "\n" + kToken, kToken + std::string(1, '\0'),
                                  std::string(config::kHttpTokenBytesMax + 1, 'x'), std::string(100'000, 'x')}) {
    INFO(text.substr(0, 40));
    refuses(File(text).path, "one line of 16 to 256");
  }
  const test::TempDir folder;
  refuses((folder.path() / "none").string(), "can't be read: No such file");
  refuses(folder.path().string(), "is no file");
  const std::string pipe = (folder.path() / "pipe").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  refuses(pipe, "is no file");
}

}  // namespace spdld::http::token_test
