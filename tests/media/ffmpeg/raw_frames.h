// Frames of videos beside what the ffmpeg program makes of them: decoded as a whole and in windows, by an index that
// was kept, from parts of the file, and from kept frames. One thread.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "daemon/media/ffmpeg/kept_index.h"
#include "daemon/media/ffmpeg/pictures/kept_frames.h"
#include "daemon/media/ffmpeg/pictures/video_decoder.h"
#include "daemon/media/ffmpeg/pictures/video_stretches.h"
#include "tests/media/ffmpeg/parts.h"
#include "tests/support/makers/video_maker.h"
#include "tests/support/rounds.h"

namespace spdld::test {

using Bytes = std::vector<uint8_t>;

// Frames as rawvideo has them: of 8 bits.
inline Bytes samples_of(ffmpeg::VideoFrame& frame) {
  Bytes samples;
  const auto planes = frame.planes();
  if (!planes) {
    PixelRows rows;
    REQUIRE(frame.rgb(false, rows));
    for (int y = 0; y < rows.picture.height; ++y)
      samples.insert(samples.end(), rows.row(y), rows.row(y) + 3 * rows.picture.width);
    return samples;
  }
  for (size_t i = 0; i < (planes->is_grey ? 1 : 3); ++i) {
    const int across = i == 0 ? 1 : planes->chroma_across, down = i == 0 ? 1 : planes->chroma_down;
    const int width = (planes->picture.width + across - 1) / across;
    for (int y = 0; y < (planes->picture.height + down - 1) / down; ++y) {
      const uint8_t* const row = planes->plane[i] + planes->stride_bytes[i] * static_cast<size_t>(y);
      samples.insert(samples.end(), row, row + width);
    }
  }
  return samples;
}

inline Bytes narrowed(const Bytes& raw, int bits) {
  Bytes bytes;
  for (size_t i = 0; i < raw.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>(std::min(255, (raw[i] + 256 * raw[i + 1] + (1 << (bits - 9))) >> (bits - 8))));
  return bytes;
}

struct Raw {
  Size picture;
  std::string pixels;
};

inline size_t frame_bytes(const Raw& raw) {
  const auto width = static_cast<size_t>(raw.picture.width), height = static_cast<size_t>(raw.picture.height);
  const bool is_halved = raw.pixels.find("420") != std::string::npos;
  const size_t chroma = is_halved                                     ? (width + 1) / 2 * ((height + 1) / 2)
                        : raw.pixels.find("422") != std::string::npos ? (width + 1) / 2 * height
                                                                      : width * height;
  const size_t samples = width * height + (raw.pixels == "gray" ? 0 : 2 * chroma);
  return raw.pixels.find("10le") != std::string::npos ? 2 * samples : samples;
}

inline constexpr char kFlags[] = "bicubic+accurate_rnd+full_chroma_int+full_chroma_inp+bitexact";

// All frames, as the ffmpeg program gives them. It scales them to the first one's size and format by itself, and
// `filter` says otherwise.
inline std::vector<Bytes> frames_by_ffmpeg(const std::filesystem::path& file, const Raw& raw,
                                           const std::string& filter = "") {
  std::vector<std::string> arguments = words_of("-noautorotate -i");
  arguments.push_back(file.string());
  for (const std::string& word : words_of(filter + " -map 0:v:0 -fps_mode passthrough -f rawvideo -sws_flags " +
                                          kFlags + (raw.pixels == "rgb24" ? " -pix_fmt rgb24 -" : " -")))
    arguments.push_back(word);
  const Bytes all = run_ffmpeg(arguments);
  const size_t bytes = frame_bytes(raw);
  REQUIRE(all.size() % bytes == 0);
  std::vector<Bytes> frames;
  for (size_t at = 0; at < all.size(); at += bytes) {
    const Bytes frame(all.begin() + static_cast<ptrdiff_t>(at), all.begin() + static_cast<ptrdiff_t>(at + bytes));
    frames.push_back(raw.pixels.find("10le") != std::string::npos ? narrowed(frame, 10) : frame);
  }
  return frames;
}

using Frames = std::vector<std::pair<uint32_t, Bytes>>;

// `from`: the file, or the parts of it that are there. Where they are not enough, the whole file is decoded: an edit
// list may begin with frames that only an earlier key frame gives.
inline Frames decoded(ffmpeg::VideoDecoder& decoder, const ffmpeg::VideoIndex& index, const Bytes& file,
                      const ByteParts& from, const std::vector<uint32_t>& wanted) {
  Frames frames;
  const auto decode = [&](const ByteParts& parts) {
    frames.clear();
    return decoder.decode(index, parts, wanted, [&](uint32_t number, ffmpeg::VideoFrame& frame) {
      CHECK(frame.picture() == index.picture);
      frames.emplace_back(number, samples_of(frame));
      return Status(Done{});
    });
  };
  Status done = decode(from);
  if (!done && done.error().trouble == Trouble::kUnread) done = decode(file);
  INFO((done ? "" : done.error().message));
  CHECK(done);
  return frames;
}

inline void check_frames(const Frames& given, const std::vector<uint32_t>& wanted, const std::vector<Bytes>& whole,
                         const std::string& what) {
  REQUIRE(given.size() == wanted.size());
  for (size_t i = 0; i < given.size(); ++i) {
    INFO(what << ", frame " << given[i].first);
    CHECK(given[i].first == wanted[i]);
    const bool is_same = given[i].second == whole[given[i].first];
    CHECK(is_same);
  }
}

inline std::vector<uint32_t> window(std::mt19937& random, size_t count) {
  const uint32_t frames = 1 + random() % 6, stride = 1 + random() % 9;
  std::vector<uint32_t> wanted;
  for (auto at = static_cast<uint32_t>(random() % count); at < count && wanted.size() < frames; at += stride)
    wanted.push_back(at);
  return wanted;
}

inline std::span<const uint8_t> bytes_in(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// The frames of a kept form of the video; none: it has no form.
inline bool check_kept_frames(const ffmpeg::VideoIndex& index, const Bytes& file, const std::vector<Bytes>& whole) {
  ffmpeg::VideoDecoder decoder({});
  const std::string packed = ffmpeg::packed(index);
  Bytes form;
  std::optional<ffmpeg::KeptFramesWriter> writer;
  std::vector<uint32_t> all(whole.size());
  std::iota(all.begin(), all.end(), 0U);
  bool is_kept = true;
  REQUIRE(decoder.decode(index, file, all, [&](uint32_t number, ffmpeg::VideoFrame& frame) {
    if (!writer) {
      form.resize(ffmpeg::kept_frames_bytes(index, packed, frame).value());
      writer.emplace(index, packed, frame, form.data());
    }
    is_kept = is_kept && writer->put(number, frame);
    return Status(Done{});
  }));
  if (!is_kept) return false;
  const auto kept = ffmpeg::KeptFrames::open(form);
  REQUIRE(kept);
  CHECK_FALSE(ffmpeg::KeptFrames::open(std::span(form).first(form.size() - 1)));
  Bytes longer = form;
  longer.push_back(0);
  CHECK_FALSE(ffmpeg::KeptFrames::open(longer));
  ffmpeg::FrameMemory memory;
  for (const uint32_t number : all) {
    REQUIRE(kept->give(number, memory, [&](uint32_t, ffmpeg::VideoFrame& frame) {
      const bool is_same = samples_of(frame) == whole[number];
      INFO("kept frame " << number);
      CHECK(is_same);
      return Status(Done{});
    }));
  }
  return true;
}

inline Result<ffmpeg::VideoIndex> index_from_parts(const Bytes& file) {
  PartsOf parts(file);
  return parts.run(
      [](const ByteParts& read, std::vector<ByteRange>& unread) { return ffmpeg::index_video(read, {}, &unread); });
}

// Reads what these frames need, as a pipeline does it.
inline void read_for(const ffmpeg::VideoIndex& index, const std::vector<uint32_t>& wanted, PartsOf& parts,
                     int rounds_max = 40) {
  parts.read({});
  for (;;) {
    const ByteParts read = parts.parts();
    const auto ranges = ffmpeg::VideoStretches(index, read).ranges_of(wanted);
    if (std::all_of(ranges.begin(), ranges.end(), [&](const ByteRange& range) { return read.has(range); })) return;
    REQUIRE(parts.rounds() < rounds_max);
    parts.read(ranges);
  }
}

inline void check_video(const Bytes& file, const std::vector<Bytes>& whole, const Raw& raw, int windows) {
  const Result<ffmpeg::VideoIndex> index = ffmpeg::index_video(file);
  INFO((index ? "" : index.error().message));
  REQUIRE(index);
  CHECK(index->picture == raw.picture);
  REQUIRE(index->frames.size() == whole.size());
  const std::string packed = ffmpeg::packed(*index);
  const auto kept = ffmpeg::unpacked_video(bytes_in(packed));
  REQUIRE(kept);
  CHECK((ffmpeg::packed(*kept) == packed));
  const auto parted = index_from_parts(file);
  REQUIRE(parted);
  CHECK((ffmpeg::packed(*parted) == packed));
  ffmpeg::VideoDecoder decoder({});
  std::vector<uint32_t> all(whole.size());
  std::iota(all.begin(), all.end(), 0U);
  check_frames(decoded(decoder, *index, file, file, all), all, whole, "whole");
  std::mt19937 random(7);
  for (int i = 0; i < windows; ++i) {
    const std::vector<uint32_t> wanted = window(random, whole.size());
    PartsOf read(file);
    if (i % 2 == 1) read_for(*kept, wanted, read);
    const ByteParts from = i % 2 == 1 ? read.parts() : ByteParts(file);
    check_frames(decoded(decoder, *kept, file, from, wanted), wanted, whole, "window " + std::to_string(i));
    if (i % 8 == 0) decoder.shrink(1 << 16);
  }
}

}  // namespace spdld::test
