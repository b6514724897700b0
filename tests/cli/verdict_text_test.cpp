#include "client/cli/state/verdict_text.h"

#include <catch2/catch.hpp>

#include "client/cli/cli.h"

namespace spdld::verdict_text_test {

using namespace spdld::cli;
using Catch::Contains;
using config::Json;

Json verdict(const char* limiter, double confidence) {
  return {{"pipeline", "train"},
          {"limiter", limiter},
          {"sentence", "Decoding is busy."},
          {"confidence", confidence},
          {"waiting", 0.31},
          {"samples_per_s", 1234.5},
          {"trainer_per_s", 2000.0},
          {"seconds", 10.2},
          {"remedies",
           {{{"change", "Take 6 cores."}, {"speedup", 1.45}, {"is_done", false}},
            {{"change", "Look at it."}, {"speedup", 0.0}, {"is_done", false}}}}};
}

TEST_CASE("a verdict says what limits, how sure that is, and what each change brings") {
  const std::string text = verdict_text(verdict("decode", 0.9), Page{});
  CHECK_THAT(text,
             Contains("decode (sure)") && Contains("Decoding is busy.") && Contains("the trainers would take 2000"));
  CHECK_THAT(text, Contains("1.45 x") && Contains("Take 6 cores.") && Contains("Look at it.") && !Contains("0.00 x"));
  CHECK_THAT(verdict_text(verdict("decode", 0.7), Page{}), Contains("(likely)"));
  CHECK_THAT(verdict_text(verdict("decode", 0.2), Page{}), Contains("(a guess)"));
}

TEST_CASE("nothing is claimed where nothing is known") {
  const std::string text = verdict_text(verdict("unknown", 0), Page{});
  CHECK_THAT(text, !Contains("guess") && !Contains("samples/s"));
  CHECK(limiter_cell(Json::object()).text == "unknown");
  CHECK(limiter_cell(verdict("fetch", 1)).text == "fetch: Decoding is busy.");
  CHECK_THROWS_AS(verdict_text(Json::object(), Page{}), Failure);
}

}  // namespace spdld::verdict_text_test
