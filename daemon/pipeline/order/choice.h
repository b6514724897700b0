// The samples of a listing that are taken, how often, and their order. The settings are include, exclude, part and
// first of [order] or of each of [[sources]], and weights. Values; constant after construction, any thread.
#pragma once

#include <filesystem>
#include <span>
#include <stop_token>
#include <string>

#include "config/spec.h"
#include "daemon/pipeline/forms/caching.h"
#include "daemon/sampler/mix.h"
#include "daemon/source/listing.h"
#include "daemon/source/remarks.h"
#include "daemon/source/stamps.h"

namespace spdld::pipeline {

struct Choice {
  sampler::Mix mix;
  source::Stamps lists;          // of the files that list samples or weights
  std::string fingerprint;       // 32 hexadecimal digits: the listing's where all are taken, else of it and the ids;
                                 // by cost, of the costs as well
  source::Remarks lacking = {};  // on samples left out: they lack a field that an output wants, or cost too much
  std::string weights_fingerprint = {};  // 32 hexadecimal digits of the weights, by content; empty: not weighted
};

// Reads the lists. Throws SetupError where a list can't be read or names a sample that is not listed, or where nothing
// is left of a source. Also where a weight is missing, or where fewer samples have a weight than an epoch without
// replacement needs. A sample that lacks one of the `fetched` fields is a fault of its source: refused or left out, as
// the source's on_missing says. Where the client gives the order, by the samples' ids, such a sample stays in.
// `kept`: where what was measured of samples outlives the daemon; empty: nowhere.
Choice choose(const config::PipelineSpec& spec, const source::Listing& listing, const std::stop_token& stop,
              std::span<const FieldUse> fetched = {}, const std::filesystem::path& kept = {});

}  // namespace spdld::pipeline
