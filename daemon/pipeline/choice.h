// Which samples of a listing are taken and how often, as include, exclude and first of [order] or of each of
// [[sources]] and weights say, and how they are ordered. Values; constant after construction, any thread.
#pragma once

#include <span>
#include <stop_token>
#include <string>

#include "config/spec.h"
#include "daemon/pipeline/caching.h"
#include "daemon/sampler/mix.h"
#include "daemon/source/listing.h"
#include "daemon/source/remarks.h"
#include "daemon/source/stamps.h"

namespace spdld::pipeline {

struct Choice {
  sampler::Mix mix;
  source::Stamps lists;          // of the files that say so
  std::string fingerprint;       // 32 hexadecimal digits: the listing's where all are taken, else of it and of the ids
  source::Remarks lacking = {};  // of samples that were left out, since they lack a field that an output wants
  std::string weights_fingerprint = {};  // 32 hexadecimal digits of the weights, by content; empty: not weighted
};

// Reads the lists. Throws SetupError where one can't be read, names what is not listed, or nothing is left of a source;
// where a weight is missing, or fewer samples have one than an epoch without replacement is to have. A sample that
// lacks one of the `fetched` fields is a fault of its source: refused or left out, as the source's on_missing says.
// Where the order is the client's, who names samples by their ids, it stays in.
Choice choose(const config::PipelineSpec& spec, const source::Listing& listing, const std::stop_token& stop,
              std::span<const FieldUse> fetched = {});

}  // namespace spdld::pipeline
