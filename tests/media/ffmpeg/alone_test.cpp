// What a file gives depends on that file alone: not on what the thread decoded before it, nor on which other parts of
// the file it decoded, nor on whether the cache had an index or frames of it. Of each codec that the ffmpeg program
// encodes, files and segments in random orders are compared with each of them alone in a process of its own.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <random>
#include <thread>

#include "daemon/media/ffmpeg/kept_index.h"
#include "daemon/media/ffmpeg/libraries/load.h"
#include "daemon/media/ffmpeg/pictures/kept_frames.h"
#include "daemon/media/ffmpeg/pictures/video_decoder.h"
#include "daemon/media/ffmpeg/sound/audio_decoder.h"
#include "tests/media/ffmpeg/relatives.h"
#include "tests/support/temp_dir.h"

namespace spdld::alone_test {
namespace {

using test::Relative;

// A part of a file: all of it, or a segment.
enum class FilePart : uint8_t { kWhole, kMiddle, kEnd, kTwoPlaces };
constexpr FilePart kParts[] = {FilePart::kWhole, FilePart::kMiddle, FilePart::kEnd, FilePart::kTwoPlaces};

struct Piece {
  const Relative* file;
  FilePart part;
};

uint64_t hash(const void* bytes, size_t count, uint64_t from = 14'695'981'039'346'656'037u) {
  for (size_t i = 0; i < count; ++i) from = (from ^ static_cast<const uint8_t*>(bytes)[i]) * 1'099'511'628'211u;
  return from;
}

// A frame's samples and what it says of them.
uint64_t hash_of(ffmpeg::VideoFrame& frame) {
  const ffmpeg::SampleAspect aspect = frame.sample_aspect();
  const int looks[] = {frame.picture().width, frame.picture().height, aspect.is_told() ? aspect.across : 0,
                       aspect.is_told() ? aspect.down : 0, frame.is_interlaced()};
  uint64_t sum = hash(looks, sizeof looks);
  const auto planes = frame.planes();
  if (!planes) {
    PixelRows rows;
    if (!frame.rgb(false, rows)) return sum;
    for (int y = 0; y < rows.picture.height; ++y)
      sum = hash(rows.row(y), 3 * static_cast<size_t>(rows.picture.width), sum);
    return sum;
  }
  const int colours[] = {static_cast<int>(planes->colours.matrix), planes->colours.is_full_range};
  sum = hash(colours, sizeof colours, sum);
  for (size_t i = 0; i < (planes->is_grey ? 1 : 3); ++i) {
    const int across = i == 0 ? 1 : planes->chroma_across, down = i == 0 ? 1 : planes->chroma_down;
    const int height = (planes->picture.height + down - 1) / down;
    const auto width = static_cast<size_t>((planes->picture.width + across - 1) / across);
    for (int y = 0; y < height; ++y)
      sum = hash(planes->plane[i] + planes->stride_bytes[i] * static_cast<size_t>(y), width, sum);
  }
  return sum;
}

std::vector<uint32_t> frames_of(FilePart part, uint32_t count) {
  const uint32_t half = count / 2, last = count - 1;
  switch (part) {
    case FilePart::kMiddle:
      return {half};
    case FilePart::kEnd:
      return count > 2 ? std::vector<uint32_t>{last - 2, last} : std::vector<uint32_t>{last};
    case FilePart::kTwoPlaces:
      return last > 0 ? std::vector<uint32_t>{0, last} : std::vector<uint32_t>{0};
    case FilePart::kWhole:
      break;
  }
  std::vector<uint32_t> all(count);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

std::pair<uint64_t, uint64_t> samples_of(FilePart part, uint64_t count) {
  switch (part) {
    case FilePart::kMiddle:
      return {count / 2, std::min<uint64_t>(count - count / 2, 3000)};
    case FilePart::kEnd:
      return {count - std::min<uint64_t>(count, 700), std::min<uint64_t>(count, 700)};
    case FilePart::kTwoPlaces:
      return {count / 3, std::min<uint64_t>(count - count / 3, 100)};
    case FilePart::kWhole:
      break;
  }
  return {0, count};
}

// What a decode thread keeps.
struct Decoders {
  ffmpeg::VideoDecoder video{{}};
  ffmpeg::AudioDecoder audio{{}};
  ffmpeg::FrameMemory memory;
};

enum class Way : uint8_t { kFromFile, kByKeptIndex, kFromKeptFrames };

std::span<const uint8_t> bytes_in(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// The frames that the cache would keep of the video. Empty: it keeps none.
std::vector<uint8_t> form_of(const ffmpeg::VideoIndex& index, const Relative& file, Decoders& decoders) {
  const std::string packed = ffmpeg::packed(index);
  std::vector<uint8_t> form;
  std::optional<ffmpeg::KeptFramesWriter> writer;
  const auto all = frames_of(FilePart::kWhole, static_cast<uint32_t>(index.frames.size()));
  const Status made = decoders.video.decode(index, file.bytes, all, [&](uint32_t number, ffmpeg::VideoFrame& frame) {
    if (!writer) {
      form.resize(ffmpeg::kept_frames_bytes(index, packed, frame).value_or(0));
      if (form.empty()) return Status(Error{Trouble::kContent, "no form"});
      writer.emplace(index, packed, frame, form.data());
    }
    return writer->put(number, frame) ? Status(Done{}) : Status(Error{Trouble::kContent, "frames differ"});
  });
  return made ? form : std::vector<uint8_t>{};
}

std::string text_of(const std::vector<uint64_t>& sums, const Status& status) {
  std::string text;
  for (const uint64_t sum : sums) text += std::to_string(sum) + " ";
  return text + (status ? "" : status.error().message);
}

std::string video_of(const Piece& piece, Way way, Decoders& decoders) {
  auto index = ffmpeg::index_video(piece.file->bytes);
  if (!index) return index.error().message;
  if (way == Way::kByKeptIndex) {
    auto kept = ffmpeg::unpacked_video(bytes_in(ffmpeg::packed(*index)));
    if (!kept) return "no index is kept";
    *index = std::move(*kept);
  }
  const auto frames = frames_of(piece.part, static_cast<uint32_t>(index->frames.size()));
  std::vector<uint64_t> sums;
  const auto sink = [&](uint32_t, ffmpeg::VideoFrame& frame) {
    sums.push_back(hash_of(frame));
    return Status(Done{});
  };
  if (way == Way::kFromKeptFrames) {
    const std::vector<uint8_t> form = form_of(*index, *piece.file, decoders);
    if (const auto kept = ffmpeg::KeptFrames::open(form)) {
      for (const uint32_t number : frames) REQUIRE(kept->give(number, decoders.memory, sink));
      return text_of(sums, Done{});
    }
  }
  const Status decoded = decoders.video.decode(*index, piece.file->bytes, frames, sink);
  return text_of(sums, decoded);
}

std::string sound_of(const Piece& piece, Way way, Decoders& decoders) {
  auto index = ffmpeg::index_audio(piece.file->bytes);
  if (!index) return index.error().message;
  if (way == Way::kByKeptIndex) {
    auto kept = ffmpeg::unpacked_audio(bytes_in(ffmpeg::packed(*index)));
    if (!kept) return "no index is kept";
    *index = std::move(*kept);
  }
  const auto [first, count] = samples_of(piece.part, index->samples);
  std::vector<float> samples(count * static_cast<size_t>(index->channels));
  const Status decoded = decoders.audio.decode(*index, piece.file->bytes, first, count, samples.data(), count);
  if (!decoded) return decoded.error().message;
  return text_of({hash(samples.data(), samples.size() * sizeof(float))}, Done{});
}

std::string result_of(const Piece& piece, Way way, Decoders& decoders) {
  return piece.file->is_video ? video_of(piece, way, decoders) : sound_of(piece, way, decoders);
}

// The result in a process that has decoded nothing before. Called before this process decodes anything.
std::string alone(const Piece& piece) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    Decoders decoders;
    const std::string text = result_of(piece, Way::kFromFile, decoders);
    const bool is_written = ::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    ::_exit(is_written ? 0 : 1);
  }
  ::close(ends[1]);
  REQUIRE(child > 0);
  std::string text;
  char part[4096];
  for (ssize_t count; (count = ::read(ends[0], part, sizeof part)) > 0;) text.append(part, static_cast<size_t>(count));
  ::close(ends[0]);
  int status = 1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  return text;
}

// The files, their parts, and what each part gives alone. Made once.
class Known {
 public:
  Known() {
    ffmpeg::load_libraries();
    files_ = test::make_relatives(folder_.path());
    for (const Relative& file : files_)
      for (const FilePart part : kParts) pieces_.push_back({&file, part});
    for (const Piece& piece : pieces_) alone_.push_back(alone_test::alone(piece));
  }
  const std::vector<Relative>& files() const { return files_; }
  size_t size() const { return pieces_.size(); }
  const Piece& piece(size_t number) const { return pieces_[number]; }
  const std::string& alone(size_t number) const { return alone_[number]; }
  std::string name(size_t number) const {
    return pieces_[number].file->name + ", part " + std::to_string(static_cast<int>(pieces_[number].part));
  }

 private:
  test::TempDir folder_;
  std::vector<Relative> files_;
  std::vector<Piece> pieces_;
  std::vector<std::string> alone_;
};

const Known& known() {
  static const Known all;
  return all;
}

// All parts in a random order, in which relatives often follow one another: of a family in turns, then of any.
std::vector<size_t> shuffled(const Known& all, unsigned seed) {
  std::mt19937 random(seed);
  std::map<std::string, uint64_t> places;
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  if (seed % 2 == 0) {
    for (const Relative& file : all.files()) places.try_emplace(file.family, random());
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return places[all.piece(a).file->family] < places[all.piece(b).file->family];
    });
  }
  return order;
}

// Decoders that make another picture of a frame where they start at the key frame before it than where they start at
// the file's beginning: a decoder of H.263 takes vectors of the picture before for blocks that are not decoded yet,
// where blocks overlap; and the encoder of RPZA calls every frame a key frame, which its decoder does not contradict.
bool depends_on_start(const Relative& file) { return file.name == "h263.2.mov" || file.family == "rpza"; }

// The parts that one thread got wrong.
std::vector<std::string> wrong_of_thread(unsigned seed, Way way) {
  const Known& all = known();
  Decoders decoders;
  std::vector<std::string> wrong;
  for (const size_t number : shuffled(all, seed)) {
    if (way == Way::kFromKeptFrames && depends_on_start(*all.piece(number).file)) continue;
    const std::string result = result_of(all.piece(number), way, decoders);
    if (result != all.alone(number))
      wrong.push_back(all.name(number) + ": " + result.substr(0, 120) + " in place of " +
                      all.alone(number).substr(0, 120));
    decoders.video.shrink(16 << 20), decoders.audio.shrink(16 << 20);
  }
  return wrong;
}

std::string lines_of(const std::vector<std::string>& wrong) {
  std::string lines;
  for (const std::string& line : wrong) lines += line + "\n";
  return lines;
}

TEST_CASE("most files of each family can be decoded", "[alone]") {
  const Known& all = known();
  std::map<std::string, int> good;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool is_good = all.alone(i).find_first_not_of("0123456789 ") == std::string::npos;
    good[all.piece(i).file->family] += is_good ? 1 : 0;
  }
  int decoded = 0;
  std::string without;
  for (const auto& [family, count] : good) {
    decoded += count > 0 ? 1 : 0;
    if (count == 0) without += " " + family;
  }
  INFO("not decoded at all:" << without);
  CHECK(all.files().size() >= 100);
  CHECK(decoded >= 70);
}

TEST_CASE("a file gives what it gives alone, whatever a thread decoded before it", "[alone]") {
  for (unsigned seed = 0; seed < 2; ++seed) {
    INFO("order " << seed);
    CHECK(lines_of(wrong_of_thread(seed, Way::kFromFile)) == "");
  }
}

TEST_CASE("a file gives what it gives alone from the cache, too", "[alone]") {
  CHECK(lines_of(wrong_of_thread(10, Way::kByKeptIndex)) == "");
  CHECK(lines_of(wrong_of_thread(12, Way::kFromKeptFrames)) == "");
}

TEST_CASE("a file gives what it gives alone in each of several threads", "[alone]") {
  known();
  std::array<std::vector<std::string>, 3> wrong;
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < wrong.size(); ++i)
      threads.emplace_back([&wrong, i] { wrong[i] = wrong_of_thread(20 + i, Way::kFromFile); });
  }
  for (const auto& lines : wrong) CHECK(lines_of(lines) == "");
}

// Segments at random places of a file that differ from its whole sound. None: it has no such sound.
std::optional<std::vector<std::string>> wrong_segments_of(const Relative& file, Decoders& decoders,
                                                          std::mt19937_64& random) {
  const auto index = ffmpeg::index_audio(file.bytes);
  if (!index || index->depends_on_start()) return std::nullopt;
  const auto channels = static_cast<size_t>(index->channels);
  const uint64_t all = index->samples;
  std::vector<float> whole(all * channels);
  if (!decoders.audio.decode(*index, file.bytes, 0, all, whole.data(), all)) return std::nullopt;
  std::vector<std::string> wrong;
  for (int i = 0; i < 6; ++i) {
    const uint64_t first = random() % all, count = 1 + random() % std::min<uint64_t>(all - first, 20'000);
    std::vector<float> some(count * channels);
    const Status decoded = decoders.audio.decode(*index, file.bytes, first, count, some.data(), count);
    bool is_same = static_cast<bool>(decoded);
    for (size_t c = 0; c < channels && is_same; ++c)
      is_same = std::equal(&some[c * count], &some[c * count] + count, &whole[c * all + first]);
    if (!is_same)
      wrong.push_back(file.name + ": samples " + std::to_string(first) + " + " + std::to_string(count) +
                      (decoded ? " differ" : ": " + decoded.error().message));
  }
  return wrong;
}

TEST_CASE("a segment of a sound is that part of the whole, in each of several threads", "[alone]") {
  const Known& all = known();
  std::array<std::vector<std::string>, 2> wrong;
  std::array<int, 2> looked_at{};
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < wrong.size(); ++i)
      threads.emplace_back([&, i] {
        std::mt19937_64 random(30 + i);
        Decoders decoders;
        std::vector<const Relative*> files;
        for (const Relative& file : all.files())
          if (!file.is_video) files.push_back(&file);
        std::shuffle(files.begin(), files.end(), random);
        for (const Relative* file : files) {
          const auto found = wrong_segments_of(*file, decoders, random);
          if (!found) continue;
          wrong[i].insert(wrong[i].end(), found->begin(), found->end());
          ++looked_at[i];
        }
      });
  }
  for (const auto& lines : wrong) CHECK(lines_of(lines) == "");
  for (const int files : looked_at) CHECK(files >= 150);
}

}  // namespace
}  // namespace spdld::alone_test
