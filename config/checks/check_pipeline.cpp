#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "config/checks/check.h"

namespace spdld::config {
namespace {

using Type = ParameterType;

}  // namespace

const std::vector<Parameter>& top_keys() {
  static const std::vector<Parameter> keys = {
      {.name = "name", .type = Type::kText, .help = "of the pipeline"},
      {.name = "seed",
       .type = Type::kInteger,
       .help = "of all random draws",
       .fallback = Value(int64_t{0}),
       .min = 0,
       .max = 9223372036854775807.0},
      {.name = "on_bad",
       .type = Type::kChoice,
       .help = "what happens to content that can't be decoded",
       .fallback = Value(std::string("substitute")),
       .choices = {"substitute", "mask", "fail"}},
      {.name = "on_drop",
       .type = Type::kChoice,
       .help = "what happens to samples that a function drops, or that too_long = \"leave-out\" leaves out; \"auto\": "
               "\"mask\" beside on_bad = \"mask\", else \"substitute\"",
       .fallback = Value(std::string("auto")),
       .choices = {"auto", "substitute", "shorter", "mask"}},
      {.name = "bad_max",
       .type = Type::kNumber,
       .help = "how many samples of an epoch may be bad: a part of them below 1, else their number",
       .fallback = Value(std::string("auto")),
       .min = 0,
       .max = 1e15,
       .word = "auto"},
      {.name = "cache",
       .type = Type::kChoice,
       .help = "what the node keeps of the samples that were read",
       .fallback = Value(std::string("auto")),
       .choices = {"auto", "off", "encoded", "indexed", "packed", "decoded"}},
      {.name = "share",
       .type = Type::kChoice,
       .help = "what jobs on it share: the cache, or the batches, which are decoded once",
       .fallback = Value(std::string("cache")),
       .choices = {"cache", "stream"}},
      {.name = "cpu_weight",
       .type = Type::kNumber,
       .help = "its part of the decode threads' time, beside other pipelines that want it too",
       .fallback = Value(1.0),
       .min = kCpuWeightMin,
       .max = kCpuWeightMax},
      {.name = "gaps",
       .type = Type::kTexts,
       .help = "what a converter could not translate; a pipeline with an entry is refused"},
  };
  return keys;
}

namespace {

// A file that was made from a script must not run while a part of the script is missing in it.
void refuse_gaps(const Node& root, const TableReader& reader, Complaints& complaints) {
  const std::vector<std::string> gaps = reader.texts("gaps");
  const Node* const list = root.find("gaps");
  if (list == nullptr || list->list() == nullptr || gaps.size() != list->list()->size()) return;
  for (size_t i = 0; i < gaps.size(); ++i)
    complaints.add(
        (*list->list())[i].line, "gaps[" + std::to_string(i) + "]",
        "names a part that was not translated: " + gaps[i] + " Write this part here, and take the entry out");
}

std::optional<OnDrop> on_drop_named(const std::string& name) {
  if (name == "substitute") return OnDrop::kSubstitute;
  if (name == "shorter") return OnDrop::kShorter;
  return name == "mask" ? std::optional(OnDrop::kMask) : std::nullopt;
}

std::optional<double> check_bad_max(const TableReader& reader, OnBad on_bad) {
  const Value read = reader.value("bad_max");
  const auto* number = std::get_if<double>(&read);
  if (number == nullptr) return std::nullopt;
  if (*number >= 1 && *number != std::floor(*number)) {
    reader.complain("bad_max",
                    "must be a part of an epoch's samples below 1, such as 0.01, or a whole number of samples");
  }
  if (on_bad == OnBad::kFail) {
    reader.complain("bad_max", "may not stand beside on_bad = \"fail\", which fails at the first bad sample");
  }
  return *number;
}

std::vector<SourceSpec> check_all_sources(const Node& root, MixRule mix, const std::filesystem::path& folder,
                                          Complaints& complaints) {
  const Node *one = root.find("source"), *several = root.find("sources");
  if (one != nullptr && several != nullptr) {
    complaints.add(several->line, "sources", "must not stand beside [source]: write all of them as [[sources]]");
  }
  if (one != nullptr) return {check_source(*one, folder, complaints)};
  if (several != nullptr) return check_sources(*several, mix, folder, complaints);
  complaints.add(0, "source", "is missing: a [source] with type and uri says where the samples are");
  return {};
}

void give_weights_column(PipelineSpec& spec, const Node& order, Complaints& complaints) {
  if (spec.is_mix() || spec.sources.empty()) return;  // complained about
  SourceSpec& source = spec.sources.front();
  const SourceType* const type = find_source(source.type);
  source.weights_column = spec.order.weights_column;
  if (type != nullptr && !type->has_weights_column)
    complaints.add(order.find("weights")->line, "order.weights",
                   "can't be \"column\" here: a source of type \"manifest\" has columns of weights (where a file is "
                   "called column, \"./column\")");
}

// Tells the source which of its columns a part wants. `line` and `key`: of the table that has the part.
void give_groups_column(const PartSpec& part, SourceSpec& source, int line, const std::string& key,
                        Complaints& complaints) {
  if (part.groups != kGroupsByColumn) return;
  const SourceType* const type = find_source(source.type);
  source.groups_column = part.groups_column;
  if (type != nullptr && !type->has_groups_column)
    complaints.add(line, key + ".part.groups",
                   "can't be \"column\" here: sources of the types \"manifest\" and \"parquet\" have columns of groups "
                   "(where a file is called column, \"./column\")");
}

void give_groups_columns(PipelineSpec& spec, const Node& root, Complaints& complaints) {
  if (!spec.is_mix() && !spec.sources.empty() && root.find("order") != nullptr)
    give_groups_column(spec.order.part, spec.sources.front(), root.find("order")->line, "order", complaints);
  if (!spec.is_mix()) return;
  for (size_t i = 0; i < spec.sources.size(); ++i) {
    SourceSpec& source = spec.sources[i];
    give_groups_column(source.part, source, source.where.line, "sources[" + std::to_string(i) + "]", complaints);
  }
}

}  // namespace

Loaded<PipelineSpec> check_pipeline(const Node& root, const std::string& origin, const std::filesystem::path& folder) {
  Complaints complaints(origin, pipeline_places());
  TableReader reader(root, "", top_keys(), complaints);
  const std::array<std::string_view, 7> tables = {"source", "sources", "rows", "order", "output", "batch", "python"};
  reader.refuse_unknown(tables);
  refuse_gaps(root, reader, complaints);
  PipelineSpec spec;
  spec.where = {origin, 0};
  if (const auto name = reader.given_text("name")) {
    spec.name = *name;
    if (!is_word(spec.name, "_.-") || spec.name.find_first_of("_.-") == 0) {
      reader.complain("name",
                      "must be 1 to 64 letters, digits, \"_\", \".\" or \"-\" and begin with a letter or digit");
    }
  }
  spec.seed = static_cast<uint64_t>(reader.integer("seed"));
  const std::string on_bad = reader.text("on_bad");
  spec.on_bad = on_bad == "mask" ? OnBad::kMask : on_bad == "fail" ? OnBad::kFail : OnBad::kSubstitute;
  spec.on_drop = on_drop_named(reader.text("on_drop"));
  spec.bad_max = check_bad_max(reader, spec.on_bad);
  spec.cache = cache_form_named(reader.text("cache"));
  spec.share = reader.text("share") == "stream" ? Share::kStream : Share::kCache;
  spec.cpu_weight = reader.number("cpu_weight");

  if (const Node* order = root.find("order")) {
    spec.order = check_order(*order, folder, complaints);
    check_order_of(root.find("sources") != nullptr, *order, complaints);
  }
  if (spec.share == Share::kStream && spec.order.shuffle == Shuffle::kClient)
    reader.complain("share", "can't be \"stream\" beside shuffle = \"client\": each job says its own order");
  spec.sources = check_all_sources(root, spec.order.mix, folder, complaints);
  if (spec.order.shuffle == Shuffle::kClient && !spec.sources.empty() && has_condition(spec.sources.front()))
    complaints.add(spec.sources.front().where.line, "source.where",
                   "may not stand beside shuffle = \"client\": the trainer says which samples come");
  if (spec.order.weights == kWeightsByColumn) give_weights_column(spec, *root.find("order"), complaints);
  give_groups_columns(spec, root, complaints);
  const Node* rows = root.find("rows");
  if (rows != nullptr) spec.rows = check_rows(*rows, spec.sources, complaints);
  const bool rows_are_known = complaints.empty();
  spec.outputs = check_outputs(root.find("output"), spec.sources, spec.rows, spec.has_mask(), folder, complaints);
  const bool outputs_are_known = complaints.empty();
  if (const Node* python = root.find("python"))
    spec.python = check_python(*python, outputs_are_known ? &spec : nullptr, complaints);
  if (rows_are_known && complaints.empty()) check_beside_rows(spec, rows == nullptr ? 0 : rows->line, complaints);
  if (complaints.empty()) check_batch_shapes(spec, root, complaints);
  if (spec.cache == CacheForm::kDecoded) refuse_hindrances(spec.outputs, complaints);
  if (complaints.empty()) spec.outputs = with_copies(*root.find("output"), std::move(spec.outputs), complaints);
  if (const Node* batch = root.find("batch")) {
    spec.batch = check_batch(*batch, spec.outputs, complaints);
    check_batch_operations(*batch, spec, complaints);
    check_order_by_cost(spec, root.find("order"), complaints);
    if (spec.order.shuffle == Shuffle::kClient && spec.batch.last != LastBatch::kShort) {
      complaints.add(
          batch->find("last")->line, "batch.last",
          "may not stand beside order.shuffle = \"client\": a step has the samples that the trainer gives it");
    }
  } else {
    complaints.add(0, "batch",
                   "is missing: a [batch] with size, global_size or cost_max says how many samples a step has");
  }
  if (complaints.empty()) check_beside_items(spec, root, complaints);
  if (complaints.empty()) refuse_too_many_tensors(spec, root.find("output")->line, complaints);
  if (complaints.empty()) return {std::move(spec), {}};
  return {std::nullopt, complaints.take()};
}

}  // namespace spdld::config
