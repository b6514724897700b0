// The choice of the forms in which the cache keeps a data set. Pure.
//
// A sample takes so many bytes in a form, and costs so much CPU time from it. Not to be kept is a form as well: it
// takes no bytes and costs a whole decoding. Where each sample may have a form of its own, the least cost for a given
// number of bytes lies on the lower convex hull of these points: two neighbours on the hull are mixed, so that the
// bytes are just used up, and no third form helps. Bytes that find room on the local disk alone cost their reading in
// addition.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/spec.h"

namespace spdld::pipeline {

inline constexpr uint64_t kBytesPerEntry = 128;  // what the cache needs for a sample beside its bytes, roughly

// A form that may be kept.
struct KeptForm {
  config::CacheForm form = config::CacheForm::kDecoded;
  // Of what is kept of a sample, from some samples: its prepared form, or its bytes where it has none.
  uint64_t bytes_mean = 0;
  double cost = 1;  // of a sample from it (media::Representation::cost)
};

// The numbers on which the choice depends.
struct CacheNeeds {
  uint64_t samples = 0;  // samples that the pipeline takes
  uint64_t passes = 0;   // how often a training run reads a sample, at the most; 0: endless
  // Prepared forms. A form that no sample has is missing, and so are all where the samples could not be read.
  std::vector<KeptForm> forms = {};
  uint64_t fetched_bytes_mean = 0;  // of a sample's content, of the fields that have forms; 0: it is not known
  uint64_t available_bytes = 0;     // of the cache's memory
  uint64_t available_disk_bytes = 0;
  bool has_disk = false;
  bool is_made = false;                  // user code makes samples, which may be others each time
  std::string_view why_unprepared = {};  // not empty: why some output has no prepared form
  bool repeats = false;                  // a sample may come more than once in an epoch
  bool is_remote = false;                // it lies in a remote store

  bool reads_again() const { return passes != 1 || repeats; }
};

struct CacheChoice {
  config::CacheForm form = config::CacheForm::kOff;  // not kAuto; of several the form with the least cost
  std::string why;
  // The forms of samples, with rising bytes and falling costs. Beside the forms that `why` names, a smaller one comes
  // into use where the samples turn out larger than the few at which the daemon looked.
  std::vector<KeptForm> forms = {};
  bool fills_disk = false;  // the disk is to hold all that is kept, and memory what it can of that
};
CacheChoice choose_cache(config::CacheForm asked, const CacheNeeds& needs);

// The two neighbours of rising `bytes` that give `wanted` on average: a share of 0 to 1 of the form behind `lower`, and
// the rest in `lower`. Less than the first gives the first, and more than the last gives the last.
struct FormMix {
  size_t lower = 0;
  double share = 0;
  size_t upper() const { return share > 0 ? lower + 1 : lower; }
};
FormMix mix_for(std::span<const double> bytes, double wanted);

}  // namespace spdld::pipeline
