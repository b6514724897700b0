#include "daemon/media/ffmpeg/libraries/load.h"
#include "daemon/media/operations.h"
#include "daemon/media/video/video_node.h"

namespace spdld::media::ops {

void decode_video(const PlacedOperation& placed, Nodes& nodes) {
  ffmpeg::load_libraries();
  nodes.push_back(std::make_unique<video::VideoNode>(placed));
}

}  // namespace spdld::media::ops
