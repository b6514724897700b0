// The settings of cepstral coefficients of the mel scale (MFCC): a preset's numbers, or the operation's own in their
// place. Pure functions; any thread.
#pragma once

#include <string>

#include "config/operations/audio/mel_settings.h"

namespace spdld::config {

// The coefficients are the orthonormal DCT-II of the levels of a frame's bands. Lifting multiplies coefficient i by
// 1 + lifter / 2 * sin(pi * (i + lifter_first) / lifter), as in HTK's book, 5.4.
struct CepstrumSettings {
  MelSettings mel = {};
  int coefficients = 0;
  double lifter = 0;        // 0: nothing is lifted
  int lifter_first = 0;     // 1: as librosa counts
  bool has_energy = false;  // the first coefficient is the logarithm of the frame's energy, as Kaldi's use_energy
};

// `takes`: the sound, of a known rate.
CepstrumSettings cepstrum_settings(const OperationSpec& spec, const Signature& takes);
// Says what is wrong with them, as the end of a sentence about the operation; empty: nothing is.
std::string cepstrum_fault(const CepstrumSettings& settings);

}  // namespace spdld::config
