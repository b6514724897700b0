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
  CHECK(entries[1].first_epoch == 0);
  CHECK(entries[1].last_epoch == 3);
  CHECK(entries[1].first <= entries[0].first);
  CHECK(entries[1].last >= entries[0].last);
  CHECK(log.total() == 3);
}

TEST_CASE("a full log drops the oldest, and the total never forgets") {
  ErrorLog log;
  for (uint64_t i = 0; i < ErrorLog::kEntriesMax + 10; i++) log.add(i, 0, "x", "y");
  CHECK(log.entries().size() == ErrorLog::kEntriesMax);
  CHECK(log.entries().front().sample == 10);
  CHECK(log.total() == ErrorLog::kEntriesMax + 10);
}

TEST_CASE("samples that are left out make room for bad ones, and dropped ones are in no total") {
  using batch::FlawKind;
  ErrorLog log;
  log.add(1, 0, "x", "bad", FlawKind::kDamaged);
  for (uint64_t i = 0; i < ErrorLog::kEntriesMax + 10; i++) log.add(100 + i, 0, "x", "no", FlawKind::kDropped);
  CHECK(log.entries().size() == ErrorLog::kEntriesMax);
  CHECK(log.entries().front().sample == 1);
  CHECK(log.total() == 1);
  for (uint64_t i = 0; i < ErrorLog::kEntriesMax - 1; i++) log.add(5000 + i, 0, "x", "bad", FlawKind::kUnsupported);
  log.add(9, 0, "x", "no", FlawKind::kDropped);
  log.add(9, 0, "x", "long", FlawKind::kTooLong);
  auto entries = log.entries();
  CHECK(entries.front().sample == 1);
  CHECK(entries.back().sample == 5000 + ErrorLog::kEntriesMax - 2);
  CHECK(log.total() == ErrorLog::kEntriesMax + 1);
  log.add(2, 0, "x", "bad", FlawKind::kDamaged);
  entries = log.entries();
  CHECK(entries.front().sample == 5000);
  CHECK(entries.back().sample == 2);
}

TEST_CASE("long names and reasons are cut, and equal ones still counted together") {
  ErrorLog log;
  const std::string name(64 << 10, 'n'),
      reason = std::string(ErrorLog::kTextBytesMax - 4, 'r') + "\xE2\x82\xAC and more";
  log.add(1, 0, name, reason);
  log.add(1, 0, name, reason);
  const auto entries = log.entries();
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].count == 2);
  CHECK(entries[0].name == std::string(ErrorLog::kTextBytesMax - 3, 'n') + "...");
  CHECK(entries[0].reason == std::string(ErrorLog::kTextBytesMax - 4, 'r') + "...");
}

}  // namespace spdld::error_log_test
