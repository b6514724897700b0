// Videos and sounds made by the ffmpeg program, and what that program decodes of them. Each call runs the program and
// waits for its end; throws std::runtime_error where it fails.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace spdld::test {

// Runs `ffmpeg` with these arguments, and returns the bytes that it writes to stdout. No argument may have a quotation
// mark.
std::vector<uint8_t> run_ffmpeg(const std::vector<std::string>& arguments);
// "a b c" as arguments.
std::vector<std::string> words_of(const std::string& text);
// The file's bytes.
std::vector<uint8_t> bytes_of(const std::filesystem::path& file);
// A moving test picture, `seconds` long, encoded by these words of ffmpeg's into `file`.
void make_video(const std::filesystem::path& file, const std::string& size, const std::string& rate, double seconds,
                const std::string& encoding);

}  // namespace spdld::test
