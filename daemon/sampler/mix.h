// How the positions of an epoch are dealt out to several sources, as a pure function of (seed, epoch, position).
//
// A mix has one endless sequence of positions. With E samples an epoch, epoch e takes the positions [e*E, (e+1)*E).
// Each position belongs to one source, and the positions of a source, in order, take its own sequence: its order's pass
// 0 from the first to the last sample, then pass 1, and so on. So within a source every sample comes exactly once
// before any sample comes again, whatever the weights are; a pass through a source with a small weight takes several
// epochs (down-sampling), and a source with a large weight is passed several times in one epoch (up-sampling). Nothing
// begins anew where an epoch begins. Order gives a source's own sequence, with that source's seed: it does not depend
// on the others, nor on weights.
//
// The sequence is cut into cycles of L positions. Source i owns m_i positions of each cycle, its share; the sum of all
// shares is L.
//
//   kExact    Shares are the weights, whole numbers without a common divisor: each L positions hold exactly m_i.
//   kRandom   Shares are the weights apportioned to L = 2^32, each at least 1: right to 2^-32 of all positions.
//   (neither) Without weights, shares are the sources' numbers of samples. With E = L, which is the default, every
//             sample of every source comes exactly once an epoch.
//
// Within a cycle the sources are spread as evenly as whole numbers allow: among the first n positions a source has less
// than 1 + log2(sources) / 2 more or less than n * m_i / L. Each block of 1,024 positions (a cycle, where that is
// shorter) is then shuffled by a keyed draw of its own, so that the source of a position tells little of its
// neighbour's, and batches are as even as their size allows. With shuffle = "off" blocks are not shuffled, and without
// weights the sources come one after the other.
//
// Why not one keyed permutation of the cycle: a source's samples would come in another order than its own, and a small
// source with a large weight would repeat some before it has shown others. To know how many of a source's positions
// came before, without going through them, shares must be countable: in the even spread they are, for any position. A
// position takes O(log sources), and at most one block is shuffled.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "config/spec.h"
#include "daemon/base/wide.h"
#include "daemon/sampler/order.h"

namespace spdld::sampler {

// Constant; any thread.
class Mix {
 public:
  struct Source {
    Order order;            // takes at least one sample
    uint64_t first_id = 0;  // added to the ids that its order gives
  };
  enum class Spread : uint8_t { kShuffled, kEven, kBehind };
  static constexpr uint64_t kBlock = 1024;  // positions

  // A single source: with epoch_samples == 0 an epoch is a pass. At least one source, with fewer than 2^63 samples in
  // all. `shares`: one for each source, each > 0, with a sum below 2^63. epoch_samples 0: the sum of the sources'
  // samples.
  Mix(uint64_t seed, std::vector<Source> sources, std::vector<uint64_t> shares, Spread spread, uint64_t epoch_samples);

  uint64_t epoch_samples() const { return epoch_samples_; }
  const std::vector<Source>& sources() const { return sources_; }
  uint64_t cycle() const { return starts_.back(); }  // L
  uint64_t share(size_t source) const { return starts_[source + 1] - starts_[source]; }
  // The most times that a sample comes in `epochs` epochs; 0 where they are endless.
  uint64_t passes(uint64_t epochs) const;

 private:
  friend class MixReader;
  struct Slot {
    uint32_t source;
    uint64_t before;  // earlier positions of the cycle that are the source's
  };

  Slot even(uint64_t place) const;  // place < cycle()
  Slot behind(uint64_t place) const;
  // Writes the block of a cycle that begins at `first` into `slots`.
  void deal(Wide cycle, uint64_t first, std::vector<Slot>& slots) const;

  uint64_t seed_;
  std::vector<Source> sources_;
  std::vector<uint64_t> starts_;  // sums of the shares: of 0, of 1, ... and of all sources
  Spread spread_;
  uint64_t epoch_samples_;
};

// Shares of `weights`, which are above 0, and whole numbers with kExact.
std::vector<uint64_t> shares_of(config::MixRule rule, std::span<const double> weights);
// Shares without weights, of sources with `samples` samples each.
std::vector<uint64_t> shares_of(config::MixRule rule, std::span<const uint64_t> samples);

// The seed that shuffles a source of a mix: its order differs from the order of every other source of as many samples.
uint64_t source_seed(uint64_t seed, std::string_view source);

// Reads a mix. It keeps data that neighbouring positions share: for each source the orders of two passes (near the end
// of a pass the next pass has begun), and one block. Borrows the Mix. One thread at a time.
class MixReader {
 public:
  explicit MixReader(const Mix& mix) : mix_(mix), passes_(mix.sources().size()) {}

  struct Sample {
    uint64_t id;
    uint64_t pass;    // the key of its random operations, beside the seed and its id
    uint32_t source;  // number
  };
  Sample at(uint64_t epoch, uint64_t position);  // position < epoch_samples()
  // The substitute for bad content: another sample of the same source, by EpochOrder::substitute.
  uint64_t substitute(uint64_t epoch, uint64_t position, uint32_t attempt);

 private:
  struct SourcePosition {
    uint32_t source;
    uint64_t pass, position;  // of the source
  };
  SourcePosition position_of(uint64_t epoch, uint64_t position);
  Mix::Slot slot_of(Wide cycle, uint64_t place);
  const EpochOrder& order_of(uint32_t source, uint64_t pass);

  const Mix& mix_;
  struct Passes {
    std::optional<EpochOrder> even, odd;  // pass numbers
  };
  std::vector<Passes> passes_;  // by source
  Wide block_cycle_ = 0;
  uint64_t block_first_ = 0;
  std::vector<Mix::Slot> block_;
};

}  // namespace spdld::sampler
