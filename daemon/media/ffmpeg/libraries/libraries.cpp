#include "daemon/media/ffmpeg/libraries/libraries.h"

#include <dlfcn.h>

#include <string>

#include "daemon/base/result.h"
#include "daemon/media/ffmpeg/libraries/load.h"

namespace spdld::ffmpeg {
namespace lib {

#define SPDLD_FFMPEG_DEFINE(library, name) decltype(&::name) name = nullptr;
SPDLD_FFMPEG_FUNCTIONS(SPDLD_FFMPEG_DEFINE)
#undef SPDLD_FFMPEG_DEFINE

}  // namespace lib

namespace {

// It stays loaded until the program's end.
void* open_library(const char* name, int version) {
  const std::string file = std::string("lib") + name + ".so." + std::to_string(version);
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  const char* const reason = dlerror();
  throw SetupError(Trouble::kUnsupported, "videos and sounds need FFmpeg's " + file + ", which can't be loaded (" +
                                              (reason ? reason : "no reason") + "): install FFmpeg's libraries");
}

template <typename Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr)
    throw SetupError(Trouble::kUnsupported,
                     std::string("FFmpeg's libraries have no ") + name + ": spdld was built with others");
}

bool load_all() {
  void* const avutil = open_library("avutil", LIBAVUTIL_VERSION_MAJOR);
  void* const avcodec = open_library("avcodec", LIBAVCODEC_VERSION_MAJOR);
  void* const avformat = open_library("avformat", LIBAVFORMAT_VERSION_MAJOR);
  void* const swscale = open_library("swscale", LIBSWSCALE_VERSION_MAJOR);
#define SPDLD_FFMPEG_FIND(library, name) find(library, #name, lib::name);
  SPDLD_FFMPEG_FUNCTIONS(SPDLD_FFMPEG_FIND)
#undef SPDLD_FFMPEG_FIND
  // The libraries write what they notice to stderr by default. A file's fault is told by the sample's reason.
  lib::av_log_set_level(AV_LOG_QUIET);
  return true;
}

}  // namespace

void load_libraries() {
  static const bool once = load_all();
  static_cast<void>(once);
}

}  // namespace spdld::ffmpeg
