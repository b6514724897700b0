// The shelves of a pipeline's fields: of each field one for each form in which samples are kept (CacheChoice::forms).
//
// A sample is found in whatever form it has, the best one first, so that neither a restart nor another limit makes what
// is kept useless. Only for a sample that is not kept a form is chosen: by the room that is left for each of the
// samples that are left, as mix_for() says. So the mixture follows what the samples really take, and other pipelines'
// use, and at the end all have found room. The sample's number says which samples get the better form of two.
//
// Once nearly all samples are kept and there is still room, a sample's better form may be made as if the sample were
// not kept. Its lower form then stays as it is: memory and disk come back with whole shelves alone, and what counts as
// left is what is really free.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/cache/cache.h"
#include "daemon/pipeline/forms/form_choice.h"

namespace spdld::pipeline {

// Constant but for open() and close(); any thread.
class FormShelves {
 public:
  // A field's shelf for one of the forms. Forms that a field lacks share the shelf of its bytes as fetched.
  struct Rung {
    std::shared_ptr<cache::Shelf> shelf;
    double bytes_mean = 0;  // of what is kept of a sample, as far as it was looked at
  };
  struct Setting {
    const cache::Cache* cache = nullptr;    // borrowed; none: nothing is kept
    std::vector<config::CacheForm> forms;   // with rising bytes
    std::vector<std::vector<Rung>> fields;  // as many rungs as forms; a field that is not kept has none
    uint64_t samples = 0;                   // that may be kept
    bool fills_disk = false, upgrades = false;
  };
  void open(Setting setting);
  void close() { open({}); }
  void report(std::vector<cache::ShelfReport>& reports) const;

  bool keeps(size_t field) const { return field < of_.fields.size() && !of_.fields[field].empty(); }
  // kOff: the field is not kept.
  config::CacheForm form(size_t field, size_t rung) const {
    return keeps(field) ? of_.forms[rung] : config::CacheForm::kOff;
  }
  cache::Shelf* shelf(size_t field, size_t rung) const {
    return keeps(field) ? of_.fields[field][rung].shelf.get() : nullptr;
  }
  // The sample in its best form. Counts a hit, but no miss.
  cache::Found find(size_t field, uint64_t sample, size_t& rung) const;
  // The form in which a sample is to be kept that is not kept.
  size_t rung_for(uint64_t sample) const;
  // A better form for which there is room, for a sample that is kept.
  std::optional<size_t> better_rung(size_t field, size_t rung) const;
  bool has_room(size_t field) const;

 private:
  struct Left {
    double bytes = 0, samples = 0;
    // The part of the bytes to reckon with: the fewer samples are kept, the further off may their mean be, and what a
    // better form has taken does not come back. The last samples use all that was held back.
    double sure = 0;
    std::vector<double> bytes_mean;  // of a sample with all its fields, by rung
  };
  Left left() const;

  Setting of_;
};

}  // namespace spdld::pipeline
