// What releases of libavif get wrong is told by a file's boxes.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "daemon/media/image/codecs/avif/library_faults.h"

namespace spdld::image {
namespace {

constexpr AvifRelease kOld{0, 11, 1}, kNew{1, 2, 0};

// The number may be longer than its value.
std::string number(uint64_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text.push_back(i < 8 ? static_cast<char>(value >> (8 * i) & 0xFF) : '\0');
  return text;
}

std::string box(const std::string& kind, const std::string& content) {
  return number(static_cast<uint32_t>(content.size() + 8), 4) + kind + content;
}
std::string full_box(const std::string& kind, const std::string& content) { return box(kind, number(0, 4) + content); }

std::string reference(const std::string& kind, uint32_t from, const std::vector<uint32_t>& to) {
  std::string content = number(from, 2) + number(static_cast<uint32_t>(to.size()), 2);
  for (const uint32_t id : to) content += number(id, 2);
  return box(kind, content);
}

// Items whose kinds are these, by their numbers from 1 on; the first one is shown.
std::string meta(const std::vector<std::string>& kinds, const std::string& references) {
  std::string places = number(0x4400, 2) + number(static_cast<uint32_t>(kinds.size()), 2), infos;
  for (uint32_t id = 1; id <= kinds.size(); ++id) {
    places += number(id, 2) + number(0, 2) + number(1, 2) + number(0, 4) + number(0, 4);
    infos += box("infe", number(2 << 24, 4) + number(id, 2) + number(0, 2) + kinds[id - 1] + number(0, 1));
  }
  return full_box("meta", full_box("pitm", number(1, 2)) + full_box("iloc", places) +
                              full_box("iinf", number(static_cast<uint32_t>(kinds.size()), 2) + infos) +
                              full_box("iref", references));
}

std::string track(uint32_t id, bool has_size, uint32_t belongs_to, const std::string& told) {
  const std::string size = number(has_size ? 64 << 16 : 0, 4);
  const std::string header = full_box("tkhd", number(0, 8) + number(id, 4) + number(0, 60) + size + size);
  const std::string entry =
      box("av01", std::string(78, 0) + (told.empty() ? "" : full_box("auxi", told + number(0, 1))));
  const std::string table =
      box("stbl", full_box("stsd", number(1, 4) + entry) + full_box("stco", number(1, 4) + number(0, 4)));
  const std::string belongs = belongs_to == 0 ? "" : box("tref", box("auxl", number(belongs_to, 4)));
  return box("trak", header + belongs + box("mdia", box("minf", table)));
}

std::string fault(const std::string& avif, bool wants_alpha, const AvifRelease& release) {
  const auto found = avif_fault({reinterpret_cast<const uint8_t*>(avif.data()), avif.size()}, wants_alpha, release);
  return found ? found->message : "";
}

const std::string kType = box("ftyp", "avif" + number(0, 4)), kMoving = box("ftyp", "avis" + number(0, 4));
const std::vector<std::string> kGrid = {"grid", "av01", "av01", "av01", "av01"};

}  // namespace

TEST_CASE("a grid in the order of its items is right in every libavif") {
  const std::string avif = kType + meta(kGrid, reference("dimg", 1, {2, 3, 4, 5}));
  CHECK(fault(avif, true, kOld).empty());
  CHECK(fault(kType + meta({"av01"}, ""), true, kOld).empty());
}

TEST_CASE("a grid in another order than its items is refused where libavif takes the items' order") {
  for (const std::vector<uint32_t>& order :
       std::vector<std::vector<uint32_t>>{{5, 4, 3, 2}, {2, 3, 5, 4}, {2, 2, 3, 4}}) {
    const std::string avif = kType + meta(kGrid, reference("dimg", 1, order));
    CHECK(fault(avif, false, kOld) ==
          "an AVIF with a grid whose cells have another order than the file's items: libavif 0.11.1, which this spdld "
          "uses, gets that wrong, and libavif 1.1.1 does not");
    CHECK_FALSE(fault(avif, false, {1, 1, 0}).empty());
    CHECK(fault(avif, false, {1, 1, 1}).empty());
  }
}

TEST_CASE("items that two grids share are refused where libavif gives them to one grid") {
  const std::string shared = reference("dimg", 1, {3, 4}) + reference("dimg", 2, {3, 4});
  CHECK_FALSE(fault(kType + meta({"grid", "grid", "av01", "av01"}, shared), false, kOld).empty());
}

TEST_CASE("a grid of alpha counts where alpha is wanted") {
  const std::string references =
      reference("dimg", 1, {2, 3}) + reference("dimg", 4, {6, 5}) + reference("auxl", 4, {1});
  const std::string avif = kType + meta({"grid", "av01", "av01", "grid", "av01", "av01"}, references);
  CHECK(fault(avif, false, kOld).empty());
  CHECK(fault(avif, true, kOld).find("another order") != std::string::npos);
}

TEST_CASE("cells with an alpha each are refused where libavif shows them without it") {
  const std::string references = reference("dimg", 1, {2, 3}) + reference("auxl", 4, {2}) + reference("auxl", 5, {3});
  const std::string avif = kType + meta({"grid", "av01", "av01", "av01", "av01"}, references);
  CHECK(fault(avif, false, kOld).empty());
  CHECK(fault(avif, true, kOld).find("cells have an alpha each") != std::string::npos);
  CHECK(fault(avif, true, {1, 0, 0}).empty());
}

TEST_CASE("a track beside the colours is alpha, or is refused where libavif takes it for alpha") {
  const auto moving = [](const std::string& told) {
    return kMoving + box("moov", track(1, true, 0, "") + track(2, true, 1, told));
  };
  CHECK(fault(moving("urn:mpeg:mpegB:cicp:systems:auxiliary:alpha"), true, kOld).empty());
  CHECK(fault(moving(""), true, kOld).empty());
  const std::string depth = moving("urn:mpeg:mpegB:cicp:systems:auxiliary:depth");
  CHECK(fault(depth, true, kOld).find("no alpha, such as depth") != std::string::npos);
  CHECK(fault(depth, false, kOld).empty());
  CHECK(fault(depth, true, kNew).empty());
}

TEST_CASE("a track of sound is refused by name where libavif reads nothing beside it") {
  const std::string sound = kMoving + box("moov", track(1, true, 0, "") + track(2, false, 0, ""));
  CHECK(fault(sound, false, kOld).find("a track that is no picture, such as sound") != std::string::npos);
  CHECK(fault(sound, false, kNew).empty());
}

TEST_CASE("boxes that are cut anywhere, or lie, make no fault of the reader") {
  const std::string references = reference("dimg", 1, {5, 4, 3, 2}) + reference("auxl", 3, {1});
  const std::string avif =
      kType + meta(kGrid, references) + box("moov", track(1, true, 0, "") + track(2, true, 1, "x"));
  for (size_t size = 0; size < avif.size(); ++size) fault(avif.substr(0, size), true, kOld);
  for (size_t at = 0; at < avif.size(); ++at) {
    std::string other = avif;
    other[at] = static_cast<char>(0xFF);
    fault(other, true, kOld);
  }
  std::string many;  // 60,000 references: a check that compared each with all others would take minutes
  for (uint32_t i = 0; i < 60'000; ++i) many += reference("auxl", 2 + i % 60'000, {1});
  CHECK(fault(kType + meta(kGrid, reference("dimg", 1, {2, 3, 4, 5}) + many), true, kOld).empty());
}

TEST_CASE("a release is read from libavif's text") {
  CHECK(avif_release_of("0.11.1") == kOld);
  CHECK(avif_release_of("1.2.0-dev") == kNew);
  CHECK(avif_release_of("") == AvifRelease{});
}

}  // namespace spdld::image
