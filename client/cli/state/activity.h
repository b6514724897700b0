// The moving parts of a pipeline: its listing, its samples in the cache, and its jobs. The daemon tells counts; rates
// and times come from two or more of its answers. One thread.
#pragma once

#include <map>
#include <string>

#include "client/cli/table.h"
#include "client/text/progress.h"
#include "config/text/json.h"

namespace spdld::cli {

class Activity {
 public:
  // One line for each part that moves or may move. `describe`: the daemon's answer, got at `now_s`. Parts
  // that it lacks, such as a cache while the data set is being listed, are not shown.
  Facts note(const config::Json& describe, double now_s);

 private:
  struct Pace {
    text::Rate done, made;
    bool seen = false;  // in the last answer
  };

  void note_listing(Facts& facts, const config::Json& describe);
  void note_cached(Facts& facts, const config::Json& describe);
  void note_jobs(Facts& facts, const config::Json& describe);
  Pace& pace(const std::string& key);

  std::map<std::string, Pace> paces_;
  double now_s_ = 0;
};

}  // namespace spdld::cli
