#include "daemon/media/image/codecs/jpeg/codec.h"

#include <jerror.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>

#include "daemon/base/result.h"
#include "daemon/media/image/codecs/image_decoder.h"
#include "daemon/media/image/codecs/jpeg/rows.h"

namespace spdld::image {
namespace {

// The target of a jvirt_barray_ptr: libjpeg leaves its meaning to the memory's owner. All of it is in memory, always.
struct BlockArray {
  JBLOCKARRAY rows;
  JDIMENSION blocks_per_row, row_count;
  bool zeroed;
  BlockArray* next;
};

// Warnings that say nothing about the coded data.
bool is_harmless(int code) {
  switch (code) {
    case JWRN_ADOBE_XFORM:
    case JWRN_BOGUS_ICC:
    case JWRN_JFIF_MAJOR:
    case JWRN_NOT_SEQUENTIAL:
      return true;
    default:
      return false;
  }
}

// The process that a start-of-frame marker names (ITU-T T.81, table B.1), if libjpeg knows and refuses it.
const char* process_name(int marker) {
  switch (marker) {
    case 0xC3:
    case 0xCB:
      return "a lossless JPEG";
    case 0xC5:
    case 0xC6:
    case 0xC7:
    case 0xCD:
    case 0xCE:
    case 0xCF:
      return "a hierarchical JPEG";
    default:
      return "";
  }
}

// The markers that ITU-T T.87 adds: of a frame, and of its parameters.
bool is_of_jpeg_ls(int marker) { return marker == 0xF7 || marker == 0xF8; }

// The kind of JPEG that `error` refuses; empty: it refuses none for its kind.
const char* unsupported_kind(const jpeg_error_mgr& error) {
  switch (error.msg_code) {
    case JERR_BAD_PRECISION:
      return error.msg_parm.i[0] == 12 ? "a JPEG of 12 bits" : error.msg_parm.i[0] == 16 ? "a JPEG of 16 bits" : "";
    case JERR_SOF_UNSUPPORTED:
      return process_name(error.msg_parm.i[0]);
    case JERR_UNKNOWN_MARKER:
      return is_of_jpeg_ls(error.msg_parm.i[0]) ? "a JPEG-LS picture" : "";
    case JERR_ARITH_NOTIMPL:
      return "an arithmetic-coded JPEG";
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_CCIR601_NOTIMPL:
      return "a JPEG of unusual sampling factors";
    default:
      return "";
  }
}

}  // namespace

// The methods that libjpeg calls. They may leave by longjmp: nothing here has a destructor.
struct CodecCallbacks {
  static Codec& codec(j_common_ptr common) { return *static_cast<Codec*>(common->client_data); }

  [[noreturn]] static void error_exit(j_common_ptr common) {
    char text[JMSG_LENGTH_MAX];
    common->err->format_message(common, text);
    Codec& self = codec(common);
    std::snprintf(self.unsupported_, sizeof self.unsupported_, "%s", unsupported_kind(*common->err));
    const bool is_unknown = common->err->msg_code == JERR_UNKNOWN_MARKER;  // libjpeg tells its number
    self.give_up(is_unknown ? "a marker in it is none of JPEG's" : text);
  }
  static void emit_message(j_common_ptr common, int level) {
    const int code = common->err->msg_code;
    if (level >= 0 || is_harmless(code)) return;
    Codec& self = codec(common);
    if (self.refuses_damage_ || (code == JWRN_JPEG_EOF && !self.early_end_allowed_)) error_exit(common);
  }
  static void output_message(j_common_ptr) {}

  static void check_progress(j_common_ptr common) {
    Codec& self = codec(common);
    if (self.jpeg_.input_scan_number > Codec::kScansMax) self.give_up("more scans than any real picture has");
    self.check_cpu_time();
  }

  static void* take(j_common_ptr common, int pool, size_t bytes) {
    Codec& self = codec(common);
    void* piece = (pool == JPOOL_PERMANENT ? self.codec_arena_ : self.picture_arena_).take(bytes);
    if (piece == nullptr) self.give_up_at_limit(kTooMuchMemory);
    return piece;
  }
  static JSAMPARRAY sample_rows(j_common_ptr common, int pool, JDIMENSION samples, JDIMENSION count) {
    return take_sample_rows(take, common, pool, samples, count);
  }
  static JBLOCKARRAY block_rows(j_common_ptr common, int pool, JDIMENSION blocks, JDIMENSION count) {
    return take_block_rows(take, common, pool, blocks, count);
  }

  // Only colour quantisation asks for these, which nobody here switches on.
  static jvirt_sarray_ptr request_samples(j_common_ptr common, int, boolean, JDIMENSION, JDIMENSION, JDIMENSION) {
    codec(common).give_up("colour quantisation is not supported");
  }
  static JSAMPARRAY access_samples(j_common_ptr common, jvirt_sarray_ptr, JDIMENSION, JDIMENSION, boolean) {
    codec(common).give_up("colour quantisation is not supported");
  }

  static jvirt_barray_ptr request_blocks(j_common_ptr common, int pool, boolean pre_zero, JDIMENSION blocks,
                                         JDIMENSION count, JDIMENSION) {
    Codec& self = codec(common);
    auto* array = static_cast<BlockArray*>(take(common, pool, sizeof(BlockArray)));
    *array = {nullptr, blocks, count, pre_zero != 0, static_cast<BlockArray*>(self.pending_arrays_)};
    self.pending_arrays_ = array;
    return reinterpret_cast<jvirt_barray_ptr>(array);
  }
  static void realize(j_common_ptr common) {
    Codec& self = codec(common);
    size_t whole = 0;  // refuse at once, before most of it is taken and cleared
    for (auto* array = static_cast<BlockArray*>(self.pending_arrays_); array != nullptr; array = array->next) {
      whole += size_t{array->blocks_per_row} * sizeof(JBLOCK) * array->row_count;
    }
    if (whole > self.picture_arena_.room()) self.give_up_at_limit(kTooMuchMemory);
    for (auto* array = static_cast<BlockArray*>(self.pending_arrays_); array != nullptr; array = array->next) {
      array->rows = block_rows(common, JPOOL_IMAGE, array->blocks_per_row, array->row_count);
      if (!array->zeroed || array->row_count == 0) continue;
      std::memset(array->rows[0], 0, size_t{array->blocks_per_row} * sizeof(JBLOCK) * array->row_count);
    }
    self.pending_arrays_ = nullptr;
  }
  static JBLOCKARRAY access_blocks(j_common_ptr common, jvirt_barray_ptr handle, JDIMENSION first, JDIMENSION count,
                                   boolean) {
    const auto* array = reinterpret_cast<const BlockArray*>(handle);
    if (array->rows == nullptr || first > array->row_count || count > array->row_count - first) {
      codec(common).give_up("access outside of the picture's blocks");
    }
    return array->rows + first;
  }

  static void free_pool(j_common_ptr common, int pool) {
    Codec& self = codec(common);
    if (pool == JPOOL_PERMANENT) return self.codec_arena_.reset();
    self.picture_arena_.reset();
    self.pending_arrays_ = nullptr;
  }
  static void self_destruct(j_common_ptr) {}  // the arenas are members

  static void install_memory(Codec& self) {
    self.own_memory_ = self.jpeg_.mem;
    self.memory_.alloc_small = take;
    self.memory_.alloc_large = take;
    self.memory_.alloc_sarray = sample_rows;
    self.memory_.alloc_barray = block_rows;
    self.memory_.request_virt_sarray = request_samples;
    self.memory_.request_virt_barray = request_blocks;
    self.memory_.realize_virt_arrays = realize;
    self.memory_.access_virt_sarray = access_samples;
    self.memory_.access_virt_barray = access_blocks;
    self.memory_.free_pool = free_pool;
    self.memory_.self_destruct = self_destruct;
    self.memory_.max_memory_to_use = self.own_memory_->max_memory_to_use;
    self.memory_.max_alloc_chunk = self.own_memory_->max_alloc_chunk;
    self.jpeg_.mem = &self.memory_;
  }
};

Codec::Codec(const media::DecodeLimits& limits) : limits_(limits), cpu_watch_(limits) {
  jpeg_.err = jpeg_std_error(&errors_);
  errors_.error_exit = CodecCallbacks::error_exit;
  errors_.emit_message = CodecCallbacks::emit_message;
  errors_.output_message = CodecCallbacks::output_message;
  jpeg_.client_data = this;
  auto create = [](jpeg_decompress_struct& jpeg, void*) { jpeg_create_decompress(&jpeg); };
  if (!attempt_erased(create, nullptr)) {
    const bool is_short_of_memory = errors_.msg_code == JERR_OUT_OF_MEMORY;
    jpeg_destroy_decompress(&jpeg_);
    if (is_short_of_memory) throw std::bad_alloc();
    throw SetupError(Trouble::kInternal, "libjpeg can't be used: " + message());
  }
  CodecCallbacks::install_memory(*this);
  progress_.progress_monitor = CodecCallbacks::check_progress;
  jpeg_.progress = &progress_;
}

Codec::~Codec() {
  jpeg_.mem = own_memory_;
  jpeg_destroy_decompress(&jpeg_);
}

void Codec::abort() {
  jpeg_abort_decompress(&jpeg_);
  // libjpeg keeps tables from picture to picture, for streams that define them once. Here a picture that lacks one
  // would look as what was decoded before it decides.
  std::fill(std::begin(jpeg_.quant_tbl_ptrs), std::end(jpeg_.quant_tbl_ptrs), nullptr);
  std::fill(std::begin(jpeg_.dc_huff_tbl_ptrs), std::end(jpeg_.dc_huff_tbl_ptrs), nullptr);
  std::fill(std::begin(jpeg_.ac_huff_tbl_ptrs), std::end(jpeg_.ac_huff_tbl_ptrs), nullptr);
  jpeg_.src = nullptr;
  codec_arena_.reset();
  picture_arena_.limit(bytes_max());
  early_end_allowed_ = false;
  cpu_watch_.restart();
}

bool Codec::share_memory(uint64_t bytes) {
  reached_limit_ = bytes > bytes_max();
  if (reached_limit_) {
    std::snprintf(message_, sizeof message_, "%s", kTooMuchMemory);
  } else {
    picture_arena_.limit(bytes_max() - bytes);
  }
  return !reached_limit_;
}

bool Codec::spend_cpu_time(uint64_t blocks) {
  reached_limit_ = cpu_watch_.is_over(blocks);
  if (reached_limit_) std::snprintf(message_, sizeof message_, "%s", kTooMuchCpuTime);
  return !reached_limit_;
}

// libjpeg calls the progress monitor for each row of MCUs at the least, in the scans that it buffers and where rows are
// read. Skipped rows are not seen: they are at most one pass over the picture.
void Codec::check_cpu_time() {
  uint64_t blocks = 1;  // in a row of MCUs
  for (int c = 0; c < jpeg_.num_components; ++c) {
    const jpeg_component_info& component = jpeg_.comp_info[c];
    blocks += component.width_in_blocks * static_cast<uint64_t>(component.v_samp_factor);
  }
  if (cpu_watch_.is_over(blocks)) give_up_at_limit(kTooMuchCpuTime);
}

bool Codec::attempt_erased(void (*step)(jpeg_decompress_struct&, void*), void* context) {
  unsupported_[0] = '\0';
  reached_limit_ = false;
  if (setjmp(escape_) != 0) return false;
  step(jpeg_, context);
  return true;
}

void Codec::give_up(const char* message) {
  std::snprintf(message_, sizeof message_, "%s", message);
  ran_short_of_memory_ = picture_arena_.ran_short() || codec_arena_.ran_short();  // abort() resets the arenas
  std::longjmp(escape_, 1);
}

void Codec::give_up_at_limit(const char* message) {
  reached_limit_ = true;
  give_up(message);
}

#define SPDLD_TEXT_OF(name) #name
#define SPDLD_VALUE_TEXT(name) SPDLD_TEXT_OF(name)

std::string jpeg_code() {
  jpeg_error_mgr error;
  jpeg_std_error(&error);
  const std::string copyright = error.jpeg_message_table[JMSG_COPYRIGHT];  // "Copyright (C) 1991-2023 ..."
  constexpr const char* kYears = "0123456789-";
  const size_t begin = std::min(copyright.find_first_of(kYears), copyright.size());
  const size_t end = std::min(copyright.find_first_not_of(kYears, begin), copyright.size());
  return "libjpeg-turbo " SPDLD_VALUE_TEXT(LIBJPEG_TURBO_VERSION) " of " + copyright.substr(begin, end - begin);
}

#undef SPDLD_VALUE_TEXT
#undef SPDLD_TEXT_OF

}  // namespace spdld::image
