/* A plug-in of spdld: `blur` is a box blur of pictures, uint8 [height, width, channels].
 *
 *   { op = "plugin", library = "libblur.so", call = "blur", settings = "radius=3", gives = ... }
 *
 * settings: radius=N, from 0 to 64. radius=random: each picture draws one from 0 to 3. */
#include <spdld_plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRadiusMax = 64, kRandom = -1, kRandomRadii = 4 };

typedef struct {
  int radius;
  int64_t channels;
  uint8_t* rows; /* a picture that is blurred along its rows; kept from sample to sample */
  size_t rows_size;
  uint32_t* sums; /* of a pixel's window, a number for each channel */
} blur_state;

/* The radius, or -2 where the text says none. */
static int radius_of(const char* settings) {
  int radius = 0, end = 0;
  if (strcmp(settings, "radius=random") == 0) return kRandom;
  if (sscanf(settings, "radius=%d%n", &radius, &end) != 1 || settings[end] != '\0') return -2;
  return radius >= 0 && radius <= kRadiusMax ? radius : -2;
}

static int bind_blur(const spdld_plugin_operation* operation, const char* settings, const spdld_plugin_signature* takes,
                     spdld_plugin_signature* gives, char* error, size_t error_size) {
  (void)operation;
  if (takes->kind != SPDLD_PLUGIN_TENSOR || takes->dtype != SPDLD_PLUGIN_UINT8 || takes->dimensions != 3 ||
      takes->sizes[2] < 1) {
    snprintf(error, error_size, "it blurs pictures, uint8 [height, width, channels]");
    return SPDLD_PLUGIN_BAD;
  }
  if (radius_of(settings) == -2) {
    snprintf(error, error_size, "write radius=N with N from 0 to %d, or radius=random", kRadiusMax);
    return SPDLD_PLUGIN_BAD;
  }
  gives->kind = SPDLD_PLUGIN_TENSOR;
  gives->dtype = SPDLD_PLUGIN_UINT8;
  gives->dimensions = 3;
  memcpy(gives->sizes, takes->sizes, sizeof gives->sizes);
  return SPDLD_PLUGIN_OK;
}

static void free_blur(void* state) {
  blur_state* const blur = state;
  if (!blur) return;
  free(blur->rows);
  free(blur->sums);
  free(blur);
}

static int make_blur(const spdld_plugin_operation* operation, const char* settings, const spdld_plugin_signature* takes,
                     const spdld_plugin_signature* gives, void** state, char* error, size_t error_size) {
  blur_state* const blur = calloc(1, sizeof *blur);
  (void)operation, (void)gives;
  if (blur) blur->sums = calloc((size_t)takes->sizes[2], sizeof *blur->sums);
  if (!blur || !blur->sums) {
    free_blur(blur);
    snprintf(error, error_size, "there is no memory for its state");
    return SPDLD_PLUGIN_FAULT;
  }
  blur->radius = radius_of(settings);
  blur->channels = takes->sizes[2];
  *state = blur;
  return SPDLD_PLUGIN_OK;
}

/* Blurs a line of `count` pixels that lie `step` bytes apart. A window that reaches over an end has fewer pixels. */
static void blur_line(const blur_state* blur, int radius, const uint8_t* from, uint8_t* to, int64_t count,
                      int64_t step) {
  const int64_t channels = blur->channels;
  int64_t first = 0, end = 0; /* of the window */
  memset(blur->sums, 0, (size_t)channels * sizeof *blur->sums);
  for (int64_t at = 0; at < count; at++) {
    for (; end <= at + radius && end < count; end++)
      for (int64_t c = 0; c < channels; c++) blur->sums[c] += from[end * step + c];
    for (; first < at - radius; first++)
      for (int64_t c = 0; c < channels; c++) blur->sums[c] -= from[first * step + c];
    const uint32_t pixels = (uint32_t)(end - first);
    for (int64_t c = 0; c < channels; c++) to[at * step + c] = (uint8_t)((blur->sums[c] + pixels / 2) / pixels);
  }
}

static int run_blur(void* state, spdld_plugin_call* call) {
  blur_state* const blur = state;
  const uint8_t* const input = call->input;
  const int64_t height = call->input_sizes[0], width = call->input_sizes[1], row = width * blur->channels;
  uint64_t key = call->key;
  const int radius = blur->radius == kRandom ? (int)(spdld_plugin_bits(&key) % kRandomRadii) : blur->radius;
  if (!call->result && !call->reserve(call, call->input_sizes, 3)) return SPDLD_PLUGIN_FAULT;
  if (blur->rows_size < call->input_bytes) {
    uint8_t* const rows = realloc(blur->rows, call->input_bytes);
    if (!rows) return SPDLD_PLUGIN_FAULT;
    blur->rows = rows;
    blur->rows_size = call->input_bytes;
  }
  for (int64_t y = 0; y < height; y++)
    blur_line(blur, radius, input + y * row, blur->rows + y * row, width, blur->channels);
  for (int64_t x = 0; x < width; x++)
    blur_line(blur, radius, blur->rows + x * blur->channels, (uint8_t*)call->result + x * blur->channels, height, row);
  return SPDLD_PLUGIN_OK;
}

static const spdld_plugin_operation kBlur = {
    sizeof kBlur, "blur",  "A box blur of pictures; settings: radius=N or radius=random.", bind_blur, make_blur,
    free_blur,    run_blur};
static const spdld_plugin_operation* const kOperations[] = {&kBlur};
static const spdld_plugin_table kTable = {sizeof kTable, SPDLD_PLUGIN_ABI, 1, kOperations};

const spdld_plugin_table* spdld_plugin(uint32_t abi) { return abi == SPDLD_PLUGIN_ABI ? &kTable : NULL; }
