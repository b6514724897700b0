// check and ops: what needs no daemon.
#include <array>
#include <cstdio>
#include <fstream>
#include <memory>

#include "client/cli/data_check.h"
#include "client/cli/query.h"
#include "client/cli/table.h"
#include "config/catalogue.h"
#include "config/checks/document.h"
#include "config/checks/load.h"
#include "config/views.h"

namespace spdld::cli {
namespace {

using config::Json;

struct Verdict {
  std::string file;
  bool fine = false;
  const char* kind = "pipeline";
  std::string summary;  // when fine
  std::vector<config::Complaint> complaints;
  std::vector<std::string> data;  // remarks on the data, when fine
};

std::string output_summary(const config::PipelineSpec& spec, const config::OutputSpec& output) {
  const config::Form form = output.varying.form;
  config::Signature start = config::start_of(output.ops);
  config::set_frame(start, config::frame_of(spec.outputs, output));
  const config::Signature end = config::follow(output.ops, start, form).end();
  const char* way = form == config::Form::kRagged ? ", ragged" : form == config::Form::kPadded ? ", padded" : "";
  return output.name + " (" + std::string(config::dtype_name(end.dtype())) + way + ")";
}

std::string part_summary(const config::PartSpec& part) {
  std::array<char, 32> fraction{};
  std::snprintf(fraction.data(), fraction.size(), "%.10g", part.fraction);
  std::string text = part.rest ? "all but " : "";
  if (part.of == 0) return text + "a part of " + fraction.data() + " of the samples, ";
  text += part.index.size() == 1 ? "part " : "parts ";
  for (size_t i = 0; i < part.index.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(part.index[i]);
  return text + " of " + std::to_string(part.of) + ", ";
}

std::string order_summary(const config::OrderSpec& order) {
  std::string text = "; ";
  if (order.first > 0) text += "the first " + counted(order.first, "sample");
  if (!order.include.empty()) text += (order.first > 0 ? " of the samples in " : "the samples in ") + order.include;
  if (!order.exclude.empty())
    text += (text.size() > 2 ? " except" : "all except") + std::string(" the samples in ") + order.exclude;
  if (text.size() > 2) text += ", ";
  if (order.part.is_on()) text += part_summary(order.part);
  switch (order.shuffle) {
    case config::Shuffle::kGlobal:
      return text + "shuffled, ";
    case config::Shuffle::kWindow:
      return text + "shuffled in windows of " + count_text(order.window) + ", ";
    case config::Shuffle::kClient:
      return text + "in the trainer's own order, ";
    case config::Shuffle::kOff:
      break;
  }
  return text + "in order, ";
}

std::string sources_summary(const config::PipelineSpec& spec) {
  std::string text;
  for (const auto& source : spec.sources) {
    text += (text.empty() ? "" : ", ") + (source.name.empty() ? "" : source.name + " = ") + source.type + " " +
            config::uris_text(source);
  }
  return spec.order.mix == config::MixRule::kExact ? text + ", in exact proportions" : text;
}

std::string summary(const config::PipelineSpec& spec) {
  std::string text = "pipeline " + spec.name + ": " + sources_summary(spec) + "; gives ";
  for (const auto& output : spec.outputs) {
    text += (&output == &spec.outputs.front() ? "" : ", ") + output_summary(spec, output);
  }
  const auto& batch = spec.batch;
  text += "; batches of " + (batch.global_size > 0 ? std::to_string(batch.global_size) + " over all ranks"
                                                   : std::to_string(batch.size) + " a rank");
  if (batch.last == config::LastBatch::kDrop) text += ", an incomplete last one dropped";
  if (batch.last == config::LastBatch::kPad) text += ", an incomplete last one filled up";
  text += order_summary(spec.order);
  if (spec.order.epoch_samples > 0) text += "epochs of " + counted(spec.order.epoch_samples, "sample") + ", ";
  text += spec.order.epochs > 0 ? counted(spec.order.epochs, "epoch") : std::string("endless epochs");
  return safe_text(text + "; cache " + std::string(config::cache_form_name(spec.cache)));
}

std::string cache_summary(const config::DaemonSettings& settings) {
  std::string text;
  if (!settings.cache_ram_bytes_max) {
    text = "a quarter of the memory";
  } else if (*settings.cache_ram_bytes_max > 0) {
    text = bytes_text(static_cast<double>(*settings.cache_ram_bytes_max));
  }
  if (!settings.cache_folder.empty()) {
    text += (text.empty() ? "" : " and ") + bytes_text(static_cast<double>(settings.cache_disk_bytes_max)) + " in " +
            settings.cache_folder.string();
  }
  return text.empty() ? "no cache" : "a cache of at most " + text;
}

std::string summary(const config::DaemonSettings& settings) {
  return safe_text("the daemon's file: socket " + settings.socket_path.string() + ", slots of at most " +
                   bytes_text(static_cast<double>(settings.slot_bytes_max)) + ", " + cache_summary(settings) +
                   (settings.pipelines_dir.empty() ? std::string(", no named pipelines")
                                                   : ", pipelines in " + settings.pipelines_dir.string()));
}

template <typename T>
void judge(Verdict& verdict, const config::Loaded<T>& loaded) {
  verdict.fine = static_cast<bool>(loaded);
  if (loaded) {
    verdict.summary = summary(*loaded.value);
  } else {
    verdict.complaints = loaded.complaints;
  }
}

// The file's beginning is enough to tell its kind; that it can be read at all is for the loader to say.
bool is_daemon_file(const std::string& file) {
  if (file.ends_with(".json")) return false;
  std::ifstream stream(file, std::ios::binary);
  std::string text(config::kTextBytesMax, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
  return !text.empty() && config::guess_kind(text) == config::FileKind::kDaemon;
}

Verdict check_file(const std::string& file) {
  Verdict verdict;
  verdict.file = file;
  if (is_daemon_file(file)) {
    verdict.kind = "daemon";
    judge(verdict, config::load_daemon_file(file));
  } else {
    const auto loaded = config::load_pipeline_file(file);
    judge(verdict, loaded);
    if (loaded) verdict.data = data_remarks(*loaded.value);
  }
  return verdict;
}

Json verdict_json(const Verdict& verdict) {
  Json complaints = Json::array();
  for (const auto& complaint : verdict.complaints) {
    complaints.push_back({{"file", complaint.where.file},
                          {"line", complaint.where.line},
                          {"key", complaint.key},
                          {"text", complaint.text}});
  }
  Json data = Json::array();
  for (const std::string& remark : verdict.data) data.push_back(remark);
  return {{"file", verdict.file},       {"kind", verdict.kind},     {"fine", verdict.fine},
          {"summary", verdict.summary}, {"complaints", complaints}, {"data", data}};
}

ExitCode check(const Globals& globals, const std::vector<std::string>& files) {
  const bool colour = page_of_stdout().colour;
  bool fine = true;
  Json verdicts = Json::array();
  for (const auto& file : files) {
    const Verdict verdict = check_file(file);
    fine = fine && verdict.fine;
    if (globals.json()) {
      verdicts.push_back(verdict_json(verdict));
    } else if (verdict.fine) {
      print(safe_text(file) + ": " + styled("fine", Style::kGood, colour) + ", " + verdict.summary + "\n");
      for (const std::string& remark : verdict.data)
        print(safe_text(file) + ": " + styled("data", Style::kWarning, colour) + ", " + safe_text(remark) + "\n");
    } else {
      for (const auto& complaint : verdict.complaints) print(complaint.sentence() + "\n");
    }
  }
  if (globals.json()) print_json(verdicts);
  return fine ? kFine : kWrong;
}

void declare_check(config::Arguments command, const Globals& globals, RunCommand& run) {
  const auto files = std::make_shared<std::vector<std::string>>();
  command.words("FILE", *files, "pipeline files (.toml, .json) or the daemon's spdld.toml");
  run = [&globals, files] { return check(globals, *files); };
}

constexpr const char* kCheckMore =
    "The command needs no daemon. The exit code is 1 if any file has an error. For local data, lists and files beside "
    "it that are not there, or that this user can't read, a line with \"data\" follows; the exit code stays, since the "
    "daemon may run as another user.\n\n"
    "Example:\n"
    "  spdlctl check /etc/spdld/spdld.toml train.toml";

void declare_ops(config::Arguments, const Globals& globals, RunCommand& run) {
  run = [&globals] {
    print(globals.json() ? config::operations_json() + "\n" : config::operations_text());
    return kFine;
  };
}

constexpr const char* kOpsMore = "The command needs no daemon.";

}  // namespace

Command check_command() {
  return {"check files and print every error as file:line: key: what is wrong and what is allowed", kCheckMore,
          &declare_check};
}

Command ops_command() {
  return {"list the operations and sources that a pipeline file may name, with their parameters", kOpsMore,
          &declare_ops};
}

}  // namespace spdld::cli
