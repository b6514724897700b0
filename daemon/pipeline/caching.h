// What a pipeline keeps of its samples in the node's cache: of which fields, in which form, and a sample's way through
// it:
//
//   look_up   what is at hand, what has to be fetched (or only asked whether it has changed)
//   settle    what came: the bytes or planes of each field, and who would like to keep them
//   (Plan)    decodes what is not decoded yet, into the room that the shelf has for it
//
// The form is chosen when the pipeline is opened: a pipeline of which all samples fit, or a good part of them, is kept
// decoded. What the cache has never decides about pixels: planes are kept whole and at full size, so a pipeline that
// decodes pictures fast, at sizes that differ from draw to draw, keeps none.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/spec.h"
#include "daemon/cache/cache.h"
#include "daemon/sampler/mix.h"
#include "daemon/source/fetcher.h"

namespace spdld::pipeline {

// A fetched field as the plan uses it.
struct FieldUse {
  source::FieldId field = 0;
  bool is_picture = false;  // every output of it decodes a picture, all with the same `exif`: planes may stand for it
  bool exif = true;
  bool is_fast = false;  // some output decodes it smaller, as its draw has it; then it is never kept decoded
};

// One field of a sample that is to be decoded.
struct FieldBytes {
  std::span<const uint8_t> bytes;
  cache::Form form = cache::Form::kEncoded;
  // Where the planes of these encoded bytes are to be kept; pictures are rendered from planes in any case, so that a
  // pipeline's pixels don't depend on what the cache has.
  cache::Shelf* planes_shelf = nullptr;
  source::Identity identity;  // with planes_shelf
};

struct CacheChoice {
  config::CacheForm form = config::CacheForm::kOff;  // not kAuto
  std::string why;
};

// What the choice goes by.
struct CacheNeeds {
  uint64_t samples = 0;  // that the pipeline takes
  uint64_t passes = 0;   // how often a run reads a sample, at the most; 0: without end
  uint64_t picture_bytes_mean =
      0;  // of a picture's planes, from some of them; 0: there are none, or they could not be read
  uint64_t available_bytes = 0;  // of the cache's memory
  bool has_disk = false;
  bool has_fast = false;  // an output that decodes fast
  bool repeats = false;   // a sample may come more than once in an epoch

  bool reads_again() const { return passes != 1 || repeats; }
};
CacheChoice choose_cache(config::CacheForm asked, const CacheNeeds& needs);

class Caching {
 public:
  Caching(cache::Cache& cache, const config::PipelineSpec& spec) : cache_(cache), spec_(spec) {}

  // On a listing thread: looks at some of the samples that are taken, chooses, takes hold of the shelves. Does nothing
  // where they are held, since streams may run then.
  void open(const source::Listing& listing, const sampler::Mix& mix, std::span<const FieldUse> uses,
            source::Fetcher& fetcher);
  // Lets go of the shelves, which others may then push out. No stream runs.
  void close();

  const CacheChoice& choice() const { return choice_; }
  // Samples that the pipeline takes, and would like to be kept; 0 before open().
  uint64_t taken() const { return taken_; }
  std::vector<cache::ShelfReport> report() const;

  // Any thread from here on. Sets what has to be fetched of request.sample, and what is at hand. False: nothing has to
  // be.
  bool look_up(source::FetchRequest& request, std::vector<cache::Found>& found) const;
  // False: an entry was damaged; `request` says what is to be fetched in its place. Views in `fields` live as long as
  // the request's bytes and the shelves.
  bool settle(source::FetchRequest& request, std::vector<cache::Found>& found, std::vector<FieldBytes>& fields) const;

 private:
  bool settle_field(source::FetchRequest& request, size_t index, cache::Found& found, FieldBytes& field) const;
  uint64_t mean_picture_bytes(const source::Listing& listing, const sampler::Mix& mix, const FieldUse& use,
                              source::Fetcher& fetcher) const;

  cache::Cache& cache_;
  const config::PipelineSpec& spec_;
  bool is_open_ = false;
  CacheChoice choice_;
  uint64_t taken_ = 0;
  std::vector<std::shared_ptr<cache::Shelf>> shelves_;  // by fetched field; null: not kept
};

}  // namespace spdld::pipeline
