// The end of a chain that writes something of the spectrum of each of a sound's frames. A few frames are windowed and
// transformed together, in double precision, which a relative error of 1e-4 needs in bands that are 60 dB below the
// loudest. The operation says what becomes of their spectra.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "daemon/base/byte_buffer.h"
#include "daemon/media/audio/frames.h"
#include "daemon/media/node.h"
#include "daemon/media/signal/fourier.h"

namespace spdld::audio {

// The memory and the transform that a thread keeps, and the frames that it has at hand.
class FrameThread {
 public:
  explicit FrameThread(const media::DecodeLimits&) {}
  void shrink(size_t bytes_max);
  // Before a sound's frames of this size.
  void begin(size_t size);
  // Takes the frames from `first` on.
  void take(const Frames& frames, std::span<const float> samples, size_t first);
  // Of the frames at hand, once: rows, and complex rows, for all bins. Valid until the next call of any function.
  std::span<double> powers();
  std::span<const double> bins();

  std::vector<std::array<double, kFrameLanes>> energies;  // as Frames::take() gives them, of all frames
  std::vector<double> bands;                              // free for the operation
  std::vector<float> values;                              // the operation's, of all frames
  std::vector<float> line;                                // of what is written

 private:
  std::unique_ptr<RealFourier<double>> transform_;
  Frames::Lines lines_;
  ByteBuffer memory_;
  std::span<double> rows_, work_, spectrum_;  // in the memory
};

class FrameNode : public media::Node {
 public:
  struct Shape {
    size_t computed;  // values of a frame that analyse() writes
    size_t written;   // values of a frame that complete() leaves for the tensor
    bool is_time_first;
  };
  FrameNode(const media::PlacedOperation& placed, const config::FrameSettings& frames, const Shape& shape);

  Status run(media::Value& value, const media::Call& call) const final;
  std::vector<std::string> code() const final { return {"fourier double 1"}; }

 protected:
  // Values lie in groups of kFrameLanes frames, as rows of floats: [frames / kFrameLanes][values][kFrameLanes]. Behind
  // the last frame it comes again, until its group is full.
  using Group = std::span<float>;

 private:
  // Writes what is computed of the frames that the thread has at hand.
  virtual void analyse(FrameThread& thread, Group group) const = 0;
  // Turns what was computed of all frames into what is written of them, one group after the other, in its place.
  virtual void complete(std::span<float>, FrameThread&) const {}

  Status check(size_t samples, size_t frames, const media::Call& call) const;
  void write(std::span<const float> values, size_t frames, std::vector<float>& line, uint8_t* to) const;

  std::string output_;
  Frames frames_;
  Shape shape_;
  config::DType dtype_;
  bool varies_;
};

}  // namespace spdld::audio
