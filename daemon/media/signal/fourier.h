// Fourier transforms of several series at once, which lie in the lanes of vectors: one transform costs what a vector's
// arithmetic costs, and needs no shuffles. A series' result is made of its own numbers alone, by the same operations on
// every machine: no product is fused with a sum. Constant after construction; any thread.
#pragma once

#include <cstddef>
#include <vector>

namespace spdld::audio {

// Series at a time: 8 of floats, 4 of doubles.
template <typename T>
inline constexpr size_t kLanes = 32 / sizeof(T);

// Memory holds "rows", T [count][kLanes<T>], or "complex rows", T [count][2][kLanes<T>], with real parts before
// imaginary ones. Real rows of an even count are also complex rows of half as many numbers.

// One step of a transform: from series of `radix * count` numbers each to `radix` times as many of `count`. `apart`
// series lie beside one another.
template <typename T>
struct FourierStep {
  size_t radix, count, apart;
  std::vector<T> turns;  // complex [count][radix - 1]: factors of the results, but for the first one
  std::vector<T> roots;  // complex [radix]: exp(-2 pi i k / radix)
};

// Of complex rows. Stockham's order of steps, with factors of 4, 2, 3, 5, 7 and any greater primes, which are slow. T
// is float or double.
template <typename T>
class Fourier {
 public:
  // Precondition: size is at least 1.
  explicit Fourier(size_t size);

  // The result's number k is the sum of values[t] exp(-2 pi i k t / size). Writes both memories, of `size` complex rows
  // each, and returns the memory that holds the result.
  T* run(T* values, T* work) const;

 private:
  std::vector<FourierStep<T>> steps_;
};

// Of real rows, whose count is even.
template <typename T>
class RealFourier {
 public:
  // Precondition: size is even, and at least 2.
  explicit RealFourier(size_t size);

  size_t size() const { return size_; }
  size_t bins() const { return size_ / 2 + 1; }
  // The first bins as complex rows: bin k is the sum of values[t] exp(-2 pi i k t / size). `values` and `work` hold
  // `size` rows each, and are written.
  void write_bins(T* values, T* work, size_t count, T* to) const;
  // The squares of all bins' magnitudes, as rows. Of doubles alone.
  void write_powers(T* values, T* work, T* to) const;
  // Writes `values`, of `size` rows, so that run_back() makes twice the real rows whose first bins these are. Bins from
  // `count` on are zero. Precondition: count is at most size / 2. Of floats alone.
  void prepare_back(const T* bins, size_t count, T* values) const;
  // Both memories hold `size` rows and are written; the result lies in the returned one.
  T* run_back(T* values, T* work) const { return half_.run(values, work); }

 private:
  size_t size_;
  Fourier<T> half_;
  std::vector<T> turns_;  // complex [bins]: exp(-2 pi i k / size)
};

}  // namespace spdld::audio
