// What a loader was told of its data, for the warnings: each reason once. Under the loader's turn, but for tell().
#pragma once

#include <nanobind/nanobind.h>

#include <spdld.hpp>
#include <string>
#include <vector>

namespace spdld::python {

// What is missing of the data set; none: it is whole.
std::vector<std::string> missing_news(const spdld_loader* loader, const std::string& pipeline);

// With the GIL: Python's warnings, each a spdld.DataWarning at the place in the user's program. Throws where the user
// has made errors of them.
void tell(const std::vector<std::string>& news);

// As loader.stats() gives it. With the GIL.
nanobind::dict dict_of(const spdld::Stats& stats);

class BadNews {
 public:
  static constexpr size_t kReasonsMax = 16;  // of a loader; further ones are told of once, together

  // The reasons that came with this batch for the first time.
  std::vector<std::string> of(const spdld_loader* loader, const spdld_batch_info& batch, const std::string& pipeline);

 private:
  size_t told_ = 0;
};

}  // namespace spdld::python
