// Parameters of operations on sound. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/operation.h"

namespace spdld::config::ops {

inline constexpr double kAudioRateMin_hz = 1000, kAudioRateMax_hz = 768'000;
inline constexpr double kAudioSamplesMax = 1u << 28;  // of each channel
inline constexpr double kAudioSecondsMax = 36'000;

// Which part of a sound is taken: `seconds`, `samples`, `pick`, `pad` and `draw`.
std::vector<Parameter> segment_parameters();
void check_segment(const OperationSpec& spec, const Complain& complain);
// How many samples the part has at this rate; ragged: the whole sound is taken. Precondition: `seconds` is 0 where the
// rate is not known.
Dimension segment_length(const OperationSpec& spec, std::optional<int> rate_hz);
// Sounds beside the data set: `name`, their path, and `memory_max`.
std::vector<Parameter> recordings(std::string_view name, std::string_view help);
// The sound as it is; the error where its rate is not known, which recordings are to have as well.
std::string bind_to_recordings(const OperationSpec& spec, Signature& signature);
// The sound with another number of samples; empty.
std::string bind_samples(Signature& signature, Dimension samples);
// The sound as it is; empty.
std::string bind_same(const OperationSpec& spec, Signature& signature);

}  // namespace spdld::config::ops
