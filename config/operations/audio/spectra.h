// Parameters of operations on the spectra of a sound's frames, and the tensors that they give. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/operation.h"
#include "config/operations/audio/frame_settings.h"

namespace spdld::config::ops {

// A whole number from 1 to `max`, or 0 for the preset's own.
Parameter of_preset(std::string_view name, std::string_view help, double max);
// `preset`, which must be given.
Parameter spectra_preset(std::string_view help, std::vector<std::string_view> choices);
// `n_fft`, `window`, `hop` and `amplitude`: the frames.
std::vector<Parameter> frame_parameters();
// `mels`, `f_min` and `f_max`: the bands.
std::vector<Parameter> band_parameters();
// `layout` and `dtype` of the tensor. `first`: the layout in which what a frame has comes before the frames.
std::vector<Parameter> spectra_tensor(std::string_view first);

// Says why no spectra can be made of the sound; empty: nothing hinders it, and its rate is known.
std::string spectra_fault(const OperationSpec& spec, const Signature& signature);

struct FrameTensor {
  std::vector<Dimension> of_frame;  // the dimensions of what one frame has
  bool is_time_first;
};
// The tensor that the sound's frames become; the error where there can be none.
std::string bind_spectra(const OperationSpec& spec, Signature& signature, const FrameSettings& frames,
                         const FrameTensor& tensor);

}  // namespace spdld::config::ops
