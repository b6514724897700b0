#include "client/cli/state/error_news.h"

#include <algorithm>
#include <utility>

#include "client/cli/format.h"
#include "client/cli/query.h"

namespace spdld::cli {
namespace {

using config::Json;

// Names of pipelines and numbers have no blank, so no two entries share a key.
std::string key_of(const Json& error) {
  return text_at(error, "pipeline") + " " + std::to_string(count_at(error, "sample")) + " " + text_at(error, "reason");
}

std::string missing_key(const Json& missing) {
  return text_at(missing, "pipeline") + " missing " + text_at(missing, "what");
}

}  // namespace

uint64_t ErrorNews::new_times(const Key& key, const Seen& now) const {
  const auto before = seen_.find(key);
  const bool is_same = before != seen_.end() && before->second.first == now.first && before->second.count <= now.count;
  return is_same ? now.count - before->second.count : now.count;
}

ErrorNews::News ErrorNews::note(const Json& document) {
  struct Fresh {
    const Json* entry;
    uint64_t times;
  };
  const std::string daemon_id = text_at(document, "daemon_id");
  if (std::exchange(daemon_id_, daemon_id) != daemon_id) {
    seen_.clear();
    total_ = 0;
  }
  std::map<Key, Seen> seen;
  std::vector<Fresh> fresh;
  uint64_t times_here = 0, times_shown = 0;
  const auto look_at = [&](const Json& entry, Key key, Seen now) {
    const uint64_t times = new_times(key, now);
    const bool is_first = seen.emplace(std::move(key), std::move(now)).second;
    if (times > 0 && is_first) fresh.push_back({&entry, times});
  };
  for (const Json& missing : list_at(document, "missing")) look_at(missing, missing_key(missing), {{}, 1});
  for (const Json& error : list_at(document, "errors"))
    look_at(error, key_of(error), {text_at(error, "first"), count_at(error, "count")});

  News news;
  const size_t left_out = fresh.size() - std::min(fresh.size(), kShownMax);
  for (size_t i = 0; i < fresh.size(); i++) {
    times_here += fresh[i].times;
    if (i < left_out) continue;
    times_shown += fresh[i].times;
    news.entries.push_back(*fresh[i].entry);
  }
  // Errors that came and were pushed out of the daemon's list between two looks are in its total alone. The total falls
  // when a pipeline is closed.
  const uint64_t total = count_at(document, "total");
  news.more = std::max(total - std::min(total, total_), times_here) - times_shown;
  seen_ = std::move(seen);
  total_ = total;
  return news;
}

std::string news_line(const Json& entry) {
  const std::string pipeline = text_at(entry, "pipeline");
  if (entry.contains("what")) return pipeline + "  missing: " + text_at(entry, "what");
  const uint64_t count = count_at(entry, "count");
  std::string line = text_at(entry, "last") + "  " + pipeline + "  sample " +
                     std::to_string(count_at(entry, "sample")) + " (" + text_at(entry, "name") + ")  epoch " +
                     std::to_string(count_at(entry, "last_epoch")) + "  " + text_at(entry, "kind") + ": " +
                     text_at(entry, "reason");
  if (count > 1) line += "  (" + count_text(count) + " times since " + text_at(entry, "first") + ")";
  return line;
}

std::string more_line(uint64_t more) { return "... " + count_text(more) + " more"; }

}  // namespace spdld::cli
