#include "proto/fingerprint.h"

#include <catch2/catch.hpp>

namespace spdld::fingerprint_test {

using spdld::proto::differ_in_last_step_alone;
using spdld::proto::fingerprint_difference;

namespace {

std::string clause(const std::string& mine, const std::string& other) {
  const auto difference = fingerprint_difference(mine, other);
  return difference ? difference->clause() : "no fingerprint";
}

}  // namespace

TEST_CASE("what two fingerprints differ in is a clause, of one part, of two, of all") {
  CHECK(clause("1-a-b-4", "1-a-b-4") == "nothing differs");
  CHECK(clause("1-a-b-4", "2-a-b-4") == "the version of the order differs");
  CHECK(clause("1-a-b-4", "1-c-b-4") == "the data set's listing differs");
  CHECK(clause("1-a-b-4", "1-a-c-4") == "the pipeline's spec differs");
  CHECK(clause("1-a-b-4", "1-a-c-8") == "the pipeline's spec and the global batch size differ");
  CHECK(clause("1-a-b-4-e", "1-a-b-4-f") == "the weighting of the samples differs");
  CHECK(
      clause("1-a-b-4-e", "2-c-d-8-f") ==
      "the version of the order, the data set's listing, the pipeline's spec, the global batch size and the weighting "
      "of the samples differ");
  CHECK(fingerprint_difference("1-a-b-4", "1-c-d-8")->count == 3);
}

TEST_CASE("a run that is not weighted has no part for it, and differs from one that is") {
  CHECK(clause("1-a-b-4", "1-a-b-4-e") == "the weighting of the samples differs");
  CHECK(clause("1-a-b-4-e", "1-a-c-4") == "the pipeline's spec and the weighting of the samples differ");
}

TEST_CASE("files beside the data set stand behind the listing") {
  CHECK(clause("1.c-a_x-b-4", "1.c-a_y-b-4") == "a file beside the data set differs");
  CHECK(clause("1.c-a_x-b-4", "1.c-a-b-4") == "a file beside the data set differs");
  CHECK(clause("1.c-a_x-b-4", "1.c-z_y-b-4") == "the data set's listing and a file beside the data set differ");
  CHECK(clause("1.c-a_x-b-4-w", "1.c-a_x-b-4-v") == "the weighting of the samples differs");
}

TEST_CASE("the code that makes the samples stands behind the order") {
  CHECK(clause("1.c-a-b-4", "1.c-a-b-4") == "nothing differs");
  CHECK(clause("1.c-a-b-4", "1.d-a-b-4") == "the code that makes the samples differs");
  CHECK(clause("1.c-a-b-4", "2.d-a-b-4") == "the version of the order and the code that makes the samples differ");
  CHECK(clause("1.c-a-b-4-e", "1.d-a-b-4-f") ==
        "the code that makes the samples and the weighting of the samples differ");
}

TEST_CASE("the division of an epoch's last steps stands behind the batch size") {
  const std::string division = "the division of an epoch's last steps among the ranks";
  CHECK(clause("1.c-a-b-4", "1.c-a-b-4.2") == division + " differs");
  CHECK(clause("1.c-a-b-4.2-w", "1.c-a-b-8-v") ==
        "the global batch size, " + division + " and the weighting of the samples differ");
  CHECK(clause("1.c-a-b-4.2", "1.c-a-b-4.2") == "nothing differs");
}

TEST_CASE("runs that differ in their last step alone are told from runs that differ in more") {
  CHECK(differ_in_last_step_alone("1.c-a-b-4", "1.c-a-b-4.2"));
  CHECK(differ_in_last_step_alone("1.c-a-b-4.2-w", "1.c-a-b-4-w"));
  CHECK_FALSE(differ_in_last_step_alone("1.c-a-b-4.2", "1.c-a-b-4.2"));
  CHECK_FALSE(differ_in_last_step_alone("1.c-a-b-4", "1.c-a-b-4.2b"));  // of buckets, whose last steps come anywhere
  CHECK_FALSE(differ_in_last_step_alone("1.c-a-b-4", "1.c-a-b-4.3"));   // of another version
  CHECK_FALSE(differ_in_last_step_alone("1.c-a-b-4", "1.c-a-b-8.2"));
  CHECK_FALSE(differ_in_last_step_alone("1.c-a-b-4", "1.c-a-z-4.2"));
  CHECK_FALSE(differ_in_last_step_alone("1.c-a-b-4", "1.c-a-b-4.2-w"));
  CHECK_FALSE(differ_in_last_step_alone("1-a-b", "1-a-b.2"));
}

TEST_CASE("what has not the form of a fingerprint is none") {
  for (const char* text : {"", "1", "1-a-b", "1-a-b-4-e-f"}) {
    INFO(text);
    CHECK(clause("1-a-b-4", text) == "no fingerprint");
    CHECK(clause(text, "1-a-b-4-e") == "no fingerprint");
  }
}

}  // namespace spdld::fingerprint_test
