#include "daemon/metrics/document.h"

#include <catch2/catch.hpp>
#include <set>

using namespace spdld;
using namespace spdld::metrics;

namespace {

template <typename Figures>
void check_names() {
  std::set<std::string_view> names;
  for (const auto& number : Schema<Figures>::kNumbers) {
    CAPTURE(number.name);
    CHECK(names.insert(number.name).second);
    CHECK((number.unit == Unit::kBytes) == (number.name.find("bytes") != std::string_view::npos));
    CHECK(number.help.ends_with("."));
  }
  // "held" counts slots and "held_p50_us" is a time: a prefix keeps the keys apart.
  for (const auto& times : Schema<Figures>::kTimes) CHECK((times.prefix.empty() || times.prefix.ends_with("_")));
}

PipelineFigures pipeline() {
  PipelineFigures out{.name = "train", .state = "running", .number = 1};
  out.samples = 500;
  out.cpu_ns = 3'000'000'000;
  out.stages = {{.name = "fetch", .samples = 400, .bytes = 1000, .busy_ns = 2'000'000'000, .lanes = 4}};
  out.stages.front().duration_ns = Distribution::of_values({1'000'000, 1'000'000, 5'000'000});
  RingFigures ring{.group = "job", .batches = 10, .ready_sum = 25};
  ring.readers = {{.name = "me", .group = "job", .pid = 12}};
  out.rings = {ring};
  return out;
}

}  // namespace

TEST_CASE("each number of a part has a name of its own, and a name of bytes says so") {
  check_names<StageFigures>();
  check_names<OperationFigures>();
  check_names<CacheFigures>();
  check_names<ReaderFigures>();
  check_names<RingFigures>();
  check_names<PipelineFigures>();
  check_names<StoreFigures>();
  check_names<GpuFigures>();
  check_names<RoleFigures>();
  check_names<NodeFigures>();
}

TEST_CASE("totals are counters as they stand, seconds, and microseconds of distributions") {
  const auto document = totals_of(pipeline());
  CHECK(document.find("name")->text() == "train");
  CHECK(document.find("samples")->count() == 500);
  CHECK(document.find("cpu_s")->number() == 3);
  const auto& stage = *document.find("stages")->begin();
  CHECK(stage.find("busy_s")->number() == 2);
  CHECK(stage.find("lanes")->count() == 4);
  CHECK(stage.find("p50_us")->number() == Approx(1000).epsilon(0.07));
  CHECK(stage.find("p99_us")->number() == Approx(5000).epsilon(0.07));
  CHECK(stage.find("mean_us")->number() == Approx(7000.0 / 3));
  CHECK(stage.find("wait_p50_us")->number() == 0);
  const auto& ring = *document.find("rings")->begin();
  CHECK(ring.find("ready_mean")->number() == 2.5);
  CHECK(ring.find("trainers")->begin()->find("pid")->count() == 12);
}

TEST_CASE("rates are counts a second, and times become numbers of lanes") {
  Window window{4, {}};
  window.figures.pipelines = {pipeline()};
  window.figures.pipelines.front().waiting = 0.25, window.figures.pipelines.front().full = 0.5;
  const auto document = rates_of(window);
  CHECK(document.find("seconds")->number() == 4);
  const auto& rates = *document.find("pipelines")->begin();
  CHECK(rates.find("samples_per_s")->number() == 125);
  CHECK(!rates.contains("samples"));
  CHECK(rates.find("waiting")->number() == 0.25);
  CHECK(rates.find("full")->number() == 0.5);
  CHECK(!totals_of(pipeline()).contains("waiting"));
  CHECK(rates.find("cpu")->number() == 0.75);
  const auto& stage = *rates.find("stages")->begin();
  CHECK(stage.find("busy")->number() == 0.5);
  CHECK(stage.find("lanes")->count() == 4);
  CHECK(rates_of({}).find("seconds")->number() == 0);  // no division by nothing
  window.seconds = 0.005;
  CHECK(rates_of(window).find("pipelines")->begin()->find("samples_per_s")->number() == Approx(100'000));
}
