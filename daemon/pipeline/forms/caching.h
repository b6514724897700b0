// A pipeline's use of the node's cache: the fields and the form that it keeps of its samples. A sample's way through
// it:
//
//   look_up   finds fields in the cache, and fields to be fetched (or only to be checked for a change)
//   settle    gives the bytes or the prepared form of each field, and the shelf that may keep it
//   (Plan)    prepares content, into the room that the shelf has for it
//
// The forms are chosen when the pipeline is opened (form_choice.h), and a sample's own form among them when the sample
// comes (form_shelves.h). Beside a content, in whatever form, stands the index that a node has made of it.
// With an index, or where nobody keeps the content, only the parts are fetched that the node asks for, round by round.
//
// The cache's content never changes what comes out: a prepared form (daemon/media/representation.h) serves every draw.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/spec.h"
#include "daemon/cache/cache.h"
#include "daemon/pipeline/forms/field_bytes.h"
#include "daemon/pipeline/forms/form_choice.h"
#include "daemon/pipeline/forms/form_shelves.h"
#include "daemon/pipeline/forms/index_shelves.h"
#include "daemon/sampler/mix.h"
#include "daemon/source/fetching/fetcher.h"

namespace spdld::pipeline {

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
  // `has_spare_time`: a sample that is found may be made anew in a better form.
  bool look_up(source::FetchRequest& request, std::vector<cache::Found>& found, std::vector<FieldBytes>& fields,
               bool has_spare_time = false) const;
  // False: an entry was damaged; `request` then asks for a fetch in its place. Views in `fields` live as long as the
  // request's bytes and the shelves.
  bool settle(source::FetchRequest& request, std::vector<cache::Found>& found, std::vector<FieldBytes>& fields) const;
  // Keeps the indexes that nodes have made.
  void keep_indexes(const source::FetchRequest& request, std::vector<FieldBytes>& fields) const;

 private:
  // The form of a field's content that is kept where this form was chosen; null: the content as it was fetched.
  const media::Representation* kept_form(const FieldUse& use, config::CacheForm form) const;
  bool settle_field(source::FetchRequest& request, size_t index, cache::Found& found, FieldBytes& field) const;
  void find(const source::FetchRequest& request, size_t index, bool has_spare_time, cache::Found& found,
            FieldBytes& field) const;
  void choose_form(const source::FetchRequest& request, size_t index, FieldBytes& field) const;
  struct Measured {
    std::vector<KeptForm> forms;
    uint64_t fetched_bytes_mean = 0;
    std::map<config::CacheForm, std::vector<double>> by_field;  // the mean bytes; kEncoded: as fetched
  };
  Measured measure(const source::Listing& listing, const sampler::Mix& mix, std::span<const FieldUse> uses,
                   source::Fetcher& fetcher) const;
  void add_held(const cache::Report& report, const source::Listing& listing, std::span<const FieldUse> uses,
                CacheNeeds& needs) const;
  void open_shelves(const source::Listing& listing, std::span<const FieldUse> uses, const CacheNeeds& needs,
                    const Measured& measured);

  cache::Cache& cache_;
  const config::PipelineSpec& spec_;
  uint64_t kept_as(const source::FetchRequest& request) const {
    return has_rows_ ? request.listing->record_of(request.sample) : request.sample;
  }

  bool is_open_ = false;
  bool has_rows_ = false;  // samples share records, and the cache keeps records
  CacheChoice choice_;
  uint64_t taken_ = 0;
  FormShelves shelves_;
  IndexShelves indexes_;
};

}  // namespace spdld::pipeline
