// The log's lines as a process writes them: stderr leads to a file while a test writes.
#include "daemon/base/system/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "proto/unique_fd.h"
#include "tests/support/temp_dir.h"

namespace spdld::log_test {

// What `write` wrote to stderr.
template <typename Write>
std::string written_by(const Write& write) {
  const test::TempDir folder;
  const auto path = folder.path() / "log";
  {
    const UniqueFd before(dup(STDERR_FILENO));
    const UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    REQUIRE(dup2(file.get(), STDERR_FILENO) == STDERR_FILENO);
    write();
    std::fflush(stderr);
    dup2(before.get(), STDERR_FILENO);
  }
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_CASE("a million bad samples take some KiB of the log, and none of them is forgotten") {
  constexpr uint64_t kSamples = 1'000'000;
  const std::string name = std::string(64 << 10, 'n') + "\n\033[31m";
  const std::string log = written_by([&] {
    for (uint64_t sample = 0; sample < kSamples; sample++)
      log::limited(log::Level::kWarn, {"million", sample}, "pipeline {}: sample {} ({}) can't be used: {}", "million",
                   sample, name, "cut");
    log::tell_left_out(true);
  });
  CHECK(log.size() > 20 * log::kWordBytesMax);
  CHECK(log.size() < 24 * (log::kWordBytesMax + 200));
  CHECK(log.find('\033') == std::string::npos);
  const auto lines = static_cast<uint64_t>(std::count(log.begin(), log.end(), '\n'));
  uint64_t told = 0;
  for (size_t at = 0; (at = log.find(" (", at)) != std::string::npos; at++)
    if (log.find(" like this were left out)", at) < log.find('\n', at))
      told += std::strtoull(&log[at + 2], nullptr, 10);
  const size_t last = log.rfind("pipeline million: ") + sizeof "pipeline million: " - 1;
  CHECK(log.substr(last).find("lines like \"pipeline {}: sample {} ({}) can't be used: {}\" were left out") < 10);
  told += std::strtoull(&log[last], nullptr, 10);
  CHECK(lines - 1 + told == kSamples);
}

TEST_CASE("a long text is cut in a line, and control characters are written") {
  const std::string log =
      written_by([] { log::warn("{} and {}", std::string(1 << 20, 'a'), std::string_view("b\nc\0", 4)); });
  CHECK(log.size() < log::kWordBytesMax + 100);
  CHECK(log.find("a... and b\\x0ac\\x00\n") != std::string::npos);
}

}  // namespace spdld::log_test
