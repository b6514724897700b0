#include "tests/support/makers/video_maker.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <stdexcept>

namespace spdld::test {

std::vector<uint8_t> run_ffmpeg(const std::vector<std::string>& arguments) {
  std::string command = "ffmpeg -nostdin -v error -y";
  for (const std::string& argument : arguments) command += " '" + argument + "'";
  struct Close {
    void operator()(FILE* pipe) const { ::pclose(pipe); }
  };
  std::unique_ptr<FILE, Close> pipe(::popen(command.c_str(), "re"));
  if (!pipe) throw std::runtime_error("can't run " + command);
  std::vector<uint8_t> output;
  std::array<uint8_t, 65536> part;
  while (const size_t count = std::fread(part.data(), 1, part.size(), pipe.get()))
    output.insert(output.end(), part.begin(), part.begin() + static_cast<ptrdiff_t>(count));
  if (::pclose(pipe.release()) != 0) throw std::runtime_error("failed: " + command);
  return output;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), std::istream_iterator<std::string>()};
}

std::vector<uint8_t> bytes_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void make_video(const std::filesystem::path& file, const std::string& size, const std::string& rate, double seconds,
                const std::string& encoding) {
  std::vector<std::string> arguments = {
      "-f", "lavfi", "-i", "testsrc2=size=" + size + ":rate=" + rate + ":duration=" + std::to_string(seconds)};
  for (std::string& word : words_of(encoding)) arguments.push_back(std::move(word));
  arguments.push_back(file.string());
  run_ffmpeg(arguments);
}

}  // namespace spdld::test
