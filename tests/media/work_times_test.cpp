#include "daemon/media/work_times.h"

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <thread>
#include <vector>

using namespace spdld;
using namespace spdld::media;

namespace {

void work_for(uint64_t ns) {
  for (const uint64_t end = monotonic_ns() + ns; monotonic_ns() < end;) {
  }
}

std::map<std::string, uint64_t> listed(const WorkTimes& times) {
  std::map<std::string, uint64_t> list;
  times.for_each([&](std::string_view name, uint64_t ns) { list[std::string(name)] += ns; });
  return list;
}

}  // namespace

TEST_CASE("the time of a lap within a lap counts for the inner one alone") {
  WorkTimes times;
  WorkTimer timer;
  timer.set(&times);
  const uint64_t start_ns = monotonic_ns();
  {
    const Lap outer(timer, "outer");
    work_for(1'000'000);
    for (int i = 0; i < 3; i++) {
      const Lap inner(timer, "inner");
      work_for(2'000'000);
      const Lap innermost(timer, "innermost");
      work_for(500'000);
    }
  }
  const uint64_t whole_ns = monotonic_ns() - start_ns;
  const auto list = listed(times);
  REQUIRE(list.size() == 3);
  CHECK(list.at("outer") >= 1'000'000);
  CHECK(list.at("inner") >= 6'000'000);
  CHECK(list.at("innermost") >= 1'500'000);
  CHECK(list.at("outer") + list.at("inner") + list.at("innermost") <= whole_ns);  // nothing counts twice
}

TEST_CASE("a timer that is off measures nothing") {
  WorkTimer timer;
  { const Lap lap(timer, "a"); }
  WorkTimes times;
  timer.set(&times);
  timer.set(nullptr);
  { const Lap lap(timer, "a"); }
  CHECK(listed(times).empty());
  CHECK(times.samples() == 0);
}

TEST_CASE("many threads add to the same names; names beyond the bound are added up") {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> made;
    for (size_t i = 0; i < WorkTimes::kNamesMax + 10; i++) made.push_back("operation-" + std::to_string(i));
    return made;
  }();
  WorkTimes times;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&times] {
      for (int round = 0; round < 500; round++)
        for (const std::string& name : names) times.add(name, 1);
    });
  threads.clear();
  uint64_t sum = 0;
  for (const auto& [name, ns] : listed(times)) sum += ns;
  CHECK(sum == 4 * 500 * names.size());
  CHECK(listed(times).size() == WorkTimes::kNamesMax);
}
