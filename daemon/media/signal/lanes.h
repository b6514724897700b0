// Loops over rows that hold several series in the lanes of vectors, as daemon/media/signal/fourier.h has them. Results
// are the same on every machine. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "daemon/media/signal/fourier.h"

namespace spdld::audio {

constexpr size_t kSeries = 4;  // that are moved together

// Places the values of four series beside one another: series s's value number i goes to to[i * step + s].
void gather(const float* const (&series)[kSeries], size_t count, size_t step, float* to);
// The opposite: from[i * step + s] goes to series s's place i.
void spread(const float* from, size_t count, size_t step, float* const (&series)[kSeries]);
// As gather() with a step of four; each value is multiplied by the weight of its number.
void gather_weighed(const float* const (&series)[kSeries], std::span<const double> weights, double* to);

// A sum of `count` rows from the row `first` on, weighed by as many weights. The weights of all sums
// follow one another.
struct WeighedSum {
  uint32_t first, count;
};
// Row i of `to` becomes sums[i] of `rows`, which are of doubles.
void add_weighed(std::span<const WeighedSum> sums, const double* weights, const double* rows, double* to);

// The natural logarithms of values, which may be any, multiplied by `scale`. The values' count is a multiple of
// kLanes<double>. An error of the logarithm is below 1e-15 of it, or of 1.
void write_logarithms(std::span<const double> values, double scale, float* to);

}  // namespace spdld::audio
