#include "daemon/node/seats/executors.h"

#include <algorithm>

#include "daemon/pipeline/decode_stage.h"
#include "daemon/pipeline/fetch_stage.h"

namespace spdld::node {
namespace {

using pipeline::TunerLimits;

constexpr uint32_t kFetchStart = 4;
constexpr uint32_t kFetchMin = 2;  // a read that hangs does not hold up all others, and a blocked thread costs nothing

pipeline::Executor reads_of(source::LocalFetcher& fetcher) {
  return {.tuned = {.account = pipeline::account_of_fetch(false), .min = kFetchMin, .start = kFetchStart},
          .limit =
              [](const config::DaemonSettings& settings, unsigned) {
                const uint32_t max = settings.fetch_concurrency;
                return TunerLimits::Limit{max, std::min(settings.tuning_fetch, max)};
              },
          .busy_ns = [&fetcher] { return fetcher.statistics().duration_ns.sum(); },
          .waiting = [] { return size_t{0}; },
          .set_lanes = [&fetcher](uint32_t lanes, const TunerLimits::Limit&) { fetcher.set_concurrency(lanes); }};
}

pipeline::Executor threads_of(FairPool& pool) {
  return {.tuned = {.account = pipeline::account_of_decode()},
          .limit =
              [&pool](const config::DaemonSettings& settings, unsigned cores) {
                return TunerLimits::Limit{std::clamp(cores, 1u, pool.threads()),
                                          std::min(settings.tuning_decode, pool.threads())};
              },
          .busy_ns = [&pool] { return pool.busy_now_ns(); },
          .waiting = [&pool] { return pool.waiting(); },
          .set_lanes =
              [&pool](uint32_t lanes, const TunerLimits::Limit& limit) {
                pool.set_concurrency(lanes, limit.pinned ? limit.pinned : limit.max);
              }};
}

}  // namespace

std::vector<pipeline::Executor> executors_of(FairPool& pool, source::LocalFetcher& fetcher) {
  std::vector<pipeline::Executor> all;
  all.push_back(reads_of(fetcher));
  all.push_back(threads_of(pool));
  return all;
}

}  // namespace spdld::node
