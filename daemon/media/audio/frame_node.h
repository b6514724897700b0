// The end of a chain that writes something of the spectrum of each of a sound's frames. Frames are windowed and
// transformed in double precision, one after the other; the operation says what becomes of a frame's spectrum.
#pragma once

#include <complex>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "daemon/media/audio/frames.h"
#include "daemon/media/audio/spectrum.h"
#include "daemon/media/node.h"

namespace spdld::audio {

// The memory and the transform that a thread keeps.
class FrameThread {
 public:
  explicit FrameThread(const media::DecodeLimits&) {}
  void shrink(size_t bytes_max);
  // Makes the transform, and an empty frame, of this size.
  void begin(size_t size);
  // Of the frame; valid until the next call.
  std::span<const double> power();
  std::span<const std::complex<double>> bins();

  std::vector<double> frame;
  std::vector<double> energies;  // of the frames up to this one, as Frames::take() gives them
  std::vector<double> bands;     // free for the operation
  std::vector<float> values;     // one frame after the other

 private:
  std::unique_ptr<Spectrum> spectrum_;
  std::vector<double> power_;
  std::vector<std::complex<double>> bins_;
};

class FrameNode : public media::Node {
 public:
  struct Shape {
    size_t computed;  // values of a frame that analyse() writes
    size_t written;   // the first values of a frame that complete() leaves for the tensor
    bool is_time_first;
  };
  FrameNode(const media::Part& part, const config::FrameSettings& frames, const Shape& shape);

  Status run(media::Value& value, const media::Run& run) const final;
  std::vector<std::string> code() const final { return {"kissfft double"}; }

 private:
  // Writes what is computed of the frame that the thread has.
  virtual void analyse(FrameThread& thread, std::span<float> values) const = 0;
  // Turns what was computed of all frames, one after the other, into what is written of them, in its place.
  virtual void complete(std::span<float>, FrameThread&) const {}

  Status check(size_t samples, size_t frames, const media::Run& run) const;
  void write(std::span<const float> values, size_t frames, uint8_t* to) const;

  std::string output_;
  Frames frames_;
  Shape shape_;
  config::DType dtype_;
  bool varies_;
};

}  // namespace spdld::audio
