#include "daemon/sampler/mix.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

namespace spdld::sampler {
namespace {

constexpr uint64_t kRandomCycle = uint64_t{1} << 32;

uint64_t low_half(Wide value) { return static_cast<uint64_t>(value); }
uint64_t high_half(Wide value) { return static_cast<uint64_t>(value >> 64); }

// count * part / whole, to the nearest: the number of positions of a part.
uint64_t part_of(uint64_t count, uint64_t part, uint64_t whole) {
  return low_half((Wide{count} * part + whole / 2) / whole);
}

uint64_t sum_of(std::span<const uint64_t> numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), uint64_t{0});
}

uint64_t all_samples(const std::vector<Mix::Source>& sources) {
  uint64_t samples = 0;
  for (const auto& source : sources) samples += source.order.size();
  return samples;
}

std::vector<uint64_t> reduced(std::vector<uint64_t> shares) {
  uint64_t divisor = 0;
  for (const uint64_t share : shares) divisor = std::gcd(divisor, share);
  for (uint64_t& share : shares) share /= divisor;
  return shares;
}

}  // namespace

Mix::Mix(uint64_t seed, std::vector<Source> sources, std::vector<uint64_t> shares, Spread spread,
         uint64_t epoch_samples)
    : seed_(seed), sources_(std::move(sources)), spread_(spread), epoch_samples_(epoch_samples) {
  starts_.push_back(0);
  for (const uint64_t share : shares) starts_.push_back(starts_.back() + share);
  if (epoch_samples_ == 0) epoch_samples_ = all_samples(sources_);
}

uint64_t Mix::passes(uint64_t epochs) const {
  uint64_t most = 0;
  const Wide positions = Wide{epochs} * epoch_samples_;
  for (size_t i = 0; i < sources_.size(); ++i) {
    const Wide cycles = (positions + cycle() - 1) / cycle();
    const Wide taken = std::min(positions, cycles * share(i)), size = sources_[i].order.size();
    most = std::max(most, low_half(std::min((taken + size - 1) / size, Wide{UINT64_MAX})));
  }
  return most;
}

// The sources are halved again and again; at each turn the positions of both halves are spread evenly, and the half of
// this position goes on. For a part p of w, n positions have round(n * p / w), so that one more position has one
// more of it or none; for n = w they are exactly p.
Mix::Slot Mix::even(uint64_t place) const {
  size_t low = 0, high = sources_.size();
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    const uint64_t whole = starts_[high] - starts_[low], part = starts_[middle] - starts_[low];
    const uint64_t before = part_of(place, part, whole);
    if (part_of(place + 1, part, whole) > before) {
      high = middle;
      place = before;
    } else {
      low = middle;
      place -= before;
    }
  }
  return {static_cast<uint32_t>(low), place};
}

Mix::Slot Mix::behind(uint64_t place) const {
  const auto source = std::upper_bound(starts_.begin(), starts_.end(), place) - starts_.begin() - 1;
  return {static_cast<uint32_t>(source), place - starts_[static_cast<size_t>(source)]};
}

// The sources of the block's positions change places (Fisher and Yates, from the end). The draw is named "mix", of
// (seed, cycle's low half); its sample is the cycle's high half, which is 0 for all that anybody will see, plus the
// block's first position. Then each source's positions are counted in their new order.
void Mix::deal(Wide cycle, uint64_t first, std::vector<Slot>& slots) const {
  const uint64_t count = std::min(kBlock, this->cycle() - first);
  std::vector<uint64_t> next(sources_.size(), UINT64_MAX);
  slots.clear();
  for (uint64_t i = 0; i < count; ++i) {
    slots.push_back(even(first + i));
    uint64_t& least = next[slots.back().source];
    least = std::min(least, slots.back().before);
  }
  Draw draw(seed_, low_half(cycle), high_half(cycle) + first, draw_key("mix"));
  for (uint64_t i = count; i > 1; --i) std::swap(slots[i - 1].source, slots[draw.below(i)].source);
  for (Slot& slot : slots) slot.before = next[slot.source]++;
}

std::vector<uint64_t> shares_of(config::MixRule rule, std::span<const double> weights) {
  std::vector<uint64_t> shares;
  if (rule == config::MixRule::kExact) {
    for (const double weight : weights) shares.push_back(static_cast<uint64_t>(weight));
    return reduced(std::move(shares));
  }
  // The largest remainders (Hamilton's method); what the smallest ones get too much, the largest one gives.
  double total = 0;
  for (const double weight : weights) total += weight;
  std::vector<double> remainders;
  for (const double weight : weights) {
    const double wanted = weight / total * static_cast<double>(kRandomCycle);
    shares.push_back(std::max<uint64_t>(1, static_cast<uint64_t>(wanted)));
    remainders.push_back(wanted - static_cast<double>(shares.back()));
  }
  std::vector<size_t> by_remainder(shares.size());
  std::iota(by_remainder.begin(), by_remainder.end(), size_t{0});
  std::stable_sort(by_remainder.begin(), by_remainder.end(),
                   [&](size_t a, size_t b) { return remainders[a] > remainders[b]; });
  const uint64_t dealt = sum_of(shares);
  for (uint64_t i = dealt; i < kRandomCycle; ++i) ++shares[by_remainder[(i - dealt) % shares.size()]];
  if (dealt > kRandomCycle) *std::max_element(shares.begin(), shares.end()) -= dealt - kRandomCycle;
  return shares;
}

std::vector<uint64_t> shares_of(config::MixRule rule, std::span<const uint64_t> samples) {
  std::vector<uint64_t> shares(samples.begin(), samples.end());
  return rule == config::MixRule::kExact ? reduced(std::move(shares)) : shares;
}

uint64_t source_seed(uint64_t seed, std::string_view source) {
  return Draw(seed, 0, 0, draw_key("source " + std::string(source))).bits64();
}

Mix::Slot MixReader::slot_of(Wide cycle, uint64_t place) {
  if (mix_.spread_ == Mix::Spread::kBehind || mix_.sources_.size() == 1) return mix_.behind(place);
  if (mix_.spread_ == Mix::Spread::kEven) return mix_.even(place);
  const uint64_t first = place - place % Mix::kBlock;
  if (block_.empty() || cycle != block_cycle_ || first != block_first_) {
    mix_.deal(cycle, first, block_);
    block_cycle_ = cycle;
    block_first_ = first;
  }
  return block_[place - first];
}

MixReader::SourcePosition MixReader::position_of(uint64_t epoch, uint64_t position) {
  const Wide absolute = Wide{epoch} * mix_.epoch_samples_ + position;  // below 2^128: position < epoch_samples
  const Wide cycle = absolute / mix_.cycle();
  const Mix::Slot slot = slot_of(cycle, low_half(absolute % mix_.cycle()));
  const Wide number = cycle * mix_.share(slot.source) + slot.before;  // at most `absolute`
  const uint64_t size = mix_.sources_[slot.source].order.size();
  return {slot.source, low_half(number / size), low_half(number % size)};
}

const EpochOrder& MixReader::order_of(uint32_t source, uint64_t pass) {
  auto& kept = pass % 2 == 0 ? passes_[source].even : passes_[source].odd;
  if (!kept || kept->epoch() != pass) kept.emplace(mix_.sources_[source].order, pass);
  return *kept;
}

MixReader::Sample MixReader::at(uint64_t epoch, uint64_t position) {
  const SourcePosition at = position_of(epoch, position);
  const EpochOrder& order = order_of(at.source, at.pass);
  return {mix_.sources_[at.source].first_id + order(at.position), order.pass(at.position), at.source};
}

uint64_t MixReader::substitute(uint64_t epoch, uint64_t position, uint32_t attempt) {
  const SourcePosition at = position_of(epoch, position);
  const uint64_t id = order_of(at.source, at.pass).substitute(at.position, attempt);
  return mix_.sources_[at.source].first_id + id;
}

}  // namespace spdld::sampler
