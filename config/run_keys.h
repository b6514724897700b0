// The keys of a pipeline that count in the fingerprint of its run, so that a sentence can name the keys that differ
// between two runs (proto/key_digests.h). Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "config/spec.h"

namespace spdld::config {

struct RunKey {
  std::string path;   // "output/image/ops/crop/size"; the second crop of a list is "crop[2]"
  std::string value;  // in JSON
};

// All that canonical_json() has; and what chooses and weights samples, but for paths of files. In no order; a path may
// be there twice.
std::vector<RunKey> run_keys(const PipelineSpec& spec);

}  // namespace spdld::config
