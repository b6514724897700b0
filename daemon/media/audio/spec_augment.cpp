// spec-augment: a node of its own, which writes over frames and bands of the tensor that mel-spectrogram has written.
#include <algorithm>
#include <cstring>
#include <vector>

#include "config/text/element.h"
#include "daemon/media/audio/audio_thread.h"
#include "daemon/media/operations.h"

namespace spdld::audio {
namespace {

class SpecAugment final : public media::Node {
 public:
  explicit SpecAugment(const media::PlacedOperation& placed)
      : time_masks_(placed.spec.integer("time_masks")),
        mel_masks_(placed.spec.integer("mel_masks")),
        time_width_(static_cast<uint64_t>(placed.spec.integer("time_width"))),
        mel_width_(static_cast<uint64_t>(placed.spec.integer("mel_width"))),
        time_part_(placed.spec.number("time_part")),
        element_(config::element_of(placed.takes.dtype(), placed.spec.number("value")).value()),
        is_time_first_(*time_axis_of(placed.takes) == 0),
        draw_(draw_of(placed.spec)) {
    const auto& time = placed.takes.dimensions[is_time_first_ ? 0 : 1];
    frames_ = time.is_fixed() ? static_cast<uint64_t>(time.value()) : 0;
    mels_ = static_cast<uint64_t>(placed.takes.dimensions[is_time_first_ ? 1 : 0].value());
  }

 private:
  Status run(media::Value&, const media::Call& call) const override {
    const media::TensorOut& out = call.tensors.front();
    const uint64_t frames = frames_ == 0 ? *out.length : frames_;
    Draw draw = call.draws.named(draw_);
    const auto part = static_cast<uint64_t>(time_part_ * static_cast<double>(frames));
    for (int64_t i = 0; i < time_masks_; ++i) {
      const Stretch at = stretch(std::min(time_width_, part), frames, draw);
      is_time_first_ ? write_rows(at, mels_, out.at()) : write_columns(at, mels_, frames, out.at());
    }
    for (int64_t i = 0; i < mel_masks_; ++i) {
      const Stretch at = stretch(mel_width_, mels_, draw);
      is_time_first_ ? write_columns(at, frames, mels_, out.at()) : write_rows(at, frames, out.at());
    }
    return Done{};
  }

  struct Stretch {
    uint64_t first, count;
  };
  // Each width up to the greatest one, and then each place, is as likely as the others.
  static Stretch stretch(uint64_t width_max, uint64_t size, Draw& draw) {
    const uint64_t count = draw.below(std::min(width_max, size) + 1);
    return {draw.below(size - count + 1), count};
  }

  void write(uint64_t first, uint64_t count, uint8_t* memory) const {
    for (uint64_t i = 0; i < count; ++i)
      std::memcpy(memory + (first + i) * element_.size(), element_.data(), element_.size());
  }
  void write_rows(const Stretch& rows, uint64_t width, uint8_t* memory) const {
    write(rows.first * width, rows.count * width, memory);
  }
  void write_columns(const Stretch& columns, uint64_t rows, uint64_t width, uint8_t* memory) const {
    for (uint64_t row = 0; row < rows; ++row) write(row * width + columns.first, columns.count, memory);
  }

  int64_t time_masks_, mel_masks_;
  uint64_t time_width_, mel_width_;
  double time_part_;
  std::vector<uint8_t> element_;
  bool is_time_first_;
  uint64_t draw_;                   // key
  uint64_t frames_ = 0, mels_ = 0;  // frames_: 0: the tensor's length
};

}  // namespace
}  // namespace spdld::audio

namespace spdld::media::ops {

void spec_augment(const PlacedOperation& placed, Nodes& nodes) {
  nodes.push_back(std::make_unique<audio::SpecAugment>(placed));
}

}  // namespace spdld::media::ops
