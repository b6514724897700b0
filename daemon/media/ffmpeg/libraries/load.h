// Loads FFmpeg's libraries. Any thread.
#pragma once

namespace spdld::ffmpeg {

// The first call loads them, and a further call after a failure tries again. Throws SetupError (kUnsupported) where
// this machine lacks them. Operations call it when a pipeline is set up, so that no sample finds them missing.
void load_libraries();

}  // namespace spdld::ffmpeg
