#include "client/cli/state/stores_text.h"

#include "client/cli/format.h"
#include "client/cli/query.h"

namespace spdld::cli {
namespace {

using config::Json;

std::string milliseconds(const Json& store, const char* key) {
  return decimal_text(number_or_zero(store, key) / 1000, 1);
}

}  // namespace

std::string stores_text(const Json& status, const Page& page) {
  // RETRIED: attempts that failed and were made again. FAILED: requests that ended with an error after all attempts.
  Table table({{"STORE", Align::kLeft, Role::kKey},
               {"REQUESTS", Align::kRight},
               {"RETRIED", Align::kRight},
               {"FAILED", Align::kRight},
               {"NOW", Align::kRight},
               {"CONNECTIONS", Align::kRight},
               {"BYTES", Align::kRight},
               {"MS P50", Align::kRight},
               {"MS P99", Align::kRight}});
  Facts troubles;
  for (const auto& store : list_or_empty(status, "stores")) {
    const std::string uri = text_or_empty(store, "uri");
    table.add({Cell(uri, Style::kStrong), count_text(count_or_zero(store, "requests")),
               trouble_cell(count_or_zero(store, "retries")), trouble_cell(count_or_zero(store, "failures")),
               count_text(count_or_zero(store, "under_way")), count_text(count_or_zero(store, "connections")),
               bytes_text(number_or_zero(store, "bytes")), milliseconds(store, "p50_us"),
               milliseconds(store, "p99_us")});
    const double failing_s = number_or_zero(store, "failing_s");
    if (failing_s > 0)
      troubles.add(uri, Cell("fails for " + decimal_text(failing_s, 1) + " s: " + text_or_empty(store, "last_trouble"),
                             Style::kWarning));
  }
  if (table.empty()) return "";
  return table.text(page) + "\n" + (troubles.empty() ? "" : troubles.text(page) + "\n");
}

}  // namespace spdld::cli
