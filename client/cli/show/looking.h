// Holds a pipeline open for a command that looks at its data set and takes no batches. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <spdld.hpp>
#include <string>

#include "client/cli/cli.h"
#include "client/cli/progress.h"

namespace spdld::cli {

// The largest epoch, step or batch, and the largest number of ranks, that a command takes.
inline constexpr uint64_t kPlaceMax = uint64_t{1} << 40;
inline constexpr uint32_t kRanksMax = 1u << 20;

// Steps of the daemon before the first batch are told in the line, which must outlive the attaching.
void show_progress(AttachOptions& options, StderrProgress& line);

// The pipeline of a file or of a name, opened beside what trainers have of it: it counts in no statistic. `command`
// says who looks. Throws Failure.
std::unique_ptr<Loader> look_at(const Globals& globals, const std::string& pipeline, const std::string& command,
                                StderrProgress& progress);

}  // namespace spdld::cli
