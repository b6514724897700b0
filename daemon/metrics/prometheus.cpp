#include "daemon/metrics/prometheus.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>
#include <vector>

#include "daemon/base/system/cpu.h"

namespace spdld::metrics {
namespace {

// Edges of the histograms: 2^10 ns (about a microsecond) and each fourfold of it up to 2^36 ns (68 s). The records of a
// Distribution are counted exactly at powers of two.
constexpr unsigned kFirstEdge = 10, kLastEdge = 36, kEdgeStep = 2;

using Labels = std::vector<std::pair<std::string_view, std::string>>;

std::string seconds_text(double seconds) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), seconds).ptr;
  return {text.data(), end};
}

void append_escaped(std::string& out, const std::string& value) {
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
}

void append_labels(std::string& out, const Labels& labels, std::string_view edge = {}) {
  if (labels.empty() && edge.empty()) return;
  char before = '{';
  for (const auto& [name, value] : labels) {
    out += before;
    out.append(name).append("=\"");
    append_escaped(out, value);
    out += '"';
    before = ',';
  }
  if (!edge.empty()) {
    out += before;
    out.append("le=\"").append(edge).append("\"");
  }
  out += '}';
}

// All parts of one kind, each with its labels; parts with the same labels are added up.
template <typename Figures>
using Parts = std::map<Labels, Figures>;

template <typename Figures>
void add(Parts<Figures>& parts, Labels labels, const Figures& part) {
  const auto [at, is_new] = parts.try_emplace(std::move(labels), part);
  if (is_new) return;
  for (const Number<Figures>& number : Schema<Figures>::kNumbers) at->second.*number.at += part.*number.at;
  for (const Times<Figures>& times : Schema<Figures>::kTimes) (at->second.*times.at).add(part.*times.at);
}

class Text {
 public:
  void head(const std::string& name, std::string_view type, std::string_view help) {
    text_.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ");
    text_.append(name).append(" ").append(type).append("\n");
  }
  void line(const std::string& name, const Labels& labels, const std::string& value, std::string_view edge = {}) {
    text_ += name;
    append_labels(text_, labels, edge);
    text_.append(" ").append(value).append("\n");
  }

  template <typename Figures>
  void numbers(const Parts<Figures>& parts, std::initializer_list<std::string_view> without = {}) {
    for (const Number<Figures>& number : Schema<Figures>::kNumbers) {
      if (std::find(without.begin(), without.end(), number.name) != without.end()) continue;
      const bool is_time = number.unit == Unit::kNanoseconds, is_counter = number.type == MetricType::kCounter;
      const std::string name =
          prefix<Figures>() + std::string(number.name) + (is_time ? "_seconds" : "") + (is_counter ? "_total" : "");
      if (!parts.empty()) head(name, is_counter ? "counter" : "gauge", number.help);
      for (const auto& [labels, part] : parts) {
        const uint64_t value = part.*number.at;
        line(name, labels, is_time ? seconds_text(seconds(value)) : std::to_string(value));
      }
    }
    for (const Times<Figures>& times : Schema<Figures>::kTimes) histograms(parts, times);
  }

  std::string take() { return std::move(text_); }

 private:
  template <typename Figures>
  static std::string prefix() {
    return "spdld_" + std::string(Schema<Figures>::kName) + "_";
  }

  template <typename Figures>
  void histograms(const Parts<Figures>& parts, const Times<Figures>& times) {
    const std::string name = prefix<Figures>() + std::string(times.name) + "_seconds";
    if (!parts.empty()) head(name, "histogram", times.help);
    for (const auto& [labels, part] : parts) {
      const Distribution& records = part.*times.at;
      for (unsigned edge = kFirstEdge; edge <= kLastEdge; edge += kEdgeStep)
        line(name + "_bucket", labels, std::to_string(records.count_below_power(edge)),
             seconds_text(seconds(uint64_t{1} << edge)));
      line(name + "_bucket", labels, std::to_string(records.count()), "+Inf");
      line(name + "_sum", labels, seconds_text(seconds(records.sum())));
      line(name + "_count", labels, std::to_string(records.count()));
    }
  }

  std::string text_;
};

struct OfPipelines {
  Parts<PipelineFigures> pipelines;
  Parts<StageFigures> stages;
  Parts<OperationFigures> operations;
  Parts<CacheFigures> caches;
  Parts<RingFigures> rings;
};

void add(OfPipelines& all, const PipelineFigures& pipeline) {
  const std::pair<std::string_view, std::string> name = {"pipeline", pipeline.name};
  add(all.pipelines, {name}, pipeline);
  for (const auto& stage : pipeline.stages) add(all.stages, {name, {"stage", stage.name}}, stage);
  for (const auto& operation : pipeline.operations)
    add(all.operations, {name, {"output", operation.output}, {"operation", operation.op}, {"stage", operation.stage}},
        operation);
  for (const auto& cache : pipeline.caches)
    add(all.caches, {name, {"field", cache.field}, {"form", cache.form}}, cache);
  for (const auto& ring : pipeline.rings) add(all.rings, {name, {"rank", std::to_string(ring.rank)}}, ring);
}

// The state of each pipeline as a number for each state, as Prometheus has enumerations.
void add_states(Text& text, const std::vector<const PipelineFigures*>& pipelines) {
  if (!pipelines.empty()) text.head("spdld_pipeline_state", "gauge", "1 for the state that the pipeline is in.");
  for (const PipelineFigures* pipeline : pipelines)
    for (const std::string_view state : {"listing", "ready", "running", "degraded", "failed"})
      text.line("spdld_pipeline_state", {{"pipeline", pipeline->name}, {"state", std::string(state)}},
                pipeline->state == state ? "1" : "0");
}

}  // namespace

std::string prometheus_text(const NodeFigures& node, const std::string& version) {
  std::vector<const PipelineFigures*> pipelines;
  for (const auto& pipeline : node.pipelines) pipelines.push_back(&pipeline);
  std::sort(pipelines.begin(), pipelines.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  const size_t left_out = pipelines.size() - std::min(pipelines.size(), kPipelinesMax);
  pipelines.resize(pipelines.size() - left_out);

  OfPipelines all;
  for (const PipelineFigures* pipeline : pipelines) add(all, *pipeline);
  Parts<StoreFigures> stores;
  for (const auto& store : node.stores) add(stores, {{"uri", store.uri}}, store);
  Parts<GpuFigures> gpus;
  for (const auto& gpu : node.gpus) add(gpus, {{"uuid", gpu.uuid}}, gpu);
  Parts<RoleFigures> roles;
  for (const auto& role : node.roles) add(roles, {{"role", role.role}}, role);

  Text text;
  text.head("spdld_build_info", "gauge", "The daemon's version, as a label of the number 1.");
  text.line("spdld_build_info", {{"version", version}}, "1");
  text.head("spdld_pipelines_left_out", "gauge", "Pipelines beyond the number of pipelines that are shown here.");
  text.line("spdld_pipelines_left_out", {}, std::to_string(left_out));
  text.numbers<NodeFigures>({{Labels(), node}});
  text.numbers(roles);
  text.numbers(all.pipelines, {"uid"});
  add_states(text, pipelines);
  text.numbers(all.stages);
  text.numbers(all.operations);
  text.numbers(all.caches);
  text.numbers(all.rings, {"uid", "rank", "world_size", "ready_sum"});
  text.numbers(stores);
  text.numbers(gpus);
  return text.take();
}

}  // namespace spdld::metrics
