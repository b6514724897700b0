#include "daemon/source/sample_list.h"

#include "daemon/source/list_file.h"

namespace spdld::source {

std::vector<uint64_t> read_sample_list(const std::string& path, std::string_view key, const Listing& listing,
                                       Stamps& stamps, const std::stop_token& stop) {
  const std::string what = std::string(key) + ": " + path;
  const std::string text = read_list_file(path, what, stamps);
  std::vector<NamedLine> lines;
  for_each_line(text, [&](std::string_view line, uint64_t number) { lines.push_back({line, number}); });
  std::vector<uint64_t> ids;
  for (const NamedSample& sample : find_samples(lines, what, listing, stop)) ids.push_back(sample.id);
  return ids;
}

}  // namespace spdld::source
