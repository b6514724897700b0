// Which samples of a listing an epoch has and how often, as [order] include, exclude, first and weights say. A value;
// constant after construction, any thread.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "config/spec.h"
#include "daemon/sampler/subset.h"
#include "daemon/sampler/weighted.h"
#include "daemon/source/listing.h"
#include "daemon/source/stamps.h"

namespace spdld::pipeline {

struct Choice {
  sampler::Subset subset;
  source::Stamps lists;     // of the files that say so
  std::string fingerprint;  // 32 hexadecimal digits: the listing's where all are taken, else of it and of the ids
  std::optional<sampler::Weighting> weighting;  // of the subset, which has no sample of weight 0; none: not weighted
  std::string weights_fingerprint;              // 32 hexadecimal digits of the weights, by content; empty: not weighted
};

// Reads the lists. Throws SetupError where one can't be read, names what is not listed, or nothing is left; where a
// weight is missing, or fewer samples have one than an epoch without replacement is to have.
Choice choose(const config::OrderSpec& spec, const source::Listing& listing, const std::stop_token& stop);

}  // namespace spdld::pipeline
