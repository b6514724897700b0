// What a private daemon leaves of its errors.
#include "daemon/node/reports/last_errors.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "tests/support/temp_dir.h"

namespace spdld::last_errors_test {

using namespace spdld;

namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("errors are left when there are new ones, not too often, and at the end in any case") {
  const test::TempDir dir;
  const auto folder = dir.path() / "not/there/yet", file = folder / "last-errors.json";
  node::LastErrors errors(folder);
  int asked = 0;
  const auto document = [&] { return "document " + std::to_string(++asked); };
  const uint64_t second_ns = 1'000'000'000, start_ns = 5 * second_ns;
  errors.look(0, start_ns, false, document);
  CHECK_FALSE(std::filesystem::exists(file));
  errors.look(1, start_ns, false, document);
  CHECK(text_of(file) == "document 1");
  struct stat status {};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);  // names of files are their user's own business
  errors.look(2, start_ns + second_ns, false, document);
  CHECK(text_of(file) == "document 1");
  errors.look(2, start_ns + 3 * second_ns, false, document);
  CHECK(text_of(file) == "document 2");
  errors.look(2, start_ns + 30 * second_ns, true, document);
  CHECK(asked == 2);
  errors.look(3, start_ns + 30 * second_ns, true, document);
  CHECK(text_of(file) == "document 3");
  CHECK(std::distance(std::filesystem::directory_iterator(folder), {}) == 1);  // no temporary one
}

TEST_CASE("a daemon without errors leaves what the one before has left; without a folder nothing is left") {
  const test::TempDir dir;
  std::ofstream(dir.path() / "last-errors.json") << "before";
  node::LastErrors errors(dir.path());
  errors.look(0, 1, true, [] { return std::string("now"); });
  CHECK(text_of(dir.path() / "last-errors.json") == "before");
  node::LastErrors nowhere({});
  nowhere.look(1, 1, true, [] { return std::string("now"); });
  std::ofstream(dir.path() / "file") << "x";
  node::LastErrors broken(dir.path() / "file/folder");  // can't be made
  broken.look(1, 1, true, [] { return std::string("now"); });
}

}  // namespace spdld::last_errors_test
