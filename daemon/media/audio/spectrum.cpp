#include "daemon/media/audio/spectrum.h"

#include <algorithm>
#include <complex>
#include <kissfft/kissfft.hh>
#include <vector>

namespace spdld::audio {

struct Spectrum::Inside {
  explicit Inside(size_t size) : half(size / 2), fft(half, false), bins(half) {}

  size_t half;
  kissfft<double> fft;
  std::vector<std::complex<double>> bins;
};

Spectrum::Spectrum(size_t size) : inside_(std::make_unique<Inside>(size)) {}
Spectrum::~Spectrum() = default;

size_t Spectrum::bins() const { return inside_->half + 1; }

// kissfft puts the last bin, which is real, into the imaginary part of the first one.
void Spectrum::transform(std::span<const double> samples, std::span<std::complex<double>> to) {
  auto& bins = inside_->bins;
  inside_->fft.transform_real(samples.data(), bins.data());
  to[0] = bins[0].real();
  to[inside_->half] = bins[0].imag();
  std::copy(bins.begin() + 1, bins.end(), to.begin() + 1);
}

void Spectrum::power(std::span<const double> samples, std::span<double> power) {
  auto& bins = inside_->bins;
  inside_->fft.transform_real(samples.data(), bins.data());
  power[0] = bins[0].real() * bins[0].real();
  power[inside_->half] = bins[0].imag() * bins[0].imag();
  for (size_t k = 1; k < inside_->half; ++k)
    power[k] = bins[k].real() * bins[k].real() + bins[k].imag() * bins[k].imag();
}

}  // namespace spdld::audio
