// parse-list and parse-npy by themselves: the time of a number, on one thread, from content that lies in memory.
// bench/lists/plain_way.py measures what Python, json and numpy take for the same contents.
#include <benchmark/benchmark.h>

#include <array>
#include <charconv>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "daemon/media/text/json/json_reader.h"
#include "tests/support/makers/npy_maker.h"
#include "tests/support/one_chain.h"

namespace {

using namespace spdld;

// "123, 45678, ..." or "0.123456, ...": token ids below 100,000, and numbers from 0 to 1 with six digits.
std::string numbers_text(int64_t count, bool with_fractions) {
  std::mt19937 random(7);
  std::string text;
  for (int64_t i = 0; i < count; ++i) {
    std::array<char, 32> digits;
    const int number = static_cast<int>(random() % 100'000);
    const auto end = with_fractions ? std::to_chars(digits.data(), digits.data() + digits.size(),
                                                    static_cast<double>(random() % 1'000'000) / 1e6)
                                    : std::to_chars(digits.data(), digits.data() + digits.size(), number);
    text.append(i == 0 ? "" : ", ").append(digits.data(), end.ptr);
  }
  return text;
}

// Runs a node as a decode thread does; `from_json` reads the whole JSON for each sample first.
void run(benchmark::State& state, const config::OperationSpec& spec, const std::string& content, bool from_json) {
  const auto count = static_cast<uint64_t>(state.range(0));
  const std::vector ops = {spec};
  const auto start = config::bytes_of(from_json ? config::Origin::kJson : config::Origin::kContent);
  const media::Chain chain(ops, config::follow(ops, start, config::Form::kRagged), "out");
  std::vector<uint8_t> memory(count * 8);
  uint32_t length = 0;
  const media::TensorOut out{.memory = memory.data(), .length_max = count, .length = &length};
  const std::span bytes(reinterpret_cast<const uint8_t*>(content.data()), content.size());
  const auto steps = config::parse_field_path("json:meta.ids").steps;
  media::Workspace workspace;
  text::JsonReader reader;
  const text::JsonPlace place{reader, steps};
  const media::Value value{.bytes = bytes, .json = &place};
  for (auto _ : state) {
    const bool good = (!from_json || reader.read(bytes)) && chain.run(value, {0, {}, workspace, nullptr, {&out, 1}});
    if (!good || length != count) return state.SkipWithError("the content was not read");
    benchmark::DoNotOptimize(memory.data());
  }
  state.counters["time/number"] = benchmark::Counter(
      static_cast<double>(count), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

config::OperationSpec parse_list(const std::string& dtype) {
  return {"parse-list", {{"dtype", dtype}, {"width", int64_t{0}}, {"length", int64_t{0}}}, {}};
}

void text_int64(benchmark::State& state) {
  run(state, parse_list("int64"), numbers_text(state.range(0), false), false);
}
void text_float32(benchmark::State& state) {
  run(state, parse_list("float32"), numbers_text(state.range(0), true), false);
}
void json_int64(benchmark::State& state) {
  run(state, parse_list("int64"), "{\"meta\": {\"ids\": [" + numbers_text(state.range(0), false) + "]}}", true);
}
void json_float32(benchmark::State& state) {
  run(state, parse_list("float32"), "{\"meta\": {\"ids\": [" + numbers_text(state.range(0), true) + "]}}", true);
}
void npy_float32(benchmark::State& state) {
  const std::string data(static_cast<size_t>(state.range(0)) * sizeof(float), 'x');
  const auto file = test::make_npy("<f4", "(" + std::to_string(state.range(0)) + ",)", data);
  run(state,
      {"parse-npy", {{"dtype", std::string("float32")}, {"shape", std::vector<double>()}, {"length", int64_t{0}}}, {}},
      file, false);
}

BENCHMARK(text_int64)->Arg(16)->Arg(1024);
BENCHMARK(text_float32)->Arg(16)->Arg(1024);
BENCHMARK(json_int64)->Arg(16)->Arg(1024);
BENCHMARK(json_float32)->Arg(16)->Arg(1024);
BENCHMARK(npy_float32)->Arg(16)->Arg(1024);

}  // namespace

BENCHMARK_MAIN();
