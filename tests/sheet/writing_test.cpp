// A canvas as PNG, and as text of a terminal.
#include <zlib.h>

#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "client/sheet/png_file.h"
#include "client/sheet/terminal.h"

namespace spdld::sheet {
namespace {

Canvas two_by_three() {
  Canvas canvas(2, 3, Colour{1, 2, 3});
  canvas.set(1, 0, Colour{250, 0, 7});
  return canvas;
}

uint32_t number_at(const std::string& bytes, size_t at) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i) number = number << 8 | static_cast<uint8_t>(bytes.at(at + i));
  return number;
}

TEST_CASE("a PNG file has the canvas's size and its pixels", "[png]") {
  const std::string file = png_of(two_by_three());
  REQUIRE(file.starts_with(kPngSignature));
  CHECK(file.substr(12, 4) == "IHDR");
  CHECK(number_at(file, 16) == 2);
  CHECK(number_at(file, 20) == 3);
  CHECK(file.substr(24, 5) == std::string("\x08\x02\x00\x00\x00", 5));
  const size_t data = 8 + 12 + 13;
  const size_t length = number_at(file, data);
  CHECK(file.substr(data + 4, 4) == "IDAT");
  CHECK(number_at(file, data + 8 + length) ==
        crc32(0, reinterpret_cast<const Bytef*>(&file[data + 4]), static_cast<uInt>(length + 4)));
  std::string rows(3 * 7, '\0');
  uLongf size = rows.size();
  REQUIRE(uncompress(reinterpret_cast<Bytef*>(rows.data()), &size, reinterpret_cast<const Bytef*>(&file[data + 8]),
                     length) == Z_OK);
  CHECK(size == 3 * 7);
  CHECK(rows.substr(0, 7) == std::string("\x00\x01\x02\x03\xfa\x00\x07", 7));
  CHECK(rows.substr(7, 7) == std::string("\x00\x01\x02\x03\x01\x02\x03", 7));
  CHECK(file.ends_with(std::string("\x00\x00\x00\x00IEND\xae\x42\x60\x82", 12)));
}

TEST_CASE("blocks show two rows in each line", "[terminal]") {
  CHECK(blocks_text(two_by_three()) ==
        "\x1b[38;2;1;2;3;48;2;1;2;3m\u2580\x1b[38;2;250;0;7;48;2;1;2;3m\u2580\x1b[0m\n"
        "\x1b[38;2;1;2;3m\u2580\u2580\x1b[0m\n");
}

TEST_CASE("kitty gets the file in pieces of base64", "[terminal]") {
  CHECK(kitty_text("ab") == "\x1b_Gf=100,a=T,q=2,m=0;YWI=\x1b\\\n");
  CHECK(kitty_text("abc") == "\x1b_Gf=100,a=T,q=2,m=0;YWJj\x1b\\\n");
  const std::string many = kitty_text(std::string(3073, 'x'));
  CHECK(many.starts_with("\x1b_Gf=100,a=T,q=2,m=1;eHh4"));
  CHECK(many.find("\x1b\\\x1b_Gm=0;eA==\x1b\\") != std::string::npos);
}

TEST_CASE("sixels have a colour's pixels of six rows at once", "[terminal]") {
  const std::string text = sixel_text(Canvas(5, 8, Colour{255, 0, 0}));
  CHECK(text.starts_with("\x1bPq\"1;1;5;8#0;2;0;0;0#1;2;0;0;20"));
  CHECK(text.ends_with("#215;2;100;100;100#180!5~$-#180!5B$-\x1b\\\n"));
}

TEST_CASE("the environment says what the terminal can", "[terminal]") {
  const auto of = [](std::map<std::string, std::string> variables) {
    return graphics_of([&](const char* name) { return variables[name]; });
  };
  CHECK(of({{"TERM", "xterm-256color"}}) == Graphics::kBlocks);
  CHECK(of({}) == Graphics::kBlocks);
  CHECK(of({{"TERM", "xterm-kitty"}}) == Graphics::kKitty);
  CHECK(of({{"TERM", "xterm-256color"}, {"KITTY_WINDOW_ID", "1"}}) == Graphics::kKitty);
  CHECK(of({{"TERM_PROGRAM", "WezTerm"}}) == Graphics::kKitty);
  CHECK(of({{"TERM", "foot"}}) == Graphics::kSixel);
  CHECK(of({{"TERM", "tmux-256color"}, {"KITTY_WINDOW_ID", "1"}}) == Graphics::kBlocks);
  CHECK(of({{"TERM", "xterm-kitty"}, {"TMUX", "/tmp/tmux-1"}}) == Graphics::kBlocks);
}

}  // namespace
}  // namespace spdld::sheet
