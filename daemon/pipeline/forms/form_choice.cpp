#include "daemon/pipeline/forms/form_choice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "daemon/pipeline/forms/field_bytes.h"

namespace spdld::pipeline {
namespace {

using config::CacheForm;

constexpr double kWorthwhile = 0.19;  // the part of the CPU time that forms must save: a quarter of all planes
constexpr double kFetchCost = 4;      // of a sample from a remote store, in decodings
// Of a byte that is read from the disk and checked, 0.5 ns, beside a byte of a JPEG that is decoded, 12 ns.
constexpr double kReadCost = 0.04;
constexpr double kCareful = 0.8;       // the samples that were looked at may be smaller than the others
constexpr double kShareLeast = 0.005;  // a smaller share is no word worth

std::string size_text(double bytes) {
  static constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < kUnits.size(); unit++) bytes /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), bytes < 10 && unit ? "%.1f %s" : "%.0f %s", bytes, kUnits[unit]);
  return text.data();
}

std::string percent_text(double share) { return std::to_string(static_cast<int>(share * 100)) + " %"; }

std::string name_of(CacheForm form) { return std::string(config::cache_form_name(form)); }

double bytes_of(const KeptForm& form) {
  return form.form == CacheForm::kOff ? 0 : static_cast<double>(form.bytes_mean + kBytesPerEntry);
}

// The lower convex hull of the forms, from `unkept` on.
std::vector<KeptForm> hull_of(std::vector<KeptForm> forms, const KeptForm& unkept) {
  std::sort(forms.begin(), forms.end(), [](const KeptForm& a, const KeptForm& b) {
    return std::pair(a.bytes_mean, a.cost) < std::pair(b.bytes_mean, b.cost);
  });
  const auto saves = [](const KeptForm& from, const KeptForm& to) {  // for each byte
    return (from.cost - to.cost) / (bytes_of(to) - bytes_of(from));
  };
  std::vector<KeptForm> hull = {unkept};
  for (const KeptForm& form : forms) {
    if (form.cost >= hull.back().cost) continue;
    while (hull.size() > 1 && saves(hull[hull.size() - 2], hull.back()) <= saves(hull[hull.size() - 2], form))
      hull.pop_back();
    hull.push_back(form);
  }
  return hull;
}

// The mixture that costs least.
struct Mixture {
  std::vector<KeptForm> hull;  // the first: not kept
  FormMix mix;
  double bytes = 0, cost = 0;  // of a sample, on average
  double room = 0;             // for a sample, in the tier that holds what is kept
  bool fills_disk = false;

  const KeptForm& lower() const { return hull[mix.lower]; }
  const KeptForm& upper() const { return hull[mix.upper()]; }
  bool is_whole() const { return mix.lower > 0; }  // every sample is kept
};

// Memory holds a part of what the disk holds, so that the larger of both says how much is kept. The cost is convex in
// the bytes, with bends at the forms and where memory ends: it is least at one of these.
Mixture mixture_of(const CacheNeeds& needs, std::vector<KeptForm> forms) {
  const auto samples = static_cast<double>(std::max<uint64_t>(needs.samples, 1));
  const double memory = static_cast<double>(needs.available_bytes) / samples;
  const double disk = static_cast<double>(needs.available_disk_bytes) / samples;
  const double read_cost =
      needs.fetched_bytes_mean == 0 ? 0 : kReadCost / static_cast<double>(needs.fetched_bytes_mean);
  Mixture best;
  best.hull = hull_of(std::move(forms), {CacheForm::kOff, 0, 1 + (needs.is_remote ? kFetchCost : 0)});
  std::vector<double> bytes;
  for (const KeptForm& form : best.hull) bytes.push_back(bytes_of(form));
  std::vector<double> bends = bytes;
  bends.insert(bends.end(), {memory, disk});
  std::sort(bends.begin(), bends.end());
  best.cost = best.hull.front().cost;
  for (const double bend : bends) {
    if (bend > std::max(memory, disk) || bend > bytes.back()) break;
    const FormMix mix = mix_for(bytes, bend);
    const double from = best.hull[mix.lower].cost, to = best.hull[mix.upper()].cost;
    const double cost = from + mix.share * (to - from) + read_cost * std::max(0.0, bend - memory);
    if (cost < best.cost) {
      best.mix = mix;
      best.bytes = bend;
      best.cost = cost;
    }
  }
  best.fills_disk = best.bytes > memory;
  best.room = best.fills_disk ? disk : memory;
  if (best.mix.share < kShareLeast && best.is_whole()) best.mix.share = 0;
  return best;
}

// The forms of the plan, and the forms of a plan for samples that are a little larger.
std::vector<KeptForm> forms_of(const Mixture& plan) {
  std::vector<double> bytes;
  for (const KeptForm& form : plan.hull) bytes.push_back(bytes_of(form));
  const FormMix careful = mix_for(bytes, std::min(plan.bytes, kCareful * plan.room));
  const auto first = static_cast<std::ptrdiff_t>(std::max<size_t>(careful.lower, 1));
  const auto last = static_cast<std::ptrdiff_t>(plan.mix.upper());
  return {plan.hull.begin() + first, plan.hull.begin() + last + 1};
}

// "about 1.2 GiB decoded, of 3.0 GiB"
std::string sizes_text(const CacheNeeds& needs, const Mixture& plan, double bytes, const std::string& form) {
  const double all = bytes * static_cast<double>(needs.samples);
  const std::string room = plan.fills_disk ? size_text(static_cast<double>(needs.available_disk_bytes)) + " on disk"
                                           : size_text(static_cast<double>(needs.available_bytes));
  return "about " + size_text(all) + (form.empty() ? "" : " " + form) + ", of " + room;
}

CacheChoice one_form(CacheForm form, std::string why) {
  CacheChoice choice{form, std::move(why)};
  if (form != CacheForm::kOff) choice.forms = {{form, 0, 1}};
  return choice;
}

CacheChoice choose_auto(const CacheNeeds& needs) {
  if (needs.is_made) return one_form(CacheForm::kOff, "user code makes its samples, which may be others each time");
  // Bytes that came over a network are kept in any case: another job may want it, or this one after a restart.
  const auto as_fetched = [&](std::string why) {
    return needs.is_remote ? one_form(CacheForm::kEncoded, "it comes from a remote store")
                           : one_form(CacheForm::kOff, std::move(why));
  };
  if (!needs.reads_again()) return as_fetched("a run of one epoch reads every sample once");
  if (!needs.why_unprepared.empty())
    return as_fetched(std::string(needs.why_unprepared) + ", and the system keeps files in memory by itself");
  // Of local data the bytes as fetched save nothing, so that no plan has them.
  std::vector<KeptForm> forms;
  if (needs.fetched_bytes_mean > 0) forms.push_back({CacheForm::kEncoded, needs.fetched_bytes_mean, 1});
  const double cost_as_fetched = mixture_of(needs, forms).cost;
  forms.insert(forms.end(), needs.forms.begin(), needs.forms.end());
  const Mixture plan = mixture_of(needs, forms);
  if (plan.hull.size() == 1 || plan.hull.back().form == CacheForm::kEncoded)
    return as_fetched("it has nothing to keep decoded, and the system keeps files in memory by itself");

  const KeptForm& upper = plan.is_whole() ? plan.upper() : plan.hull[1];
  const std::string name = name_of(upper.form);
  const bool is_worth_it = cost_as_fetched - plan.cost >= kWorthwhile;
  if (plan.is_whole() && !is_worth_it) return as_fetched("few of its samples can be kept " + name);
  const std::string fit =
      percent_text(plan.mix.share) + " of the samples fit: " + sizes_text(needs, plan, bytes_of(upper), name);
  if (!is_worth_it) return as_fetched("only " + fit);
  CacheChoice choice{upper.form, {}, forms_of(plan), plan.fills_disk};
  if (!plan.is_whole())
    choice.why = fit;
  else if (plan.mix.share > 0)
    choice.why = name + " for " + percent_text(plan.mix.share) + " of the samples and " + name_of(plan.lower().form) +
                 " for the rest: " + sizes_text(needs, plan, plan.bytes, "");
  else
    choice.why =
        "all " + std::to_string(needs.samples) + " samples fit: " + sizes_text(needs, plan, bytes_of(upper), name);
  return choice;
}

}  // namespace

FormMix mix_for(std::span<const double> bytes, double wanted) {
  const auto above = std::upper_bound(bytes.begin(), bytes.end(), wanted);
  if (above == bytes.begin()) return {};
  const auto lower = static_cast<size_t>(above - bytes.begin()) - 1;
  if (above == bytes.end()) return {lower, 0};
  return {lower, (wanted - bytes[lower]) / (bytes[lower + 1] - bytes[lower])};
}

CacheChoice choose_cache(CacheForm asked, const CacheNeeds& needs) {
  if (asked == CacheForm::kOff) return one_form(asked, "the pipeline says so");
  if (needs.available_bytes == 0 && !needs.has_disk)
    return one_form(CacheForm::kOff,
                    "this daemon keeps nothing, or other pipelines fill its cache (cache.ram_bytes_max)");
  const auto is_asked = [&](const KeptForm& form) { return form.form == asked; };
  if (is_prepared_form(asked) && std::none_of(needs.forms.begin(), needs.forms.end(), is_asked)) {
    return one_form(CacheForm::kEncoded, name_of(asked) + " was asked for, but nothing here has " +
                                             (asked == CacheForm::kIndexed ? "an " : "a ") + name_of(asked) +
                                             " form to keep");
  }
  return asked == CacheForm::kAuto ? choose_auto(needs) : one_form(asked, "the pipeline says so");
}

}  // namespace spdld::pipeline
