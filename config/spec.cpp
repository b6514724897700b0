#include "config/spec.h"

#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "config/catalogue.h"
#include "config/operation.h"
#include "config/segments.h"
#include "config/text/json.h"

namespace spdld::config {
namespace {

constexpr double kWholeMax = 9007199254740992;  // 2^53: below it a double holds every integer

template <typename T>
const T& get(const OperationSpec& spec, std::string_view name) {
  const auto found = spec.parameters.find(name);
  const T* value = found == spec.parameters.end() ? nullptr : std::get_if<T>(&found->second);
  if (value == nullptr) {
    throw std::logic_error("operation " + spec.op + " has no parameter " + std::string(name) + " of this type");
  }
  return *value;
}

// 1 and 1.0 say the same: one text for both.
Json number_json(double number) {
  if (number == std::floor(number) && std::abs(number) < kWholeMax) return static_cast<int64_t>(number);
  return number;
}

Json parameter_json(const Value& value) {
  if (const auto* number = std::get_if<double>(&value)) return number_json(*number);
  if (const auto* numbers = std::get_if<std::vector<double>>(&value)) {
    auto list = Json::array();
    for (const double number : *numbers) list.push_back(number_json(number));
    return list;
  }
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* integer = std::get_if<int64_t>(&value)) return *integer;
  return std::get<std::string>(value);
}

// Which keys of a spec a text has.
enum class Keys : uint8_t {
  kDeciding,  // all that decide the bytes which come out, but for the content of files
  kAll
};

Json with_parameters(Json object, const Parameters& parameters) {
  for (const auto& [name, value] : parameters) object[name] = parameter_json(value);
  return object;
}

Json operation_json(const OperationSpec& op, Keys keys) {
  Parameters parameters = op.parameters;
  if (keys == Keys::kDeciding) {
    for (const Parameter& parameter : find_operation(op.op)->parameters)
      if (!decides(parameter)) parameters.erase(std::string(parameter.name));
  }
  return with_parameters({{"op", op.op}}, parameters);
}

Json ops_json(const std::vector<OperationSpec>& ops, Keys keys) {
  auto list = Json::array();
  for (const auto& op : ops) {
    Json entry = operation_json(op, keys);
    if (!op.ops.empty()) entry["ops"] = ops_json(op.ops, keys);
    list.push_back(std::move(entry));
  }
  return list;
}

std::string_view on_bad_name(OnBad on_bad) {
  switch (on_bad) {
    case OnBad::kSubstitute:
      return "substitute";
    case OnBad::kMask:
      return "mask";
    case OnBad::kFail:
      return "fail";
  }
  return "";
}

std::string_view on_drop_name(OnDrop on_drop) {
  switch (on_drop) {
    case OnDrop::kSubstitute:
      return "substitute";
    case OnDrop::kShorter:
      return "shorter";
    case OnDrop::kMask:
      return "mask";
  }
  return "";
}

std::string_view last_batch_name(LastBatch last) {
  switch (last) {
    case LastBatch::kShort:
      return "short";
    case LastBatch::kDrop:
      return "drop";
    case LastBatch::kPad:
      return "pad";
  }
  return "";
}

Json part_json(const PartSpec& part) {
  Json object = Json::object();
  if (part.of != 0) {
    object["of"] = part.of;
    object["index"] = part.index;
  }
  if (part.fraction != 0) object["fraction"] = part.fraction;
  if (part.rest) object["rest"] = true;
  if (part.seed != 0) object["seed"] = part.seed;
  if (!part.groups.empty()) object["groups"] = part.groups;
  if (!part.groups_column.empty()) object["groups_column"] = part.groups_column;
  if (part.by_class) object["stratify"] = "class";
  return object;
}

void add_selection(const Selection& taken, Json& object) {
  if (!taken.include.empty()) object["include"] = taken.include;
  if (!taken.exclude.empty()) object["exclude"] = taken.exclude;
  if (taken.first != 0) object["first"] = taken.first;
  if (taken.part.is_on()) object["part"] = part_json(taken.part);
}

Json deciding_source_json(const SourceSpec& source) {
  Parameters parameters = source.parameters;
  // The samples that are taken say what the condition does.
  if (const auto found = parameters.find(kConditionKey); found != parameters.end()) parameters.erase(found);
  Json object = with_parameters({{"type", source.type}}, parameters);
  if (!source.name.empty()) object["name"] = source.name;
  if (source.weight != 0) object["weight"] = number_json(source.weight);
  return object;
}

// A path, or the list that stands in the pipeline itself.
Json classes_json(const std::string& classes) {
  if (is_list_path(classes)) return classes;
  Json list = Json::array();
  for (size_t at = 0; at != std::string::npos;) {
    const size_t end = classes.find('\n', at + 1);
    list.push_back(classes.substr(at + 1, end == std::string::npos ? end : end - at - 1));
    at = end;
  }
  return list;
}

Json full_source_json(const SourceSpec& source) {
  Json object = deciding_source_json(source);
  if (has_condition(source))
    object[kConditionKey] = std::get<std::string>(source.parameters.find(kConditionKey)->second);
  if (source.uris.size() == 1) {
    object["uri"] = source.uris.front();
  } else if (!source.uris.empty()) {
    object["uri"] = source.uris;
  }
  if (!source.fingerprint.empty()) object["fingerprint"] = source.fingerprint;
  if (source.on_missing == OnMissing::kWarn) object["on_missing"] = "warn";
  if (source.samples_listing) object["check_listing"] = "sample";
  if (source.access != Access::kAuto) object["access"] = source.access == Access::kStream ? "stream" : "ranges";
  if (source.stream_bytes_max != kStreamBytes) object["stream_bytes_max"] = source.stream_bytes_max;
  if (!source.classes.empty()) object["classes"] = classes_json(source.classes);
  add_selection(source, object);
  return object;
}

void put_sources(const PipelineSpec& spec, Json (*as_json)(const SourceSpec&), Json& root) {
  if (!spec.is_mix()) {
    root["source"] = as_json(spec.sources.front());
    return;
  }
  root["sources"] = Json::array();
  for (const auto& source : spec.sources) root["sources"].push_back(as_json(source));
}

// Keys that say nothing are left out, so that a spec keeps its text when a version brings new keys.
Json deciding_order_json(const OrderSpec& order) {
  Json object = {{"shuffle", order.shuffle == Shuffle::kGlobal}};
  if (order.shuffle == Shuffle::kWindow) {
    object["shuffle"] = "window";
    object["window"] = order.window;
  }
  if (order.shuffle == Shuffle::kClient) object["shuffle"] = "client";
  if (order.mix == MixRule::kExact) object["mix"] = "exact";
  if (!order.weights.empty()) object["replacement"] = order.replacement;
  if (order.repeats != 1) object["repeats"] = order.repeats;
  if (order.epoch_samples != 0) object["epoch_samples"] = order.epoch_samples;
  return object;
}

void add_rest(const OrderSpec& order, Json& object) {
  object["epochs"] = order.epochs;
  add_selection(order, object);
  if (!order.weights.empty()) object["weights"] = order.weights;
  if (!order.weights_column.empty()) object["weights_column"] = order.weights_column;
  if (order.weights_default) object["weights_default"] = number_json(*order.weights_default);
}

std::string_view too_long_name(TooLong too_long) {
  switch (too_long) {
    case TooLong::kBad:
      return "bad";
    case TooLong::kCut:
      return "cut";
    case TooLong::kLeaveOut:
      return "leave-out";
  }
  return "";
}

void add_varying(const VaryingSpec& varying, Json& output) {
  if (varying.form == Form::kFixed) return;
  if (varying.form == Form::kRagged) output["ragged"] = true;
  if (varying.length_max != 0) output["length_max"] = varying.length_max;
  if (varying.too_long != TooLong::kBad) output["too_long"] = too_long_name(varying.too_long);
  if (varying.form != Form::kPadded) return;
  output["pad"] = "longest";
  if (varying.pad_multiple != 1) output["pad_multiple"] = varying.pad_multiple;
  if (varying.pad_value != 0) output["pad_value"] = number_json(varying.pad_value);
  if (!varying.lengths.empty()) output["lengths"] = varying.lengths;
  if (!varying.pad_mask.empty()) output["pad_mask"] = varying.pad_mask;
}

Json output_json(const OutputSpec& output, Keys keys) {
  Json object = {{"name", output.name}, {"from", output.from}, {"ops", ops_json(output.ops, keys)}};
  if (!output.view.empty()) object["view"] = output.view;
  add_varying(output.varying, object);
  return object;
}

Json outputs_json(const PipelineSpec& spec, Keys keys) {
  auto outputs = Json::array();
  for (const auto& output : spec.outputs) outputs.push_back(output_json(output, keys));
  return outputs;
}

Json rows_json(const RowsSpec& rows) {
  Json object = {
      {"kind", row_kind_name(rows.kind)}, {"from", rows.from}, {"partial", rows.keeps_partial ? "keep" : "drop"}};
  switch (rows.kind) {
    case RowKind::kTiles:
      object["size"] = std::vector<int64_t>{rows.height, rows.width};
      object["stride"] = std::vector<int64_t>{rows.stride_y, rows.stride_x};
      break;
    case RowKind::kClips:
      object["step"] = rows.clip_step;
      break;
    case RowKind::kWindows:
      object["length"] = rows.length;
      object["stride"] = std::vector<uint64_t>{rows.stride};
      break;
    case RowKind::kPacked:
      object["length"] = rows.length;
      if (rows.separator) object["separator"] = int64_t{*rows.separator};
      break;
    case RowKind::kRecords:
      break;
  }
  return object;
}

void add_batch_operations(const BatchSpec& batch, Json& object) {
  if (batch.ops.empty()) return;
  object["ops"] = Json::array();
  for (const auto& op : batch.ops) {
    Json entry =
        with_parameters({{"op", op.op}, {"images", op.images}, {"share", number_json(op.share)}}, op.parameters);
    if (!op.labels.empty()) entry["labels"] = op.labels;
    object["ops"].push_back(std::move(entry));
  }
  object["group"] = batch.group;
  if (!batch.lam.empty()) object["lam"] = batch.lam;
  if (!batch.partner.empty()) object["partner"] = batch.partner;
}

Json deciding_batch_json(const BatchSpec& batch) {
  Json object = {{"last", last_batch_name(batch.last)}};
  if (!batch.cost) return object;
  object["cost_max"] = batch.cost->cost_max;
  object["cost"] = batch.cost->cost == Cost::kPixels ? "pixels" : "bytes";
  object["cost_from"] = batch.cost->from;
  object["cost_over"] = batch.cost->over == CostOver::kLeaveOut ? "leave-out" : "refuse";
  object["size_max"] = batch.cost->size_max;
  if (batch.cost->buckets != 0) object["buckets"] = batch.cost->buckets;
  if (!batch.cost->edges.empty()) object["bucket_edges"] = batch.cost->edges;
  return object;
}

Json python_json(const PythonSpec& python) {
  return {{"processes", int64_t{python.processes}},
          {"call_limit_s", number_json(python.call_limit_s)},
          {"memory", python.memory_bytes_max},
          {"scratch", python.scratch_bytes}};
}

Json deciding_json(const PipelineSpec& spec) {
  Json root = {{"seed", spec.seed},
               {"on_bad", on_bad_name(spec.on_bad)},
               {"order", deciding_order_json(spec.order)},
               {"output", outputs_json(spec, Keys::kDeciding)},
               {"batch", deciding_batch_json(spec.batch)}};
  if (spec.drops_by() != default_on_drop(spec.on_bad)) root["on_drop"] = on_drop_name(spec.drops_by());
  add_batch_operations(spec.batch, root["batch"]);
  put_sources(spec, &deciding_source_json, root);
  if (spec.rows.is_on()) root["rows"] = rows_json(spec.rows);
  return root;
}

}  // namespace

Layout layout_named(std::string_view name) {
  if (name == "NHWC") return Layout::kNhwc;
  if (name == "NCHW") return Layout::kNchw;
  if (name == "NCTHW") return Layout::kNcthw;
  throw std::logic_error("no layout is called " + std::string(name));
}

bool OperationSpec::flag(std::string_view name) const { return get<bool>(*this, name); }
int64_t OperationSpec::integer(std::string_view name) const { return get<int64_t>(*this, name); }
double OperationSpec::number(std::string_view name) const { return get<double>(*this, name); }
const std::string& OperationSpec::text(std::string_view name) const { return get<std::string>(*this, name); }
const std::vector<double>& OperationSpec::numbers(std::string_view name) const {
  return get<std::vector<double>>(*this, name);
}

std::string uris_text(const SourceSpec& source) {
  std::string text;
  if (const auto called = source.parameters.find("call"); source.uris.empty() && called != source.parameters.end())
    text = std::get<std::string>(called->second);
  for (const auto& uri : source.uris) text += (text.empty() ? "" : ", ") + uri;
  return text;
}

std::string_view cache_form_name(CacheForm form) {
  switch (form) {
    case CacheForm::kAuto:
      return "auto";
    case CacheForm::kOff:
      return "off";
    case CacheForm::kEncoded:
      return "encoded";
    case CacheForm::kIndexed:
      return "indexed";
    case CacheForm::kPacked:
      return "packed";
    case CacheForm::kDecoded:
      return "decoded";
  }
  return "";
}

CacheForm cache_form_named(std::string_view name) {
  for (const auto form : {CacheForm::kAuto, CacheForm::kOff, CacheForm::kEncoded, CacheForm::kIndexed,
                          CacheForm::kPacked, CacheForm::kDecoded}) {
    if (cache_form_name(form) == name) return form;
  }
  throw std::logic_error("no form of the cache is called " + std::string(name));
}

std::string_view row_kind_name(RowKind kind) {
  switch (kind) {
    case RowKind::kRecords:
      return "";
    case RowKind::kTiles:
      return "tiles";
    case RowKind::kClips:
      return "clips";
    case RowKind::kWindows:
      return "windows";
    case RowKind::kPacked:
      return "packed";
  }
  return "";
}

Shuffle shuffle_named(std::string_view name) {
  if (name == "global") return Shuffle::kGlobal;
  if (name == "window") return Shuffle::kWindow;
  if (name == "off") return Shuffle::kOff;
  if (name == "client") return Shuffle::kClient;
  throw std::logic_error("no way to shuffle is called " + std::string(name));
}

LastBatch last_batch_named(std::string_view name) {
  for (const auto last : {LastBatch::kShort, LastBatch::kDrop, LastBatch::kPad}) {
    if (last_batch_name(last) == name) return last;
  }
  throw std::logic_error("no end of an epoch is called " + std::string(name));
}

std::string canonical_json(const PipelineSpec& spec) { return deciding_json(spec).dump(); }

Json full_document(const PipelineSpec& spec) {
  auto root = deciding_json(spec);
  root["output"] = outputs_json(spec, Keys::kAll);
  root["name"] = spec.name;
  if (spec.bad_max) root["bad_max"] = number_json(*spec.bad_max);
  root["cache"] = cache_form_name(spec.cache);
  root["share"] = spec.share == Share::kStream ? "stream" : "cache";
  put_sources(spec, &full_source_json, root);
  add_rest(spec.order, root["order"]);
  if (spec.batch.size != 0) root["batch"]["size"] = spec.batch.size;
  if (spec.batch.global_size != 0) root["batch"]["global_size"] = spec.batch.global_size;
  root["cpu_weight"] = number_json(spec.cpu_weight);
  if (uses_executor(spec, kUserExecutor)) root["python"] = python_json(spec.python);
  root["batch"]["prefetch_depth"] = spec.batch.prefetch_depth;
  root["batch"]["held_max"] = spec.batch.held_max;
  root["batch"]["device"] = spec.batch.device;
  return root;
}

std::string full_json(const PipelineSpec& spec) { return full_document(spec).dump(); }

}  // namespace spdld::config
