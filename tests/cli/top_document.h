// Documents `metrics` as a daemon gives them, made for tests of spdlctl top.
#pragma once

#include <string>
#include <vector>

#include "client/cli/top/top_screen.h"
#include "config/text/json.h"

namespace spdld::test {

// A pipeline of a made document. Ring r serves rank r and has one trainer, the process pid + r.
struct MadePipeline {
  std::string name;
  double samples_per_s = 100;
  std::string limiter = "decode";
  std::string state = "running";
  size_t rings = 1;
  double waiting = 0.31;
  uint64_t pid = 4000;
  uint64_t damaged = 0;
};

inline config::Json made_stages(bool is_rates, double samples_per_s) {
  config::Json stages = config::Json::array();
  for (const char* const name : {"fetch", "decode"}) {
    config::Json stage = {{"name", name}, {"lanes", 4},       {"lanes_max", 16},
                          {"waiting", 7}, {"p50_us", 1500.0}, {"p99_us", 90'000.0}};
    if (is_rates) {
      stage["busy"] = std::string(name) == "fetch" ? 1.25 : 3.9;
      stage["samples_per_s"] = samples_per_s;
    } else {
      stage["samples"] = 1000, stage["failures"] = 3;
    }
    stages.push_back(std::move(stage));
  }
  return stages;
}

inline config::Json made_rings(bool is_rates, const MadePipeline& made) {
  config::Json rings = config::Json::array();
  for (size_t r = 0; r < made.rings; r++) {
    config::Json trainer = {{"name", "trainer.py"}, {"group", "job"}, {"pid", made.pid + r},
                            {"uid", 1000},          {"leases", 1},    {"behind", 2}};
    config::Json ring = {{"group", "job"},    {"shared", false}, {"rank", r},      {"world_size", made.rings},
                         {"slots", 4},        {"ready", 1},      {"filling", 2},   {"held", 1},
                         {"free", 0},         {"depth", 4},      {"depth_max", 8}, {"batch_size", 32},
                         {"slot_bytes", 4096}};
    if (is_rates) {
      ring["samples_per_s"] = made.samples_per_s / static_cast<double>(made.rings);
      ring["full"] = 0.125, ring["ready_mean"] = 1.5;
      trainer["waited"] = made.waiting, trainer["batches_per_s"] = made.samples_per_s / 32;
    } else {
      ring["batches"] = 50 + r, trainer["batches"] = 49 + r;
    }
    ring["trainers"] = std::vector<config::Json>{trainer};
    rings.push_back(std::move(ring));
  }
  return rings;
}

inline config::Json made_pipelines(bool is_rates, const std::vector<MadePipeline>& pipelines, double factor) {
  config::Json list = config::Json::array();
  for (const MadePipeline& made : pipelines) {
    config::Json pipeline = {{"name", made.name},
                             {"state", made.state},
                             {"store", ""},
                             {"stages", made_stages(is_rates, made.samples_per_s * factor)},
                             {"operations", config::Json::array()},
                             {"rings", made_rings(is_rates, made)}};
    config::Json cache = {{"field", "image"}, {"form", "encoded"}, {"memory_entries", 77}, {"memory_bytes", 1 << 20}};
    if (is_rates) {
      pipeline["samples_per_s"] = made.samples_per_s * factor,
      pipeline["batches_per_s"] = made.samples_per_s * factor / 32;
      pipeline["waiting"] = made.waiting, pipeline["full"] = 0.125, pipeline["cpu"] = 1.5;
      cache["memory_hits_per_s"] = 75.0, cache["disk_hits_per_s"] = 0.0, cache["misses_per_s"] = 25.0;
    } else {
      pipeline["samples"] = 123'456, pipeline["batches"] = 3858, pipeline["damaged"] = made.damaged;
      pipeline["unsupported"] = 0, pipeline["too_long"] = 0, pipeline["substituted"] = made.damaged,
      pipeline["masked"] = 0;
    }
    pipeline["caches"] = std::vector<config::Json>{cache};
    list.push_back(std::move(pipeline));
  }
  return list;
}

// The windows of 1, 10 and 60 seconds have 2, 1 and 0.5 times the rate.
inline config::Json made_document(const std::vector<MadePipeline>& pipelines) {
  config::Json document = {{"daemon", "spdld 0.1.0"}, {"pid", 77}, {"uptime_s", 3600.0}};
  document["now"] = config::Json{{"pipelines", made_pipelines(false, pipelines, 1)}};
  for (const uint32_t seconds : {1u, 10u, 60u}) {
    config::Json node = {{"seconds", static_cast<double>(seconds)},
                         {"sessions", 3},
                         {"cpu", 2.31},
                         {"decode_busy", 3.0},
                         {"decode_lanes", 4},
                         {"pss_bytes", 600 << 20},
                         {"slot_bytes", 1 << 20},
                         {"cache_bytes", 3.0 * (1u << 30)},
                         {"cache_bytes_max", 4.0 * (1u << 30)},
                         {"descriptors", 120},
                         {"descriptors_max", 1024}};
    node["roles"] = std::vector<config::Json>{config::Json{{"role", "decode"}, {"cpu", 1.9}},
                                              config::Json{{"role", "idle"}, {"cpu", 0.0}}};
    node["pipelines"] = made_pipelines(true, pipelines, seconds == 1 ? 2 : seconds == 10 ? 1 : 0.5);
    document["last_" + std::to_string(seconds) + "_s"] = std::move(node);
  }
  config::Json verdicts = config::Json::array();
  for (const MadePipeline& made : pipelines)
    verdicts.push_back({{"pipeline", made.name},
                        {"limiter", made.limiter},
                        {"sentence", "Decoding of " + made.name + " is busy 97 % of its time."},
                        {"confidence", 0.9},
                        {"waiting", made.waiting},
                        {"samples_per_s", made.samples_per_s},
                        {"trainer_per_s", 0.0},
                        {"seconds", 10.0},
                        {"remedies", std::vector<config::Json>{config::Json{
                                         {"change", "Take 6 cores."}, {"speedup", 1.45}, {"is_done", false}}}}});
  document["verdicts"] = std::move(verdicts);
  return document;
}

inline std::string shown(const cli::top::Lines& lines) {
  std::string all;
  for (const auto& line : lines) all += line.text() + "\n";
  return all;
}

// The text of the row that is marked; empty: none. The heads of tables are reversed too, and come before the rows.
inline std::string marked(const cli::top::Lines& lines) {
  size_t heads = 0;
  for (const auto& line : lines)
    if (line.is_reversed && ++heads == 2) return line.text();
  return "";
}

}  // namespace spdld::test
