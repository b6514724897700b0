/* A plug-in of spdld: a decoder of binary PGM and PPM files ("P5" and "P6", with values of 8 bits).
 *
 *   { op = "plugin", library = "libnetpbm.so", call = "decode", gives = { dtype = "uint8", shape = [480, 640, 3] } }
 *   { op = "plugin", library = "libnetpbm.so", call = "to-bmp", gives = "bytes" }, { op = "decode-image" }
 *
 * `decode` gives pictures, uint8 [height, width, 3]; `gives` says the size that all of them have. `to-bmp` gives files
 * that decode-image reads, for pictures that differ in size. Neither has settings. */
#include <spdld_plugin.h>
#include <stdio.h>
#include <string.h>

enum { kSideMax = 65535, kBmpHead = 54 };

typedef struct {
  int64_t width, height;
  int channels; /* 1 or 3 */
  const uint8_t* pixels;
} picture;

static int is_space(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* The next number of the header, behind spaces and comments; -1: there is none. */
static int64_t number_at(const uint8_t* bytes, uint64_t size, uint64_t* at) {
  int64_t number = 0;
  const uint64_t before = *at;
  while (*at < size && (is_space(bytes[*at]) || bytes[*at] == '#')) {
    if (bytes[*at] == '#')
      while (*at < size && bytes[*at] != '\n') ++*at;
    else
      ++*at;
  }
  const uint64_t first = *at;
  while (*at < size && bytes[*at] >= '0' && bytes[*at] <= '9' && number <= kSideMax)
    number = 10 * number + bytes[(*at)++] - '0';
  return first > before && *at > first ? number : -1;
}

/* Reads the header. */
static int parse(spdld_plugin_call* call, picture* to) {
  const uint8_t* const bytes = call->input;
  uint64_t at = 2;
  if (call->input_bytes < 2 || bytes[0] != 'P' || (bytes[1] != '5' && bytes[1] != '6')) {
    snprintf(call->error, call->error_size, "it is no binary PGM or PPM file, since it does not begin with P5 or P6");
    return SPDLD_PLUGIN_BAD;
  }
  to->channels = bytes[1] == '6' ? 3 : 1;
  to->width = number_at(bytes, call->input_bytes, &at);
  to->height = number_at(bytes, call->input_bytes, &at);
  const int64_t white = number_at(bytes, call->input_bytes, &at);
  if (to->width < 1 || to->height < 1 || to->width > kSideMax || to->height > kSideMax || white != 255) {
    snprintf(call->error, call->error_size, "its header has no width, height and 255 as the value of white");
    return SPDLD_PLUGIN_BAD;
  }
  const uint64_t needed = (uint64_t)(to->width * to->height * to->channels);
  if (at >= call->input_bytes || !is_space(bytes[at]) || call->input_bytes - at - 1 < needed) {
    snprintf(call->error, call->error_size, "it is cut: %lld x %lld pixels need %llu bytes behind the header",
             (long long)to->width, (long long)to->height, (unsigned long long)needed);
    return SPDLD_PLUGIN_BAD;
  }
  to->pixels = bytes + at + 1;
  return SPDLD_PLUGIN_OK;
}

/* The picture takes bytes, and nothing else. */
static int is_for_bytes(const char* settings, const spdld_plugin_signature* takes, char* error, size_t error_size) {
  if (takes->kind == SPDLD_PLUGIN_BYTES && settings[0] == '\0') return 1;
  snprintf(error, error_size, "it takes the bytes of a file, and no settings");
  return 0;
}

static int bind_decode(const spdld_plugin_operation* operation, const char* settings,
                       const spdld_plugin_signature* takes, spdld_plugin_signature* gives, char* error,
                       size_t error_size) {
  (void)operation;
  if (!is_for_bytes(settings, takes, error, error_size)) return SPDLD_PLUGIN_BAD;
  gives->kind = SPDLD_PLUGIN_TENSOR;
  gives->dtype = SPDLD_PLUGIN_UINT8;
  gives->dimensions = 3;
  gives->sizes[0] = gives->sizes[1] = -1;
  gives->sizes[2] = 3;
  return SPDLD_PLUGIN_OK;
}

static int run_decode(void* state, spdld_plugin_call* call) {
  picture from;
  (void)state;
  const int parsed = parse(call, &from);
  if (parsed != SPDLD_PLUGIN_OK) return parsed;
  const int64_t sizes[] = {from.height, from.width, 3};
  uint8_t* const to = call->reserve(call, sizes, 3);
  if (!to) return SPDLD_PLUGIN_FAULT;
  const int64_t pixels = from.width * from.height;
  if (from.channels == 3)
    memcpy(to, from.pixels, (size_t)(3 * pixels));
  else
    for (int64_t i = 0; i < 3 * pixels; i++) to[i] = from.pixels[i / 3];
  return SPDLD_PLUGIN_OK;
}

static int bind_to_bmp(const spdld_plugin_operation* operation, const char* settings,
                       const spdld_plugin_signature* takes, spdld_plugin_signature* gives, char* error,
                       size_t error_size) {
  (void)operation, (void)gives; /* which is bytes already */
  return is_for_bytes(settings, takes, error, error_size) ? SPDLD_PLUGIN_OK : SPDLD_PLUGIN_BAD;
}

static void put(uint8_t* to, int64_t number) {
  for (int i = 0; i < 4; i++) to[i] = (uint8_t)(number >> 8 * i);
}

static int run_to_bmp(void* state, spdld_plugin_call* call) {
  picture from;
  (void)state;
  const int parsed = parse(call, &from);
  if (parsed != SPDLD_PLUGIN_OK) return parsed;
  const int64_t row = (3 * from.width + 3) / 4 * 4, bytes = kBmpHead + row * from.height;
  uint8_t* const to = call->reserve(call, &bytes, 1);
  if (!to) return SPDLD_PLUGIN_FAULT;
  to[0] = 'B', to[1] = 'M';
  put(to + 2, bytes);
  put(to + 10, kBmpHead);
  put(to + 14, 40);
  put(to + 18, from.width);
  put(to + 22, -from.height); /* rows from the top down */
  to[26] = 1, to[28] = 24;
  for (int64_t y = 0; y < from.height; y++)
    for (int64_t i = 0; i < 3 * from.width; i++) {
      const int64_t pixel = y * from.width + i / 3;
      to[kBmpHead + y * row + i] =
          from.channels == 3 ? from.pixels[3 * pixel + 2 - i % 3] : from.pixels[pixel]; /* BGR */
    }
  return SPDLD_PLUGIN_OK;
}

static const spdld_plugin_operation kDecode = {
    sizeof kDecode, "decode", "Decodes binary PGM and PPM files.", bind_decode, NULL, NULL, run_decode};
static const spdld_plugin_operation kToBmp = {
    sizeof kToBmp, "to-bmp", "Turns binary PGM and PPM files into BMP.", bind_to_bmp, NULL, NULL, run_to_bmp};
static const spdld_plugin_operation* const kOperations[] = {&kDecode, &kToBmp};
static const spdld_plugin_table kTable = {sizeof kTable, SPDLD_PLUGIN_ABI, 2, kOperations};

const spdld_plugin_table* spdld_plugin(uint32_t abi) { return abi == SPDLD_PLUGIN_ABI ? &kTable : NULL; }
