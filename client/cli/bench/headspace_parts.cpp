// A pipeline's spec taken apart, into pipelines that run its parts alone.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "client/cli/bench/headspace.h"
#include "config/checks/load.h"
#include "config/operation.h"

namespace spdld::cli {
namespace {

using config::CacheForm;
using config::OperationSpec;
using config::OutputSpec;
using config::PipelineSpec;
constexpr uint64_t kFetchBatch = 64;
constexpr size_t kCutsMax = 3;  // shortened chains that are measured: the shortest, the longest, and one between

// For ever, without a cache, in an order that nobody pushes, with batches of its own.
PipelineSpec bare(PipelineSpec spec) {
  spec.order.epochs = 0;
  if (spec.order.shuffle == config::Shuffle::kClient) spec.order.shuffle = config::Shuffle::kGlobal;
  spec.cache = CacheForm::kOff;
  spec.share = config::Share::kCache;
  return spec;
}

PipelineSpec without_mixing(PipelineSpec spec) {
  spec.batch.ops.clear();
  spec.batch.group = 0;
  spec.batch.lam.clear();
  spec.batch.partner.clear();
  return spec;
}

// As the daemon will read it; without a value where it is no pipeline.
config::Loaded<PipelineSpec> loaded(const PipelineSpec& spec) {
  return config::load_pipeline_json(config::full_json(spec), spec.name, "/");
}
std::optional<PipelineSpec> checked(const PipelineSpec& spec) { return loaded(spec).value; }

bool takes_bytes(const OutputSpec& output) {
  if (output.ops.empty()) return false;
  const auto* first = config::find_operation(output.ops.front().op);
  return first && first->takes == config::SignatureKind::kBytes;
}

// Each output that is made of bytes gives the first byte of them: all are read, and none is decoded.
HeadspacePart fetch_part(const PipelineSpec& spec) {
  PipelineSpec fetch = without_mixing(spec);
  if (fetch.batch.cost && fetch.batch.cost->cost == config::Cost::kPixels) {  // which takes an output of pictures
    fetch.batch.size = std::min(fetch.batch.cost->size_max, kFetchBatch);
    fetch.batch.cost.reset();
  }
  for (OutputSpec& output : fetch.outputs) {
    if (!takes_bytes(output)) continue;
    output.ops = {config::with_defaults(config::first_operation([](const auto& type) { return type.copies_bytes; }),
                                        output.where)};
    output.varying = {};
    output.varying.form = config::Form::kRagged;
    output.varying.length_max = 1;
    output.varying.too_long = config::TooLong::kCut;
    output.view.clear();
  }
  auto read = loaded(fetch);
  HeadspacePart part{
      .subject = HeadspaceSubject::kFetch, .name = "fetch", .what = "bytes are read and dropped", .spec = {}};
  if (!read) part.fault = "its rows cannot be fetched alone: " + read.complaints.front().sentence();
  if (read) part.spec = std::move(*read.value);
  return part;
}

const OutputSpec& longest_output(const PipelineSpec& spec) {
  return *std::max_element(spec.outputs.begin(), spec.outputs.end(),
                           [](const auto& a, const auto& b) { return a.ops.size() < b.ops.size(); });
}

std::string ops_text(const PipelineSpec& spec) {
  std::string text;
  for (const OperationSpec& operation : longest_output(spec).ops) text += (text.empty() ? "" : ", ") + operation.op;
  const bool several = std::count_if(spec.outputs.begin(), spec.outputs.end(), takes_bytes) > 1;
  return text + (several ? " (" + longest_output(spec).name + "; the other outputs as far)" : "");
}

// Every chain ends behind its first `count` operations.
PipelineSpec shortened(const PipelineSpec& spec, size_t count) {
  PipelineSpec cut = without_mixing(spec);
  for (OutputSpec& output : cut.outputs) {
    if (output.ops.size() > count) output.ops.resize(count);
  }
  return cut;
}

// Shortened chains that give a batch, from the shortest; then the whole chains, where batches are mixed behind them.
std::vector<HeadspacePart> output_parts(const PipelineSpec& spec) {
  std::vector<HeadspacePart> parts;
  std::vector<std::string> known = {config::canonical_json(spec)};
  for (size_t count = 1; count <= longest_output(spec).ops.size(); ++count) {
    auto cut = checked(shortened(spec, count));
    if (!cut) continue;
    const std::string decides = config::canonical_json(*cut);
    if (std::find(known.begin(), known.end(), decides) != known.end()) continue;
    known.push_back(decides);
    const std::string last = longest_output(shortened(spec, count)).ops.back().op;
    parts.push_back(
        {.subject = HeadspaceSubject::kOutputs, .name = "to " + last, .what = ops_text(*cut), .spec = std::move(*cut)});
  }
  if (parts.size() <= kCutsMax) return parts;
  std::vector<HeadspacePart> chosen;
  for (const size_t at : {size_t{0}, parts.size() / 2, parts.size() - 1}) chosen.push_back(parts[at]);
  return chosen;
}

std::string whole_text(const PipelineSpec& spec) {
  std::string text = ops_text(spec);
  for (const auto& operation : spec.batch.ops) text += ", " + operation.op;
  return text + (text.empty() ? "" : "; ") + "nothing is cached";
}

}  // namespace

PipelineSpec with_first(PipelineSpec spec, uint64_t samples) {
  const auto limit = [](config::Selection& selection, uint64_t count) {
    selection.first = selection.first == 0 ? count : std::min(selection.first, count);
  };
  if (!spec.is_mix()) {
    limit(spec.order, samples);
    return spec;
  }
  for (auto& source : spec.sources) limit(source, std::max<uint64_t>(1, samples / spec.sources.size()));
  return spec;
}

std::vector<HeadspacePart> headspace_parts(const PipelineSpec& given, uint32_t threads) {
  const PipelineSpec spec = bare(given);
  std::vector<HeadspacePart> parts;
  parts.push_back({HeadspaceSubject::kHandOver, "hand-over", "the same batches again and again", spec});
  parts.push_back(fetch_part(spec));
  HeadspacePart all = parts.back();
  all.subject = HeadspaceSubject::kFetchAll;
  all.name = "fetch, all";
  all.what = "the same over all samples, from storage where the page cache does not have them";
  if (all.fault.empty()) parts.push_back(std::move(all));
  for (HeadspacePart& part : output_parts(spec)) parts.push_back(std::move(part));
  parts.push_back({HeadspaceSubject::kWhole, "whole", whole_text(spec), spec});
  for (const CacheForm form : {CacheForm::kEncoded, CacheForm::kIndexed, CacheForm::kPacked, CacheForm::kDecoded}) {
    PipelineSpec cached = spec;
    cached.cache = form;
    auto possible = checked(cached);
    if (!possible) continue;  // an operation hinders it
    const std::string name(config::cache_form_name(form));
    parts.push_back(
        {HeadspaceSubject::kCache, "cache = \"" + name + "\"", "the whole, from a warm cache", std::move(*possible)});
  }
  std::vector<uint32_t> fewer = {1};
  if (threads >= 4) fewer.push_back(threads / 2);
  for (const uint32_t count : fewer) {
    if (count >= threads) continue;
    parts.push_back(
        {HeadspaceSubject::kThreads, counted(count, "thread"), "the whole, with fewer decode threads", spec, count});
  }
  return parts;
}

}  // namespace spdld::cli
