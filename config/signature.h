// A signature describes the values that pass from one operation of an output to the next. A chain of operations is
// checked by signatures alone: each operation says what it gives for what it takes, or why it can't take that. Plain
// values; any thread.
//
// Each value has a kind and dimensions. All else that is known belongs to one kind of value, and is a struct
// of that kind's facts: a value has the facts of its kind and no other ones. A medium that comes adds a kind, and a
// struct beside these, and changes none of them.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/spec.h"

namespace spdld::config {

// In the order of Facts.
enum class SignatureKind : uint8_t {
  kBytes,    // of a field, of any length
  kImage,    // pixels; height and width are its dimensions
  kAudio,    // floats from -1 to 1; how many there are in a channel is its dimension
  kInteger,  // one int64
  kTensor    // the end of a chain: the sample's part of a tensor of the batch, without the batch's own dimension
};
std::string_view kind_name(SignatureKind kind);  // "bytes", "image", "audio", "integer", "tensor"
inline constexpr std::array<SignatureKind, 5> kAllKinds = {SignatureKind::kBytes, SignatureKind::kImage,
                                                           SignatureKind::kAudio, SignatureKind::kInteger,
                                                           SignatureKind::kTensor};

// One or several kinds.
class Kinds {
 public:
  constexpr Kinds(SignatureKind kind) : bits_(bit_of(kind)) {}
  constexpr Kinds(std::initializer_list<SignatureKind> kinds) {
    for (const SignatureKind kind : kinds) add(kind);
  }
  constexpr void add(SignatureKind kind) { bits_ |= bit_of(kind); }
  constexpr bool has(SignatureKind kind) const { return (bits_ & bit_of(kind)) != 0; }
  friend constexpr bool operator==(const Kinds&, const Kinds&) = default;

 private:
  static constexpr unsigned bit_of(SignatureKind kind) { return 1U << static_cast<unsigned>(kind); }
  unsigned bits_ = 0;
};
std::string kinds_name(Kinds kinds);  // "image", "bytes, integer or tensor"; "anything" for all of them

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

struct BytesFacts {
  Origin origin = Origin::kContent;
  std::optional<Frame> frame =
      {};  // of the leader of its view, where a follower starts from it; none: it follows nobody
  std::optional<RawValues> raw = {};  // the numbers that they are; none: this is not known
  friend bool operator==(const BytesFacts&, const BytesFacts&) = default;
};

struct PictureFacts {
  int channels = 3;                      // 1 (grey), 3 (red, green and blue) or 4 (these and alpha)
  int bits = 8;                          // of each channel's samples, 8 or 16, or 32 of floats
  bool is_resampled = false;             // an operation has resized the sample's own picture
  std::optional<Dimension> pieces = {};  // how many pictures of this size were made of one; none: it is one picture
  // How many pictures share one geometry, such as the frames of an animation; none: it is one picture.
  std::optional<int64_t> frames = {};
  std::optional<int64_t> clips =
      {};                     // beside `frames`: how many clips of `frames` pictures it is; none: it is one clip
  bool is_handed_on = false;  // as a tensor that is no part of a batch, so that each may have a size of its own
  // [height, width]: all pictures of a batch have one of these sizes; none: the dimensions say it.
  std::vector<std::array<int64_t, 2>> sizes = {};
  friend bool operator==(const PictureFacts&, const PictureFacts&) = default;
};

struct SoundFacts {
  int channels = 1;
  std::optional<int> rate_hz = {};  // samples a second of each channel; none: samples differ
  friend bool operator==(const SoundFacts&, const SoundFacts&) = default;
};

struct IntegerFacts {
  friend bool operator==(const IntegerFacts&, const IntegerFacts&) = default;
};

// Contents of tensors that operations on tensors know how to work on.
struct HeldPicture {
  Layout layout = Layout::kNhwc;
  friend bool operator==(const HeldPicture&, const HeldPicture&) = default;
};
struct HeldSpectrogram {
  int time_axis = 0;  // the dimension that is time
  friend bool operator==(const HeldSpectrogram&, const HeldSpectrogram&) = default;
};

struct TensorFacts {
  DType dtype = DType::kUint8;
  // All samples of a batch have one of these shapes; none: the dimensions say it.
  std::vector<std::vector<int64_t>> shapes = {};
  // monostate: anything else, several pictures among it.
  std::variant<std::monostate, HeldPicture, HeldSpectrogram> holds = {};
  friend bool operator==(const TensorFacts&, const TensorFacts&) = default;
};

// In the order of SignatureKind.
using Facts = std::variant<BytesFacts, PictureFacts, SoundFacts, IntegerFacts, TensorFacts>;

struct Signature {
  std::vector<Dimension> dimensions = {};
  Facts facts = {};

  SignatureKind kind() const { return static_cast<SignatureKind>(facts.index()); }
  // The facts of this kind of value; throw std::logic_error for a value of another kind.
  const BytesFacts& bytes() const { return of<BytesFacts>(); }
  const PictureFacts& picture() const { return of<PictureFacts>(); }
  const SoundFacts& sound() const { return of<SoundFacts>(); }
  const TensorFacts& tensor() const { return of<TensorFacts>(); }
  BytesFacts& bytes() { return const_cast<BytesFacts&>(std::as_const(*this).bytes()); }
  PictureFacts& picture() { return const_cast<PictureFacts&>(std::as_const(*this).picture()); }
  SoundFacts& sound() { return const_cast<SoundFacts&>(std::as_const(*this).sound()); }
  TensorFacts& tensor() { return const_cast<TensorFacts&>(std::as_const(*this).tensor()); }
  // The facts, where the kind of value is not known; null: the value is of another kind.
  const PictureFacts* find_picture() const { return std::get_if<PictureFacts>(&facts); }
  const TensorFacts* find_tensor() const { return std::get_if<TensorFacts>(&facts); }

  bool is_fixed() const;               // every dimension is the same for all samples
  std::vector<int64_t> shape() const;  // precondition: is_fixed()
  DType dtype() const;                 // of the batch's tensor; precondition: the value may end a chain
  friend bool operator==(const Signature&, const Signature&) = default;

 private:
  template <typename T>
  const T& of() const;
};

// How a tensor's picture lies; none: the value is no tensor that holds one picture.
std::optional<Layout> layout_of(const Signature& signature);
// The dimension of a spectrogram's tensor that is time; none: the value is no such tensor.
std::optional<int> time_axis_of(const Signature& signature);
// The shapes that a batch's samples may have; empty: the dimensions say it.
std::span<const std::vector<int64_t>> shapes_of(const Signature& signature);
// Gives bytes the frame of their view's leader. Any other value has none.
void set_frame(Signature& start, std::optional<Frame> frame);

Signature bytes_of(Origin origin);
Signature integer();
Signature image(int channels, int bits);  // of any size
Signature audio(int channels, std::optional<int> rate_hz, Dimension samples);
// `picture` cut or resized to another size, the same in all batches. Precondition: it is a kImage.
Signature resized(Signature picture, Dimension height, Dimension width, bool is_resampled);
Signature tensor(DType dtype, std::vector<Dimension> dimensions, std::optional<Layout> layout = {});

}  // namespace spdld::config
