// Arbitrary answers of servers, files of the kernel, addresses and daemons' documents, as `spdlctl doctor` and `spdlctl
// errors --follow` read them. The first byte chooses.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "client/cli/doctor/checks.h"
#include "client/cli/doctor/reading.h"
#include "client/cli/doctor/report.h"
#include "client/cli/query.h"
#include "client/cli/state/error_news.h"

namespace {

using namespace spdld::cli;
using namespace spdld::cli::doctor;

void require(bool holds) {
  if (!holds) std::abort();
}

void read_kernel(std::string_view text) {
  limit_in(text, "Max open files", true);
  number_in(text, "nr_throttled");
  memory_max_in(text);
  require(cpu_quota_in(text) >= 0);
  require(chosen_in(text).size() < text.size() + 1);
  require(group_in(text).starts_with('/') && group_in(text).find("/..") == std::string::npos);
}

void read_server(std::string_view text) {
  const auto date = date_in(text);
  require(!date || (*date >= 0 && *date < 253'402'300'801));
  const auto server = server_of(text);
  require(!server || (!server->host.empty() && !server->port.empty() && text.find(server->host) != text.npos));
}

void read_document(std::string_view text) {
  const auto document = spdld::config::Json::parse(text);
  if (!document || !document->is_object()) return;
  Facts facts;
  facts.daemon.answered = true;
  facts.daemon.status = *document;
  const Findings findings = examine(facts);
  for (const Finding& finding : findings) require(finding.found.find_first_of("\n\033") == std::string::npos);
  require(!report_text(findings, {}).empty());
  ErrorNews news;
  try {
    require(news.note(*document).entries.size() <= ErrorNews::kShownMax);
    require(news.note(*document).entries.empty());
  } catch (const Failure&) {  // it has other fields than errors have
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  if (bytes[0] % 3 == 0) read_kernel(text);
  if (bytes[0] % 3 == 1) read_server(text);
  if (bytes[0] % 3 == 2) read_document(text);
  return 0;
}
