// A pipeline's use of the node's cache: the fields and the form that it keeps of its samples. A sample's way through
// it:
//
//   look_up   finds fields in the cache, and fields to be fetched (or only to be checked for a change)
//   settle    gives the bytes or the prepared form of each field, and the shelf that may keep it
//   (Plan)    prepares content, into the room that the shelf has for it
//
// The form is chosen when the pipeline is opened. By the cost of a sample from it, and by how many samples fit, it is
// the form that saves most CPU time. Beside a content, in whatever form, stands the index that a node has made of it.
// With an index, or where nobody keeps the content, only the parts are fetched that the node asks for, round by round.
//
// The cache's content never changes what comes out: a prepared form (daemon/media/representation.h) serves every draw.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/spec.h"
#include "daemon/cache/cache.h"
#include "daemon/pipeline/field_bytes.h"
#include "daemon/pipeline/index_shelves.h"
#include "daemon/sampler/mix.h"
#include "daemon/source/fetcher.h"

namespace spdld::pipeline {

struct CacheChoice {
  config::CacheForm form = config::CacheForm::kOff;  // not kAuto
  std::string why;
};

// The numbers on which the choice depends.
struct CacheNeeds {
  uint64_t samples = 0;  // samples that the pipeline takes
  uint64_t passes = 0;   // how often a run reads a sample, at the most; 0: endless
  // A form that may be kept.
  struct Form {
    config::CacheForm form = config::CacheForm::kDecoded;
    // Of what is kept of a sample, from some samples: its prepared form, or its bytes where it has none.
    uint64_t bytes_mean = 0;
    double cost = 1;  // of a sample from it (media::Representation::cost)
  };
  // By what they save, beginning with the most. A form that no sample has is missing, and so are all where the samples
  // could not be read.
  std::vector<Form> forms = {};
  uint64_t available_bytes = 0;  // of the cache's memory
  bool has_disk = false;
  std::string_view why_unprepared = {};  // not empty: why some output has no prepared form
  bool repeats = false;                  // a sample may come more than once in an epoch
  bool is_remote = false;                // it lies in a remote store

  bool reads_again() const { return passes != 1 || repeats; }
};
CacheChoice choose_cache(config::CacheForm asked, const CacheNeeds& needs);

class Caching {
 public:
  Caching(cache::Cache& cache, const config::PipelineSpec& spec) : cache_(cache), spec_(spec) {}

  // On a listing thread: reads some of the samples that are taken, chooses the form, and opens the shelves. Does
  // nothing where the shelves are open, since streams may run then.
  void open(const source::Listing& listing, const sampler::Mix& mix, std::span<const FieldUse> uses,
            source::Fetcher& fetcher);
  // Lets go of the shelves, which other shelves may then push out. Precondition: no stream runs.
  void close();

  const CacheChoice& choice() const { return choice_; }
  // The samples that the pipeline takes and would like to keep; 0 before open().
  uint64_t taken() const { return taken_; }
  std::vector<cache::ShelfReport> report() const;

  // Any thread may call the following. Sets the fields of request.sample that must be fetched, and the fields and
  // indexes found in the cache. False: nothing must be fetched.
  bool look_up(source::FetchRequest& request, std::vector<cache::Found>& found, std::vector<FieldBytes>& fields) const;
  // False: an entry was damaged; `request` then asks for a fetch in its place. Views in `fields` live as long as the
  // request's bytes and the shelves.
  bool settle(source::FetchRequest& request, std::vector<cache::Found>& found, std::vector<FieldBytes>& fields) const;
  // Keeps the indexes that nodes have made.
  void keep_indexes(const source::FetchRequest& request, std::vector<FieldBytes>& fields) const;

 private:
  // The form of a field's content that is kept where this form was chosen; null: the content as it was fetched.
  const media::Representation* kept_form(const FieldUse& use, config::CacheForm form) const;
  bool settle_field(source::FetchRequest& request, size_t index, cache::Found& found, FieldBytes& field) const;
  std::vector<CacheNeeds::Form> measure(const source::Listing& listing, const sampler::Mix& mix,
                                        std::span<const FieldUse> uses, source::Fetcher& fetcher) const;

  cache::Cache& cache_;
  const config::PipelineSpec& spec_;
  uint64_t kept_as(const source::FetchRequest& request) const {
    return has_rows_ ? request.listing->record_of(request.sample) : request.sample;
  }

  bool is_open_ = false;
  bool has_rows_ = false;  // samples share records, and the cache keeps records
  CacheChoice choice_;
  uint64_t taken_ = 0;
  std::vector<std::shared_ptr<cache::Shelf>> shelves_;  // by fetched field; null: not kept
  IndexShelves indexes_;
};

}  // namespace spdld::pipeline
