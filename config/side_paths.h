// The files beside the data set that operations read, such as noises that are mixed into sounds, and the memory that
// they may take; and the lists of samples, weights, groups and classes. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "config/spec.h"

namespace spdld::config {

// Calls see(path) for each absolute path of a file or folder that an operation names. It may change the path.
void for_each_side_path(std::span<OutputSpec> outputs, const std::function<void(std::string&)>& see);
std::vector<std::string> side_paths_of(const PipelineSpec& spec);

// A list that the pipeline reads beside its data: the key that names the file, and the file's absolute path.
struct ListPath {
  std::string key;  // "order: include", "source noises: exclude"
  std::string path;
};
// Of [order], then of each source. Lists that stand in the pipeline itself have no path.
std::vector<ListPath> list_paths_of(const PipelineSpec& spec);

// The most bytes of memory that the operations' files may take together, and samples on their way to functions of the
// user's own.
uint64_t side_bytes_max_of(const PipelineSpec& spec);

}  // namespace spdld::config
