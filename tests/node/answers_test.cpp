#include "daemon/node/reports/answers.h"

#include <catch2/catch.hpp>

namespace spdld::answers_test {

using node::Answers;

TEST_CASE("an answer is given again for a moment, to the same user and the same question") {
  Answers answers;
  constexpr uint64_t kMs = 1'000'000, kBegin = 5'000 * kMs;
  CHECK(answers.find({1, "status", ""}, kBegin) == nullptr);
  answers.keep({1, "status", ""}, "one", kBegin);
  REQUIRE(answers.find({1, "status", ""}, kBegin + 100 * kMs));
  CHECK(*answers.find({1, "status", ""}, kBegin + 100 * kMs) == "one");
  CHECK(answers.find({2, "status", ""}, kBegin) == nullptr);
  CHECK(answers.find({1, "list", ""}, kBegin) == nullptr);
  CHECK(answers.find({1, "status", "x"}, kBegin) == nullptr);
  CHECK(answers.find({1, "status", ""}, kBegin + 101 * kMs) == nullptr);
}

TEST_CASE("so many answers are kept at most, and none that is large") {
  Answers answers;
  for (uid_t uid = 0; uid <= Answers::kEntriesMax; uid++) answers.keep({uid, "list", ""}, "x", 1);
  CHECK(answers.find({0, "list", ""}, 1) == nullptr);
  CHECK(answers.find({1, "list", ""}, 1) != nullptr);
  answers.keep({7, "samples", ""}, std::string(Answers::kAnswerBytesMax + 1, 'x'), 1);
  CHECK(answers.find({7, "samples", ""}, 1) == nullptr);
  answers.keep({7, "samples", std::string(2000, 'x')}, "y", 1);
  CHECK(answers.find({7, "samples", std::string(2000, 'x')}, 1) == nullptr);
}

}  // namespace spdld::answers_test
