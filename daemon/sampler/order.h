// The order of an epoch, as a pure function of (seed, epoch, position): which sample comes at a position does not
// depend on what came before it, so a run goes on at any place as fast as at its beginning.
//
// kGlobal: a keyed permutation of all samples. No memory, O(1).
//
// kWindow: for data that lies in archives and is read in sequence from slow storage. The archives come in an order that
// a keyed permutation gives; their samples, one archive after the other, are cut into consecutive blocks of `window`
// positions, and each block is shuffled by a keyed permutation of its own. While the samples of one block are read, no
// more archives are open than W consecutive samples can touch: ceil(W / S) + 1 for archives of S samples. A sliding
// window hands out a random sample from a buffer of W samples, and replaces it by the next sample read. It mixes
// samples over block borders as well, and delays some by far more than W. But its content depends on all draws before:
// to go on in its middle, a run must read the epoch again from its start, or save W samples. Blocks need no state, and
// as the archives come in another order in every epoch, the borders fall between other samples each time. All ranks
// read in the same few archives at a time, each its own samples. An epoch takes O(archives) to begin and 8 bytes an
// archive; a position then O(log archives).
//
// kOff: the listing's own order.
//
// With repeats, each sample of an order has `repeats` positions one after another (repeated augmentation: Hoffer et
// al., "Augment your batch", CVPR 2020; Berman et al., "MultiGrain", 2019).
//
// By cost (buckets.h), with kGlobal or kOff: a keyed permutation of each bucket, or the listing's order within each
// bucket. A position takes O(log buckets).
//
// Weighted, with replacement: each position is a draw of its own (12 bytes a sample, O(1) but for the subset).
// Weighted, without replacement: the numbers of the epoch's samples are drawn when its EpochOrder is made, which takes
// some 0.2 s for a million samples, and 4 bytes each as long as it lives; a pipeline makes them ahead
// (daemon/pipeline/order/orders.h). Samples of weight 0 are not in the subset.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "config/spec.h"
#include "daemon/sampler/buckets.h"
#include "daemon/sampler/permutation.h"
#include "daemon/sampler/subset.h"
#include "daemon/sampler/weighted.h"

namespace spdld::sampler {

// Part of the position token: bumped whenever the same (spec, seed, epoch, position) would give another sample. The
// spec tells the kinds of order apart.
inline constexpr uint32_t kOrderVersion = 1;

// The settings that decide the order of every epoch. Constant; any thread.
class Order {
 public:
  struct Rule {
    config::Shuffle shuffle = config::Shuffle::kGlobal;
    uint64_t seed = 0;
    uint64_t window = 0;   // samples; > 0 with kWindow
    uint64_t repeats = 1;  // positions that a sample has, one after another; without weights and buckets
  };

  // `archive_starts`: the first id of each archive, in order (equal ids: the earlier archives are empty); none: there
  // is one archive. `subset` may be empty: then no position may be asked for.
  Order(const Rule& rule, Subset subset, std::span<const uint64_t> archive_starts = {});
  // A weighted order: `weighting` has a weight for each sample of the subset, which has at least one sample.
  Order(uint64_t seed, Subset subset, Weighting weighting);
  // An order of rows in buckets, of as many rows as the subset has: kGlobal or kOff.
  Order(const Rule& rule, Subset subset, std::shared_ptr<const Buckets> buckets);

  uint64_t size() const { return epoch_samples_; }  // samples of an epoch
  const Subset& subset() const { return subset_; }
  const Buckets* buckets() const { return buckets_.get(); }  // null: it has none
  const Rule& rule() const { return rule_; }
  // Whether an EpochOrder takes long to make. Then a thread that others wait for must not make it.
  bool begins_slowly() const { return !weights_.empty(); }

 private:
  friend class EpochOrder;

  Rule rule_;
  Subset subset_;
  uint64_t epoch_samples_;
  std::vector<uint64_t> archive_starts_;  // archives that hold samples of the subset, by number in the subset
  std::optional<AliasTable> table_;       // weighted with replacement
  std::vector<double> weights_;           // weighted without replacement, by number in the subset
  std::shared_ptr<const Buckets> buckets_;
};

// The order of one epoch. Borrows the Order. Constant; any thread.
class EpochOrder {
 public:
  EpochOrder(const Order& order, uint64_t epoch);

  uint64_t epoch() const { return epoch_; }
  uint64_t operator()(uint64_t position) const;  // position < size(): the sample's id
  // The id of the sample that comes `distance` places after this position, where archives are read one after another
  // without a shuffle: what may be read ahead. None: the epoch ends before, or the order does not read archives so.
  std::optional<uint64_t> ahead(uint64_t position, uint64_t distance) const;
  // The key of random operations on the sample of this position, beside the seed and its id, so that a sample that
  // comes twice in an epoch looks different each time. Where no sample comes twice, it is the epoch. With replacement
  // it is mixed from (epoch, position), and with repeats from (epoch, number of the repeat): no two positions of a
  // sample in an epoch have the same (order.cpp has the details).
  uint64_t pass(uint64_t position) const;
  // The substitute for bad content: a keyed function of (seed, epoch, position, attempt), attempt from 1. It is any
  // sample except this position's sample (unless there is only one), with replacement drawn by weight. By cost, it is
  // one of the same bucket, or one that costs no more where the bucket has no other; by shape, any other one then. It
  // may be bad as well: the caller bounds the attempts.
  uint64_t substitute(uint64_t position, uint32_t attempt) const;

 private:
  uint64_t number_at(uint64_t position) const;       // in the subset
  uint64_t number_of_turn(uint64_t position) const;  // of positions without repeats
  uint64_t number_in_window(uint64_t position) const;
  uint64_t number_in_archives(uint64_t place) const;
  uint64_t place_in_bucket(uint64_t position) const;
  uint64_t archive_samples(uint64_t archive) const;
  uint64_t other_number(uint64_t bad, Draw draw) const;
  uint64_t other_in_bucket(uint64_t position, Draw draw) const;

  const Order& order_;
  uint64_t epoch_;
  std::optional<Permutation> permutation_;  // kGlobal: of the samples
  // kWindow, of each archive in this epoch's order: the position behind it, and its first sample's number. Few archives
  // are far from a power of two, and their permutation would walk for long at each sample.
  std::vector<uint64_t> ends_, starts_;
  std::vector<Permutation> in_buckets_;  // by cost, kGlobal: of each bucket's rows
  std::vector<uint32_t> drawn_;          // weighted without replacement: the numbers, by position
};

}  // namespace spdld::sampler
