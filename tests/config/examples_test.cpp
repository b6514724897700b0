#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "config/batch_operation.h"
#include "config/catalogue.h"
#include "config/checks/check.h"
#include "tests/config/expect.h"
#include "tests/support/temp_dir.h"

namespace spdld::config::examples_test {
namespace {

const std::filesystem::path kExamples = SPDLD_EXAMPLES;

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

// Whether a line sets the key, or shows it in a comment that begins with it.
bool names_key(const std::string& text, const std::string& key) {
  return ("\n" + text).find("\n" + key + " = ") != std::string::npos ||
         ("\n" + text).find("\n# " + key + " = ") != std::string::npos;
}

// A section's lines, as they are or behind "# ", up to the next section; NAME stands for any name.
std::string section_of(const std::string& text, std::string name) {
  if (const size_t any = name.find(".NAME"); any != std::string::npos) name.erase(any + 1);
  const size_t begin = std::min(text.find("\n[" + name), text.find("\n# [" + name));
  if (begin == std::string::npos) return "";
  const size_t body = text.find('\n', begin + 1);
  return text.substr(body, std::min(text.find("\n[", body), text.find("\n# [", body)) - body);
}

class TemporaryFolder : public spdld::test::TempDir {
 public:
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(path() / name, std::ios::binary) << text;
    return path() / name;
  }
};

}  // namespace

TEST_CASE("all examples load", "[config]") {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kExamples)) {
    const auto& file = entry.path();
    INFO(file);
    names.insert(file.filename().string());
    if (guess_kind(text_of(file)) == FileKind::kDaemon) {
      const auto loaded = load_daemon_file(file);
      INFO(loaded.sentences());
      CHECK(loaded);
    } else {
      const auto loaded = load_pipeline_file(file);
      INFO(loaded.sentences());
      REQUIRE(loaded);
      const auto again = load_pipeline_json(full_json(*loaded.value), "again");
      INFO(again.sentences());
      REQUIRE(again);
      CHECK(full_json(*again.value) == full_json(*loaded.value));
    }
  }
  CHECK(names.size() > 50);
  CHECK(guess_kind(text_of(kExamples / "spdld.toml")) == FileKind::kDaemon);
  CHECK(guess_kind(text_of(kExamples / "webdataset.toml")) == FileKind::kPipeline);
}

TEST_CASE("the example of the daemon's file names every key, with its default", "[config]") {
  const std::string text = text_of(kExamples / "spdld.toml");
  for (const auto& key : daemon_keys()) {
    INFO(key);
    if (key == "data.stores") continue;  // each is a table of its own
    const size_t dot = key.rfind('.');
    const std::string name = key.substr(dot + 1);
    CHECK(names_key(section_of(text, key.substr(0, dot)), name == "NAME" ? "imagenet-train" : name));
  }
  for (const Parameter& key : store_keys()) {
    INFO(key.name);
    CHECK(names_key(section_of(text, "[data.stores]"), std::string(key.name)));
  }
  const auto loaded = load_daemon_file(kExamples / "spdld.toml");
  REQUIRE(loaded);
  const DaemonSettings defaults;
  CHECK(loaded.value->socket_path == defaults.socket_path);
  CHECK(loaded.value->socket_mode == defaults.socket_mode);
  CHECK(loaded.value->cpu_budget == defaults.cpu_budget);
  CHECK(loaded.value->fetch_concurrency == defaults.fetch_concurrency);
  CHECK(loaded.value->slot_bytes_max == defaults.slot_bytes_max);
  CHECK(loaded.value->slot_bytes_per_user_max == defaults.slot_bytes_per_user_max);
  CHECK(loaded.value->pipelines_per_user_max == defaults.pipelines_per_user_max);
  CHECK(loaded.value->sessions_max == defaults.sessions_max);
  CHECK(loaded.value->inflight_bytes_max == defaults.inflight_bytes_max);
  CHECK(loaded.value->inflight_bytes_per_pipeline_max == defaults.inflight_bytes_per_pipeline_max);
  CHECK(loaded.value->decode_bytes_max == defaults.decode_bytes_max);
  CHECK(loaded.value->decode_bytes_per_pipeline_max == defaults.decode_bytes_per_pipeline_max);
  CHECK(loaded.value->decode_bytes_per_user_max == defaults.decode_bytes_per_user_max);
  CHECK(loaded.value->sample_ms_max == defaults.sample_ms_max);
  CHECK(loaded.value->sample_bytes_max == defaults.sample_bytes_max);
  CHECK(loaded.value->jpeg_by_libjpeg == defaults.jpeg_by_libjpeg);
  CHECK(loaded.value->cache_ram_bytes_max == defaults.cache_ram_bytes_max);
  CHECK(loaded.value->cache_folder == defaults.cache_folder);
  CHECK(loaded.value->cache_disk_bytes_max == defaults.cache_disk_bytes_max);
  CHECK(loaded.value->state_kept == defaults.state_kept);
  CHECK(loaded.value->state_folder == defaults.state_folder);
  CHECK(loaded.value->tuning_enabled == defaults.tuning_enabled);
  CHECK(loaded.value->tuning_decode == defaults.tuning_decode);
  CHECK(loaded.value->tuning_fetch == defaults.tuning_fetch);
  CHECK(loaded.value->tuning_depth == defaults.tuning_depth);
  CHECK(loaded.value->gpu_enabled == defaults.gpu_enabled);
  CHECK(loaded.value->gpu_slot_bytes_max == defaults.gpu_slot_bytes_max);
  CHECK(loaded.value->gpu_staging_bytes_max == defaults.gpu_staging_bytes_max);
  CHECK(loaded.value->log_level == defaults.log_level);
}

TEST_CASE("what the examples show in comments is right as well", "[config]") {
  std::string daemon = text_of(kExamples / "spdld.toml");
  for (size_t at = daemon.find("\n# "); at != std::string::npos; at = daemon.find("\n# ", at + 1)) {
    const std::string line = daemon.substr(at + 3, daemon.find('\n', at + 1) - at - 3);
    const bool shown =
        line.starts_with("[pipelines.") || line == "[[data.stores]]" || line.find(" = ") == line.find(' ');
    if (shown) daemon.erase(at + 1, 2);
  }
  const auto loaded = load_daemon_toml(daemon, "spdld.toml");
  INFO(daemon << loaded.sentences());
  REQUIRE(loaded);
  CHECK(loaded.value->socket_group == "trainers");
  REQUIRE(loaded.value->data_roots.size() == 2);
  CHECK(loaded.value->data_roots[0] == DataRoot{"/data", {}});
  CHECK(loaded.value->data_roots[1] == DataRoot{"/mnt/shards", {{"alice", "1007"}, {"vision"}}, true});
  REQUIRE(loaded.value->data_stores.size() == 1);
  CHECK(loaded.value->data_stores[0] == StoreSettings{"s3://imagenet/train", {{"alice"}, {"vision"}}});
  CHECK(loaded.value->access.size() == 2);
  CHECK(loaded.value->cpu_weights == std::map<std::string, double>{{"imagenet-train", 3}});
  CHECK(loaded.value->pipelines_dir == "/etc/spdld/pipelines");
  CHECK(loaded.value->cache_folder == "/mnt/ssd/spdld");
}

TEST_CASE("the example of training names every key of a pipeline", "[config]") {
  const std::string text = text_of(kExamples / "imagenet-train.toml");
  for (const char* key :
       {"name",          "seed",    "on_bad",         "cache",           "type",        "uri",
        "extensions",    "shuffle", "window",         "epochs",          "include",     "exclude",
        "first",         "weights", "weights_column", "weights_default", "replacement", "epoch_samples",
        "from",          "ops",     "size",           "global_size",     "last",        "prefetch_depth",
        "held_max",      "device",  "cpu_weight",     "fingerprint",     "bad_max",     "on_missing",
        "check_listing", "repeats", "copies",         "classes",         "part",        "on_drop"}) {
    INFO(key);
    CHECK(names_key(text, key));
  }
  const std::string lengths = text_of(kExamples / "lengths.toml");
  for (const Parameter& key : varying_keys()) {
    INFO(key.name);
    CHECK(names_key(lengths, std::string(key.name)));
  }
  CHECK(names_key(text_of(kExamples / "segmentation.toml"), "view"));
  std::string all;
  for (const auto& entry : std::filesystem::directory_iterator(kExamples)) all += text_of(entry.path());
  for (const auto& operation : batch_operations()) {
    INFO(operation.name);
    CHECK(all.find("op = \"" + std::string(operation.name) + "\"") != std::string::npos);
  }
  for (const auto& operation : operations()) {
    INFO(operation.name);
    CHECK(all.find("op = \"" + std::string(operation.name) + "\"") != std::string::npos);
  }
  for (const auto& source : sources()) {
    INFO(source.name);
    CHECK(all.find("type = \"" + std::string(source.name) + "\"") != std::string::npos);
  }
}

TEST_CASE("the example of buckets names every key of batches that are bounded by cost", "[config]") {
  const std::string text = text_of(kExamples / "buckets.toml");
  for (const char* key : {"cost_max", "cost", "cost_from", "cost_over", "size_max", "buckets", "bucket_edges"}) {
    INFO(key);
    CHECK(names_key(text, key));
  }
  const auto loaded = load_pipeline_file(kExamples / "buckets.toml");
  INFO(loaded.sentences());
  REQUIRE(loaded);
  REQUIRE(loaded.value->batch.cost);
  CHECK(loaded.value->batch.cost->over == CostOver::kLeaveOut);
}

TEST_CASE("the example of a mix names every key that a mix has beside others", "[config]") {
  const std::string text = text_of(kExamples / "mix.toml");
  for (const char* key : {"name", "weight", "type", "uri", "include", "exclude", "first", "mix", "epoch_samples"}) {
    INFO(key);
    CHECK(names_key(text, key));
  }
  const auto loaded = load_pipeline_file(kExamples / "mix.toml");
  REQUIRE(loaded);
  REQUIRE(loaded.value->sources.size() == 3);
  CHECK(loaded.value->sources[1].name == "drawings");
  CHECK(loaded.value->sources[0].weight == 7);
  CHECK(loaded.value->order.epoch_samples == 1'000'000);
}

TEST_CASE("files are read from their folder", "[config]") {
  const TemporaryFolder folder;
  const auto file = folder.write("p.toml", with_line(5, "uri = \"train\""));
  const auto loaded = load_pipeline_file(file);
  INFO(loaded.sentences());
  REQUIRE(loaded);
  CHECK(loaded.value->sources[0].uris.at(0) == (folder.path() / "train").string());
  CHECK(loaded.value->where.file == file.string());
  const auto json = load_pipeline_file(folder.write("p.json", full_json(*loaded.value)));
  INFO(json.sentences());
  REQUIRE(json);
  CHECK(full_json(*json.value) == full_json(*loaded.value));
}

TEST_CASE("a file that can't be read says so", "[config]") {
  const TemporaryFolder folder;
  expect_complaints(load_pipeline_file(folder.path() / "none.toml"), {{0, "", "can't be read: "}});
  expect_complaints(load_daemon_file(folder.path() / "none.toml"), {{0, "", "can't be read: "}});
  expect_complaints(load_pipeline_file(folder.path()), {{0, "", "not a regular file"}});
  const auto pipe = folder.path() / "pipe.toml";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  expect_complaints(load_pipeline_file(pipe), {{0, "", "not a regular file"}});
  expect_complaints(load_daemon_file("/dev/null"), {{0, "", "not a regular file"}});
  const auto large = folder.write("large.toml", std::string((1 << 20) + 1, '\n'));
  expect_complaints(load_daemon_file(large), {{0, "", "is too large"}});
}

TEST_CASE("the kind of a file shows even where it does not parse", "[config]") {
  CHECK(guess_kind("name = \n[source]\n") == FileKind::kPipeline);
  CHECK(guess_kind("name = \n[[output]]") == FileKind::kPipeline);
  CHECK(guess_kind("[socket]\npath =") == FileKind::kDaemon);
  CHECK(guess_kind("source.uri = 1") == FileKind::kPipeline);
  CHECK(guess_kind("") == FileKind::kDaemon);
}

}  // namespace spdld::config::examples_test
