#include "daemon/pipeline/error_log.h"

#include <catch2/catch.hpp>

namespace spdld::error_log_test {

using spdld::pipeline::ErrorLog;

TEST_CASE("equal errors are counted together, and the newest stands last") {
  ErrorLog log;
  log.add(1, 0, "a", "cut");
  log.add(2, 0, "b", "cut");
  log.add(1, 3, "a", "cut");
  const auto entries = log.entries();
  REQUIRE(entries.size() == 2);
  CHECK(entries[1].sample == 1);
  CHECK(entries[1].count == 2);
  CHECK(entries[1].epoch == 3);
  CHECK(log.total() == 3);
}

TEST_CASE("a full log drops the oldest, and the total never forgets") {
  ErrorLog log;
  for (uint64_t i = 0; i < ErrorLog::kEntriesMax + 10; i++) log.add(i, 0, "x", "y");
  CHECK(log.entries().size() == ErrorLog::kEntriesMax);
  CHECK(log.entries().front().sample == 10);
  CHECK(log.total() == ErrorLog::kEntriesMax + 10);
}

}  // namespace spdld::error_log_test
