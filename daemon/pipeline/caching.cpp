#include "daemon/pipeline/caching.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <utility>

#include "daemon/pipeline/shelf_keeper.h"

namespace spdld::pipeline {
namespace {

using config::CacheForm;
using Where = cache::Found::Where;
using Want = source::FieldFetch::Want;

constexpr uint64_t kLookedAt = 16;        // samples whose headers tell how large planes will be
constexpr double kWorthwhile = 0.19;      // the part of the CPU time that a form must save: a quarter of all planes
constexpr double kFetchCost = 4;          // of a sample from a remote store, in decodings
constexpr uint64_t kBytesPerEntry = 128;  // what the cache needs beside the planes, roughly

std::string size_text(double bytes) {
  static constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < kUnits.size(); unit++) bytes /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), bytes < 10 && unit ? "%.1f %s" : "%.0f %s", bytes, kUnits[unit]);
  return text.data();
}

// A mix is a data set of its own: its samples have other ids than their sources' alone.
std::string uris_of(const config::PipelineSpec& spec) {
  std::string uris;
  for (const auto& source : spec.sources) uris += (uris.empty() ? "" : ", ") + config::uris_text(source);
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
  uint64_t bytes() const { return bytes_; }
  double cost() const { return cost_; }

  // The next field has this form, or none.
  void begin(const media::Representation* representation) {
    representation_ = representation;
    sum_ = count_ = prepared_count_ = 0;
  }
  bool has_form() const { return representation_ != nullptr; }
  void add(std::span<const uint8_t> content, media::Workspace& workspace) {
    if (representation_ == nullptr) return;
    const auto prepared = representation_->prepared_bytes(content, workspace);
    if (!prepared) return;  // such a sample is not kept
    sum_ += *prepared > 0 ? *prepared : content.size();
    count_++;
    prepared_count_ += *prepared > 0;
  }
  void end() {
    if (prepared_count_ == 0) return;
    bytes_ += sum_ / count_;
    const double share = static_cast<double>(prepared_count_) / static_cast<double>(count_);
    cost_ = std::min(cost_, 1 - share * (1 - representation_->cost()));  // the others are decoded from their bytes
  }

 private:
  CacheForm form_;
  const media::Representation* representation_ = nullptr;  // of the field that is looked at
  uint64_t sum_ = 0, count_ = 0, prepared_count_ = 0;
  uint64_t bytes_ = 0;
  double cost_ = 1;
};

// A form that saves something, and the part of a run's CPU time that it saves where so many samples fit as do.
struct Saving {
  const CacheNeeds::Form* form = nullptr;
  double whole = 0, share = 0;  // bytes of all samples; the part of them that fits
  double saved = 0;
};

// A remote sample that does not fit is fetched again, so that a form for more samples is better there.
std::optional<Saving> best_of(const CacheNeeds& needs) {
  std::optional<Saving> best;
  for (const CacheNeeds::Form& form : needs.forms) {
    if (form.cost >= 1) continue;
    const double whole = static_cast<double>(needs.samples) * static_cast<double>(form.bytes_mean + kBytesPerEntry);
    const double share = std::min(1.0, static_cast<double>(needs.available_bytes) / whole);
    const double saved = share * (1 - form.cost + (needs.is_remote ? kFetchCost : 0));
    if (!best || saved > best->saved) best = {&form, whole, share, saved};
  }
  if (best && needs.is_remote) best->saved -= best->share * kFetchCost;
  return best;
}

}  // namespace

CacheChoice choose_cache(CacheForm asked, const CacheNeeds& needs) {
  if (asked == CacheForm::kOff) return {asked, "the pipeline says so"};
  if (needs.available_bytes == 0 && !needs.has_disk)
    return {CacheForm::kOff, "this daemon keeps nothing, or other pipelines fill its cache (cache.ram_bytes_max)"};
  const auto is_asked = [&](const CacheNeeds::Form& form) { return form.form == asked; };
  if (is_prepared_form(asked) && std::none_of(needs.forms.begin(), needs.forms.end(), is_asked)) {
    const std::string name(config::cache_form_name(asked));
    return {CacheForm::kEncoded, name + " was asked for, but nothing here has " +
                                     (asked == CacheForm::kIndexed ? "an " : "a ") + name + " form to keep"};
  }
  if (asked != CacheForm::kAuto) return {asked, "the pipeline says so"};

  // Bytes that came over a network are kept in any case: another job may want it, or this one after a restart.
  const auto as_fetched = [&](std::string why) {
    return needs.is_remote ? CacheChoice{CacheForm::kEncoded, "it comes from a remote store"}
                           : CacheChoice{CacheForm::kOff, std::move(why)};
  };
  if (!needs.reads_again()) return as_fetched("a run of one epoch reads every sample once");
  if (!needs.why_unprepared.empty())
    return as_fetched(std::string(needs.why_unprepared) + ", and the system keeps files in memory by itself");
  const auto best = best_of(needs);
  if (!best) return as_fetched("it has nothing to keep decoded, and the system keeps files in memory by itself");
  const std::string name(config::cache_form_name(best->form->form));
  const std::string sizes =
      size_text(best->whole) + " " + name + ", of " + size_text(static_cast<double>(needs.available_bytes));
  const bool is_whole = best->share >= 1, is_worth_it = best->saved >= kWorthwhile;
  if (is_whole && is_worth_it)
    return {best->form->form, "all " + std::to_string(needs.samples) + " samples fit: about " + sizes};
  if (is_whole) return as_fetched("few of its samples can be kept " + name);
  const std::string percent =
      std::to_string(static_cast<int>(best->share * 100)) + " % of the samples fit: about " + sizes;
  return is_worth_it ? CacheChoice{best->form->form, percent} : as_fetched("only " + percent);
}

// A form that the daemon does not choose by itself is not kept beside one that it has chosen.
const media::Representation* Caching::kept_form(const FieldUse& use, CacheForm form) const {
  const media::Representation* const kept = use.representation(form);
  return kept != nullptr && spec_.cache == CacheForm::kAuto && kept->cost() >= 1 ? nullptr : kept;
}

std::vector<CacheNeeds::Form> Caching::measure(const source::Listing& listing, const sampler::Mix& mix,
                                               std::span<const FieldUse> uses, source::Fetcher& fetcher) const {
  std::vector<FormMean> means;
  for (const CacheForm form : kPreparedForms)
    if (spec_.cache == CacheForm::kAuto || spec_.cache == form) means.emplace_back(form);
  media::Workspace workspace;
  const uint64_t taken = taken_of(mix), looked_at = std::min(kLookedAt, taken);
  for (const FieldUse& use : uses) {
    Reader reader(listing, use.field, fetcher);
    for (FormMean& mean : means) mean.begin(kept_form(use, mean.form()));
    if (std::none_of(means.begin(), means.end(), [](const FormMean& mean) { return mean.has_form(); })) continue;
    for (uint64_t i = 0; i < looked_at; i++)
      if (const ByteBuffer* bytes = reader.read(taken_at(mix, i * (taken / looked_at))))
        for (FormMean& mean : means) mean.add(bytes->bytes(), workspace);
    for (FormMean& mean : means) mean.end();
  }
  std::vector<CacheNeeds::Form> forms;
  for (const FormMean& mean : means)
    if (mean.bytes() > 0) forms.push_back({mean.form(), mean.bytes(), mean.cost()});
  return forms;
}

void Caching::open(const source::Listing& listing, const sampler::Mix& mix, std::span<const FieldUse> uses,
                   source::Fetcher& fetcher) {
  if (std::exchange(is_open_, true)) return;  // streams of before still run
  taken_ = taken_of(mix);
  const cache::Report report = cache_.report();
  const bool has_disk = report.disk_bytes_max > 0 && report.disk_trouble.empty();
  has_rows_ = listing.has_rows();
  if (has_rows_) taken_ = records_among(taken_, listing);
  CacheNeeds needs{taken_, mix.passes(spec_.order.epochs), {}, cache_.available_bytes(), has_disk};  // forms follow
  needs.is_remote = listing.is_remote();
  for (const FieldUse& use : uses)
    if (needs.why_unprepared.empty()) needs.why_unprepared = use.why_unprepared;
  const auto& sources = mix.sources();
  needs.repeats =
      std::any_of(
          sources.begin(), sources.end(),
          [](const sampler::Mix::Source& source) { return source.order.size() > source.order.subset().size(); }) ||
      (has_rows_ && listing.size() > listing.record_count());  // a record may come once for each of its rows
  const bool may_be_decoded = is_prepared_form(spec_.cache) ||
                              (spec_.cache == CacheForm::kAuto && needs.reads_again() && needs.why_unprepared.empty());
  if (may_be_decoded && cache_.is_on()) needs.forms = measure(listing, mix, uses, fetcher);
  choice_ = choose_cache(spec_.cache, needs);

  shelves_.assign(uses.size(), nullptr);
  indexes_.open(cache_.is_on() && spec_.cache != CacheForm::kOff ? &cache_ : nullptr, uris_of(spec_), listing, uses);
  if (choice_.form == CacheForm::kOff || !cache_.is_on()) return;
  for (size_t i = 0; i < uses.size(); i++) {
    if (listing.cuts(uses[i].field)) continue;  // the system keeps files in memory by itself
    const auto* form = kept_form(uses[i], choice_.form);
    shelves_[i] = cache_.open({uris_of(spec_), listing.fingerprint(), listing.fields()[uses[i].field].name,
                               form ? form->id() : std::string()},
                              listing.record_count());
  }
}

void Caching::close() {
  shelves_.assign(shelves_.size(), nullptr);
  indexes_.close();
  is_open_ = false;
}

std::vector<cache::ShelfReport> Caching::report() const {
  std::vector<cache::ShelfReport> reports;
  for (const auto& shelf : shelves_)
    if (shelf) reports.push_back(shelf->report());
  indexes_.report(reports);
  return reports;
}

bool Caching::look_up(source::FetchRequest& request, std::vector<cache::Found>& found,
                      std::vector<FieldBytes>& fields) const {
  bool must_fetch = false;
  const uint64_t record = kept_as(request);
  found.resize(request.fields.size());
  fields.resize(request.fields.size());
  for (size_t i = 0; i < request.fields.size(); i++) {
    source::FieldFetch& fetch = request.fields[i];
    cache::Shelf* const shelf = i < shelves_.size() ? shelves_[i].get() : nullptr;
    found[i] = shelf ? shelf->find(record) : cache::Found();
    fetch = {.field = fetch.field};
    fields[i] = {};
    fields[i].form = choice_.form;
    indexes_.find(i, record, fields[i]);
    const bool is_kept =
        found[i].where != Where::kNowhere || (shelf && (shelf->has_room(1) || shelf->has_disk_room(1)));
    if (!is_kept && indexes_.takes_parts(i)) IndexShelves::ask_first(fetch, fields[i]);
    if (found[i].where != Where::kNowhere && !found[i].confirmed) {
      fetch.want = Want::kChanged;
      fetch.identity = found[i].identity;
    }
    if (found[i].where == Where::kMemory && found[i].confirmed) fetch.want = Want::kNothing;
    if (found[i].where == Where::kDisk)
      fetch.kept_fd = found[i].fd, fetch.kept_offset = found[i].offset, fetch.kept_bytes = found[i].bytes;
    must_fetch |= fetch.want != Want::kNothing;
  }
  return must_fetch;
}

bool Caching::settle(source::FetchRequest& request, std::vector<cache::Found>& found,
                     std::vector<FieldBytes>& fields) const {
  bool settled = true;
  for (size_t i = 0; i < request.fields.size(); i++) settled &= settle_field(request, i, found[i], fields[i]);
  return settled;
}

bool Caching::settle_field(source::FetchRequest& request, size_t index, cache::Found& found, FieldBytes& field) const {
  source::FieldFetch& fetch = request.fields[index];
  cache::Shelf* const shelf = index < shelves_.size() ? shelves_[index].get() : nullptr;
  const auto fetched = [&] { return request.bytes_of(index); };
  const uint64_t record = kept_as(request);
  field.bytes = {};
  field.parts.reset();
  field.is_prepared = false;
  field.keeps_on = nullptr;
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
      shelf->drop(record, true);
      found = {};
      fetch = {.field = fetch.field};
      return false;
    }
    if (!found.confirmed) shelf->confirm(record);
    ShelfKeeper(*shelf, record, found.identity).keep_in_memory(fetched(), found.form);
    take(fetched(), found.identity);
    field.is_prepared = is_prepared;
    return true;
  }
  if (found.where != Where::kNowhere) shelf->drop(record, fetch.copy_failed);
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
