// FFmpeg's libraries, loaded at run time: they and the libraries that they need are more than a hundred, and a daemon
// without videos and sounds starts without them. This room calls their functions by lib::NAME. For this room alone; any
// thread.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavcodec/vorbis_parser.h>
#include <libavformat/avformat.h>
#include <libavutil/display.h>
#include <libavutil/frame.h>
#include <libavutil/imgutils.h>
#include <libavutil/log.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
}

// Each function with its library.
// clang-format off
#define SPDLD_FFMPEG_FUNCTIONS(F) \
  F(avutil, av_buffer_create) \
  F(avutil, av_display_rotation_get) \
  F(avutil, av_frame_alloc) \
  F(avutil, av_frame_clone) \
  F(avutil, av_frame_copy_props) \
  F(avutil, av_frame_free) \
  F(avutil, av_frame_get_plane_buffer) \
  F(avutil, av_frame_unref) \
  F(avutil, av_free) \
  F(avutil, av_freep) \
  F(avutil, av_get_packed_sample_fmt) \
  F(avutil, av_get_pix_fmt_name) \
  F(avutil, av_image_copy_to_buffer) \
  F(avutil, av_image_fill_arrays) \
  F(avutil, av_image_fill_linesizes) \
  F(avutil, av_image_fill_plane_sizes) \
  F(avutil, av_image_get_buffer_size) \
  F(avutil, av_image_get_linesize) \
  F(avutil, av_log_set_level) \
  F(avutil, av_malloc) \
  F(avutil, av_opt_set_int) \
  F(avutil, av_pix_fmt_desc_get) \
  F(avutil, av_rescale_q) \
  F(avutil, av_sample_fmt_is_planar) \
  F(avutil, av_strdup) \
  F(avutil, av_strerror) \
  F(avcodec, av_get_audio_frame_duration2) \
  F(avcodec, av_get_bits_per_sample) \
  F(avcodec, av_packet_alloc) \
  F(avcodec, av_packet_free) \
  F(avcodec, av_packet_free_side_data) \
  F(avcodec, av_packet_get_side_data) \
  F(avcodec, av_packet_new_side_data) \
  F(avcodec, av_packet_unref) \
  F(avcodec, av_vorbis_parse_frame_flags) \
  F(avcodec, av_vorbis_parse_free) \
  F(avcodec, av_vorbis_parse_init) \
  F(avcodec, avcodec_align_dimensions2) \
  F(avcodec, avcodec_alloc_context3) \
  F(avcodec, avcodec_default_get_buffer2) \
  F(avcodec, avcodec_descriptor_get) \
  F(avcodec, avcodec_find_decoder) \
  F(avcodec, avcodec_find_decoder_by_name) \
  F(avcodec, avcodec_flush_buffers) \
  F(avcodec, avcodec_free_context) \
  F(avcodec, avcodec_get_name) \
  F(avcodec, avcodec_open2) \
  F(avcodec, avcodec_parameters_alloc) \
  F(avcodec, avcodec_parameters_copy) \
  F(avcodec, avcodec_parameters_free) \
  F(avcodec, avcodec_parameters_from_context) \
  F(avcodec, avcodec_parameters_to_context) \
  F(avcodec, avcodec_receive_frame) \
  F(avcodec, avcodec_send_packet) \
  F(avcodec, avcodec_version) \
  F(avformat, av_find_input_format) \
  F(avformat, av_guess_frame_rate) \
  F(avformat, av_probe_input_format3) \
  F(avformat, av_read_frame) \
  F(avformat, av_stream_get_side_data) \
  F(avformat, avformat_alloc_context) \
  F(avformat, avformat_close_input) \
  F(avformat, avformat_find_stream_info) \
  F(avformat, avformat_open_input) \
  F(avformat, avformat_version) \
  F(avformat, avio_alloc_context) \
  F(avformat, avio_context_free) \
  F(avformat, avio_seek) \
  F(swscale, sws_alloc_context) \
  F(swscale, sws_freeContext) \
  F(swscale, sws_getCoefficients) \
  F(swscale, sws_init_context) \
  F(swscale, sws_isSupportedOutput) \
  F(swscale, sws_scale) \
  F(swscale, sws_setColorspaceDetails)
// clang-format on

namespace spdld::ffmpeg::lib {

// Null until load_libraries().
#define SPDLD_FFMPEG_DECLARE(library, name) extern decltype(&::name) name;
SPDLD_FFMPEG_FUNCTIONS(SPDLD_FFMPEG_DECLARE)
#undef SPDLD_FFMPEG_DECLARE

}  // namespace spdld::ffmpeg::lib
