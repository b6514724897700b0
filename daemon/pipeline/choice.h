// Which samples of a listing are taken, as include, exclude and first of [order] or of each of [[sources]] say, and how
// they are ordered. Values; constant after construction, any thread.
#pragma once

#include <stop_token>
#include <string>

#include "config/spec.h"
#include "daemon/sampler/mix.h"
#include "daemon/source/listing.h"
#include "daemon/source/stamps.h"

namespace spdld::pipeline {

struct Choice {
  sampler::Mix mix;
  source::Stamps lists;     // of the files that say so
  std::string fingerprint;  // 32 hexadecimal digits: the listing's where all are taken, else of it and of the ids
};

// Reads the lists. Throws SetupError where one can't be read, names what is not listed, or nothing is left of a source.
Choice choose(const config::PipelineSpec& spec, const source::Listing& listing, const std::stop_token& stop);

}  // namespace spdld::pipeline
