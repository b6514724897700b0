#include "client/cli/format.h"

#include <catch2/catch.hpp>

namespace spdld::format_test {

using namespace spdld::cli;

TEST_CASE("bytes are written with the unit that fits") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(1023) == "1023 B");
  CHECK(bytes_text(1024) == "1.0 KiB");
  CHECK(bytes_text(1536) == "1.5 KiB");
  CHECK(bytes_text(150.0 * 1024) == "150 KiB");
  CHECK(bytes_text(1024.0 * 1024 - 1) == "1.0 MiB");
  CHECK(bytes_text(8.0 * 1024 * 1024 * 1024) == "8.0 GiB");
  CHECK(bytes_text(5e18) == "4441 PiB");
}

TEST_CASE("durations never show a unit's full sixty") {
  CHECK(duration_text(0) == "0 s");
  CHECK(duration_text(10e-6) == "10 us");
  CHECK(duration_text(999.7e-6) == "1.0 ms");
  CHECK(duration_text(0.0123) == "12.3 ms");
  CHECK(duration_text(0.25) == "250 ms");
  CHECK(duration_text(0.9999) == "1.0 s");
  CHECK(duration_text(59.9) == "59.9 s");
  CHECK(duration_text(119.96) == "2 min 0 s");
  CHECK(duration_text(184) == "3 min 4 s");
  CHECK(duration_text(3599.6) == "1 h 0 min");
  CHECK(duration_text(7500) == "2 h 5 min");
  CHECK(duration_text(3 * 86400 + 4 * 3600) == "3 d 4 h");
}

TEST_CASE("counts are grouped, and one is singular") {
  CHECK(count_text(0) == "0");
  CHECK(count_text(999) == "999");
  CHECK(count_text(1000) == "1,000");
  CHECK(count_text(1281167) == "1,281,167");
  CHECK(counted(1, "batch", "batches") == "1 batch");
  CHECK(counted(0, "batch", "batches") == "0 batches");
  CHECK(counted(1024, "image") == "1,024 images");
  CHECK(percent_text(0.421) == "42 %");
}

TEST_CASE("what came from elsewhere can't steer the terminal") {
  const std::string text = safe_text("red\033[31m\nnext");
  CHECK(text.find('\033') == std::string::npos);
  CHECK(text.find('\n') == std::string::npos);
  CHECK(text.find("red") == 0);
  CHECK(safe_text("Zürich") == "Zürich");
  CHECK(display_width("Zürich") == 6);
}

TEST_CASE("a long line goes on under its last column") {
  CHECK(fitted("  -o,--output FORMAT    how to print it for people\n\nshort\n", 36) ==
        "  -o,--output FORMAT    how to print\n"  // the last column begins too far on the right
        "  it for people\n"
        "\n"
        "short\n");
  CHECK(fitted("  -o,--output FORMAT    how to print it for people\n\nshort\n", 48) ==
        "  -o,--output FORMAT    how to print it for\n"
        "                        people\n"
        "\n"
        "short\n");
  CHECK(fitted("  one two three four", 12) == "  one two\n  three four\n");
  CHECK(fitted("", 80).empty());
}

TEST_CASE("colour is there only when it is wanted") {
  CHECK(styled("failed", Style::kBad, false) == "failed");
  CHECK(styled("failed", Style::kBad, true) == "\033[31mfailed\033[0m");
  CHECK(styled("plain", Style::kPlain, true) == "plain");
}

}  // namespace spdld::format_test
