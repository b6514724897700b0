#include "config/signature.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace spdld::config {

std::string_view kind_name(SignatureKind kind) {
  switch (kind) {
    case SignatureKind::kBytes:
      return "bytes";
    case SignatureKind::kImage:
      return "image";
    case SignatureKind::kAudio:
      return "audio";
    case SignatureKind::kInteger:
      return "integer";
    case SignatureKind::kTensor:
      return "tensor";
  }
  return "";
}

std::string kinds_name(Kinds kinds) {
  std::vector<std::string_view> names;
  for (const SignatureKind kind : kAllKinds)
    if (kinds.has(kind)) names.push_back(kind_name(kind));
  if (names.size() == kAllKinds.size()) return "anything";
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text.append(i == 0 ? "" : i + 1 == names.size() ? " or " : ", ").append(names[i]);
  return text;
}

template <typename T>
const T& Signature::of() const {
  const T* const held = std::get_if<T>(&facts);
  if (held == nullptr) throw std::logic_error("the value is of kind " + std::string(kind_name(kind())));
  return *held;
}
template const BytesFacts& Signature::of() const;
template const PictureFacts& Signature::of() const;
template const SoundFacts& Signature::of() const;
template const TensorFacts& Signature::of() const;

namespace {

// Kinds are the places of their facts.
template <SignatureKind kind, typename T>
constexpr bool kIsPlace = std::is_same_v<std::variant_alternative_t<static_cast<size_t>(kind), Facts>, T>;
static_assert(kIsPlace<SignatureKind::kBytes, BytesFacts> && kIsPlace<SignatureKind::kImage, PictureFacts> &&
              kIsPlace<SignatureKind::kAudio, SoundFacts> && kIsPlace<SignatureKind::kInteger, IntegerFacts> &&
              kIsPlace<SignatureKind::kTensor, TensorFacts>);

}  // namespace

bool Signature::is_fixed() const {
  return std::all_of(dimensions.begin(), dimensions.end(), [](const Dimension& size) { return size.is_fixed(); });
}

int64_t Dimension::value() const {
  if (!is_fixed_) throw std::logic_error("the dimension differs from sample to sample");
  return *most_;
}

std::vector<int64_t> Signature::shape() const {
  std::vector<int64_t> shape;
  for (const Dimension& size : dimensions) shape.push_back(size.value());
  return shape;
}

DType Signature::dtype() const { return kind() == SignatureKind::kInteger ? DType::kInt64 : tensor().dtype; }

std::optional<Layout> layout_of(const Signature& signature) {
  const TensorFacts* const tensor = signature.find_tensor();
  const auto* const picture = tensor == nullptr ? nullptr : std::get_if<HeldPicture>(&tensor->holds);
  return picture == nullptr ? std::nullopt : std::optional(picture->layout);
}

std::optional<int> time_axis_of(const Signature& signature) {
  const TensorFacts* const tensor = signature.find_tensor();
  const auto* const spectrogram = tensor == nullptr ? nullptr : std::get_if<HeldSpectrogram>(&tensor->holds);
  return spectrogram == nullptr ? std::nullopt : std::optional(spectrogram->time_axis);
}

std::span<const std::vector<int64_t>> shapes_of(const Signature& signature) {
  const TensorFacts* const tensor = signature.find_tensor();
  return tensor == nullptr ? std::span<const std::vector<int64_t>>() : tensor->shapes;
}

void set_frame(Signature& start, std::optional<Frame> frame) {
  if (start.kind() == SignatureKind::kBytes) start.bytes().frame = frame;
}

Signature bytes_of(Origin origin) { return {.facts = BytesFacts{.origin = origin}}; }

Signature integer() { return {.facts = IntegerFacts{}}; }

Signature image(int channels, int bits) {
  return {.dimensions = {Dimension(), Dimension()}, .facts = PictureFacts{.channels = channels, .bits = bits}};
}

Signature audio(int channels, std::optional<int> rate_hz, Dimension samples) {
  return {.dimensions = {samples}, .facts = SoundFacts{.channels = channels, .rate_hz = rate_hz}};
}

Signature resized(Signature picture, Dimension height, Dimension width, bool is_resampled) {
  picture.dimensions = {height, width};
  picture.picture().is_resampled = is_resampled;
  picture.picture().sizes.clear();
  return picture;
}

Signature tensor(DType dtype, std::vector<Dimension> dimensions, std::optional<Layout> layout) {
  Signature made{.dimensions = std::move(dimensions), .facts = TensorFacts{.dtype = dtype}};
  if (layout) made.tensor().holds = HeldPicture{*layout};
  return made;
}

}  // namespace spdld::config
