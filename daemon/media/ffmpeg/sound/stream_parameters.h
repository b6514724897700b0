// The parameters of a stream of sound, as its coded data and its headers tell them. For this room alone.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/media/ffmpeg/libraries/handles.h"

namespace spdld::ffmpeg {

// Whether a container tells the rate and the channels as the decoder will have them.
bool tells_parameters(const AVCodecParameters& stream);
// The coded data counts where a container says something else.
void correct(AVCodecParameters& codec, int rate_hz, int channels);

// Whether this is the header that the decoder is opened with.
bool has_header(const AVCodecParameters& codec, std::span<const uint8_t> header);
// The stream goes on with another header of AAC. kContent: its decoder does not take the header.
Status set_aac_header(std::span<const uint8_t> header, AVCodecParameters& codec);

// RFC 7845, 5.1: samples that a decoder of Opus leaves out by itself, where the container says no other number.
uint32_t opus_delay(const AVCodecParameters& codec);
// The delay of AAC by the encoder FAAC, which writes its name into the first packet.
uint32_t faac_delay(std::span<const uint8_t> packet);

}  // namespace spdld::ffmpeg
