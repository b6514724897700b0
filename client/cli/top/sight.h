// The document `metrics` as the views read it: its pipelines, each with its totals, its rates in a window of time, and
// its verdict. Numbers are taken from the document as they are; a field that is missing is nothing. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/top/lines.h"
#include "config/text/json.h"

namespace spdld::cli::top {

// Points into the document, which outlives it.
struct PipelineSight {
  std::string name;
  std::string key;                        // the name; of further pipelines with this name: also their number
  const config::Json* now = nullptr;      // totals; never null, nor are the documents below
  const config::Json* rates = nullptr;    // of the window
  const config::Json* verdict = nullptr;  // empty: none
};

struct Sight {
  const config::Json* document = nullptr;
  const config::Json* node = nullptr;  // the node's rates in the window
  uint32_t window_s = 10;
  std::vector<PipelineSight> pipelines;  // as the daemon sorts them
};

// A ring and its rates; the rates are empty where the daemon gave none for this ring.
struct RingSight {
  const config::Json* now = nullptr;
  const config::Json* rates = nullptr;
};
std::vector<RingSight> rings_of(const PipelineSight& pipeline);

struct TrainerSight {
  std::string key;  // its place and its process
  const config::Json* now = nullptr;
  const config::Json* rates = nullptr;
  const config::Json* ring = nullptr;
};
std::vector<TrainerSight> trainers_of(const PipelineSight& pipeline);

Sight sight_of(const config::Json& document, uint32_t window_s);

// The stage of this name in a list `stages`; empty: none.
const config::Json& stage_of(const config::Json& pipeline, std::string_view name);

// Sums over a pipeline's rings.
struct RingSums {
  uint64_t ready = 0, slots = 0, trainers = 0;
};
RingSums ring_sums(const config::Json& pipeline);

// Samples that were found damaged, unsupported or too long.
uint64_t bad_of(const config::Json& totals);
// Hits of all look-ups in the window; none: nothing was looked up.
std::optional<double> hit_rate(const config::Json& caches);

double ratio(double of, double whole);  // 0 where there is no whole
// "3.1/16": how many of the lanes are busy.
std::string busy_text(double busy, uint64_t lanes);
std::string level_text(uint64_t level, uint64_t most);  // "1/4"
// Yellow where a part is busy nearly all of the time.
Style use_style(double use);

}  // namespace spdld::cli::top
