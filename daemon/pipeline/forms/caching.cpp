#include "daemon/pipeline/forms/caching.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "config/catalogue.h"
#include "daemon/pipeline/forms/shelf_keeper.h"

namespace spdld::pipeline {
namespace {

using config::CacheForm;
using Where = cache::Found::Where;
using Want = source::FieldFetch::Want;

constexpr uint64_t kHeadersLookedAt = 16;  // samples whose headers tell how large planes will be
// Making a better form costs a decoding, and saves an eighth of one in each further epoch, or more.
constexpr uint64_t kUpgradePasses = 8;

// A mix is a data set of its own: its samples have other ids than their sources' alone.
std::string uris_of(const config::PipelineSpec& spec, const source::Listing& listing) {
  std::string uris;
  for (const auto& source : spec.sources) uris += (uris.empty() ? "" : ", ") + config::uris_text(source);
  if (const std::string owner = listing.owner(); !owner.empty()) uris += " of " + owner;
  return uris;
}

// Reads single samples, one after another, on the thread that calls.
class Reader final : private source::FetchObserver {
 public:
  Reader(const source::Listing& listing, source::FieldId field, source::Fetcher& fetcher) : fetcher_(fetcher) {
    request_.listing = &listing;
    request_.observer = this;
    request_.fields.push_back({.field = field});
  }
  // none: it can't be read.
  const ByteBuffer* read(uint64_t sample) {
    std::unique_lock lock(mutex_);
    request_.sample = sample;
    done_ = false;
    fetcher_.fetch(request_);
    wake_.wait(lock, [this] { return done_; });
    return request_.ok ? &request_.bytes.front() : nullptr;
  }

 private:
  void on_fetched(source::FetchRequest&) override {
    const std::lock_guard lock(mutex_);
    done_ = true;
    wake_.notify_one();
  }

  source::Fetcher& fetcher_;
  source::FetchRequest request_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
};

uint64_t taken_of(const sampler::Mix& mix) {
  uint64_t samples = 0;
  for (const auto& source : mix.sources()) samples += source.order.subset().size();
  return samples;
}

// The id of a sample that is taken, by its number among them, source by source.
uint64_t taken_at(const sampler::Mix& mix, uint64_t number) {
  for (const auto& source : mix.sources()) {
    const sampler::Subset& subset = source.order.subset();
    if (number < subset.size()) return source.first_id + subset[number];
    number -= subset.size();
  }
  return 0;  // never: number < taken_of(mix)
}

// Whether a copy of this identity is of the file or object that the listing has. Another pipeline may have listed the
// data set before it changed, or since, and shares the shelf.
bool is_of_listed(const source::FetchRequest& request, size_t index, const store::Identity& identity) {
  const store::Locator locator = request.listing->locate(request.sample, request.fields[index].field);
  const bool is_known = locator.store != nullptr ? locator.identity.size != 0 : locator.identity != store::Identity();
  return !is_known || locator.identity == identity;
}

// About how many records so many rows are made of.
uint64_t records_among(uint64_t rows, const source::Listing& listing) {
  const double part = static_cast<double>(rows) / static_cast<double>(std::max<uint64_t>(listing.size(), 1));
  return static_cast<uint64_t>(part * static_cast<double>(listing.record_count()));
}

// The mean of what is kept of a sample in a form, over all fields that have it.
class FormMean {
 public:
  explicit FormMean(CacheForm form) : form_(form) {}
  CacheForm form() const { return form_; }
  KeptForm kept() const { return {form_, bytes_, cost_}; }
  // Whether some sample has this form, whatever it saves.
  bool is_prepared() const { return is_prepared_; }

  // The next field has this form, or none.
  void begin(const media::Representation* representation) {
    representation_ = representation;
    sum_ = count_ = prepared_count_ = 0;
  }
  bool has_form() const { return representation_ != nullptr; }
  void add(std::span<const uint8_t> content, media::Workspace& workspace) {
    if (representation_ == nullptr && form_ != CacheForm::kEncoded) return;
    const auto prepared = representation_ ? representation_->prepared_bytes(content, workspace) : 0;
    if (!prepared) return;  // such a sample is not kept
    sum_ += *prepared > 0 ? *prepared : content.size();
    count_++;
    prepared_count_ += *prepared > 0;
  }
  // Returns the mean of the field.
  double end() {
    if (count_ == 0) return 0;
    const uint64_t mean = sum_ / count_;
    if (prepared_count_ > 0 || form_ == CacheForm::kEncoded) bytes_ += mean;
    if (prepared_count_ > 0) {
      is_prepared_ = true;
      const double share = static_cast<double>(prepared_count_) / static_cast<double>(count_);
      cost_ = std::min(cost_, 1 - share * (1 - representation_->cost()));  // the others are decoded from their bytes
    }
    return static_cast<double>(mean);
  }

 private:
  CacheForm form_;
  const media::Representation* representation_ = nullptr;  // of the field that is looked at
  uint64_t sum_ = 0, count_ = 0, prepared_count_ = 0;
  uint64_t bytes_ = 0;
  double cost_ = 1;
  bool is_prepared_ = false;
};

}  // namespace

// A form that the daemon does not choose by itself is not kept beside one that it has chosen.
const media::Representation* Caching::kept_form(const FieldUse& use, CacheForm form) const {
  const media::Representation* const kept = use.representation(form);
  return kept != nullptr && spec_.cache == CacheForm::kAuto && kept->cost() >= 1 ? nullptr : kept;
}

Caching::Measured Caching::measure(const source::Listing& listing, const sampler::Mix& mix,
                                   std::span<const FieldUse> uses, source::Fetcher& fetcher) const {
  std::vector<FormMean> means = {FormMean(CacheForm::kEncoded)};
  for (const CacheForm form : kPreparedForms)
    if (spec_.cache == CacheForm::kAuto || spec_.cache == form) means.emplace_back(form);
  Measured measured;
  for (const FormMean& mean : means) measured.by_field[mean.form()].assign(uses.size(), 0);
  media::Workspace workspace;
  const uint64_t taken = taken_of(mix), looked_at = std::min(kHeadersLookedAt, taken);
  for (size_t field = 0; field < uses.size(); field++) {
    Reader reader(listing, uses[field].field, fetcher);
    for (FormMean& mean : means) mean.begin(kept_form(uses[field], mean.form()));
    if (std::none_of(means.begin(), means.end(), [](const FormMean& mean) { return mean.has_form(); })) continue;
    for (uint64_t i = 0; i < looked_at; i++)
      if (const ByteBuffer* bytes = reader.read(taken_at(mix, i * (taken / looked_at))))
        for (FormMean& mean : means) mean.add(bytes->bytes(), workspace);
    for (FormMean& mean : means) measured.by_field[mean.form()][field] = mean.end();
  }
  measured.fetched_bytes_mean = means.front().kept().bytes_mean;
  for (const FormMean& mean : means)
    if (mean.is_prepared()) measured.forms.push_back(mean.kept());
  return measured;
}

// Other pipelines in use may hold this data set in forms that this one would keep: that room is this one's as well.
void Caching::add_held(const cache::Report& report, const source::Listing& listing, std::span<const FieldUse> uses,
                       CacheNeeds& needs) const {
  for (const cache::ShelfReport& shelf : report.shelves) {
    if (!shelf.in_use || shelf.key.fingerprint != listing.fingerprint() || shelf.key.uri != uris_of(spec_, listing))
      continue;
    const bool is_ours = std::any_of(uses.begin(), uses.end(), [&](const FieldUse& use) {
      return shelf.key.field == listing.fields()[use.field].name &&
             std::any_of(kPreparedForms.begin(), kPreparedForms.end(), [&](CacheForm form) {
               const auto* const kept = kept_form(use, form);
               return kept != nullptr && kept->id() == shelf.key.representation;
             });
    });
    if (!is_ours) continue;
    needs.available_bytes += shelf.memory_bytes + shelf.memory_wasted + shelf.memory_left;
    needs.available_disk_bytes += shelf.disk_bytes;
  }
}

void Caching::open(const source::Listing& listing, const sampler::Mix& mix, std::span<const FieldUse> uses,
                   source::Fetcher& fetcher) {
  if (std::exchange(is_open_, true)) return;  // streams of before still run
  taken_ = taken_of(mix);
  const cache::Report report = cache_.report();
  has_rows_ = listing.has_rows();
  if (has_rows_) taken_ = records_among(taken_, listing);
  CacheNeeds needs;
  needs.samples = taken_;
  needs.passes = mix.passes(spec_.order.epochs);
  needs.available_bytes = cache_.available_bytes();
  needs.available_disk_bytes = cache_.available_disk_bytes();
  needs.has_disk = report.disk_bytes_max > 0 && report.disk_trouble.empty();
  needs.is_remote = listing.is_remote();
  for (const FieldUse& use : uses)
    if (needs.why_unprepared.empty()) needs.why_unprepared = use.why_unprepared;
  needs.is_made = std::any_of(spec_.sources.begin(), spec_.sources.end(), config::is_made);
  const auto& sources = mix.sources();
  needs.repeats =
      std::any_of(
          sources.begin(), sources.end(),
          [](const sampler::Mix::Source& source) { return source.order.size() > source.order.subset().size(); }) ||
      (has_rows_ && listing.size() > listing.record_count());  // a record may come once for each of its rows
  add_held(report, listing, uses, needs);
  const bool may_be_decoded =
      !needs.is_made && (is_prepared_form(spec_.cache) ||
                         (spec_.cache == CacheForm::kAuto && needs.reads_again() && needs.why_unprepared.empty()));
  Measured measured;
  if (may_be_decoded && cache_.is_on()) measured = measure(listing, mix, uses, fetcher);
  needs.forms = measured.forms;
  needs.fetched_bytes_mean = measured.fetched_bytes_mean;
  choice_ = choose_cache(spec_.cache, needs);
  // An index is of one content, and an item may have another one each time that it is made.
  const bool keeps_indexes = cache_.is_on() && spec_.cache != CacheForm::kOff && !needs.is_made;
  indexes_.open(keeps_indexes ? &cache_ : nullptr, uris_of(spec_, listing), listing, uses);
  if (choice_.form != CacheForm::kOff && cache_.is_on()) open_shelves(listing, uses, needs, measured);
}

void Caching::open_shelves(const source::Listing& listing, std::span<const FieldUse> uses, const CacheNeeds& needs,
                           const Measured& measured) {
  FormShelves::Setting setting{&cache_, {}, {}, taken_, choice_.fills_disk, false};
  // A sample of a remote store would be fetched again for its better form.
  setting.upgrades = !needs.is_remote && (needs.passes == 0 || needs.passes > kUpgradePasses);
  for (const KeptForm& kept : choice_.forms) setting.forms.push_back(kept.form);
  setting.fields.resize(uses.size());
  for (size_t i = 0; i < uses.size(); i++) {
    if (listing.cuts(uses[i].field)) continue;  // the system keeps files in memory by itself
    for (const CacheForm kept : setting.forms) {
      const auto* const form = kept_form(uses[i], kept);
      const auto means = measured.by_field.find(form ? kept : CacheForm::kEncoded);
      const cache::ShelfKey key{uris_of(spec_, listing), listing.fingerprint(), listing.fields()[uses[i].field].name,
                                form ? form->id() : std::string()};
      auto& rungs = setting.fields[i];
      const bool is_shared = !rungs.empty() && rungs.back().shelf->key() == key;
      rungs.push_back({is_shared ? rungs.back().shelf : cache_.open(key, listing.record_count()),
                       means == measured.by_field.end() ? 0 : means->second[i]});
    }
  }
  shelves_.open(std::move(setting));
}

void Caching::close() {
  shelves_.close();
  indexes_.close();
  is_open_ = false;
}

std::vector<cache::ShelfReport> Caching::report() const {
  std::vector<cache::ShelfReport> reports;
  shelves_.report(reports);
  indexes_.report(reports);
  return reports;
}

bool Caching::look_up(source::FetchRequest& request, std::vector<cache::Found>& found, std::vector<FieldBytes>& fields,
                      bool has_spare_time) const {
  bool must_fetch = false;
  found.resize(request.fields.size());
  fields.resize(request.fields.size());
  for (size_t i = 0; i < request.fields.size(); i++) {
    source::FieldFetch& fetch = request.fields[i];
    fetch = {.field = fetch.field};
    fields[i] = {};
    find(request, i, has_spare_time, found[i], fields[i]);
    found[i].confirmed = found[i].confirmed && is_of_listed(request, i, found[i].identity);
    indexes_.find(i, kept_as(request), fields[i]);
    const bool may_be_kept = found[i].where != Where::kNowhere || (shelves_.keeps(i) && shelves_.has_room(i));
    if (!may_be_kept && indexes_.takes_parts(i)) IndexShelves::ask_first(fetch, fields[i]);
    if (found[i].where != Where::kNowhere && !found[i].confirmed) {
      fetch.want = Want::kChanged;
      fetch.identity = found[i].identity;
    }
    if (found[i].where == Where::kMemory && found[i].confirmed) fetch.want = Want::kNothing;
    if (found[i].where == Where::kDisk) {
      fetch.kept_fd = found[i].fd;
      fetch.kept_offset = found[i].offset;
      fetch.kept_bytes = found[i].bytes;
    }
    must_fetch |= fetch.want != Want::kNothing;
  }
  return must_fetch;
}

// Where a better form of a sample is to be made, the sample counts as not kept.
void Caching::find(const source::FetchRequest& request, size_t index, bool has_spare_time, cache::Found& found,
                   FieldBytes& field) const {
  found = {};
  if (!shelves_.keeps(index)) return;
  found = shelves_.find(index, kept_as(request), field.rung);
  if (found.where == Where::kNowhere) {
    choose_form(request, index, field);
    shelves_.shelf(index, field.rung)->count_miss();
  } else if (const auto better = has_spare_time ? shelves_.better_rung(index, field.rung) : std::nullopt) {
    found = {};
    field.rung = *better;
    field.is_upgrade = true;
  }
  field.form = shelves_.form(index, field.rung);
}

void Caching::choose_form(const source::FetchRequest& request, size_t index, FieldBytes& field) const {
  field.rung = shelves_.rung_for(kept_as(request));
  field.form = shelves_.form(index, field.rung);
}

bool Caching::settle(source::FetchRequest& request, std::vector<cache::Found>& found,
                     std::vector<FieldBytes>& fields) const {
  bool settled = true;
  for (size_t i = 0; i < request.fields.size(); i++) settled &= settle_field(request, i, found[i], fields[i]);
  return settled;
}

bool Caching::settle_field(source::FetchRequest& request, size_t index, cache::Found& found, FieldBytes& field) const {
  source::FieldFetch& fetch = request.fields[index];
  cache::Shelf* shelf = shelves_.shelf(index, field.rung);
  const auto fetched = [&] { return request.bytes_of(index); };
  const uint64_t record = kept_as(request);
  field.bytes = {};
  field.parts.reset();
  field.is_prepared = false;
  field.keeps_on = nullptr;
  field.is_placed = fetch.is_placed;
  // In all its forms: another one of the same file must not come to light.
  const auto drop = [&](bool is_damaged) {
    for (size_t rung = 0; rung < choice_.forms.size(); rung++)
      shelves_.shelf(index, rung)->drop(record, is_damaged && rung == field.rung);
  };
  const auto take = [&](std::span<const uint8_t> bytes, const store::Identity& identity) {
    field.bytes = bytes;
    field.identity = identity;
    IndexShelves::check(record, field);
  };
  if (found.where == Where::kNowhere && (fetch.want == Want::kParts || fetch.want == Want::kNothing))
    return IndexShelves::settle(request, index, record, field);
  if (!shelf) {
    take(fetched(), fetch.identity);
    return true;
  }
  const bool is_prepared = found.form == cache::Form::kPrepared;
  const bool holds = fetch.want == Want::kNothing || fetch.unchanged || (found.confirmed && !fetch.copy_failed);
  if (found.where == Where::kMemory && holds) {
    if (!found.confirmed) shelf->confirm(record);
    take({found.memory, found.bytes}, found.identity);
    field.is_prepared = is_prepared;
    return true;
  }
  if (found.where == Where::kDisk && holds && !fetch.copy_failed) {
    if (!shelf->is_sound(record, fetched())) {
      drop(true);
      found = {};
      choose_form(request, index, field);
      fetch = {.field = fetch.field};
      return false;
    }
    if (!found.confirmed) shelf->confirm(record);
    ShelfKeeper(*shelf, record, found.identity).keep_in_memory(fetched(), found.form);
    take(fetched(), found.identity);
    field.is_prepared = is_prepared;
    return true;
  }
  if (found.where != Where::kNowhere) {
    drop(fetch.copy_failed);
    choose_form(request, index, field);
    shelf = shelves_.shelf(index, field.rung);
  }
  take(fetched(), fetch.identity);
  if (shelf->key().form() == cache::Form::kPrepared) {
    field.keeps_on = shelf;
  } else {
    ShelfKeeper(*shelf, record, fetch.identity).keep_as_fetched(field.bytes);
  }
  return true;
}

void Caching::keep_indexes(const source::FetchRequest& request, std::vector<FieldBytes>& fields) const {
  for (FieldBytes& field : fields) IndexShelves::keep(kept_as(request), field);
}

}  // namespace spdld::pipeline
