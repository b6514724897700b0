// News among a daemon's errors, from one look to the next, for `spdlctl errors --follow`. Plain values; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "config/text/json.h"

namespace spdld::cli {

class ErrorNews {
 public:
  // The most entries that one look shows. A burst may have millions of errors, and nobody reads all of these.
  static constexpr size_t kShownMax = 50;

  struct News {
    uint64_t more = 0;                  // how many errors came beside those shown, and before these
    std::vector<config::Json> entries;  // the newest errors, and what data sets miss; as in the document, oldest first
  };
  // `document`: the daemon's answer to "errors". An entry is new where no look before had it with this count. All
  // entries of a daemon that was started anew are new. Throws Failure, as text_at() does.
  News note(const config::Json& document);

 private:
  struct Seen {
    std::string first;  // a moment
    uint64_t count = 0;
  };
  using Key = std::string;

  uint64_t new_times(const Key& key, const Seen& now) const;

  std::string daemon_id_;     // of the last look
  std::map<Key, Seen> seen_;  // of the last look: as many as a document has
  uint64_t total_ = 0;        // of the last look
};

// One line for people, without its end.
std::string news_line(const config::Json& entry);
std::string more_line(uint64_t more);

}  // namespace spdld::cli
