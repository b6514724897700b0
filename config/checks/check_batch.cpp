// [batch]: how many samples come at a time.
#include <algorithm>
#include <array>

#include "config/checks/check.h"
#include "config/text/device.h"

namespace spdld::config {
namespace {

using Type = ParameterType;

constexpr double kCostMax = 1e15;
constexpr int kBucketsMax = 64;

}  // namespace

const std::vector<Parameter>& batch_keys() {
  static const std::vector<Parameter> keys = {
      {.name = "size",
       .type = Type::kInteger,
       .help = "samples of one rank in one step",
       .fallback = Value(int64_t{0}),
       .min = 1,
       .max = 65536},
      {.name = "global_size",
       .type = Type::kInteger,
       .help = "samples of all ranks in one step",
       .fallback = Value(int64_t{0}),
       .min = 1,
       .max = 65536},
      {.name = "cost_max",
       .type = Type::kInteger,
       .help = "in place of size: the most that a rank's batch may cost, which is its samples times the cost of the "
               "costliest. Samples are sorted into buckets by cost",
       .fallback = Value(int64_t{0}),
       .min = 1,
       .max = kCostMax},
      {.name = "cost",
       .type = Type::kChoice,
       .help = "beside cost_max: what a sample costs, the bytes of a field or the pixels of a picture",
       .fallback = Value(std::string("bytes")),
       .choices = {"bytes", "pixels"}},
      {.name = "cost_from",
       .type = Type::kText,
       .help = "beside cost_max: the field, which is the from of an output; by default the first output's",
       .fallback = Value(std::string())},
      {.name = "cost_over",
       .type = Type::kChoice,
       .help = "beside cost_max: what happens to samples that cost more than a batch may",
       .fallback = Value(std::string("refuse")),
       .choices = {"refuse", "leave-out"}},
      {.name = "size_max",
       .type = Type::kInteger,
       .help = "beside cost_max: the most samples of a rank's batch, however little they cost",
       .fallback = Value(int64_t{1024}),
       .min = 1,
       .max = 65536},
      {.name = "buckets",
       .type = Type::kInteger,
       .help = "beside cost_max: the most buckets, whose edges are then chosen so that there is little padding",
       .fallback = Value(int64_t{16}),
       .min = 1,
       .max = kBucketsMax},
      {.name = "bucket_edges",
       .type = Type::kNumbers,
       .help = "beside cost_max, in place of buckets: the largest cost of each bucket",
       .fallback = Value(std::vector<double>()),
       .min = 0,
       .max = kCostMax,
       .count_min = 1,
       .count_max = kBucketsMax,
       .whole = true},
      {.name = "last",
       .type = Type::kChoice,
       .help = "the end of an epoch that the size does not divide",
       .fallback = Value(std::string("short")),
       .choices = {"short", "drop", "pad"}},
      {.name = "prefetch_depth",
       .type = Type::kInteger,
       .help = "the most batches ahead of the trainer",
       .fallback = Value(int64_t{4}),
       .min = 1,
       .max = 16},
      {.name = "held_max",
       .type = Type::kInteger,
       .help = "batches a trainer may hold at once",
       .fallback = Value(int64_t{2}),
       .min = 1,
       .max = 16},
      {.name = "device",
       .type = Type::kText,
       .help = "where batches are handed over",
       .fallback = Value(std::string("auto"))},
      {.name = "group",
       .type = Type::kInteger,
       .help = "so many neighbouring samples are mixed with one another, where [batch] has ops",
       .fallback = Value(int64_t{2}),
       .min = 2,
       .max = 65536},
      {.name = "lam",
       .type = Type::kText,
       .help = "the name of a tensor that says how much of each mixed sample is its own",
       .fallback = Value(std::string())},
      {.name = "partner",
       .type = Type::kText,
       .help = "the name of a tensor that says with which sample each one is mixed, by its id",
       .fallback = Value(std::string())},
  };
  return keys;
}

namespace {

std::vector<uint64_t> edges_of(const TableReader& reader) {
  const Value given = reader.value("bucket_edges");
  std::vector<uint64_t> edges;
  for (const double edge : std::get<std::vector<double>>(given)) edges.push_back(static_cast<uint64_t>(edge));
  for (size_t i = 1; i < edges.size(); ++i) {
    if (edges[i - 1] < edges[i]) continue;
    reader.complain("bucket_edges", "must rise from each number to the next");
    break;
  }
  return edges;
}

// The field whose length is the cost.
std::string cost_from(const TableReader& reader, const std::vector<OutputSpec>& outputs, Cost cost) {
  if (outputs.empty()) return "";  // which is an error of its own
  std::string from = reader.given_text("cost_from").value_or(outputs.front().from);
  const char* const key = reader.find("cost_from") != nullptr ? "cost_from" : "cost_max";
  const auto is_of = [&](const OutputSpec& output) { return output.from == from; };
  const auto is_picture = [&](const OutputSpec& output) {
    return is_of(output) && !output.ops.empty() && find_operation(output.ops.front().op)->picture().counts_pixels;
  };
  if (std::none_of(outputs.begin(), outputs.end(), is_of)) {
    reader.complain(key, "must be the from of an output, and none has " + in_quotes(from));
  } else if (from.find(':') != std::string::npos) {
    reader.complain(key, "must be a whole field, and " + in_quotes(from) +
                             " is a value within one: give the from of another output as cost_from");
  } else if (cost == Cost::kPixels && std::none_of(outputs.begin(), outputs.end(), is_picture)) {
    const auto counts = [](const OperationType& type) { return type.picture().counts_pixels; };
    reader.complain(key, "must be a field that an output begins to make with " +
                             std::string(first_operation(counts).name) + ", beside cost = \"pixels\"");
  }
  return from;
}

// Whether batches are bounded by cost.
bool check_cost(const TableReader& reader, const std::vector<OutputSpec>& outputs, BatchSpec& batch) {
  if (reader.find("cost_max") == nullptr) {
    for (const auto* key : {"cost", "cost_from", "cost_over", "size_max", "buckets", "bucket_edges"})
      if (reader.find(key) != nullptr) reader.complain(key, "may only stand beside cost_max");
    return false;
  }
  CostSpec& cost = batch.cost.emplace();
  cost.cost_max = static_cast<uint64_t>(reader.integer("cost_max"));
  cost.cost = reader.text("cost") == "pixels" ? Cost::kPixels : Cost::kBytes;
  cost.from = cost_from(reader, outputs, cost.cost);
  cost.over = reader.text("cost_over") == "leave-out" ? CostOver::kLeaveOut : CostOver::kRefuse;
  cost.size_max = static_cast<uint64_t>(reader.integer("size_max"));
  if (reader.find("bucket_edges") == nullptr) {
    cost.buckets = static_cast<uint64_t>(reader.integer("buckets"));
    return true;
  }
  cost.edges = edges_of(reader);
  if (reader.find("buckets") != nullptr)
    reader.complain("buckets", "must not stand beside bucket_edges, which says how many there are");
  return true;
}

}  // namespace

BatchSpec check_batch(const Node& node, const std::vector<OutputSpec>& outputs, Complaints& complaints) {
  TableReader reader(node, "batch", batch_keys(), complaints);
  const std::array<std::string_view, 1> others = {"ops"};
  reader.refuse_unknown(others);
  BatchSpec batch;
  batch.size = static_cast<uint64_t>(reader.integer("size"));
  batch.global_size = static_cast<uint64_t>(reader.integer("global_size"));
  const bool size = reader.find("size") != nullptr, global_size = reader.find("global_size") != nullptr;
  if (check_cost(reader, outputs, batch)) {
    for (const std::string_view key : {"size", "global_size"})
      if (reader.find(key) != nullptr) reader.complain(key, "must not stand beside cost_max, which bounds the batch");
    if (reader.find("ops") != nullptr)
      reader.complain("ops", "must not stand beside cost_max: samples are mixed in groups that divide size");
  } else if (size && global_size) {
    reader.complain("global_size",
                    "must not stand beside size: size is a rank's samples a step, global_size the job's");
  } else if (!size && !global_size && node.table() != nullptr) {
    reader.complain(
        "size",
        "is missing: give size (a rank's samples a step), global_size (the job's) or cost_max (what a rank's "
        "batch may cost)");
  }
  batch.last = last_batch_named(reader.text("last"));
  batch.prefetch_depth = static_cast<uint32_t>(reader.integer("prefetch_depth"));
  batch.held_max = static_cast<uint32_t>(reader.integer("held_max"));
  if (const auto device = reader.given_text("device")) {
    batch.device = *device;
    if (!parse_device(*device)) {
      reader.complain("device", "must be " + std::string(kDeviceSyntax) + ", not " + in_quotes(*device));
    }
  }
  return batch;
}

// Refuses kinds of order that can't be by cost; `order` is null where none is written.
void check_order_by_cost(const PipelineSpec& spec, const Node* order, Complaints& complaints) {
  if (!spec.batch.cost) return;
  const auto refuse = [&](std::string_view key, const std::string& why) {
    const Node* const found = order == nullptr ? nullptr : order->find(key);
    if (found != nullptr) complaints.add(found->line, "order." + std::string(key), why + " beside batch.cost_max");
  };
  if (spec.order.shuffle == Shuffle::kWindow || spec.order.shuffle == Shuffle::kClient)
    refuse("shuffle", "must be true or false");
  refuse("weights", "may not stand");
  refuse("repeats", "may not stand");
  refuse("epoch_samples", "may not stand");
  if (spec.rows.is_on()) complaints.add(0, "rows", "may not stand beside batch.cost_max, which counts whole samples");
  if (spec.is_mix()) complaints.add(0, "sources", "may not be several beside batch.cost_max: write one [source]");
}

}  // namespace spdld::config
