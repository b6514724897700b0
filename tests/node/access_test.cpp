#include "daemon/node/access.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/support/temp_dir.h"

using namespace spdld;
using namespace spdld::node;

TEST_CASE("a path lies where its links lead") {
  const test::TempDir temp;
  const auto inside = temp.path() / "inside", outside = temp.path() / "outside", beside = temp.path() / "inside2";
  for (const auto& folder : {inside, outside, beside}) std::filesystem::create_directory(folder);
  std::ofstream(outside / "list") << "x";
  std::filesystem::create_symlink(outside / "list", inside / "link");
  CHECK(lies_in(inside, inside / "list"));  // it need not be there
  CHECK(lies_in(inside, inside / "a" / "b"));
  CHECK_FALSE(lies_in(inside, inside / ".." / "outside" / "list"));
  CHECK_FALSE(lies_in(inside, inside / "link"));
  CHECK_FALSE(lies_in(inside, beside / "list"));
  CHECK(lies_in(outside, inside / "link"));
}

TEST_CASE("without data roots every path is allowed, with some those in any of them") {
  const test::TempDir temp;
  config::DaemonSettings settings;
  CHECK(in_data_roots(settings, "/anywhere"));
  settings.data_roots = {temp.path() / "a", temp.path() / "b"};
  CHECK(in_data_roots(settings, temp.path() / "b" / "list"));
  CHECK_FALSE(in_data_roots(settings, temp.path() / "c"));
  CHECK_FALSE(in_data_roots(settings, "/anywhere"));
}
