// Warnings about a loader's data: each reason is told once. Calls are made under the loader's turn, except tell().
#pragma once

#include <nanobind/nanobind.h>

#include <spdld.hpp>
#include <string>
#include <vector>

namespace spdld::python {

struct LoaderInfo;

// Sentences about data that the data set misses; none: the data set is whole.
std::vector<std::string> missing_news(const spdld_loader* loader, const std::string& pipeline);

// A sentence where some ranks get batches without samples, whose mean is not a number.
std::vector<std::string> empty_news(const LoaderInfo& info);

// With the GIL: gives Python's warnings, each a spdld.DataWarning at the line of the user's program. Throws where the
// user has turned warnings into errors.
void tell(const std::vector<std::string>& news);

// The dict that loader.stats() returns. With the GIL.
nanobind::dict dict_of(const spdld::Stats& stats);

class BadNews {
 public:
  static constexpr size_t kReasonsMax = 16;  // of a loader; further reasons are told once, together

  // The reasons that came with this batch for the first time.
  std::vector<std::string> of(const spdld_loader* loader, const spdld_batch_info& batch, const std::string& pipeline);

 private:
  size_t told_ = 0;
};

}  // namespace spdld::python
