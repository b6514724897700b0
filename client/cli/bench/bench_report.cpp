#include <algorithm>
#include <map>

#include "client/cli/bench/bench.h"
#include "client/cli/table.h"
#include "config/text/json.h"

namespace spdld::cli {
namespace {

// The value below which `part` of the sorted values lie (nearest rank).
double quantile(const std::vector<double>& sorted, double part) {
  if (sorted.empty()) return 0;
  const auto at = static_cast<size_t>(part * static_cast<double>(sorted.size() - 1) + 0.5);
  return sorted[std::min(at, sorted.size() - 1)];
}

void add_batches(BenchReport& report, const std::vector<BenchBatch>& batches) {
  std::map<uint32_t, double> first_of_rank;
  std::vector<double> waits;
  for (const auto& batch : batches) {
    report.images += batch.images;
    report.substituted += batch.substituted;
    report.masked += batch.masked;
    report.absent += batch.absent;
    report.dropped += batch.dropped;
    report.seconds = std::max(report.seconds, batch.at_s);
    const bool first = first_of_rank.emplace(batch.rank, batch.at_s).second;
    if (first) continue;
    waits.push_back(batch.wait_s);
    report.wait_s += batch.wait_s;
  }
  for (const auto& [rank, at_s] : first_of_rank) report.first_batch_s = std::max(report.first_batch_s, at_s);
  std::sort(waits.begin(), waits.end());
  report.wait_median_us = quantile(waits, 0.5) * 1e6;
  report.wait_p99_us = quantile(waits, 0.99) * 1e6;
}

}  // namespace

BenchReport summarise(const BenchPlan& plan, const std::vector<BenchBatch>& batches) {
  BenchReport report;
  report.pipeline = plan.pipeline;
  report.world_size = plan.world_size;
  report.batches = batches.size();
  if (batches.empty()) return report;
  add_batches(report, batches);
  const auto earliest =
      *std::min_element(batches.begin(), batches.end(), [](const auto& a, const auto& b) { return a.at_s < b.at_s; });
  const double after_s = report.seconds - earliest.at_s;
  const bool several = after_s > 0 && report.images > earliest.images;
  const auto images = static_cast<double>(several ? report.images - earliest.images : report.images);
  report.images_per_s = images / std::max(several ? after_s : report.seconds, 1e-9);
  return report;
}

void add_cpu(BenchReport& report, double daemon_s, double clients_s) {
  report.daemon_cpu_s = daemon_s;
  report.client_cpu_s = clients_s;
  report.cpu_s = daemon_s + clients_s;
  report.cpu_ms_per_image = report.images > 0 ? report.cpu_s * 1e3 / static_cast<double>(report.images) : 0;
}

std::string report_text(const BenchReport& report, const Page& page) {
  Facts facts;
  facts.add("pipeline", report.pipeline);
  facts.add("delivered", counted(report.images, "image") + " in " + counted(report.batches, "batch", "batches") +
                             " to " + counted(report.world_size, "rank") + ", in " + duration_text(report.seconds));
  facts.add("images/s", Cell(decimal_text(report.images_per_s, 1), Style::kStrong));
  facts.add("CPU an image", Cell(decimal_text(report.cpu_ms_per_image, 3) + " ms", Style::kStrong));
  facts.add("CPU in all",
            "daemon " + duration_text(report.daemon_cpu_s) + ", ranks " + duration_text(report.client_cpu_s));
  facts.add("first batch", duration_text(report.first_batch_s));
  facts.add("waited", duration_text(report.wait_s) + " in all; one batch: median " +
                          duration_text(report.wait_median_us * 1e-6) + ", p99 " +
                          duration_text(report.wait_p99_us * 1e-6));
  facts.add("peak memory", bytes_text(report.peak_pss_bytes) + " (daemon " + bytes_text(report.daemon_peak_pss_bytes) +
                               ", ranks " + bytes_text(report.clients_peak_pss_bytes) + ")");
  if (report.substituted + report.masked + report.absent > report.dropped) {
    facts.add("bad content", Cell(counted(report.substituted, "sample") + " substituted, " + count_text(report.masked) +
                                      " masked; see `spdlctl errors`",
                                  Style::kWarning));
  }
  if (report.dropped > 0) {
    facts.add("dropped", counted(report.dropped, "sample") + " by user code, for which " + count_text(report.absent) +
                             " are absent");
  }
  return facts.text(page);
}

std::string report_json(const BenchReport& report) {
  const config::Json document = {{"pipeline", report.pipeline},
                                 {"world_size", report.world_size},
                                 {"images", report.images},
                                 {"batches", report.batches},
                                 {"substituted", report.substituted},
                                 {"masked", report.masked},
                                 {"absent", report.absent},
                                 {"dropped", report.dropped},
                                 {"seconds", report.seconds},
                                 {"images_per_s", report.images_per_s},
                                 {"cpu_s", report.cpu_s},
                                 {"daemon_cpu_s", report.daemon_cpu_s},
                                 {"client_cpu_s", report.client_cpu_s},
                                 {"cpu_ms_per_image", report.cpu_ms_per_image},
                                 {"first_batch_s", report.first_batch_s},
                                 {"wait_s", report.wait_s},
                                 {"wait_median_us", report.wait_median_us},
                                 {"wait_p99_us", report.wait_p99_us},
                                 {"peak_pss_bytes", report.peak_pss_bytes},
                                 {"daemon_peak_pss_bytes", report.daemon_peak_pss_bytes},
                                 {"clients_peak_pss_bytes", report.clients_peak_pss_bytes}};
  return document.dump(2) + "\n";
}

}  // namespace spdld::cli
