// Loads and checks files: all errors of a file at once, each with its place and the allowed values. Any thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/daemon_settings.h"
#include "config/spec.h"

namespace spdld::config {

struct Complaint {
  Where where;
  std::string key;   // dotted: "output[0].ops[1].scale"
  std::string text;  // one sentence: what is wrong and what is allowed

  std::string sentence() const;  // "train.toml:12: output[0].ops[1].scale: ..."
};

// Either a value or at least one complaint (at most 100, in the order of the lines).
template <typename T>
struct Loaded {
  std::optional<T> value;
  std::vector<Complaint> complaints;

  explicit operator bool() const { return value.has_value(); }
  std::string sentences() const {
    std::string all;
    for (const auto& c : complaints) all += (all.empty() ? "" : "\n") + c.sentence();
    return all;
  }
};

// A file's text is at most 1 MiB; a file named .json is read as JSON, any other as TOML.
Loaded<PipelineSpec> load_pipeline_file(const std::filesystem::path& file);
// `origin` stands for the file's name in complaints; relative uris are taken from `folder` (none: they are refused).
Loaded<PipelineSpec> load_pipeline_toml(std::string_view text, const std::string& origin,
                                        const std::filesystem::path& folder = {});
Loaded<PipelineSpec> load_pipeline_json(std::string_view text, const std::string& origin,
                                        const std::filesystem::path& folder = {});

Loaded<DaemonSettings> load_daemon_file(const std::filesystem::path& file);
Loaded<DaemonSettings> load_daemon_toml(std::string_view text, const std::string& origin);

// Every key of the daemon's file, dotted, in its order ("socket.path"; "pipelines.access.NAME.users"), for help and
// tests.
std::vector<std::string> daemon_keys();

// Whether a TOML text is meant as a pipeline or as the daemon's file ([source] and [[output]] tell), for `spdlctl
// check`.
enum class FileKind { kPipeline, kDaemon };
FileKind guess_kind(std::string_view toml_text);

}  // namespace spdld::config
