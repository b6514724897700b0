#include "daemon/source/stamps.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/support/temp_dir.h"

namespace spdld::stamps_test {

using spdld::source::Stamps;
namespace fs = std::filesystem;

TEST_CASE("a stamp tells a changed, replaced or vanished file from an untouched one") {
  spdld::test::TempDir dir;
  const fs::path file = dir.path() / "a";
  std::ofstream(file) << "one";
  struct stat status;
  REQUIRE(::stat(file.c_str(), &status) == 0);
  Stamps stamps;
  stamps.add("/a", status);
  CHECK(stamps.unchanged(dir.path().string()));
  SECTION("longer") { std::ofstream(file, std::ios::app) << "!"; }
  SECTION("longer, with its time restored") {
    const auto time = fs::last_write_time(file);
    std::ofstream(file, std::ios::app) << "!";
    fs::last_write_time(file, time);
  }
  SECTION("another time") { fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(1)); }
  SECTION("replaced") {
    std::ofstream(dir.path() / "b") << "two";
    fs::rename(dir.path() / "b", file);
  }
  SECTION("written anew in place, with its time set back") {
    const auto time = fs::last_write_time(file);
    struct stat now;
    do {  // until the file system's clock has gone on
      std::fstream(file) << "two";
      fs::last_write_time(file, time);
      REQUIRE(::stat(file.c_str(), &now) == 0);
    } while (now.st_ctim.tv_nsec == status.st_ctim.tv_nsec);
    REQUIRE(now.st_ino == status.st_ino);
    REQUIRE(now.st_size == status.st_size);
    REQUIRE(now.st_mtim.tv_nsec == status.st_mtim.tv_nsec);
  }
  SECTION("gone") { fs::remove(file); }
  CHECK_FALSE(stamps.unchanged(dir.path().string()));
}

// As on file systems whose clocks tick rarely: the file was rewritten twice within one tick.
TEST_CASE("a stamp tells a file of another size though all its times are the same") {
  spdld::test::TempDir dir;
  const fs::path file = dir.path() / "a";
  std::ofstream(file) << "one";
  struct stat status;
  REQUIRE(::stat(file.c_str(), &status) == 0);
  status.st_size++;
  Stamps stamps;
  stamps.add("/a", status);
  CHECK_FALSE(stamps.unchanged(dir.path().string()));
}

}  // namespace spdld::stamps_test
