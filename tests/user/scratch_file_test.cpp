// The memory of samples that a crew shares with the daemon.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <vector>

#include "daemon/user/scratch_file.h"

namespace spdld::scratch_file_test {

using spdld::user::ScratchFile;

namespace {

struct Piece {
  uint8_t* memory;
  uint64_t bytes;
  uint8_t mark;
};

bool holds_mark(const Piece& piece) {
  return std::all_of(piece.memory, piece.memory + piece.bytes, [&](uint8_t byte) { return byte == piece.mark; });
}

uint64_t pages_of(int fd) {
  struct stat status {};
  REQUIRE(fstat(fd, &status) == 0);
  return static_cast<uint64_t>(status.st_blocks) * 512 / 4096;
}

}  // namespace

TEST_CASE("no two pieces share a byte, and all memory comes back as one") {
  ScratchFile scratch(1 << 20);
  std::mt19937 random(7);
  std::vector<Piece> pieces;
  for (int i = 0; i < 20'000; i++) {
    if (random() % 2 == 0 || pieces.empty()) {
      const uint64_t bytes = 1 + random() % (random() % 8 == 0 ? 300'000 : 9'000);
      uint8_t* const memory = scratch.take(bytes);
      if (memory == nullptr) continue;
      CHECK(reinterpret_cast<uintptr_t>(memory) % 64 == 0);
      CHECK(scratch.holds(memory));
      CHECK(scratch.extent_of(memory, bytes).offset + bytes <= scratch.bytes());
      pieces.push_back({memory, bytes, static_cast<uint8_t>(i)});
      std::memset(memory, static_cast<uint8_t>(i), bytes);
    } else {
      const size_t at = random() % pieces.size();
      REQUIRE(holds_mark(pieces[at]));
      scratch.give_back(pieces[at].memory, pieces[at].bytes);
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  for (const Piece& piece : pieces) {
    REQUIRE(holds_mark(piece));
    scratch.give_back(piece.memory, piece.bytes);
  }
  CHECK(scratch.taken_bytes() == 0);
  uint8_t* const all = scratch.take(1 << 20);
  REQUIRE(all != nullptr);
  CHECK(scratch.taken_bytes() == 1 << 20);
  CHECK(scratch.take(1) == nullptr);
  scratch.give_back(all, 1 << 20);
}

TEST_CASE("more than there is can't be had, whatever the number") {
  ScratchFile scratch((1 << 20) + 1);
  CHECK(scratch.bytes() == 2 << 20);
  for (const uint64_t bytes : {(uint64_t{2} << 20) + 1, uint64_t{1} << 40, UINT64_MAX})
    CHECK(scratch.take(bytes) == nullptr);
  CHECK(scratch.taken_bytes() == 0);
}

TEST_CASE("nobody can cut the memory off, and free pages go back to the system") {
  ScratchFile scratch(1 << 20);
  CHECK(ftruncate(scratch.fd(), 4096) != 0);
  CHECK(fcntl(scratch.fd(), F_ADD_SEALS, F_SEAL_WRITE) != 0);
  CHECK(pages_of(scratch.fd()) == 0);
  uint8_t* const one = scratch.take(400'000);
  uint8_t* const other = scratch.take(4096);
  std::memset(one, 1, 400'000);
  std::memset(other, 2, 4096);
  CHECK(pages_of(scratch.fd()) == 99);
  scratch.give_back(one, 400'000);
  scratch.release_pages();
  CHECK(pages_of(scratch.fd()) == 1);
  CHECK(holds_mark({other, 4096, 2}));
  scratch.give_back(other, 4096);
}

}  // namespace spdld::scratch_file_test
