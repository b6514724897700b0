// The own decoders of JPEGs beside libjpeg-turbo: planes, verdicts and reasons have to be the same.
#pragma once

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "daemon/media/image/codecs/image_decoder.h"
#include "daemon/media/image/codecs/jpeg/plane_writer.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/planes_memory.h"
#include "tests/support/rounds.h"

namespace spdld::test {

// Both decoders' answers to a picture, whole and in a box.
class Both {
 public:
  // Empty: they are the same.
  std::string difference(const std::vector<uint8_t>& jpeg, const Box& box, bool strict) {
    const auto opened = own_->open(jpeg, true, strict), wanted = libjpeg_->open(jpeg, true, strict);
    if (bool(opened) != bool(wanted)) return "open";
    if (!opened) return opened.error().message == wanted.error().message ? "" : "why it can't be opened";
    if (own_->planes() != libjpeg_->planes()) return "shape";
    if (!own_->planes()) return {};
    const PlanesShape shape = *own_->planes();
    for (const bool whole : {true, false}) {
      PlanesMemory had(shape, 0x77), want(shape, 0x77);
      const Status decoded = whole ? own_->decode_planes(had.data()) : own_->decode_planes(box, 1, had.data());
      const Status by_libjpeg =
          whole ? libjpeg_->decode_planes(want.data()) : libjpeg_->decode_planes(box, 1, want.data());
      if (bool(decoded) != bool(by_libjpeg)) return "verdict";
      if (!decoded && decoded.error().message != by_libjpeg.error().message) return "reason";
      if (!decoded) continue;
      PlanesView had_view, want_view;
      if (!view_planes(had.data(), had.size(), had_view) || !view_planes(want.data(), want.size(), want_view))
        return "header";
      const bool same =
          whole ? std::memcmp(had.data(), want.data(), had.size()) == 0 : same_samples(had_view, want_view, box);
      if (!same) return whole ? "planes" : "samples of the box";
    }
    return {};
  }

 private:
  std::unique_ptr<image::ImageDecoder> own_ = image::make_jpeg_decoder(),
                                       libjpeg_ = image::make_jpeg_decoder({.only_libjpeg = true});
};

inline Box box_in(int width, int height, std::mt19937& random) {
  const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
  Box box{0, 0, 1 + below(width), 1 + below(height)};
  box.x = below(width - box.width + 1), box.y = below(height - box.height + 1);
  return box;
}

// Replaces the codes of each Huffman table of a class: 0 is DC, 1 AC (T.81, B.2.4.2). `counts`: how many codes of one
// bit, of two, and so on.
inline std::vector<uint8_t> with_codes(const std::vector<uint8_t>& jpeg, int table_class, std::vector<uint8_t> counts) {
  counts.resize(16);
  const size_t symbols = std::accumulate(counts.begin(), counts.end(), size_t{0});
  const std::array<uint8_t, 2> marker{0xFF, 0xC4};
  std::vector<uint8_t> changed;
  auto from = jpeg.begin();
  for (;;) {
    const auto at = std::search(from, jpeg.end(), marker.begin(), marker.end());
    changed.insert(changed.end(), from, at);
    if (at == jpeg.end()) return changed;
    from = at + 2 + (at[2] << 8 | at[3]);
    if (at[4] >> 4 != table_class) {
      changed.insert(changed.end(), at, from);
      continue;
    }
    changed.insert(changed.end(), {0xFF, 0xC4, 0, static_cast<uint8_t>(19 + symbols), at[4]});
    changed.insert(changed.end(), counts.begin(), counts.end());
    for (size_t i = 0; i < symbols; ++i) changed.push_back(static_cast<uint8_t>(i));
  }
}

// A table that was begun for codes that are none must not be taken for the one of no codes at all.
inline void check_codes_that_are_none(const JpegOptions& options) {
  const std::vector<uint8_t> jpeg = make_jpeg(56, 40, options);
  for (const int table_class : {0, 1}) {
    Both both;
    for (const std::vector<uint8_t>& counts : {std::vector<uint8_t>{3}, {0, 4}, {0, 0, 7, 1}, {}, {1, 2}})
      CHECK(both.difference(with_codes(jpeg, table_class, counts), {0, 0, 20, 20}, false) == "");
  }
}

// Changes one to three places of a JPEG, in a way that the number `i` chooses: in its tables too, or in its coded data
// alone.
inline void damage(std::vector<uint8_t>& jpeg, int i, std::mt19937& random) {
  const size_t head = i % 3 == 2 ? 2 : jpeg.size() * 3 / 5;  // tables too, or coded data alone
  for (int change = 0; change < 1 + i % 3; ++change) {
    const size_t at = head + random() % (jpeg.size() - head - 2);
    if (i % 4 == 0) {
      jpeg.erase(jpeg.begin() + static_cast<ptrdiff_t>(at));
    } else if (i % 4 == 1) {
      jpeg.insert(jpeg.begin() + static_cast<ptrdiff_t>(at), static_cast<uint8_t>(random()));
    } else {
      jpeg[at] = i % 4 == 2 ? static_cast<uint8_t>(random()) : static_cast<uint8_t>(jpeg[at] ^ 1u << random() % 8);
    }
  }
}

// Damages 1,500 pictures, with the options that make(i) gives. Both decoders must give the same. The own decoder, whose
// answer outcome_of(jpeg, strict) gives, must take some of the pictures and leave others.
template <typename Make, typename OutcomeOf>
void check_damage(bool strict, std::mt19937& random, Make make, OutcomeOf outcome_of) {
  Both both;
  int differing = 0, done = 0, left = 0;
  for (int i = 0; i < rounds(1500); ++i) {
    std::vector<uint8_t> jpeg = test::make_jpeg(56, 40, make(i));
    damage(jpeg, i, random);
    const std::string difference = both.difference(jpeg, box_in(56, 40, random), strict);
    if (!difference.empty()) UNSCOPED_INFO("picture " << i << ": " << difference);
    differing += !difference.empty();
    const auto outcome = outcome_of(jpeg, strict);
    done += outcome == image::OwnDecoding::kDone, left += outcome == image::OwnDecoding::kLeft;
  }
  CHECK(differing == 0);
  CHECK(done > (kSanitized ? 10 : 100));  // damage that nobody can see
  CHECK(left > (kSanitized ? 10 : 100));
}

}  // namespace spdld::test
