#include "tests/media/ffmpeg/relatives.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "daemon/media/ffmpeg/pictures/video_index.h"
#include "tests/media/ffmpeg/movie_writer.h"
#include "tests/support/makers/video_maker.h"

namespace spdld::test {
namespace {

// kJoined: the codec has relatives that are joined files. kChanging: some of these have a part of another size, too.
enum class Spread : uint8_t { kNone, kJoined, kChanging };

struct Coding {
  const char* ending;
  const char* encoder;
  const char* settings;        // of the first one
  const char* other_settings;  // of the second one
  Spread spread = Spread::kNone;
};

constexpr Coding kVideos[] = {
    {"mp4", "libx264", "-preset ultrafast -g 6 -pix_fmt yuv420p",
     "-preset veryfast -bf 2 -x264-params open-gop=1:keyint=4:min-keyint=1:scenecut=0 -pix_fmt yuv420p",
     Spread::kChanging},
    {"mp4", "libx265",
     "-preset ultrafast -x265-params keyint=6:bframes=0:repeat-headers=1:log-level=none -pix_fmt yuv420p",
     "-preset ultrafast -x265-params keyint=6:ctu=32:sao=1:amp=1:rect=1:log-level=none -pix_fmt yuv420p",
     Spread::kChanging},
    {"mp4", "mpeg4", "-g 6 -bf 2", "-g 6 -flags +qpel -mpeg_quant 1", Spread::kJoined},
    {"avi", "mpeg4", "-g 6 -bf 2", "-g 6 -flags +qpel -mpeg_quant 1", Spread::kJoined},
    {"mkv", "libxvid", "-g 6", "-g 6 -mpeg_quant 1", Spread::kJoined},
    {"mpg", "mpeg2video", "-g 6 -bf 2", "-g 6 -dc 10 -alternate_scan 1 -intra_vlc 1", Spread::kJoined},
    {"ts", "mpeg2video", "-g 6 -bf 2", "-g 6 -dc 10 -alternate_scan 1 -intra_vlc 1", Spread::kChanging},
    {"mpg", "mpeg1video", "-g 6", "-g 6 -bf 2 -q:v 20"},
    {"avi", "h263p", "-g 6", "-g 6 -umv 1"},
    {"mov", "h263", "-g 6", "-g 6 -obmc 1"},
    {"flv", "flv", "-g 6", "-g 6 -q:v 20"},
    {"asf", "wmv1", "-g 6", "-g 6 -q:v 20"},
    {"asf", "wmv2", "-g 6", "-g 6 -q:v 20", Spread::kJoined},
    {"avi", "msmpeg4", "-g 6", "-g 6 -q:v 20"},
    {"avi", "msmpeg4v2", "-g 6", "-g 6 -q:v 20"},
    {"webm", "libvpx", "-g 6 -deadline realtime -cpu-used 16 -b:v 300k",
     "-g 6 -deadline realtime -cpu-used 16 -b:v 50k -auto-alt-ref 1 -lag-in-frames 5", Spread::kChanging},
    {"webm", "libvpx-vp9", "-g 6 -deadline realtime -cpu-used 8 -b:v 300k",
     "-g 6 -deadline realtime -cpu-used 8 -b:v 50k", Spread::kChanging},
    {"mp4", "libaom-av1", "-g 6 -cpu-used 8 -usage realtime", "-g 6 -cpu-used 8 -usage realtime -crf 60 -b:v 0",
     Spread::kChanging},
    {"avi", "mjpeg", "-q:v 2 -pix_fmt yuvj420p", "-q:v 25 -huffman optimal -pix_fmt yuvj420p", Spread::kChanging},
    {"avi", "ljpeg", "-strict -1", "-strict -1 -pred plane"},
    {"mkv", "jpeg2000", "-frames:v 2", "-frames:v 2 -q:v 20"},
    {"mov", "prores_ks", "-frames:v 3 -profile:v 3", "-frames:v 3 -profile:v 0 -quant_mat proxy", Spread::kJoined},
    {"mov", "prores_aw", "-frames:v 3", "-frames:v 3 -profile:v 0"},
    {"mov", "dnxhd", "-frames:v 2 -s 256x128 -profile:v dnxhr_lb -pix_fmt yuv422p",
     "-frames:v 2 -s 256x128 -profile:v dnxhr_hq -pix_fmt yuv422p", Spread::kJoined},
    {"mkv", "ffv1", "-level 3 -g 6", "-level 1 -coder 1 -context 1", Spread::kJoined},
    {"avi", "huffyuv", "", "-pred median", Spread::kJoined},
    {"avi", "ffvhuff", "", "-context 1", Spread::kJoined},
    {"avi", "utvideo", "", "-pred median"},
    {"avi", "magicyuv", "-pix_fmt yuv420p", "-pix_fmt yuv420p -pred median"},
    {"mov", "png", "-frames:v 3", "-frames:v 3 -pred mixed", Spread::kChanging},
    {"apng", "apng", "-frames:v 3", "-frames:v 3 -pred mixed"},
    {"gif", "gif", "-frames:v 4", "-frames:v 4 -gifflags 0"},
    {"mov", "qtrle", "-g 6", "-g 6 -pix_fmt rgb24"},
    {"avi", "msvideo1", "", "-q:v 20", Spread::kJoined},
    {"avi", "cinepak", "-s 32x32", "-s 32x32 -q:v 30", Spread::kJoined},
    {"mov", "svq1", "-g 6", "-g 6 -q:v 20"},
    {"nut", "snow", "-g 6", "-g 6 -q:v 20"},
    {"flv", "flashsv", "-g 6", "-g 6"},
    {"flv", "flashsv2", "-g 6", "-g 6"},
    {"avi", "zmbv", "-g 6 -s 32x32", "-g 6 -s 32x32"},
    {"avi", "zlib", "", ""},
    {"avi", "asv1", "", "-q:v 20"},
    {"avi", "asv2", "", "-q:v 20"},
    {"ogg", "libtheora", "-g 6 -q:v 8", "-g 6 -q:v 1", Spread::kJoined},
    {"nut", "h261", "-g 6", "-g 6 -q:v 20"},
    {"mov", "cfhd", "-frames:v 2 -pix_fmt yuv422p10", "-frames:v 2 -pix_fmt yuv422p10 -quality low"},
    {"mov", "hap", "-frames:v 3", "-frames:v 3 -compressor none"},
    {"nut", "speedhq", "", "-q:v 20"},
    {"mkv", "vc2", "-frames:v 2 -strict -1", "-frames:v 2 -strict -1 -qm flat"},
    {"avi", "cljr", "", ""},
    {"mov", "v210", "-frames:v 2", "-frames:v 2"},
    {"mov", "rawvideo", "-frames:v 2 -pix_fmt rgb24", "-frames:v 2 -pix_fmt uyvy422"},
    {"mkv", "jpegls", "-frames:v 2", "-frames:v 2 -pred plane"},
    {"mkv", "tiff", "-frames:v 2", "-frames:v 2 -compression_algo lzw"},
    {"mkv", "targa", "-frames:v 2", "-frames:v 2 -rle 0"},
    {"avi", "dvvideo", "-s 720x576 -pix_fmt yuv420p -frames:v 2", "-s 720x576 -pix_fmt yuv420p -frames:v 1"},
    {"mov", "rpza", "", "-start_one_color_thresh 0"},
    {"mov", "smc", "", ""},
};

constexpr Coding kSounds[] = {
    {"m4a", "aac", "-b:a 96k", "-b:a 32k", Spread::kJoined},
    {"aac", "aac", "-b:a 96k", "-b:a 32k", Spread::kJoined},
    {"ac3", "ac3", "-b:a 96k", "-b:a 64k -ac 1", Spread::kJoined},
    {"mp4", "ac3", "-b:a 96k", "-b:a 192k", Spread::kJoined},
    {"eac3", "eac3", "-b:a 96k", "-b:a 64k -ac 1", Spread::kJoined},
    {"mkv", "eac3", "-b:a 96k", "-b:a 192k", Spread::kJoined},
    {"mkv", "mp2", "-b:a 96k", "-b:a 192k", Spread::kJoined},
    {"mp2", "mp2", "-b:a 96k", "-b:a 192k"},
    {"mp3", "libmp3lame", "-b:a 96k", "-q:a 8", Spread::kJoined},
    {"mkv", "libmp3lame", "-b:a 96k", "-q:a 8", Spread::kJoined},
    {"opus", "libopus", "-b:a 64k", "-b:a 12k -application voip", Spread::kJoined},
    {"webm", "libopus", "-b:a 64k", "-b:a 16k -application voip", Spread::kJoined},
    {"ogg", "libvorbis", "-q:a 8", "-q:a 0", Spread::kJoined},
    {"webm", "libvorbis", "-q:a 8", "-q:a 0", Spread::kJoined},
    {"mkv", "vorbis", "-strict -2 -ac 2", "-strict -2 -ac 2 -b:a 32k"},
    {"flac", "flac", "", "-lpc_type cholesky", Spread::kJoined},
    {"mkv", "flac", "", "-lpc_type cholesky", Spread::kJoined},
    {"m4a", "alac", "", "-min_prediction_order 1"},
    {"tta", "tta", "", ""},
    {"wv", "wavpack", "", "-compression_level 3"},
    {"asf", "wmav1", "-b:a 96k", "-b:a 48k"},
    {"asf", "wmav2", "-b:a 96k", "-b:a 48k"},
    {"wav", "adpcm_ima_wav", "", "", Spread::kJoined},
    {"wav", "adpcm_ms", "", ""},
    {"wav", "adpcm_yamaha", "", "", Spread::kJoined},
    {"flv", "adpcm_swf", "", ""},
    {"mov", "adpcm_ima_qt", "", ""},
    {"wav", "g722", "-ar 16000 -ac 1", "-ar 16000 -ac 1"},
    {"wav", "g726", "-ar 8000 -ac 1", "-ar 8000 -ac 1 -b:a 16k"},
    {"wav", "pcm_s16le", "", "", Spread::kJoined},
    {"wav", "pcm_s24le", "", ""},
    {"wav", "pcm_u8", "", ""},
    {"wav", "pcm_f32le", "", ""},
    {"wav", "pcm_mulaw", "", ""},
    {"wav", "pcm_alaw", "", ""},
    {"aiff", "pcm_s16be", "", ""},
    {"caf", "pcm_s24be", "", ""},
    {"mov", "pcm_s32be", "", ""},
    {"au", "pcm_f64be", "", ""},
    {"mkv", "dca", "-strict -2 -ar 48000", "-strict -2 -ar 48000 -b:a 300k"},
    {"mkv", "truehd", "-strict -2 -ar 48000", "-strict -2 -ar 48000 -sample_fmt s32", Spread::kJoined},
    {"mkv", "mlp", "-strict -2 -ar 48000", "-strict -2 -ar 48000 -sample_fmt s32"},
    {"ts", "s302m", "-strict -2 -ar 48000", "-strict -2 -ar 48000"},
    {"flv", "nellymoser", "-ar 22050 -ac 1", "-ar 22050 -ac 1"},
    {"ogg", "libspeex", "-ar 16000 -ac 1", "-ar 16000 -ac 1 -q:a 1"},
    {"wav", "libgsm_ms", "-ar 8000 -ac 1", "-ar 8000 -ac 1"},
    {"wav", "g723_1", "-ar 8000 -ac 1", "-ar 8000 -ac 1"},
    {"nut", "comfortnoise", "-ar 8000 -ac 1", "-ar 8000 -ac 1"},
    {"nut", "sonic", "-strict -2", "-strict -2"},
};

// The same packets once more, with the headers in them too, or without a container.
struct Copy {
  const char* from;
  const char* filters;
  const char* ending;
};
constexpr Copy kCopies[] = {
    {"libx264.1.mp4", "-bsf:v dump_extra=freq=all", "mkv"},
    {"libx264.2.mp4", "-bsf:v h264_mp4toannexb", "ts"},
    {"libx264.1.mp4", "-bsf:v h264_mp4toannexb", "h264"},
    {"libx264.joined-12.mp4", "-bsf:v h264_mp4toannexb", "ts"},
    {"libx265.2.mp4", "-bsf:v hevc_mp4toannexb", "ts"},
    {"libx265.1.mp4", "-bsf:v hevc_mp4toannexb", "hevc"},
    {"mpeg4.1.mp4", "-bsf:v dump_extra=freq=all", "mkv"},
    {"mpeg4.2.mp4", "-bsf:v dump_extra", "mp4"},
    {"mpeg2video.1.ts", "", "mkv"},
    {"libmp3lame.1.mp3", "", "mp4"},
    {"libopus.1.opus", "", "mp4"},
    {"aac.1.m4a", "", "ts"},
};

// Sounds as they come from joined recordings: whole files one behind the other, with tags between and behind them.
constexpr std::array<std::pair<const char*, const char*>, 8> kChains = {{{"libvorbis.1.ogg", "libvorbis.2.ogg"},
                                                                         {"libopus.1.opus", "libopus.2.opus"},
                                                                         {"libvorbis.2.ogg", "libopus.1.opus"},
                                                                         {"libspeex.1.ogg", "libvorbis.1.ogg"},
                                                                         {"flac.1.flac", "flac.2.flac"},
                                                                         {"libmp3lame.1.mp3", "libmp3lame.2.mp3"},
                                                                         {"libmp3lame.2.mp3", "libmp3lame.slow.mp3"},
                                                                         {"mp2.1.mp2", "mp2.2.mp2"}}};
constexpr std::array<std::string_view, 11> kCutAtEnd = {"mp3", "aac", "flac", "ogg", "opus", "wav",
                                                        "m4a", "mkv", "tta",  "wv",  "ts"};

constexpr std::array<std::string_view, 5> kCutAtStart = {"mp3", "aac", "ac3", "eac3", "ts"};

std::set<std::string> encoders() {
  const std::vector<uint8_t> list = run_ffmpeg({"-hide_banner", "-encoders"});
  std::istringstream words(std::string(list.begin(), list.end()));
  return {std::istream_iterator<std::string>(words), std::istream_iterator<std::string>()};
}

void add(std::vector<std::string>& arguments, const std::string& words) {
  for (std::string& word : words_of(words)) arguments.push_back(std::move(word));
}

std::string name_of(const Coding& coding, const std::string& variant) {
  return std::string(coding.encoder) + "." + variant + "." + coding.ending;
}

class Maker {
 public:
  explicit Maker(const std::filesystem::path& folder) : folder_(folder), encoders_(encoders()) {}

  std::vector<Relative> make() {
    encode(kVideos, true, "testsrc2=size=176x144:rate=25:duration=0.4", "-c:v");
    encode(kSounds, false, "aevalsrc=0.4*sin(900*t*(1+t))+0.1*random(0)|0.3*sin(3000*t)+0.1*random(1):d=1:s=44100",
           "-c:a");
    join();
    describe();
    copy();
    cut();
    chain();
    cut_end();
    std::vector<Relative> all;
    for (const auto& [family, names] : families_)
      for (const auto& [name, is_video] : names) all.push_back({name, family, is_video, bytes_of(folder_ / name)});
    return all;
  }

 private:
  template <size_t Count>
  void encode(const Coding (&codings)[Count], bool is_video, const std::string& source, const std::string& option) {
    for (const std::string variant : {"1", "2", "3"}) {
      std::vector<std::string> arguments = {"-f", "lavfi", "-i", variant == "1" ? source : other(source, is_video)};
      for (const Coding& coding : codings) {
        if (!encoders_.contains(coding.encoder)) continue;
        if (variant == "3" && coding.spread != Spread::kChanging) continue;
        arguments.push_back(option);
        arguments.push_back(coding.encoder);
        add(arguments, variant == "2" ? coding.other_settings : coding.settings);
        if (variant == "3") add(arguments, "-s 128x96");
        arguments.push_back(put(coding, variant, is_video));
        if (variant == "1" && coding.spread != Spread::kNone) joined_.emplace_back(coding, is_video);
      }
      if (arguments.size() > 4) run_ffmpeg(arguments);
    }
  }

  static std::string other(const std::string& source, bool is_video) {
    return is_video ? source + ",hflip,negate" : "aevalsrc=0.3*sin(2000*t)+0.3*random(2)|0.2*random(3):d=1:s=44100";
  }

  // The file's path; it becomes one of its encoder's family.
  std::string put(const Coding& coding, const std::string& variant, bool is_video) {
    return put(coding.encoder, name_of(coding, variant), is_video);
  }
  std::string put(const std::string& family, const std::string& name, bool is_video) {
    families_[family].emplace_back(name, is_video);
    return (folder_ / name).string();
  }

  void join() {
    std::vector<std::string> inputs, outputs;
    for (const auto& [coding, is_video] : joined_)
      for (const std::string order : {"12", "21", "13", "31"}) {
        if (order.find('3') != std::string::npos && coding.spread != Spread::kChanging) continue;
        const std::string list = (folder_ / (name_of(coding, order) + ".txt")).string();
        std::ofstream lines(list);
        for (const char variant : order) lines << "file '" << name_of(coding, std::string(1, variant)) << "'\n";
        add(inputs, "-f concat -safe 0 -i " + list);
        add(outputs, "-map " + std::to_string(outputs.size() / 5) + " -c copy");
        outputs.push_back(put(coding, "joined-" + order, is_video));
      }
    inputs.insert(inputs.end(), outputs.begin(), outputs.end());
    run_ffmpeg(inputs);
  }

  void copy() {
    std::vector<std::string> inputs, outputs;
    int number = 0;
    for (const Copy& copy : kCopies) {
      const std::string from = copy.from, family = from.substr(0, from.find('.'));
      const auto known = families_.find(family);
      if (known == families_.end()) continue;
      add(inputs, "-i " + (folder_ / from).string());
      add(outputs, "-map " + std::to_string(number++) + " -c copy " + copy.filters);
      outputs.push_back(put(family, from + ".copy." + copy.ending, known->second.front().second));
    }
    inputs.insert(inputs.end(), outputs.begin(), outputs.end());
    run_ffmpeg(inputs);
  }

  // Parts with descriptions of their own.
  void describe() {
    for (const std::string encoder : {"libx264", "libx265", "mpeg4"}) {
      if (!families_.contains(encoder)) continue;
      for (const std::string order : {"12", "131"}) {
        MovieWriter writer;
        for (const char variant : order) {
          const auto path = folder_ / (encoder + "." + variant + ".mp4");
          if (std::filesystem::exists(path)) add_part(bytes_of(path), writer);
        }
        const std::vector<uint8_t> bytes = writer.file();
        std::ofstream file(put(encoder, encoder + ".described-" + order + ".mp4", true), std::ios::binary);
        file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
      }
    }
  }

  static void add_part(const std::vector<uint8_t>& file, MovieWriter& writer) {
    const auto index = ffmpeg::index_packets(file);
    if (!index) throw std::runtime_error(index.error().message);
    std::vector<MovieWriter::Packet> packets;
    for (const ffmpeg::VideoPacket& packet : index->packets)
      packets.push_back({index->data_of(packet, file), packet.is_key});
    writer.add(MovieWriter::description_in(file), packets);
  }

  // Streams that begin in the middle of what their packets refer to.
  void cut() {
    for (auto& [family, names] : families_) {
      const auto whole = names;
      for (const auto& [name, is_video] : whole) {
        const std::string ending = name.substr(name.rfind('.') + 1);
        if (std::find(kCutAtStart.begin(), kCutAtStart.end(), ending) == kCutAtStart.end()) continue;
        const std::vector<uint8_t> bytes = bytes_of(folder_ / name);
        std::ofstream file(put(family, name + ".cut." + ending, is_video), std::ios::binary);
        const size_t from = bytes.size() / 3;
        file.write(reinterpret_cast<const char*>(bytes.data()) + from,
                   static_cast<std::streamsize>(bytes.size() - from));
      }
    }
  }

  void write(const std::string& path, const std::vector<std::string>& parts) {
    std::ofstream file(path, std::ios::binary);
    for (const std::string& part : parts) file << part;
  }

  void chain() {
    if (!encoders_.contains("libmp3lame")) return;
    run_ffmpeg(words_of("-i " + (folder_ / "libmp3lame.1.mp3").string() + " -ar 22050 -ac 1 " +
                        put("libmp3lame", "libmp3lame.slow.mp3", false)));
    const std::string tag = std::string("ID3\x04\0\0\0\0\x05\x00", 10) + std::string(640, 't');
    int number = 0;
    for (const auto& [first, second] : kChains) {
      const std::string a = text_of(folder_ / first), b = text_of(folder_ / second), name = first;
      if (a.empty() || b.empty()) continue;
      const std::string family = name.substr(0, name.find('.')), ending = name.substr(name.rfind('.'));
      const std::string between = ending == ".mp3" || ending == ".flac" ? tag : "";
      const std::string chained = family + ".chain-" + std::to_string(number++);
      write(put(family, chained + ending, false), {a, between, b});
      if (ending == ".mp3") write(put(family, chained + ".tail" + ending, false), {a, b, tag, std::string(900, '\0')});
    }
  }

  void cut_end() {
    for (auto& [family, names] : families_) {
      const auto whole = names;
      for (const auto& [name, is_video] : whole) {
        const std::string ending = name.substr(name.rfind('.') + 1);
        const bool is_wanted = !is_video && name.find(".2.") != name.npos && name.find(".cut.") == name.npos &&
                               std::find(kCutAtEnd.begin(), kCutAtEnd.end(), ending) != kCutAtEnd.end();
        if (!is_wanted) continue;
        const std::string content = text_of(folder_ / name);
        write(put(family, name + ".cut-end." + ending, false), {content.substr(0, content.size() * 4 / 5 + 3)});
      }
    }
  }

  static std::string text_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::filesystem::path folder_;
  const std::set<std::string> encoders_;
  std::map<std::string, std::vector<std::pair<std::string, bool>>> families_;
  std::vector<std::pair<Coding, bool>> joined_;
};

}  // namespace

std::vector<Relative> make_relatives(const std::filesystem::path& folder) { return Maker(folder).make(); }

}  // namespace spdld::test
