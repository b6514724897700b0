// Two stages as a pipeline has them, for figures that are made by hand: one reads, and one works on the pool.
#pragma once

#include "daemon/metrics/figures.h"

namespace spdld::test {

inline metrics::StageFigures reading(metrics::StageFigures figures, bool is_remote = false) {
  figures.name = "fetch";
  figures.account = {.role = "fetch",
                     .reads_source = true,
                     .name = "fetch",
                     .work = "Reading",
                     .at = "with",
                     .lane = is_remote ? "request" : "read",
                     .behind = " at once",
                     .more = is_remote ? "With connections_max = #" : "With fetch_concurrency = # in place of @"};
  return figures;
}

inline metrics::StageFigures decoding(metrics::StageFigures figures) {
  figures.name = "decode";
  figures.account = {.is_on_pool = true,
                     .role = "decode",
                     .runs_operations = true,
                     .name = "decode",
                     .work = "Decoding",
                     .lane = "decode thread",
                     .more = "With # cores for decoding in place of @"};
  return figures;
}

}  // namespace spdld::test
