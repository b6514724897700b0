// The jobs that wait for a worker.
#include "daemon/user/waiting.h"

#include <catch2/catch.hpp>

namespace spdld::waiting_test {

using namespace spdld;
using user::Job;
using user::Waiting;

namespace {

Job job_of(uint64_t index) { return {.index = index}; }
const std::vector<bool> kNobody(3, false);

}  // namespace

TEST_CASE("the oldest job comes first, whatever its errand", "[waiting]") {
  Waiting waiting(3);
  CHECK_FALSE(waiting.oldest(kNobody));
  const std::vector<uint32_t> errands = {1, 2, 1, 0, 2};
  for (size_t i = 0; i < errands.size(); i++) waiting.add(errands[i], job_of(i));
  CHECK(waiting.size() == 5);
  for (size_t i = 0; i < errands.size(); i++) {
    const auto errand = waiting.oldest(kNobody);
    REQUIRE(errand == errands[i]);
    CHECK(waiting.first(*errand).index == i);
    waiting.drop_first(*errand);
  }
  CHECK(waiting.size() == 0);
}

TEST_CASE("an errand that is passed over keeps no other one waiting", "[waiting]") {
  Waiting waiting(3);
  waiting.add(0, job_of(0));
  waiting.add(2, job_of(1));
  CHECK(waiting.oldest({true, false, false}) == 2);
  CHECK_FALSE(waiting.oldest({true, true, true}));
}

TEST_CASE("a job that goes on with its next errand is as old as it was", "[waiting]") {
  Waiting waiting(3);
  waiting.add(0, job_of(0));
  waiting.add(1, job_of(1));
  const Job first = waiting.first(0);
  waiting.drop_first(0);
  waiting.add_first(1, first);
  CHECK(waiting.first(1).index == 0);
  waiting.add(0, job_of(2));
  CHECK(waiting.oldest(kNobody) == 1);
}

TEST_CASE("jobs that are meant are taken out, and no others", "[waiting]") {
  Waiting waiting(3);
  for (uint64_t i = 0; i < 9; i++) waiting.add(i % 3, job_of(i));
  std::vector<uint64_t> taken;
  waiting.take_out([](const Job& job) { return job.index % 2 == 0; },
                   [&](const Job& job) { taken.push_back(job.index); });
  CHECK(taken.size() == 5);
  CHECK(waiting.size() == 4);
  CHECK(waiting.oldest(kNobody) == 1);
}

}  // namespace spdld::waiting_test
