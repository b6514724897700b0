#include "daemon/sampler/buckets.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace spdld::sampler {
namespace {

constexpr uint64_t kEvenParts = 128;
constexpr unsigned kPartBits = 3;  // of each power of two: 2^3 parts

// Of a row without content: a batch of such rows is bounded as well.
uint64_t priced(uint64_t cost) { return std::max<uint64_t>(cost, 1); }

// Edges that may be chosen, in rising order: costs that occur, the largest among them. `sorted` is not empty.
std::vector<uint64_t> candidates_of(const std::vector<uint64_t>& sorted) {
  std::vector<uint64_t> found;
  for (uint64_t part = 1; part <= kEvenParts; ++part)
    found.push_back(sorted[(sorted.size() * part + kEvenParts - 1) / kEvenParts - 1]);
  for (unsigned bit = 0; bit < 64; ++bit) {
    for (uint64_t part = 0; part < (1u << kPartBits); ++part) {
      const uint64_t power = uint64_t{1} << bit;
      const auto above = std::upper_bound(sorted.begin(), sorted.end(), power + ((power >> kPartBits) * part));
      if (above != sorted.begin()) found.push_back(*(above - 1));
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

// The cheapest way to give rows up to a candidate their buckets, with a certain number of buckets.
struct Way {
  Wide cost = 0;
  size_t last = 0;  // the candidate below the last bucket, plus 1; 0: there is none
};

std::vector<uint64_t> choose_edges(const std::vector<uint64_t>& sorted, const BucketRule& rule) {
  const std::vector<uint64_t> candidates = candidates_of(sorted);
  std::vector<uint64_t> below = {0};  // rows up to each candidate; first of none
  for (const uint64_t edge : candidates) {
    const auto end = std::upper_bound(sorted.begin(), sorted.end(), edge);
    below.push_back(static_cast<uint64_t>(end - sorted.begin()));
  }
  const size_t count = candidates.size(), buckets_max = std::min<size_t>(rule.buckets_max, count);
  const Wide each = rule.cost_max / 2;
  const auto bucket = [&](size_t from, size_t to) -> Wide {
    return Wide{below[to] - below[from]} * priced(candidates[to - 1]) + each;
  };
  std::vector<std::vector<Way>> ways(buckets_max, std::vector<Way>(count + 1));  // by buckets - 1, by candidates
  for (size_t to = 1; to <= count; ++to) ways[0][to] = {bucket(0, to), 0};
  for (size_t more = 1; more < buckets_max; ++more) {
    for (size_t to = 1; to <= count; ++to) {
      Way best = ways[more - 1][to];  // with fewer buckets, unless more are better
      best.last = count + 1;
      for (size_t from = 1; from < to; ++from) {
        const Wide cost = ways[more - 1][from].cost + bucket(from, to);
        if (cost < best.cost) best = {cost, from};
      }
      ways[more][to] = best;
    }
  }
  std::vector<uint64_t> edges;
  size_t to = count;
  for (size_t more = buckets_max; more-- > 0 && to > 0;) {
    const size_t from = ways[more][to].last;
    if (from > count) continue;  // as with one bucket fewer
    edges.push_back(candidates[to - 1]);
    to = from;
  }
  std::reverse(edges.begin(), edges.end());
  return edges;
}

}  // namespace

template <typename BucketOf>
void Buckets::sort(std::vector<Bucket> all, size_t rows, BucketOf bucket_of) {
  std::vector<uint64_t> next;
  uint64_t first = 0;
  for (Bucket& bucket : all) {
    bucket.first = first;
    next.push_back(first);
    first += bucket.size;
    if (bucket.size > 0) buckets_.push_back(bucket);
  }
  numbers_.resize(rows);
  for (size_t number = 0; number < rows; ++number) numbers_[next[bucket_of(number)]++] = static_cast<uint32_t>(number);
}

Buckets::Buckets(std::span<const uint64_t> costs, const BucketRule& rule) {
  std::vector<uint64_t> edges = rule.edges;
  if (edges.empty()) {
    std::vector<uint64_t> sorted(costs.begin(), costs.end());
    std::sort(sorted.begin(), sorted.end());
    edges = choose_edges(sorted, rule);
  }
  std::vector<Bucket> all(edges.size() + 1);
  const auto bucket_of = [&](size_t number) {
    return static_cast<size_t>(std::lower_bound(edges.begin(), edges.end(), costs[number]) - edges.begin());
  };
  for (size_t number = 0; number < costs.size(); ++number) {
    Bucket& bucket = all[bucket_of(number)];
    bucket.edge = std::max(bucket.edge, costs[number]);
    bucket.cost += costs[number];
    ++bucket.size;
  }
  for (Bucket& bucket : all) bucket.batch_size = std::min(rule.cost_max / priced(bucket.edge), rule.size_max);
  sort(std::move(all), costs.size(), bucket_of);
}

Buckets::Buckets(std::span<const uint32_t> shapes) : is_by_shape_(true) {
  std::vector<Bucket> all(size_t{*std::max_element(shapes.begin(), shapes.end())} + 1);
  for (size_t shape = 0; shape < all.size(); ++shape) all[shape].shape = static_cast<uint32_t>(shape);
  for (const uint32_t shape : shapes) ++all[shape].size;
  sort(std::move(all), shapes.size(), [&](size_t number) { return size_t{shapes[number]}; });
}

size_t Buckets::bucket_at(uint64_t place) const {
  const auto above = std::upper_bound(buckets_.begin(), buckets_.end(), place,
                                      [](uint64_t wanted, const Bucket& bucket) { return wanted < bucket.first; });
  return static_cast<size_t>(above - buckets_.begin()) - 1;
}

namespace {

double part_of(Wide cost, Wide padded) {
  return padded == 0 ? 0 : static_cast<double>(padded - cost) / static_cast<double>(padded);
}

}  // namespace

double Buckets::padding() const {
  Wide cost = 0, padded = 0;
  for (const Bucket& bucket : buckets_) {
    cost += bucket.cost;
    padded += Wide{bucket.size} * bucket.edge;
  }
  return part_of(cost, padded);
}

double padding_of(const Buckets::Bucket& bucket) { return part_of(bucket.cost, Wide{bucket.size} * bucket.edge); }

double padding_without_buckets(const Buckets& buckets) {
  Wide cost = 0;
  for (const auto& bucket : buckets.list()) cost += bucket.cost;
  return part_of(cost, Wide{buckets.size()} * buckets.list().back().edge);
}

}  // namespace spdld::sampler
