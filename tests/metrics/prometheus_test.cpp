#include "daemon/metrics/prometheus.h"

#include <catch2/catch.hpp>
#include <map>
#include <regex>
#include <set>
#include <sstream>

using namespace spdld;
using namespace spdld::metrics;
using Catch::Contains;

namespace {

NodeFigures node() {
  NodeFigures out;
  out.cpu_ns = 1'500'000'000;
  for (const char* name : {"b", "a \"quoted\\ \n"}) {
    PipelineFigures pipeline{.name = name, .state = "running", .number = out.pipelines.size() + 1};
    pipeline.samples = 10;
    pipeline.stages = {{.name = "fetch", .samples = 3}};
    pipeline.stages.front().duration_ns = Distribution::of_values({100, 5'000, 3'000'000, 1ull << 40});
    RingFigures ring{.group = "x", .uid = 1, .batches = 4};
    RingFigures other{.group = "y", .uid = 2, .batches = 5};
    pipeline.rings = {ring, other};
    out.pipelines.push_back(pipeline);
  }
  return out;
}

}  // namespace

TEST_CASE("each family has one head and then all of its lines, and each line is well formed") {
  std::istringstream text(prometheus_text(node(), "0.1.0"));
  const std::regex sample(R"(^([a-z_]+)(\{[a-z]+="([^"\\]|\\.)*"(,[a-z]+="([^"\\]|\\.)*")*\})? (-?[0-9.e+-]+|\+Inf)$)");
  std::set<std::string> seen_families, seen_series;
  std::string family;
  for (std::string line; std::getline(text, line);) {
    CAPTURE(line);
    if (line.starts_with("# HELP ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      CHECK(seen_families.insert(family).second);
    } else if (line.starts_with("# TYPE ")) {
      CHECK(line.substr(7).starts_with(family + " "));
    } else {
      std::smatch parts;
      REQUIRE(std::regex_match(line, parts, sample));
      CHECK(parts[1].str().starts_with(family));
      CHECK(seen_series.insert(line.substr(0, line.rfind(' '))).second);
    }
  }
  CHECK(seen_families.size() > 60);
}

TEST_CASE("units and kinds show in the names; labels are escaped; jobs of one rank are added up") {
  const std::string text = prometheus_text(node(), "0.1.0");
  CHECK_THAT(text, Contains("\nspdld_node_cpu_seconds_total 1.5\n") &&
                       Contains("# TYPE spdld_node_cpu_seconds_total counter"));
  CHECK_THAT(text, Contains("spdld_pipeline_samples_total{pipeline=\"a \\\"quoted\\\\ \\n\"} 10\n"));
  CHECK_THAT(text, Contains("spdld_ring_batches_total{pipeline=\"b\",rank=\"0\"} 9\n"));
  CHECK_THAT(text, Contains("spdld_pipeline_state{pipeline=\"b\",state=\"running\"} 1\n"));
  CHECK_THAT(text, Contains("spdld_pipeline_state{pipeline=\"b\",state=\"failed\"} 0\n"));
  CHECK_THAT(text, Contains("spdld_build_info{version=\"0.1.0\"} 1\n"));
  CHECK_THAT(text, !Contains("pid=") && !Contains("group="));
}

TEST_CASE("histograms count up to each edge, and their last edge is everything") {
  const std::string text = prometheus_text(node(), "0.1.0");
  const std::string name = "spdld_stage_duration_seconds";
  CHECK_THAT(text, Contains("# TYPE " + name + " histogram"));
  CHECK_THAT(text, Contains(name + "_bucket{pipeline=\"b\",stage=\"fetch\",le=\"1.024e-06\"} 1\n"));
  CHECK_THAT(text, Contains(name + "_bucket{pipeline=\"b\",stage=\"fetch\",le=\"1.6384e-05\"} 2\n"));
  CHECK_THAT(text, Contains(name + "_bucket{pipeline=\"b\",stage=\"fetch\",le=\"+Inf\"} 4\n"));
  CHECK_THAT(text, Contains(name + "_count{pipeline=\"b\",stage=\"fetch\"} 4\n"));
}

TEST_CASE("the number of series is bounded, and pipelines beyond the bound are counted") {
  NodeFigures many;
  for (size_t i = 0; i < kPipelinesMax + 50; i++)
    many.pipelines.push_back({.name = "p" + std::to_string(1000 + i), .number = i});
  const std::string text = prometheus_text(many, "0.1.0");
  CHECK_THAT(text, Contains("spdld_pipelines_left_out 50\n"));
  CHECK_THAT(text, Contains("p1000") && !Contains("p" + std::to_string(1000 + kPipelinesMax)));
}
