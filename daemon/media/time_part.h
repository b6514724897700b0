// The part of a recording that a sample is about, in seconds from its beginning, as two other outputs tell it: from the
// first one up to the second one, which is not in it.
#pragma once

#include <limits>
#include <string>

#include "config/spec.h"
#include "daemon/base/result.h"
#include "daemon/media/node.h"
#include "daemon/media/told_numbers.h"

namespace spdld::media {

struct TimePart {
  double start_s = 0, end_s = std::numeric_limits<double>::infinity();  // the whole recording

  std::string text() const {
    return "from " + std::to_string(start_s) + " s " +
           (end_s == std::numeric_limits<double>::infinity() ? "on" : "to " + std::to_string(end_s) + " s");
  }
};

// `start` and `end` of an operation: the names of the outputs. Constant; any thread.
class TimePartNames {
 public:
  explicit TimePartNames(const config::OperationSpec& spec) : start_(spec.text("start")), end_(spec.text("end")) {}

  // kContent: the part is empty, or lies before the beginning. kInternal: an output has told nothing.
  Result<TimePart> part(Workspace& workspace) const {
    TimePart part;
    for (const auto& [name, number] : {std::pair(&start_, &part.start_s), std::pair(&end_, &part.end_s)}) {
      if (name->empty()) continue;
      const std::optional<double> told = workspace.of<ToldNumbers>().find(*name);
      if (!told) return Error{Trouble::kInternal, "output '" + *name + "' has told no number"};
      *number = *told;
    }
    if (!(part.start_s >= 0) || !(part.start_s < part.end_s))
      return Error{Trouble::kContent,
                   "its part " + part.text() + " is none: it must begin at 0 s or later, and end later than it begins"};
    return part;
  }

 private:
  std::string start_, end_;
};

}  // namespace spdld::media
