// Makes the outputs of a pipeline's views exactly as the daemon's decode threads do, for comparison with other
// programs.
//
//   view_dump PIPELINE.toml < REQUESTS
//
// A request is a line of JSON {"sample": n, "fields": {"image": {"file": PATH}, "boxes": {"text": "[[1, 2, 3, 4]]"}}}.
// The answer is a line of JSON, then the bytes of each output's tensor in this order:
//   {"outputs": [{"name": "...", "dtype": "...", "shape": [...], "bytes": n}, ...]}    or    {"error": "..."}, no bytes
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/checks/load.h"
#include "config/operation.h"
#include "config/views.h"
#include "daemon/media/chain.h"

namespace {

using namespace spdld;
using nlohmann::json;

struct Output {
  const config::OutputSpec& spec;
  config::Signature end;
  media::Chain chain;
  size_t element_bytes;  // of a place along the first dimension
  std::vector<uint8_t> tensor = {};
  uint32_t length = 0;
};

Output made(const config::PipelineSpec& spec, const config::OutputSpec& output) {
  config::Signature start = config::start_of(output.ops);
  config::set_frame(start, config::frame_of(spec.outputs, output));
  const config::Followed followed = config::follow(output.ops, start, output.varying.form);
  if (!followed.error.empty()) throw std::runtime_error(output.name + ": " + followed.error);
  size_t bytes = config::dtype_bytes(followed.end().dtype());
  for (size_t i = 1; i < followed.end().dimensions.size(); ++i)
    bytes *= static_cast<size_t>(followed.end().dimensions[i].value());
  return {output, followed.end(), media::Chain(output.ops, followed, output.name), bytes};
}

class Dump {
 public:
  explicit Dump(const config::PipelineSpec& spec) : seed_(spec.seed), views_(config::views_of(spec.outputs)) {
    for (const auto& output : spec.outputs) outputs_.push_back(made(spec, output));
  }

  json answer(const json& request) {
    fields_.assign(outputs_.size(), {});
    for (size_t i = 0; i < outputs_.size(); ++i) fields_[i] = content_of(request["fields"][outputs_[i].spec.from]);
    const uint64_t sample = request["sample"];
    const Draws draws{seed_, 0, sample};
    for (const size_t i : views_.asked)
      if (const Status advised = outputs_[i].chain.advise(value_of(i), call_of(i, draws, {}, nullptr)); !advised)
        return {{"error", advised.error().message}};
    for (const size_t i : views_.order)
      if (const Status run = this->run(i, draws); !run) return {{"error", run.error().message}};
    json list = json::array();
    for (const Output& output : outputs_) {
      std::vector<int64_t> shape = {output.length};
      for (size_t i = 1; i < output.end.dimensions.size(); ++i) shape.push_back(output.end.dimensions[i].value());
      list.push_back({{"name", output.spec.name},
                      {"dtype", config::dtype_name(output.end.dtype())},
                      {"shape", shape},
                      {"bytes", output.length * output.element_bytes}});
    }
    return {{"outputs", list}};
  }

  void write() const {
    for (const Output& output : outputs_)
      std::cout.write(reinterpret_cast<const char*>(output.tensor.data()),
                      static_cast<std::streamsize>(output.length * output.element_bytes));
  }

 private:
  static std::vector<uint8_t> content_of(const json& field) {
    if (field.contains("text")) {
      const std::string text = field["text"];
      return {text.begin(), text.end()};
    }
    std::ifstream file(field["file"].get<std::string>(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  media::Value value_of(size_t i) const { return {.bytes = fields_[i]}; }

  media::Call call_of(size_t i, const Draws& draws, std::span<const media::TensorOut> tensors, media::Field* field) {
    return {draws.sample, draws, workspace_, field, tensors, {}, views_.number[i]};
  }

  Status run(size_t i, const Draws& draws) {
    Output& output = outputs_[i];
    const config::VaryingSpec& varying = output.spec.varying;
    const bool varies = varying.form != config::Form::kFixed;
    const auto places = static_cast<uint64_t>(varies ? varying.length_max : output.end.dimensions.front().value());
    output.tensor.assign(places * output.element_bytes, 0x5C);
    output.length = static_cast<uint32_t>(places);
    media::TensorOut out{.memory = output.tensor.data()};
    if (varies) out.length_max = places, out.length = &output.length;
    media::Field field{.bytes = fields_[i], .number = i};
    media::Value value = value_of(i);
    return output.chain.run(value, call_of(i, draws, {&out, 1}, &field));
  }

  uint64_t seed_;
  config::Views views_;
  std::vector<Output> outputs_;
  std::vector<std::vector<uint8_t>> fields_;  // of each output
  media::Workspace workspace_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: view_dump PIPELINE.toml < REQUESTS\n"), 2;
  const auto spec = config::load_pipeline_file(argv[1]);
  if (!spec) return std::fprintf(stderr, "%s\n", spec.sentences().c_str()), 1;
  Dump dump(*spec.value);
  for (std::string line; std::getline(std::cin, line);) {
    const json answer = dump.answer(json::parse(line));
    std::cout << answer.dump() << '\n';
    if (answer.contains("outputs")) dump.write();
    std::cout.flush();
  }
}
