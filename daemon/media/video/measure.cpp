#include "daemon/media/measure.h"

#include "daemon/media/video/clip_rule.h"
#include "daemon/media/video/video_node.h"

namespace spdld::media {

Result<VideoLength> measure_video(std::span<const uint8_t> video, Workspace& workspace) {
  const auto index = ffmpeg::index_packets(video, workspace.of<video::VideoWork>().limits);
  if (!index) return index.error();
  return VideoLength{index->frames.size(), video::duration_ns(*index)};
}

}  // namespace spdld::media
