#include "daemon/pipeline/forms/form_shelves.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "daemon/base/random.h"

namespace spdld::pipeline {
namespace {

constexpr double kLookedAt = 16;       // samples that the first mean stands for
constexpr double kUnkeptLeast = 0.01;  // of the samples: with fewer that are not kept, better forms may be made
constexpr double kUpgradeRoom = 4;     // entries: what is left of a tier is too little for a large one

bool takes(const cache::Shelf& shelf, double bytes) {
  const auto count = std::max<uint64_t>(static_cast<uint64_t>(bytes), 1);
  return shelf.has_room(count) || shelf.has_disk_room(count);
}

// 0 to 1, by the sample's number alone.
double place_of(uint64_t sample) {
  return static_cast<double>(mix_bits(sample + 0x9E3779B97F4A7C15) >> 11) * 0x1.0p-53;
}

}  // namespace

void FormShelves::open(Setting setting) { of_ = std::move(setting); }

void FormShelves::report(std::vector<cache::ShelfReport>& reports) const {
  for (const auto& rungs : of_.fields)
    for (size_t rung = 0; rung < rungs.size(); rung++)
      if (rung == 0 || rungs[rung].shelf != rungs[rung - 1].shelf) reports.push_back(rungs[rung].shelf->report());
}

cache::Found FormShelves::find(size_t field, uint64_t sample, size_t& rung) const {
  const std::vector<Rung>& rungs = of_.fields[field];
  for (rung = rungs.size(); rung-- > 0;) {
    if (rung + 1 < rungs.size() && rungs[rung].shelf == rungs[rung + 1].shelf) continue;
    const cache::Found found = rungs[rung].shelf->look(sample);
    if (found.where != cache::Found::Where::kNowhere) return found;
  }
  rung = 0;
  return {};
}

FormShelves::Left FormShelves::left() const {
  Left left;
  left.bytes = static_cast<double>(of_.fills_disk ? of_.cache->available_disk_bytes() : of_.cache->available_bytes());
  left.bytes_mean.assign(of_.forms.size(), 0);
  double kept = 0;  // samples of the field that has the most of them
  for (const auto& rungs : of_.fields) {
    double entries = 0;
    for (size_t rung = 0; rung < rungs.size(); rung++) {
      const cache::Shelf::Fill fill =
          of_.fills_disk ? rungs[rung].shelf->disk_fill() : rungs[rung].shelf->memory_fill();
      left.bytes_mean[rung] += kBytesPerEntry + (rungs[rung].bytes_mean * kLookedAt + static_cast<double>(fill.bytes)) /
                                                    (kLookedAt + static_cast<double>(fill.entries));
      if (rung > 0 && rungs[rung].shelf == rungs[rung - 1].shelf) continue;
      entries += static_cast<double>(fill.entries);
      left.bytes += static_cast<double>(fill.left);
    }
    kept = std::max(kept, entries);
  }
  left.samples = std::max(0.0, static_cast<double>(of_.samples) - kept);
  left.sure = 1 - 1 / std::sqrt(kLookedAt + kept);
  return left;
}

size_t FormShelves::rung_for(uint64_t sample) const {
  if (of_.forms.size() < 2) return 0;
  const Left now = left();
  const FormMix mix = mix_for(now.bytes_mean, now.sure * now.bytes / std::max(now.samples, 1.0));
  size_t rung = mix.lower + (place_of(sample) < mix.share ? 1 : 0);
  // A shelf's last segment may be full where another's is not.
  const auto has_room_at = [&](size_t at) {
    return std::all_of(of_.fields.begin(), of_.fields.end(),
                       [&](const auto& rungs) { return rungs.empty() || takes(*rungs[at].shelf, now.bytes_mean[at]); });
  };
  for (size_t at = rung + 1; at-- > 0;)
    if (has_room_at(at)) return at;
  while (rung + 1 < of_.forms.size() && !has_room_at(rung)) rung++;
  return rung;
}

std::optional<size_t> FormShelves::better_rung(size_t field, size_t rung) const {
  if (!of_.upgrades || rung + 1 >= of_.forms.size()) return std::nullopt;
  const std::vector<Rung>& rungs = of_.fields[field];
  const Left now = left();
  if (now.samples > kUnkeptLeast * static_cast<double>(of_.samples)) return std::nullopt;
  for (size_t better = rungs.size() - 1; better > rung; better--) {
    const double bytes = now.bytes_mean[better];
    if (rungs[better].shelf == rungs[rung].shelf) continue;
    if (now.bytes >= now.samples * now.bytes_mean[rung] + kUpgradeRoom * bytes && takes(*rungs[better].shelf, bytes))
      return better;
  }
  return std::nullopt;
}

bool FormShelves::has_room(size_t field) const {
  return std::any_of(of_.fields[field].begin(), of_.fields[field].end(),
                     [](const Rung& rung) { return rung.shelf->has_room(1) || rung.shelf->has_disk_room(1); });
}

}  // namespace spdld::pipeline
