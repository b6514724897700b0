#include "daemon/media/audio/frame_node.h"

#include <algorithm>

#include "daemon/media/audio/audio_thread.h"
#include "daemon/media/audio/elements.h"

namespace spdld::audio {
namespace {

constexpr uint64_t kSampleNs = 4;  // of a frame, about

}  // namespace

void FrameThread::shrink(size_t bytes_max) {
  if (values.capacity() * sizeof(float) > bytes_max) values = {};
  if (energies.capacity() * sizeof(energies[0]) > bytes_max) energies = {};
  if (line.capacity() * sizeof(float) > bytes_max) line = {};
  memory_.shrink(bytes_max);
}

void FrameThread::begin(size_t size) {
  if (!transform_ || transform_->size() != size) transform_ = std::make_unique<RealFourier<double>>(size);
  constexpr size_t kRowAlignment = 64;
  const size_t row = kFrameLanes * sizeof(double), bins = transform_->bins();
  auto* const memory = reinterpret_cast<double*>(memory_.resize_aligned((2 * size + 2 * bins) * row, kRowAlignment));
  rows_ = {memory, size * kFrameLanes};
  work_ = {rows_.data() + rows_.size(), size * kFrameLanes};
  spectrum_ = {work_.data() + work_.size(), 2 * bins * kFrameLanes};
  energies.clear();
}

void FrameThread::take(const Frames& frames, std::span<const float> samples, size_t first) {
  energies.push_back(frames.take(samples, first, lines_, rows_));
}

std::span<double> FrameThread::powers() {
  transform_->write_powers(rows_.data(), work_.data(), spectrum_.data());
  return spectrum_.first(transform_->bins() * kFrameLanes);
}

std::span<const double> FrameThread::bins() {
  transform_->write_bins(rows_.data(), work_.data(), transform_->bins(), spectrum_.data());
  return spectrum_;
}

FrameNode::FrameNode(const media::PlacedOperation& placed, const config::FrameSettings& frames, const Shape& shape)
    : output_(placed.output),
      frames_(frames),
      shape_(shape),
      dtype_(placed.gives.dtype()),
      varies_(!placed.takes.dimensions[0].is_fixed()) {}

Status FrameNode::run(media::Value& value, const media::Call& call) const {
  auto& thread = call.workspace.of<FrameThread>();
  const std::span<const float> samples = value.sound->plane(0);
  const size_t frames = frames_.count(samples.size());
  if (const Status checked = check(samples.size(), frames, call); !checked)
    return media::of_output(output_, checked.error());
  thread.begin(frames_.size());
  const size_t groups = (frames + kFrameLanes - 1) / kFrameLanes, computed = shape_.computed * kFrameLanes;
  thread.values.resize(groups * computed);
  for (size_t i = 0; i < groups; ++i) {
    call.workspace.guard().spend(kSampleNs * frames_.size() * kFrameLanes);
    thread.take(frames_, samples, i * kFrameLanes);
    analyse(thread, std::span(thread.values).subspan(i * computed, computed));
  }
  complete(thread.values, thread);
  const media::TensorOut& out = call.tensors.front();
  uint64_t taken = frames;
  if (varies_) {
    const Result<uint64_t> allowed = out.take(frames);
    if (!allowed) return media::of_output(output_, allowed.error());
    taken = *allowed;
  }
  write(thread.values, taken, thread.line, out.at());
  return Done{};
}

Status FrameNode::check(size_t samples, size_t frames, const media::Call& call) const {
  if (frames == 0)
    return Error{Trouble::kContent, "the sound's " + std::to_string(samples) + " samples are too few for a frame"};
  return call.workspace.of<AudioThread>().check_size(static_cast<int>(shape_.computed), frames);
}

void FrameNode::write(std::span<const float> values, size_t frames, std::vector<float>& line, uint8_t* to) const {
  const size_t of_frame = shape_.written, bytes = config::dtype_bytes(dtype_);
  if (shape_.is_time_first) {
    line.resize(of_frame);
    for (size_t frame = 0; frame < frames; ++frame) {
      const float* const from = &values[frame / kFrameLanes * of_frame * kFrameLanes + frame % kFrameLanes];
      for (size_t i = 0; i < of_frame; ++i) line[i] = from[i * kFrameLanes];
      write_elements(dtype_, line, to + frame * of_frame * bytes, 1);
    }
    return;
  }
  line.resize((frames + kFrameLanes - 1) / kFrameLanes * kFrameLanes);
  for (size_t i = 0; i < of_frame; ++i) {
    for (size_t frame = 0; frame < frames; frame += kFrameLanes)
      std::copy_n(&values[(frame / kFrameLanes * of_frame + i) * kFrameLanes], kFrameLanes, &line[frame]);
    write_elements(dtype_, std::span(line).first(frames), to + i * frames * bytes, 1);
  }
}

}  // namespace spdld::audio
