// What tests of made samples share: items of a data set in user code, and crews that make them.
#pragma once

#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/source/opening/opening.h"
#include "proto/crew/record.h"
#include "tests/user/crew_rig.h"

namespace spdld::making_test {

using namespace spdld;
using namespace spdld::test;
using Catch::Contains;
using proto::crew::Task;

using Bytes = std::vector<uint8_t>;

inline Bytes bytes_of(int64_t number) {
  Bytes bytes(sizeof number);
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}
inline Bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

inline Made made(std::vector<Bytes> values) {
  Bytes record = record_of(values);
  return {.bytes = std::move(record), .values = std::move(values)};
}

inline config::SourceSpec source_of(const std::string& gives, int64_t samples = 20) {
  config::SourceSpec source;
  source.type = "python";
  source.uris = {};
  source.parameters = {{"call", "photos:train"}, {"code", std::string()}, {"samples", samples}, {"gives", gives}};
  return source;
}

inline config::OperationSpec raw(const std::string& dtype, std::vector<double> shape = {}) {
  return {"raw", {{"dtype", dtype}, {"shape", std::move(shape)}, {"offset", int64_t{-1}}}, {}};
}

inline std::unique_ptr<source::Listing> list(const std::vector<config::SourceSpec>& sources) {
  return source::open_listings(sources, {}, {});
}

// Keeps samples, with their records, until it is told to let them go.
struct Keeping final : pipeline::Stage {
  Keeping() : Stage({.name = "keeping"}) {}
  pipeline::StageOutcome start(pipeline::Passage& passage, pipeline::Caller&) override {
    const std::lock_guard lock(mutex);
    if (is_open) return pipeline::StageOutcome::kDone;
    passage.walker->on_wait(passage);
    kept.push_back(&passage);
    return pipeline::StageOutcome::kUnderWay;
  }
  size_t count() {
    const std::lock_guard lock(mutex);
    return kept.size();
  }
  void open() {
    std::vector<pipeline::Passage*> all;
    {
      const std::lock_guard lock(mutex);
      is_open = true;
      all.swap(kept);
    }
    for (pipeline::Passage* const passage : all) passage->walker->on_outcome(*passage, pipeline::StageOutcome::kDone);
  }
  uint64_t busy_ns() const override { return 0; }
  unsigned concurrency() const override { return 1; }
  std::mutex mutex;
  bool is_open = false;
  std::vector<pipeline::Passage*> kept;
};

// One number, ten times the index.
inline Given tens(const std::string& gives = "value int64 []") {
  Given given;
  given.sources = {source_of(gives)};
  given.list = list;
  given.outputs = {{"value", "value", {raw("int64")}, {}}};
  return given;
}
// A second output of it, so that it lies in the record, and not in the slot.
inline Given in_records(Given given) {
  given.outputs.push_back({"again", "value", {raw("int64")}, {}});
  return given;
}
inline Made ten(const Task& task, const Bytes&) { return made({bytes_of(static_cast<int64_t>(10 * task.index))}); }

// As many batches as an epoch has.
inline std::multiset<int64_t> take_epoch(Rig& rig, uint64_t samples = 20) {
  std::multiset<int64_t> ids;
  while (ids.size() < samples) {
    const Received batch = rig.take();
    CHECK(batch.values == tenfold(batch.ids));
    ids.insert(batch.ids.begin(), batch.ids.end());
  }
  return ids;
}

inline bool has_each_once(const std::multiset<int64_t>& ids, int64_t samples = 20) {
  for (int64_t id = 0; id < samples; id++)
    if (ids.count(id) != 1) return false;
  return static_cast<int64_t>(ids.size()) == samples;
}

}  // namespace spdld::making_test
