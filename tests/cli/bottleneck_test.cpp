#include "client/cli/bottleneck.h"

#include <catch2/catch.hpp>

#include "client/cli/cli.h"

namespace spdld::bottleneck_test {

using namespace spdld::cli;

namespace {

config::Json ring(double starved_s, double full_s, int batches = 100) {
  return {{"starved_s", starved_s}, {"full_s", full_s}, {"batches", batches}};
}

config::Json described(config::Json rings, double fetch_busy_s, double decode_busy_s) {
  return {{"rings", std::move(rings)},
          {"stages",
           {{{"name", "fetch"}, {"busy_s", fetch_busy_s}, {"mean_us", 100.0}},
            {{"name", "decode"}, {"busy_s", decode_busy_s}, {"mean_us", 2000.0}}}}};
}

const Lanes kLanes{.decode = 2, .fetch = 4};

}  // namespace

TEST_CASE("a trainer that lets batches wait is the bottleneck") {
  const auto found = find_bottleneck(described({ring(0.1, 9.0)}, 1, 10), kLanes);
  CHECK(found.part == "trainer");
  CHECK(found.why.find("9.0 s") != std::string::npos);
}

TEST_CASE("a starved trainer points at the stage whose lanes are the busiest") {
  CHECK(find_bottleneck(described({ring(9, 0.1)}, 1, 18), kLanes).part == "decode");
  CHECK(find_bottleneck(described({ring(9, 0.1)}, 36, 4), kLanes).part == "fetch");
  // Four reads at once, 8 s of them, are 2 s of time; two decoders, 6 s of them, are 3.
  CHECK(find_bottleneck(described({ring(9, 0.1)}, 8, 6), kLanes).part == "decode");
}

TEST_CASE("all rings count") {
  CHECK(find_bottleneck(described({ring(1, 0), ring(0, 5)}, 1, 10), kLanes).part == "trainer");
  CHECK(find_bottleneck(described({ring(6, 0), ring(0, 5)}, 1, 10), kLanes).part == "decode");
}

TEST_CASE("nothing is judged before there is something to judge by") {
  CHECK(find_bottleneck(described(config::Json::array(), 0, 0), kLanes).part == "none");
  CHECK(find_bottleneck(described({ring(1, 0, 0)}, 0, 0), kLanes).part == "none");
  CHECK(find_bottleneck(described({ring(0.001, 0.002)}, 0, 0), kLanes).part == "none");
}

TEST_CASE("another version's answer is an error that says so") {
  const config::Json without_full_s{{"starved_s", 1}, {"batches", 100}};
  CHECK_THROWS_WITH(find_bottleneck(described({without_full_s}, 0, 0), kLanes),
                    Catch::Contains("full_s") && Catch::Contains("version"));
}

}  // namespace spdld::bottleneck_test
