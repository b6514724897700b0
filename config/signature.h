// A signature describes the values that pass from one operation of an output to the next. A chain of operations is
// checked by signatures alone: each operation says what it gives for what it takes, or why it can't take that. Plain
// values; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "config/spec.h"

namespace spdld::config {

enum class Kind : uint8_t {
  kBytes,    // of a field, of any length
  kImage,    // pixels of `channels` samples of `bits` bits; height and width are its dimensions
  kAudio,    // samples of `channels` channels, floats from -1 to 1; how many there are is its dimension
  kInteger,  // one int64
  kTensor    // the end of a chain: the sample's part of a tensor of the batch
};
std::string_view kind_name(Kind kind);  // "bytes", "image", "audio", "integer", "tensor"

// Where bytes come from: not every operation makes sense of all of them.
enum class Origin : uint8_t {
  kContent,  // the content of a file or of an archive's member
  kName,     // the sample's name
  kJson      // a value inside a field that holds JSON
};

// The size of one dimension: fixed (the same for all samples), bounded (it differs from sample to sample, up to a
// bound that is known) or ragged (it differs, and no bound is known).
class Dimension {
 public:
  Dimension() = default;  // ragged
  Dimension(int64_t size) : most_(size), is_fixed_(true) {}
  static Dimension bounded(int64_t most) {
    Dimension dimension(most);
    dimension.is_fixed_ = false;
    return dimension;
  }

  bool is_fixed() const { return is_fixed_; }
  std::optional<int64_t> most() const { return most_; }  // none: it is ragged
  int64_t value() const;  // of a fixed dimension; throws std::logic_error for any other one
  friend bool operator==(const Dimension&, const Dimension&) = default;

 private:
  std::optional<int64_t> most_;
  bool is_fixed_ = false;
};

// Height and width of what the leader of a view shows.
struct Frame {
  Dimension height, width;
  friend bool operator==(const Frame&, const Frame&) = default;
};

// Bytes that are numbers, as their source knows.
struct RawValues {
  std::optional<DType> dtype = {};                 // none: of any type, and `shape` is how many bytes there are
  std::optional<std::vector<int64_t>> shape = {};  // none: samples differ
  friend bool operator==(const RawValues&, const RawValues&) = default;
};

struct Signature {
  Kind kind = Kind::kBytes;
  Origin origin = Origin::kContent;  // of kBytes
  DType dtype = DType::kUint8;       // of kTensor
  std::vector<Dimension>
      dimensions;  // of kImage: height and width; of kAudio: samples of a channel; of kTensor: all, without the batch's
  bool is_resampled = false;  // of kImage: an operation has resized the sample's own picture
  // Of kImage: 1 (grey), 3 (red, green and blue) or 4 (these and alpha). Of kAudio: as many as it has.
  int channels = 3;
  int bits = 8;                     // of kImage: of each sample, 8 or 16, or 32 of floats
  std::optional<int> rate_hz = {};  // of kAudio: samples a second of each channel; none: samples differ
  // Of kImage: it is so many pictures of this size, made of one; none: it is one picture.
  std::optional<Dimension> pieces = {};
  // Of kImage: it is so many pictures, such as the frames of an animation, which share one geometry; none: it is one.
  std::optional<int64_t> frames = {};
  // Of kImage that has frames: it is so many clips of so many frames; none: it is one clip.
  std::optional<int64_t> clips = {};
  // Of kImage: [height, width]: all pictures of a batch have one of these sizes; none: the dimensions say it.
  std::vector<std::array<int64_t, 2>> sizes = {};
  // Of kTensor: all samples of a batch have one of these shapes; none: the dimensions say it.
  std::vector<std::vector<int64_t>> shapes = {};

  bool is_fixed() const;               // every dimension is the same for all samples
  std::vector<int64_t> shape() const;  // precondition: is_fixed()
  // Of kTensor: how the picture lies that it holds; none: it holds no picture, or several ones.
  std::optional<Layout> layout = {};
  // Of kTensor that holds a spectrogram: the dimension that is time; none: it holds no spectrogram.
  std::optional<int> time_axis = {};
  // Of kBytes that a follower of a view starts from; none: it follows nobody.
  std::optional<Frame> frame = {};
  // Of kBytes: the numbers that they are; none: this is not known.
  std::optional<RawValues> raw = {};

  friend bool operator==(const Signature&, const Signature&) = default;
};

Signature bytes_of(Origin origin);
Signature integer();
Signature image(int channels, int bits);  // of any size
Signature audio(int channels, std::optional<int> rate_hz, Dimension samples);
// `picture` cut or resized to another size, the same in all batches. Precondition: it is a kImage.
Signature resized(Signature picture, Dimension height, Dimension width, bool is_resampled);
Signature tensor(DType dtype, std::vector<Dimension> dimensions, std::optional<Layout> layout = {});

}  // namespace spdld::config
