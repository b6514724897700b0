// Short files of a source that are read whole: indexes of shards, annotations of single pictures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/source/files/data_files.h"

namespace spdld::source {

// The texts of the files, which are kept as they are: later, only files that changed are read. Sets the files' bytes.
// Throws SetupError where a file can't be read, or has more than `bytes_max`.
std::vector<std::string> whole_texts(DataFiles& files, const Indexing& indexing, uint64_t bytes_max);

}  // namespace spdld::source
