// Where a file's first bytes tell its format, libavformat finds the same format. The ffprobe program is the reference,
// and for damaged files the index that libavformat makes alone.
#include "daemon/media/ffmpeg/libraries/file_format.h"

#include <stdio.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "daemon/media/ffmpeg/kept_index.h"
#include "daemon/media/ffmpeg/sound/audio_index.h"
#include "tests/media/audio/sounds.h"

namespace spdld::file_format_test {
namespace {

using namespace spdld::test;

std::string told(const std::string& file) {
  const char* const name = ffmpeg::format_told_by(bytes_of(file));
  return name == nullptr ? "" : name;
}

// The names of the demuxer that ffprobe chooses by the bytes alone, each between commas; ",": it finds none.
std::string probed(const std::string& file) {
  const TempDir folder;
  const std::string command = "ffprobe -v error -show_entries format=format_name -of default=nw=1:nk=1 " +
                              folder.write("sample", file) + " 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> program(popen(command.c_str(), "r"), &pclose);
  REQUIRE(program);
  std::string names = ",";
  for (int c = std::fgetc(program.get()); c != EOF; c = std::fgetc(program.get()))
    names.push_back(c == '\n' ? ',' : static_cast<char>(c));
  return names;
}

struct SoundFile {
  std::string ending, arguments, told;
};

const std::string kPicture = " -f lavfi -i testsrc2=s=64x48:r=10:d=1 -map 0:a -map 1:v -pix_fmt yuv420p ";
const std::string kCover =
    " -f lavfi -i testsrc=s=320x240:d=0.1 -map 0:a -map 1:v -frames:v 1 -c:v png -disposition:v attached_pic ";

const std::vector<SoundFile> kKinds = {
    {"wav", "-c:a pcm_s16le", "wav"},
    {"wav", "-c:a pcm_u8", "wav"},
    {"wav", "-c:a pcm_f32le -metadata title=one", "wav"},
    {"wav", "-c:a adpcm_ms", "wav"},
    {"wav", "-c:a pcm_s16le -rf64 always", ""},
    {"flac", "", "flac"},
    {"flac", "-c:a flac" + kCover, "flac"},
    {"mp3", "", "mp3"},
    {"mp3", "-b:a 320k -metadata title=one", "mp3"},
    {"mp3", "-b:a 32k -write_xing 0 -id3v2_version 0", "mp3"},
    {"mp3", "-q:a 4", "mp3"},
    {"mp3", "-ar 8000 -ac 1", "mp3"},
    {"mp3", "-ar 22050", "mp3"},
    {"mp3", "-c:a libmp3lame" + kCover, "mp3"},
    {"mp3", "-t 0.05", ""},
    {"mp2", "", ""},
    {"opus", "", "ogg"},
    {"ogg", "-c:a libvorbis", "ogg"},
    {"ogg", "-c:a flac", "ogg"},
    {"m4a", "-c:a aac", "mov"},
    {"m4a", "-c:a alac", "mov"},
    {"mp4", "-c:a aac -movflags +faststart", "mov"},
    {"mp4", "-c:a aac -c:v mpeg4" + kPicture, "mov"},
    {"mp4", "-c:a aac -c:v libx264 -movflags frag_keyframe+empty_moov" + kPicture, "mov"},
    {"mov", "-c:a pcm_s16le -c:v mjpeg" + kPicture, "mov"},
    {"3gp", "-c:a aac", "mov"},
    {"webm", "-c:a libopus", "matroska"},
    {"webm", "-c:a libopus -c:v libvpx" + kPicture, "matroska"},
    {"mkv", "-c:a flac", "matroska"},
    {"mkv", "-c:a aac -c:v libx264" + kPicture, "matroska"},
    {"mka", "-c:a libmp3lame", "matroska"},
    {"aac", "", ""},
    {"ac3", "", ""},
    {"aiff", "", ""},
    {"au", "", ""},
    {"caf", "", ""},
    {"w64", "", ""},
    {"tta", "", ""},
    {"wv", "", ""},
    {"avi", "-c:a pcm_s16le -c:v mpeg4" + kPicture, ""},
    {"ts", "-c:a aac -c:v mpeg2video" + kPicture, ""},
    {"mpg", "-c:a mp2 -c:v mpeg2video -r 25" + kPicture, ""},
    {"flv", "-c:a aac -c:v flv" + kPicture, ""}};

// The picture's words stand before those of the encoders, since they name an input.
std::string made(const SoundFile& kind) {
  const size_t input = kind.arguments.find(" -f lavfi");
  const bool has_input = input != std::string::npos;
  const std::string words = has_input ? kind.arguments.substr(input) + kind.arguments.substr(0, input) : kind.arguments;
  const std::string file = by_ffmpeg(wav_of(rising_tones(44'100, 2, 1), 44'100, 2), "wav", words, kind.ending);
  INFO(kind.ending << " " << words);
  REQUIRE_FALSE(file.empty());
  return file;
}

std::string verdict(const Result<ffmpeg::AudioIndex>& index) {
  return index ? "index " + ffmpeg::packed(*index) : "refused: " + index.error().message;
}
std::string own_verdict(const std::string& file) { return verdict(ffmpeg::index_audio(bytes_of(file))); }
std::string reference_verdict(const std::string& file) {
  return verdict(ffmpeg::index_audio_by_libavformat(bytes_of(file)));
}

TEST_CASE("first bytes tell the format that libavformat finds", "[audio]") {
  for (const SoundFile& kind : kKinds) {
    const std::string file = made(kind);
    INFO(kind.ending << " " << kind.arguments);
    CHECK(told(file) == kind.told);
    const std::string names = probed(file);
    CHECK((kind.told.empty() || names.find("," + kind.told + ",") != std::string::npos));
    CHECK((own_verdict(file) == reference_verdict(file)));
  }
}

TEST_CASE("first bytes that do not tell a format", "[audio]") {
  for (const std::string& file :
       {std::string(), std::string("OggS"), std::string("fLaC"), std::string("ID3"), std::string("RIFF1234WAVE"),
        std::string(3000, '\xFF'), std::string(3000, '\0'), std::string("\x1A\x45\xDF\xA3\x85webm"),
        std::string("\0\0\0\x20"
                    "ftyp",
                    8)})
    CHECK(told(file).empty());
  const std::string movie(
      "\0\0\0\x14"
      "ftypisom\0\0\0\0isom",
      20);
  CHECK(told(movie) == "mov");
  for (const std::string brand : {"jp2 ", "jpx ", "jxl "}) CHECK(told(std::string(movie).replace(8, 4, brand)).empty());
  CHECK(told(movie + "mhlrMPEG").empty());
  // Files of ACT, and documents of EBML that are none of Matroska.
  std::string wav = wav_of(std::vector<float>(200), 8000, 1);
  CHECK(told(wav) == "wav");
  wav[256] = '\x84';
  CHECK(told(wav).empty());
  CHECK(told("\x1A\x45\xDF\xA3\x88"
             "12webm34") == "matroska");
  CHECK(told("\x1A\x45\xDF\xA3\x88"
             "12wbem34")
            .empty());
}

TEST_CASE("damaged first bytes give what libavformat makes of them", "[audio]") {
  std::mt19937 random(5);
  int changed = 0, told_still = 0;
  for (const SoundFile& kind : kKinds) {
    if (kind.told.empty() || kind.arguments.find("lavfi") != std::string::npos) continue;
    const std::string whole = made(kind), index = own_verdict(whole);
    const auto check = [&](const std::string& file, const std::string& what) {
      const std::string own = own_verdict(file);
      changed += own != index;
      told_still += !told(file).empty();
      INFO(kind.ending << " " << kind.arguments << ", " << what);
      CHECK((own == reference_verdict(file)));
    };
    for (size_t at = 0; at < 64; ++at) {
      std::string file = whole;
      file[at] = static_cast<char>(random());
      check(file, "byte " + std::to_string(at));
    }
    for (int i = 0; i < 60; ++i) {
      std::string file = whole;
      const size_t at = random() % std::min<size_t>(2048, file.size()), length = 1 + random() % 40;
      if (i % 3 == 0) file.erase(at, length);
      if (i % 3 == 1) file.replace(at, length, length, '\xFF');
      if (i % 3 == 2) file.resize(at);
      check(file, "damage " + std::to_string(i));
    }
  }
  CHECK(changed > 100);
  CHECK(told_still > 100);
}

}  // namespace
}  // namespace spdld::file_format_test
