#include "daemon/metrics/document.h"

#include <algorithm>
#include <string>

#include "daemon/base/system/cpu.h"

namespace spdld::metrics {
namespace {

using config::Json;

constexpr double kMicrosecondsPerNs = 1e-3;

// The total, or the rate over `seconds`.
struct Style {
  double seconds = 0;  // 0: totals
  bool is_rate() const { return seconds > 0; }
};

template <typename Figures>
void add_number(Json& out, const Figures& part, const Number<Figures>& number, const Style& style) {
  const std::string name(number.name);
  const uint64_t value = part.*number.at;
  const bool is_time = number.unit == Unit::kNanoseconds;
  if (style.is_rate() && number.type == MetricType::kCounter) {
    const double rate = static_cast<double>(value) / style.seconds;
    out[is_time ? name : name + "_per_s"] = is_time ? rate * 1e-9 : rate;
  } else if (is_time) {
    out[name + "_s"] = spdld::seconds(value);
  } else {
    out[name] = value;
  }
}

void add_times(Json& out, const std::string& prefix, const Distribution& times) {
  const auto quantile_us = [&](double q) { return static_cast<double>(times.quantile(q)) * kMicrosecondsPerNs; };
  out[prefix + "mean_us"] = times.mean() * kMicrosecondsPerNs;
  out[prefix + "p50_us"] = quantile_us(0.5);
  out[prefix + "p90_us"] = quantile_us(0.9);
  out[prefix + "p99_us"] = quantile_us(0.99);
}

template <typename Figures>
void add_all(Json& out, const Figures& part, const Style& style) {
  for (const Number<Figures>& number : Schema<Figures>::kNumbers) add_number(out, part, number, style);
  for (const Times<Figures>& times : Schema<Figures>::kTimes) add_times(out, std::string(times.prefix), part.*times.at);
}

Json with(Json names, const auto& part, const Style& style) {
  add_all(names, part, style);
  return names;
}

Json document_of(const StageFigures& stage, const Style& style) {
  return with({{"name", stage.name},
               {"lane", stage.account.lane},
               {"reads_source", stage.account.reads_source},
               {"is_on_pool", stage.account.is_on_pool}},
              stage, style);
}

Json document_of(const OperationFigures& operation, const Style& style) {
  return with({{"output", operation.output}, {"op", operation.op}, {"stage", operation.stage}}, operation, style);
}

Json document_of(const CacheFigures& cache, const Style& style) {
  return with({{"field", cache.field}, {"form", cache.form}}, cache, style);
}

Json document_of(const ReaderFigures& reader, const Style& style) {
  return with({{"name", reader.name}, {"group", reader.group}}, reader, style);
}

Json document_of(const StoreFigures& store, const Style& style) { return with({{"uri", store.uri}}, store, style); }

Json document_of(const GpuFigures& gpu, const Style& style) { return with({{"uuid", gpu.uuid}}, gpu, style); }

Json document_of(const RoleFigures& role, const Style& style) { return with({{"role", role.role}}, role, style); }

template <typename Figures>
Json list_of(const std::vector<Figures>& parts, const Style& style) {
  Json list = Json::array();
  for (const Figures& part : parts) list.push_back(document_of(part, style));
  return list;
}

Json document_of(const RingFigures& ring, const Style& style) {
  Json out = with({{"group", ring.group}, {"shared", ring.is_shared}}, ring, style);
  const auto batches = static_cast<double>(ring.batches);
  out["ready_mean"] = ring.batches ? static_cast<double>(ring.ready_sum) / batches : 0.0;
  out["trainers"] = list_of(ring.readers, style);
  return out;
}

Json document_of(const PipelineFigures& pipeline, const Style& style) {
  Json out = with({{"name", pipeline.name},
                   {"state", pipeline.state},
                   {"store", pipeline.store},
                   {"cache_form", pipeline.cache_form}},
                  pipeline, style);
  if (style.is_rate()) {
    out["waiting"] = pipeline.waiting;
    out["full"] = pipeline.full;
  }
  out["stages"] = list_of(pipeline.stages, style);
  out["operations"] = list_of(pipeline.operations, style);
  out["caches"] = list_of(pipeline.caches, style);
  out["rings"] = list_of(pipeline.rings, style);
  return out;
}

Json document_of(const NodeFigures& node, const Style& style) {
  Json out = with(Json::object(), node, style);
  out["roles"] = list_of(node.roles, style);
  out["pipelines"] = list_of(node.pipelines, style);
  out["stores"] = list_of(node.stores, style);
  out["gpus"] = list_of(node.gpus, style);
  return out;
}

}  // namespace

Json totals_of(const StageFigures& stage) { return document_of(stage, Style()); }
Json totals_of(const OperationFigures& operation) { return document_of(operation, Style()); }
Json totals_of(const CacheFigures& cache) { return document_of(cache, Style()); }
Json totals_of(const RingFigures& ring) { return document_of(ring, Style()); }
Json totals_of(const PipelineFigures& pipeline) { return document_of(pipeline, Style()); }
Json totals_of(const StoreFigures& store) { return document_of(store, Style()); }
Json totals_of(const NodeFigures& node) { return document_of(node, Style()); }

// Nothing has a rate in a window of no time: its figures are shown as they are, which is nothing.
Json rates_of(const Window& window) {
  constexpr double kLeastS = 1e-3;
  Json out = document_of(window.figures, Style{std::max(window.seconds, kLeastS)});
  out["seconds"] = window.seconds;
  return out;
}

}  // namespace spdld::metrics
