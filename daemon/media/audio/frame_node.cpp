#include "daemon/media/audio/frame_node.h"

#include <algorithm>

#include "daemon/media/audio/audio_thread.h"
#include "daemon/media/audio/elements.h"

namespace spdld::audio {

void FrameThread::shrink(size_t bytes_max) {
  if (values.capacity() * sizeof(float) > bytes_max) values = {};
  if (energies.capacity() * sizeof(double) > bytes_max) energies = {};
}

void FrameThread::begin(size_t size) {
  if (!spectrum_ || frame.size() != size) spectrum_ = std::make_unique<Spectrum>(size);
  frame.assign(size, 0);
  energies.clear();
  power_.resize(spectrum_->bins());
  bins_.resize(spectrum_->bins());
}

std::span<const double> FrameThread::power() {
  spectrum_->power(frame, power_);
  return power_;
}

std::span<const std::complex<double>> FrameThread::bins() {
  spectrum_->transform(frame, bins_);
  return bins_;
}

FrameNode::FrameNode(const media::Part& part, const config::FrameSettings& frames, const Shape& shape)
    : output_(part.output),
      frames_(frames),
      shape_(shape),
      dtype_(part.gives.dtype),
      varies_(!part.takes.dimensions[0].is_fixed()) {}

Status FrameNode::run(media::Value& value, const media::Run& run) const {
  auto& thread = run.workspace.of<FrameThread>();
  const std::span<const float> samples = value.sound->plane(0);
  const size_t frames = frames_.count(samples.size());
  if (const Status checked = check(samples.size(), frames, run); !checked)
    return media::of_output(output_, checked.error());
  thread.begin(frames_.size());
  thread.values.resize(frames * shape_.computed);
  for (size_t i = 0; i < frames; ++i) {
    thread.energies.push_back(frames_.take(samples, i, thread.frame));
    analyse(thread, std::span(thread.values).subspan(i * shape_.computed, shape_.computed));
  }
  complete(thread.values, thread);
  const media::TensorOut& out = run.tensors.front();
  uint64_t taken = frames;
  if (varies_) {
    const Result<uint64_t> allowed = out.take(frames);
    if (!allowed) return media::of_output(output_, allowed.error());
    taken = *allowed;
  }
  write(thread.values, taken, out.memory);
  return Done{};
}

Status FrameNode::check(size_t samples, size_t frames, const media::Run& run) const {
  if (frames == 0)
    return Error{Trouble::kContent, "the sound's " + std::to_string(samples) + " samples are too few for a frame"};
  return run.workspace.of<AudioThread>().check_size(static_cast<int>(shape_.computed), frames);
}

void FrameNode::write(std::span<const float> values, size_t frames, uint8_t* to) const {
  const size_t of_frame = shape_.written;
  if (shape_.is_time_first) return write_elements(dtype_, values.first(frames * of_frame), to, 1);
  for (size_t i = 0; i < frames; ++i)
    write_elements(dtype_, values.subspan(i * of_frame, of_frame), to + i * config::dtype_bytes(dtype_), frames);
}

}  // namespace spdld::audio
