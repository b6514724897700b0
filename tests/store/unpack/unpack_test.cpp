#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "daemon/store/unpack/unpacked_view.h"
#include "tests/store/streams/fake_store.h"
#include "tests/support/bytes_view.h"
#include "tests/support/makers/pack.h"

namespace spdld::store::unpack::unpack_test {
namespace {

using Catch::Contains;

struct Read {
  std::string text, damage;
  uint64_t memory = 0;
};

Read read_all(const std::string& packed, Compression compression, size_t piece = 100'000) {
  test::BytesView view(packed);
  UnpackedReader reader(view, compression);
  Read all;
  std::string one(piece, '\0');
  while (!reader.is_at_end()) {
    const auto got = reader.read({reinterpret_cast<uint8_t*>(one.data()), piece});
    REQUIRE(got);
    all.text.append(one, 0, *got);
  }
  CHECK(reader.position() == all.text.size());
  all.damage = reader.damage();
  all.memory = reader.memory_bytes();
  return all;
}

// Text that can be compressed, with runs and repetitions far apart.
std::string sample_text(size_t bytes) {
  std::string text;
  for (uint64_t i = 0; text.size() < bytes; ++i) {
    text += test::noise(i * 37 % 3000, i % 11);
    text += std::string(i * 13 % 900, static_cast<char>('a' + i % 20));
  }
  text.resize(bytes);
  return text;
}

struct Packer {
  Compression compression;
  std::string (*pack)(std::string_view);
};
const Packer kKinds[] = {{Compression::kGzip, [](std::string_view text) { return test::gzip(text, 6, "a.tar"); }},
                         {Compression::kZstd, [](std::string_view text) { return test::zstd(text, 3); }}};

// All that the unpacker gives for input that comes in pieces, into room that comes in pieces.
std::string in_pieces(Compression compression, std::string_view packed, size_t in, size_t out) {
  const auto unpacker = make_unpacker(compression);
  std::string text, room(out, '\0');
  for (;;) {
    const auto* const at = reinterpret_cast<const uint8_t*>(packed.data());
    const std::vector<uint8_t> piece(at, at + std::min(in, packed.size()));  // so that reading behind its end shows
    const auto step = unpacker->step(piece, {reinterpret_cast<uint8_t*>(room.data()), out});
    if (!step) return "damaged";
    text.append(room, 0, step->given);
    packed.remove_prefix(step->taken);
    if (step->taken == 0 && step->given == 0) return unpacker->is_whole() && packed.empty() ? text : "cut";
  }
}

}  // namespace

TEST_CASE("what was packed comes out, in pieces of any size, of several members or frames") {
  const std::string text = sample_text(1'500'000);
  for (const Packer& kind : kKinds) {
    const std::string packed = kind.pack(text);
    CHECK(compression_of({reinterpret_cast<const uint8_t*>(packed.data()), kMagicBytes}) == kind.compression);
    for (const size_t piece : {size_t{777}, size_t{100'000}, size_t{4} << 20}) {
      const Read all = read_all(packed, kind.compression, piece);
      CHECK(all.text == text);
      CHECK(all.damage.empty());
      CHECK(all.memory > 1000);
    }
    const Read twice = read_all(packed + kind.pack("") + kind.pack("middle") + packed, kind.compression);
    CHECK(twice.text == text + "middle" + text);
    CHECK(twice.damage.empty());
    const std::string short_text = text.substr(0, 5000), small = kind.pack(short_text) + kind.pack("x");
    for (const size_t in : {1, 2, 3, 7, 100})
      for (const size_t out : {1, 5, 4096}) CHECK(in_pieces(kind.compression, small, in, out) == short_text + "x");
  }
  CHECK(read_all(test::gzip("a") + std::string(1000, '\0'), Compression::kGzip).damage.empty());
  CHECK_THAT(read_all(test::gzip("a") + std::string(10, '\0') + "x", Compression::kGzip).damage, Contains("padding"));
  CHECK(read_all(std::string("\x50\x2a\x4d\x18\x03\0\0\0abc", 11) + test::zstd("b"), Compression::kZstd).text == "b");
}

TEST_CASE("what is cut or damaged says so, at any place; the bytes before are right") {
  const std::string text = sample_text(40'000);
  for (const Packer& kind : kKinds) {
    const std::string packed = kind.pack(text);
    size_t unnoticed = 0;
    for (size_t i = 0; i < packed.size(); i += 1 + packed.size() / 300) {
      const Read cut = read_all(packed.substr(0, i), kind.compression);
      CHECK_THAT(cut.damage, Contains("is cut at byte " + std::to_string(i) + " of " + std::to_string(i)));
      CHECK(text.starts_with(cut.text));
      std::string other = packed;
      other[i] = static_cast<char>(other[i] ^ 0x41);
      const Read damaged = read_all(other, kind.compression);
      unnoticed += damaged.damage.empty() && damaged.text != text ? 1 : 0;
    }
    CHECK(unnoticed == 0);
    CHECK_THAT(read_all(packed + "garbage that follows", kind.compression).damage, Contains("data is damaged ("));
  }
}

TEST_CASE("a gzip member whose header sets reserved flags is refused, in pieces of any size") {
  for (const char flag : {'\x20', '\x40', '\x60', '\x80'}) {
    std::string packed = test::gzip("a text");
    packed[3] = static_cast<char>(packed[3] | flag);
    CHECK_THAT(read_all(packed, Compression::kGzip).damage, Contains("sets flags that the format reserves"));
    CHECK_THAT(read_all(test::gzip("b") + packed, Compression::kGzip).damage, Contains("the format reserves"));
    for (const size_t in : {1, 3, 10, 100}) CHECK(in_pieces(Compression::kGzip, packed, in, 4096) == "damaged");
  }
}

TEST_CASE("a frame of a format from before RFC 8878 is refused, which the library would read") {
  const std::string old = "\x26\xb5\x2f\xfd\x04\x58\xf1" + std::string(40, '\0');
  CHECK_THAT(read_all(old, Compression::kZstd).damage, Contains("something else than a frame"));
  CHECK_THAT(read_all(test::zstd("a") + old, Compression::kZstd).damage, Contains("something else than a frame"));
}

TEST_CASE("a bomb and a window that is too large are refused") {
  std::string bomb;
  for (int i = 0; i < 5; ++i) bomb += test::zstd(std::string(32 << 20, '\0'));
  const Read all = read_all(bomb, Compression::kZstd, 1 << 20);
  CHECK_THAT(all.damage, Contains("more than 1024 times its size"));
  CHECK(all.text.size() < unpacked_bytes_max(bomb.size()) + (2 << 20));
  CHECK(read_all(test::zstd(std::string(100, 'a'), 1, 27), Compression::kZstd).damage.empty());
  CHECK_THAT(read_all(test::zstd(std::string(100, 'a'), 1, 28), Compression::kZstd).damage,
             Contains("a window of more than 128 MiB") && Contains("without --long"));
}

TEST_CASE("a view of unpacked bytes goes forward, with overlaps, and finds its end") {
  const std::string text = sample_text(900'000);
  const std::string zipped = test::gzip(text);
  test::BytesView packed(zipped);
  std::atomic<uint64_t> done{0};
  UnpackedView view(packed, Compression::kGzip, done, {});
  CHECK(view.size() == View::kSizeUnknown);
  std::string got(1000, '\0');
  const auto read = [&](uint64_t offset, uint64_t bytes) {
    const auto count = view.read(offset, {reinterpret_cast<uint8_t*>(got.data()), bytes});
    return count ? got.substr(0, *count) : std::string("an error");
  };
  for (const uint64_t offset : {0, 500, 1400, 1400, 1401, 300'000, 300'900, 899'500}) {
    INFO(offset);
    CHECK(read(offset, 1000) == text.substr(offset, 1000));
    CHECK(read(offset, 700) == text.substr(offset, 700));
  }
  CHECK(view.size() == text.size());
  CHECK(read(text.size() + 5, 10).empty());
  CHECK(view.find_damage().value().empty());
  CHECK(done == packed.size());
  CHECK(read(5, 10) == "an error");
}

}  // namespace spdld::store::unpack::unpack_test
