// Rows sorted into buckets by cost, so that a batch is bounded by its cost instead of its number of rows. A row's cost
// is a number that its source tells: bytes, or pixels. A batch costs as much as the padded tensor that it fills: its
// number of rows times the cost of its costliest row.
//
// Each bucket has an edge, the largest cost of its rows. A batch of a bucket has floor(cost_max / edge) rows, whichever
// rows of the bucket they are. So the bound holds however rows are shuffled, and the number of steps of an epoch is a
// constant of the data: the same for all epochs and for all ranks.
//
// The positions of an epoch are the first bucket's, then the second bucket's, and so on: from the cheapest rows
// to the costliest. Order (order.h) says which row of its bucket comes at a position; Sharding (sharding.h) cuts the
// buckets into steps, and says in which order the steps come.
//
// Rows may be sorted by shape instead: each bucket then has the rows of one shape, in rising order of its number, and
// every batch has as many rows as [batch] says.
//
// Where edges are not given, they are chosen: at most `buckets_max` out of some hundred candidates, which are the costs
// at even parts of the rows and at eight even parts of each power of two. The choice makes a sum as small as can be:
// the padded cost of all rows, plus half of cost_max for each bucket, because the last step of a bucket is half empty
// on the average. Dynamic programming in whole numbers finds it, so that the edges are the same everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "daemon/base/wide.h"

namespace spdld::sampler {

inline constexpr uint64_t kBucketedRowsMax = 0xffff'ffff;

struct BucketRule {
  uint64_t cost_max = 0;             // of a batch of one rank; > 0
  uint64_t size_max = 0;             // rows of a batch of one rank; > 0
  uint64_t buckets_max = 1;          // > 0; counts only where `edges` is empty
  std::vector<uint64_t> edges = {};  // in rising order; rows beyond the last have one more bucket
};

// Constant; any thread. 4 bytes a row.
class Buckets {
 public:
  struct Bucket {
    uint64_t edge = 0;             // the largest cost of its rows
    uint64_t first = 0, size = 0;  // its positions; never empty
    uint64_t batch_size = 0;       // rows of one rank in a step; by shape: 0, since [batch] says it
    Wide cost = 0;                 // of all its rows
    uint32_t shape = 0;            // of its rows, where they are sorted by shape
    uint64_t end() const { return first + size; }
  };

  // `costs`: of each row, by its number in the subset; 1 to kBucketedRowsMax of them, none above rule.cost_max.
  Buckets(std::span<const uint64_t> costs, const BucketRule& rule);
  // `shapes`: the number of each row's shape; 1 to kBucketedRowsMax of them, all numbers far below that.
  explicit Buckets(std::span<const uint32_t> shapes);

  std::span<const Bucket> list() const { return buckets_; }            // in rising order of cost
  uint64_t size() const { return numbers_.size(); }                    // rows
  uint64_t batch_size() const { return buckets_.front().batch_size; }  // the largest
  bool is_by_shape() const { return is_by_shape_; }
  uint64_t number_at(uint64_t place) const { return numbers_[place]; }  // place < size(); unshuffled: in rising order
  size_t bucket_at(uint64_t place) const;                               // O(log buckets)
  // Behind the places whose rows any batch of the bucket may have: they cost no more, or any shape will do.
  uint64_t end_of_fitting(const Bucket& bucket) const { return is_by_shape_ ? size() : bucket.end(); }
  // The part of a full batch's cost that is padding, at most: 0.1 of 10 %.
  double padding() const;

 private:
  // Sorts rows by the numbers of their buckets in `all`, whose sizes are set.
  template <typename BucketOf>
  void sort(std::vector<Bucket> all, size_t rows, BucketOf bucket_of);

  bool is_by_shape_ = false;
  std::vector<Bucket> buckets_;
  std::vector<uint32_t> numbers_;  // by place
};

// Of one bucket's batches.
double padding_of(const Buckets::Bucket& bucket);
// The part of a batch's cost that is padding where `costs` come in one bucket, at most, as with Buckets::padding().
double padding_without_buckets(const Buckets& buckets);

}  // namespace spdld::sampler
