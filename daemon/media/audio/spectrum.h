// The spectrum of real samples, and its power. kissfft is the transform: BSD-licensed, packaged, of any even size with
// small factors (libavutil's own takes no 400), and in double precision, which a relative error of 1e-4 needs in bands
// that are 60 dB below the loudest. One thread an object.
#pragma once

#include <complex>
#include <cstddef>
#include <memory>
#include <span>

namespace spdld::audio {

class Spectrum {
 public:
  // Precondition: `size` is even, and at least 2.
  explicit Spectrum(size_t size);
  ~Spectrum();

  size_t bins() const;  // size / 2 + 1
  // bins[k] = sum of samples[t] exp(-2 pi i k t / size). `samples` has `size` values, `to` has bins().
  void transform(std::span<const double> samples, std::span<std::complex<double>> to);
  // power[k] = |sum of samples[t] exp(-2 pi i k t / size)|^2.
  void power(std::span<const double> samples, std::span<double> power);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace spdld::audio
