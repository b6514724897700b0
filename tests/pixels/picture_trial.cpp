// Puts pictures of any format through what every decoder promises.
//
//   picture_trial COPIES [--frame=N | --frames=N | --bits=32] FILE...
//
// Of each picture, every box has the pixels of the whole in every format of pixels; the limits of memory and of time
// refuse it with their sentences; and so many damaged copies have one verdict, whatever box is wanted. It prints a line
// for each fault.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "daemon/media/image/codecs/image_decoder.h"

namespace {

using namespace spdld;
using Bytes = std::vector<uint8_t>;

image::Pixels asked;  // its frame, its frames and its bits

constexpr image::Pixels kAll[] = {{image::Colours::kRgb, 8},   {image::Colours::kRgb, 16}, {image::Colours::kGrey, 8},
                                  {image::Colours::kGrey, 16}, {image::Colours::kRgba, 8}, {image::Colours::kRgba, 16}};

constexpr size_t kLargeBytes = 256 << 10;
int faults = 0;
void fault(const std::string& file, const std::string& what) {
  ++faults;
  std::printf("FAILED %s: %s\n", file.c_str(), what.c_str());
}

Box whole_of(const Size& size) { return {0, 0, size.width, size.height}; }

Box draw_box(const Size& picture, std::mt19937& random) {
  const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
  Box box{0, 0, 1 + below(picture.width), 1 + below(picture.height)};
  box.x = below(picture.width - box.width + 1);
  box.y = below(picture.height - box.height + 1);
  return box;
}

bool shows(const PixelRows& rows, const PixelRows& whole, const Box& box) {
  const Box& covers = rows.covers;
  if (!(rows.format == whole.format) || covers.x > box.x || covers.y > box.y ||
      covers.x + covers.width < box.x + box.width || covers.y + covers.height < box.y + box.height)
    return false;
  const auto pixel = static_cast<size_t>(rows.format.pixel_bytes());
  for (int y = box.y; y < box.y + box.height; ++y) {
    const uint8_t* row = rows.row(y) + pixel * static_cast<size_t>(box.x - covers.x);
    const uint8_t* wanted = whole.row(y) + pixel * static_cast<size_t>(box.x - whole.covers.x);
    if (std::memcmp(row, wanted, pixel * static_cast<size_t>(box.width)) != 0) return false;
  }
  return true;
}

void copy_rows(const PixelRows& from, PixelRows& to) {
  to.format = from.format;
  to.picture = from.picture;
  to.covers = from.covers;
  to.offset = from.offset;
  to.stride_bytes = from.stride_bytes;
  std::memcpy(to.memory.resize(from.memory.size()), from.memory.data(), from.memory.size());
}

// Decodes what is asked for: the picture, or several frames, whose rows are then `all` (one of them is in memory at a
// time).
Status decode(image::ImageDecoder& decoder, const Box& box, PixelRows& rows, std::vector<PixelRows>* all = nullptr) {
  if (asked.frames == 0) return decoder.decode(box, rows);
  std::vector<int> frames;
  image::spread_frames(decoder.frames(), asked.frames, frames);
  frames.erase(std::unique(frames.begin(), frames.end()), frames.end());
  size_t given = 0;
  const Status decoded = decoder.decode_frames(frames, box, rows, [&](const PixelRows& frame) {
    if (all != nullptr) copy_rows(frame, all->emplace_back());
    ++given;
    return Status(Done{});
  });
  if (decoded && given != frames.size()) return Error{Trouble::kInternal, "FAULT: another number of frames was given"};
  return decoded;
}

void check_boxes(const std::string& file, const Bytes& bytes) {
  const auto decoder = image::make_image_decoder();
  PixelRows whole, some;
  std::mt19937 random(3);
  for (image::Pixels pixels : kAll) {
    if (asked.bits == 32 && (pixels.bits != 8 || pixels.colours == image::Colours::kRgba)) continue;
    pixels.frame = asked.frame;
    pixels.frames = asked.frames;
    if (asked.bits == 32) pixels.bits = 32;
    for (const bool exif : {true, false}) {
      const auto size = decoder->open(bytes, exif, false, pixels);
      if (!size) return fault(file, size.error().message);
      std::vector<PixelRows> all, parts;
      if (const auto decoded = decode(*decoder, whole_of(*size), whole, &all); !decoded)
        return fault(file, decoded.error().message);
      if (!(whole.format == pixels.format())) return fault(file, "its pixels have another format");
      if (decoder->planes()) return fault(file, "it has planes");
      for (int i = 0; i < 12; ++i) {
        const Box box = draw_box(*size, random);
        parts.clear();
        bool is_right = static_cast<bool>(decode(*decoder, box, some, &parts)) && parts.size() == all.size();
        for (size_t at = 0; is_right && at < all.size(); ++at) is_right = shows(parts[at], all[at], box);
        if (!is_right || !shows(some, whole, box))
          return fault(file, "a box of " + std::to_string(box.width) + " x " + std::to_string(box.height) + " at " +
                                 std::to_string(box.x) + ", " + std::to_string(box.y) + " has other pixels");
      }
    }
  }
}

// The sentence that refuses the picture for this part of it; an empty text: it is decoded.
std::string verdict(image::ImageDecoder& decoder, const Bytes& bytes, bool strict, std::mt19937* random) {
  const auto size = decoder.open(bytes, true, strict, asked);
  const auto sentence = [](const Error& error) {
    const bool is_right = error.trouble == Trouble::kContent || error.trouble == Trouble::kUnsupported;
    return is_right && !error.message.empty() ? error.message : "FAULT: the trouble is of a wrong kind";
  };
  if (!size) return sentence(size.error());
  PixelRows rows;
  const auto decoded = decode(decoder, random == nullptr ? whole_of(*size) : draw_box(*size, *random), rows);
  return decoded ? "" : sentence(decoded.error());
}

Bytes damage(Bytes bytes, int kind, std::mt19937& random) {
  const auto place = [&] { return bytes.begin() + static_cast<ptrdiff_t>(random() % bytes.size()); };
  const auto from = place(), to = place();
  switch (kind % 5) {
    case 0:
      bytes.resize(random() % bytes.size());
      break;
    case 1:
      bytes.erase(std::min(from, to), std::max(from, to));
      break;
    case 2:
      std::swap(*from, *to);
      break;
    case 3:
      bytes[random() % std::min<size_t>(bytes.size(), 128)] = static_cast<uint8_t>(random());  // in the header
      break;
    default:
      for (int i = 0; i < 3; ++i) *place() = static_cast<uint8_t>(random());
      break;
  }
  return bytes;
}

void check_damage(const std::string& file, const Bytes& bytes, int copies) {
  // A damaged header may claim a large picture, which need not be decoded here.
  const auto decoder = image::make_image_decoder({.bytes_max = 64 << 20});
  std::mt19937 random(11);
  int refused = 0;
  for (int i = 0; i < copies; ++i) {
    const Bytes bad = damage(bytes, i, random);
    const std::string why = verdict(*decoder, bad, false, nullptr);
    refused += !why.empty();
    if (why.starts_with("FAULT")) fault(file, why);
    for (int box = 0; box < 2; ++box) {
      const std::string other = verdict(*decoder, bad, box == 1, &random);
      if (other != why)
        return fault(file, "copy " + std::to_string(i) + ": \"" + why + "\", and for a box \"" + other + "\"");
    }
  }
  if (copies > 0 && refused == 0) fault(file, "no damage was refused");
  if (!verdict(*decoder, bytes, false, nullptr).empty()) fault(file, "it is refused after damaged ones");
}

// A clock that goes on by a second whenever it is looked at.
uint64_t looks = 0;
uint64_t clock_of_looks() { return ++looks * 1'000'000'000; }

void check_limits(const std::string& file, const Bytes& bytes) {
  constexpr int64_t kClockLooksAgain = int64_t{3} << 20;  // pixels
  for (const uint64_t bytes_max : {uint64_t{1}, uint64_t{3}}) {
    const auto poor = image::make_image_decoder({.bytes_max = bytes_max});
    if (verdict(*poor, bytes, false, nullptr).find("limits.sample_bytes_max") == std::string::npos)
      fault(file, "the limit of memory does not refuse it");
  }
  const auto hasty = image::make_image_decoder({.cpu_ms_max = 2, .cpu_ns = clock_of_looks});
  const auto size = hasty->open(bytes, true, false, asked);
  if (!size || int64_t{size->width} * size->height < kClockLooksAgain) return;
  if (verdict(*hasty, bytes, false, nullptr).find("limits.sample_ms_max") == std::string::npos)
    fault(file, "the limit of time does not refuse it");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3)
    return std::fprintf(stderr, "usage: picture_trial COPIES [--frame=N | --frames=N | --bits=32] FILE...\n"), 2;
  for (int i = 2; i < argc; ++i) {
    if (std::sscanf(argv[i], "--frame=%d", &asked.frame) == 1) continue;
    if (std::sscanf(argv[i], "--frames=%d", &asked.frames) == 1) continue;
    if (std::sscanf(argv[i], "--bits=%d", &asked.bits) == 1) continue;
    std::ifstream file(argv[i], std::ios::binary);
    const Bytes bytes(std::istreambuf_iterator<char>(file), {});
    if (bytes.empty()) {
      fault(argv[i], "it can't be read");
      continue;
    }
    check_limits(argv[i], bytes);
    if (bytes.size() > kLargeBytes) continue;  // for the limits alone
    check_boxes(argv[i], bytes);
    check_damage(argv[i], bytes, std::atoi(argv[1]));
  }
  std::printf("%d pictures, %d faults\n", argc - 2, faults);
  return faults == 0 ? 0 : 1;
}
