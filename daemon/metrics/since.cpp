#include <algorithm>
#include <tuple>

#include "daemon/metrics/figures.h"

namespace spdld::metrics {
namespace {

// The numbers that tell a part from the other parts of its list.
auto key_of(const StageFigures& part) { return std::tie(part.name); }
auto key_of(const OperationFigures& part) { return std::tie(part.stage, part.output, part.op); }
auto key_of(const CacheFigures& part) { return std::tie(part.field, part.form); }
auto key_of(const ReaderFigures& part) { return std::tie(part.pid, part.group, part.name); }
auto key_of(const RingFigures& part) {
  return std::tie(part.group, part.uid, part.rank, part.world_size, part.batch_size);
}
auto key_of(const PipelineFigures& part) { return std::tie(part.number); }
auto key_of(const StoreFigures& part) { return std::tie(part.uri); }
auto key_of(const GpuFigures& part) { return std::tie(part.uuid); }
auto key_of(const RoleFigures& part) { return std::tie(part.role); }

template <typename Figures>
void take_off(Figures& now, const Figures& before) {
  for (const Number<Figures>& number : Schema<Figures>::kNumbers) {
    if (number.type != MetricType::kCounter) continue;
    uint64_t& value = now.*number.at;
    const uint64_t old = before.*number.at;
    value -= old <= value ? old : 0;  // a counter that is smaller than before has begun anew
  }
  for (const Times<Figures>& times : Schema<Figures>::kTimes) now.*times.at = (now.*times.at).since(before.*times.at);
}

template <typename Figures>
void take_off(std::vector<Figures>& now, const std::vector<Figures>& before);

void take_off_whole(StageFigures& now, const StageFigures& before) { take_off(now, before); }
void take_off_whole(OperationFigures& now, const OperationFigures& before) { take_off(now, before); }
void take_off_whole(CacheFigures& now, const CacheFigures& before) { take_off(now, before); }
void take_off_whole(ReaderFigures& now, const ReaderFigures& before) { take_off(now, before); }
void take_off_whole(StoreFigures& now, const StoreFigures& before) { take_off(now, before); }
void take_off_whole(GpuFigures& now, const GpuFigures& before) { take_off(now, before); }
void take_off_whole(RoleFigures& now, const RoleFigures& before) { take_off(now, before); }
void take_off_whole(RingFigures& now, const RingFigures& before) {
  take_off(now, before);
  take_off(now.readers, before.readers);
}
void take_off_whole(PipelineFigures& now, const PipelineFigures& before) {
  take_off(now, before);
  take_off(now.stages, before.stages);
  take_off(now.operations, before.operations);
  take_off(now.caches, before.caches);
  take_off(now.rings, before.rings);
}

template <typename Figures>
void take_off(std::vector<Figures>& now, const std::vector<Figures>& before) {
  for (Figures& part : now) {
    const auto old =
        std::find_if(before.begin(), before.end(), [&](const Figures& other) { return key_of(other) == key_of(part); });
    if (old != before.end()) take_off_whole(part, *old);
  }
}

}  // namespace

NodeFigures since(const NodeFigures& now, const NodeFigures& before) {
  NodeFigures out = now;
  take_off(out, before);
  take_off(out.roles, before.roles);
  take_off(out.pipelines, before.pipelines);
  take_off(out.stores, before.stores);
  take_off(out.gpus, before.gpus);
  return out;
}

}  // namespace spdld::metrics
