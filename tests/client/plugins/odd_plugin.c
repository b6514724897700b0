/* A plug-in for tests: with operations that do their work, and one whose settings say what it does wrong. The variable
 * ODD_TABLE says what is wrong with its table. */
#include <signal.h>
#include <spdld_plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct spdld_plugin_operation operation_t;
typedef struct spdld_plugin_signature signature_t;

static int say(char* error, size_t size, const char* sentence, int code) {
  snprintf(error, size, "%s", sentence);
  return code;
}

static int has(const char* settings, const char* word) { return strcmp(settings, word) == 0; }

/* Bytes become the same bytes the other way round. */
static int bind_turn(const operation_t* own, const char* settings, const signature_t* takes, signature_t* gives,
                     char* error, size_t size) {
  (void)own, (void)settings, (void)gives;
  if (takes->kind != SPDLD_PLUGIN_BYTES) return say(error, size, "it takes bytes alone", SPDLD_PLUGIN_BAD);
  return SPDLD_PLUGIN_OK;
}
static int run_turn(void* state, spdld_plugin_call* call) {
  const int64_t most = (int64_t)call->input_bytes;
  const unsigned char* const from = call->input;
  unsigned char* const to = call->reserve(call, &most, 1);
  (void)state;
  if (!to) return SPDLD_PLUGIN_FAULT;
  for (uint64_t i = 0; i < call->input_bytes; i++) to[i] = from[call->input_bytes - 1 - i];
  return SPDLD_PLUGIN_OK;
}

/* Adds the number of the settings to a tensor of uint8; without one a random number, for each element another. */
static int bind_add(const operation_t* own, const char* settings, const signature_t* takes, signature_t* gives,
                    char* error, size_t size) {
  (void)own, (void)settings;
  if (takes->kind != SPDLD_PLUGIN_TENSOR || takes->dtype != SPDLD_PLUGIN_UINT8)
    return say(error, size, "it adds to a tensor of uint8", SPDLD_PLUGIN_BAD);
  const size_t own_size = gives->struct_size;
  *gives = *takes;
  gives->struct_size = own_size;
  return SPDLD_PLUGIN_OK;
}
struct adding {
  int number;
  uint32_t dimensions;
};
static int make_add(const operation_t* own, const char* settings, const signature_t* takes, const signature_t* gives,
                    void** state, char* error, size_t size) {
  (void)own, (void)gives, (void)error, (void)size;
  struct adding* const adding = malloc(sizeof *adding);
  if (!adding) return SPDLD_PLUGIN_FAULT;
  adding->number = settings[0] ? atoi(settings) : -1;
  adding->dimensions = takes->dimensions;
  *state = adding;
  return SPDLD_PLUGIN_OK;
}
static int run_add(void* state, spdld_plugin_call* call) {
  const struct adding* const adding = state;
  const unsigned char* const from = call->input;
  if (!call->result && !call->reserve(call, call->input_sizes, adding->dimensions)) return SPDLD_PLUGIN_FAULT;
  unsigned char* const to = call->result;
  uint64_t key = call->key;
  for (uint64_t i = 0; i < call->input_bytes; i++)
    to[i] = (unsigned char)(from[i] + (adding->number < 0 ? spdld_plugin_bits(&key) & 7 : (uint64_t)adding->number));
  return SPDLD_PLUGIN_OK;
}

/* How many samples its state has seen, as an int64 of no dimensions. With settings =
 * "third" the third one of a state has a fault. */
static int bind_count(const operation_t* own, const char* settings, const signature_t* takes, signature_t* gives,
                      char* error, size_t size) {
  (void)own, (void)settings, (void)takes, (void)error, (void)size;
  gives->kind = SPDLD_PLUGIN_TENSOR;
  gives->dtype = SPDLD_PLUGIN_INT64;
  return SPDLD_PLUGIN_OK;
}
struct counting {
  int64_t seen;
  int is_faulty;
  uintptr_t alignment;
};
static int make_count(const operation_t* own, const char* settings, const signature_t* takes, const signature_t* gives,
                      void** state, char* error, size_t size) {
  (void)own, (void)gives, (void)error, (void)size;
  struct counting* const counting = calloc(1, sizeof *counting);
  counting->alignment = takes->kind == SPDLD_PLUGIN_TENSOR && takes->dtype == SPDLD_PLUGIN_FLOAT64 ? 8 : 1;
  counting->is_faulty = has(settings, "third");
  *state = counting;
  return SPDLD_PLUGIN_OK;
}
static int run_count(void* state, spdld_plugin_call* call) {
  struct counting* const counting = state;
  counting->seen++;
  if ((uintptr_t)call->input % counting->alignment != 0)
    return say(call->error, call->error_size, "its numbers lie askew", SPDLD_PLUGIN_BAD);
  if (counting->is_faulty && counting->seen == 3) return SPDLD_PLUGIN_FAULT;
  memcpy(call->result, &counting->seen, sizeof counting->seen);
  return SPDLD_PLUGIN_OK;
}

/* Bytes become the numbers 0, 1, 2 ... of uint8, as many as there are bytes, and in two rows. */
static int bind_rows(const operation_t* own, const char* settings, const signature_t* takes, signature_t* gives,
                     char* error, size_t size) {
  (void)own, (void)settings, (void)takes, (void)error, (void)size;
  gives->kind = SPDLD_PLUGIN_TENSOR;
  gives->dtype = SPDLD_PLUGIN_UINT8;
  gives->dimensions = 2;
  gives->sizes[0] = -1;
  gives->sizes[1] = 2;
  return SPDLD_PLUGIN_OK;
}
static int run_rows(void* state, spdld_plugin_call* call) {
  const int64_t sizes[] = {(int64_t)call->input_bytes, 2};
  unsigned char* const to = call->reserve(call, sizes, 2);
  (void)state;
  if (!to) return SPDLD_PLUGIN_FAULT;
  for (uint64_t i = 0; i < 2 * call->input_bytes; i++) to[i] = (unsigned char)i;
  return SPDLD_PLUGIN_OK;
}

/* Bytes become as many ones of bfloat16, and such numbers are doubled. */
static int bind_halves(const operation_t* own, const char* settings, const signature_t* takes, signature_t* gives,
                       char* error, size_t size) {
  (void)own, (void)settings, (void)error, (void)size;
  if (takes->kind == SPDLD_PLUGIN_TENSOR && takes->dtype != SPDLD_PLUGIN_BFLOAT16) return SPDLD_PLUGIN_BAD;
  gives->kind = SPDLD_PLUGIN_TENSOR;
  gives->dtype = SPDLD_PLUGIN_BFLOAT16;
  gives->dimensions = 1;
  gives->sizes[0] = -1;
  return SPDLD_PLUGIN_OK;
}
static int make_halves(const operation_t* own, const char* settings, const signature_t* takes, const signature_t* gives,
                       void** state, char* error, size_t size) {
  static int kinds[] = {SPDLD_PLUGIN_BYTES, SPDLD_PLUGIN_TENSOR};
  (void)own, (void)settings, (void)gives, (void)error, (void)size;
  *state = &kinds[takes->kind];
  return SPDLD_PLUGIN_OK;
}
static void keep(void* state) { (void)state; }
static int run_halves(void* state, spdld_plugin_call* call) {
  const int is_tensor = *(const int*)state == SPDLD_PLUGIN_TENSOR;
  const int64_t count = (int64_t)call->input_bytes / (is_tensor ? 2 : 1);
  const uint16_t* const from = call->input;
  uint16_t* const to = call->reserve(call, &count, 1);
  if (!to) return SPDLD_PLUGIN_FAULT;
  for (int64_t i = 0; i < count; i++) to[i] = is_tensor ? (uint16_t)(from[i] + 0x80) : 0x3F80;
  return SPDLD_PLUGIN_OK;
}

/* Bytes become bytes; the settings say what goes wrong. */
static int bind_wrong(const operation_t* own, const char* settings, const signature_t* takes, signature_t* gives,
                      char* error, size_t size) {
  (void)own, (void)takes;
  gives->dtype = SPDLD_PLUGIN_UINT8;
  if (has(settings, "bind-bad")) return say(error, size, "not with these settings", SPDLD_PLUGIN_BAD);
  if (has(settings, "bind-crash")) raise(SIGSEGV);
  if (has(settings, "kind")) gives->kind = 7;
  if (strncmp(settings, "tensor", 6) == 0) {
    gives->kind = SPDLD_PLUGIN_TENSOR;
    gives->dimensions = 2;
    gives->sizes[0] = 2;
    gives->sizes[1] = -1;
  }
  if (has(settings, "tensor-dtype")) gives->dtype = 15;
  if (has(settings, "tensor-dimensions")) gives->dimensions = 9;
  if (has(settings, "tensor-size")) gives->sizes[1] = -2;
  return SPDLD_PLUGIN_OK;
}
static int make_wrong(const operation_t* own, const char* settings, const signature_t* takes, const signature_t* gives,
                      void** state, char* error, size_t size) {
  (void)own, (void)takes, (void)gives;
  if (has(settings, "make-bad")) return say(error, size, "there is no model.bin", SPDLD_PLUGIN_BAD);
  if (has(settings, "make-fault")) return SPDLD_PLUGIN_FAULT;
  if (has(settings, "make-drop")) return SPDLD_PLUGIN_DROP;
  *state = strdup(settings);
  return SPDLD_PLUGIN_OK;
}
static int run_wrong(void* state, spdld_plugin_call* call) {
  const char* const wrong = state;
  const int64_t most = 8, none = -1, too_many = INT64_MAX;
  const int64_t rows[] = {2, 5}, others[] = {3, 5}, large[] = {2, (int64_t)1 << 40};
  const unsigned char* const from = call->input;
  if (call->input_bytes > 0 && from[0] == 'g') { /* a good one */
    memcpy(call->reserve(call, &most, 1), "good    ", 8);
    call->result_bytes = 4;
    return SPDLD_PLUGIN_OK;
  }
  if (has(wrong, "bad")) return say(call->error, call->error_size, "the header\nis cut", SPDLD_PLUGIN_BAD);
  if (has(wrong, "silent")) return SPDLD_PLUGIN_BAD;
  if (has(wrong, "drop")) return SPDLD_PLUGIN_DROP;
  if (has(wrong, "late-drop")) return call->reserve(call, &most, 1), SPDLD_PLUGIN_DROP;
  if (has(wrong, "lost-drop")) return (void)call->reserve(call, &none, 1), SPDLD_PLUGIN_DROP;
  if (has(wrong, "utf8")) return say(call->error, call->error_size, "caf\xE9 \xF0\x9F\x98 \xC3\xA4", SPDLD_PLUGIN_BAD);
  if (has(wrong, "unended")) {
    memset(call->error, 'x', call->error_size);
    return SPDLD_PLUGIN_BAD;
  }
  if (has(wrong, "fault")) return say(call->error, call->error_size, "out of tables", SPDLD_PLUGIN_FAULT);
  if (has(wrong, "seven")) return say(call->error, call->error_size, "what is seven", 7);
  if (has(wrong, "crash")) raise(SIGSEGV);
  if (has(wrong, "exit")) _exit(3);
  if (has(wrong, "hang"))
    for (;;) pause();
  if (has(wrong, "no-room")) return SPDLD_PLUGIN_OK;
  if (has(wrong, "refused-room")) return call->reserve(call, &none, 1) ? SPDLD_PLUGIN_OK : SPDLD_PLUGIN_FAULT;
  if (has(wrong, "refused-and-done")) return (void)call->reserve(call, &none, 1), SPDLD_PLUGIN_OK;
  if (has(wrong, "no-memory")) return call->reserve(call, &too_many, 1) ? SPDLD_PLUGIN_OK : SPDLD_PLUGIN_FAULT;
  if (has(wrong, "no-sizes")) return call->reserve(call, NULL, 1) ? SPDLD_PLUGIN_OK : SPDLD_PLUGIN_FAULT;
  if (has(wrong, "many-sizes")) return call->reserve(call, &most, 9) ? SPDLD_PLUGIN_OK : SPDLD_PLUGIN_FAULT;
  if (has(wrong, "two-sizes")) return call->reserve(call, rows, 2) ? SPDLD_PLUGIN_OK : SPDLD_PLUGIN_FAULT;
  if (has(wrong, "too-large")) return call->reserve(call, &most, 1), call->result_bytes = 9, SPDLD_PLUGIN_OK;
  if (has(wrong, "tensor-shorter")) return call->reserve(call, rows, 2), call->result_bytes = 9, SPDLD_PLUGIN_OK;
  if (has(wrong, "tensor-other")) return call->reserve(call, others, 2) ? SPDLD_PLUGIN_OK : SPDLD_PLUGIN_FAULT;
  if (has(wrong, "tensor-large")) return call->reserve(call, large, 2) ? SPDLD_PLUGIN_OK : SPDLD_PLUGIN_FAULT;
  if (has(wrong, "tensor-none")) return call->reserve(call, NULL, 0) ? SPDLD_PLUGIN_OK : SPDLD_PLUGIN_FAULT;
  if (has(wrong, "tensor")) return call->reserve(call, rows, 2) ? SPDLD_PLUGIN_OK : SPDLD_PLUGIN_FAULT;
  if (has(wrong, "twice")) call->reserve(call, &most, 1);
  call->reserve(call, &most, 1);
  return SPDLD_PLUGIN_OK;
}

static const operation_t kTurn = {sizeof kTurn, "turn", "turns bytes round", bind_turn, NULL, NULL, run_turn};
static const operation_t kAdd = {sizeof kAdd, "add", "adds a number", bind_add, make_add, free, run_add};
static const operation_t kCount = {sizeof kCount, "count", "counts samples", bind_count, make_count, free, run_count};
static const operation_t kRows = {sizeof kRows, "rows", "gives rows", bind_rows, NULL, NULL, run_rows};
static const operation_t kHalves = {sizeof kHalves, "halves", "doubles", bind_halves, make_halves, keep, run_halves};
static const operation_t kWrong = {sizeof kWrong, "wrong", "is wrong", bind_wrong, make_wrong, free, run_wrong};

static const operation_t kShort = {sizeof kShort - 1, "short", "", bind_turn, NULL, NULL, run_turn};
static const operation_t kNameless = {sizeof kNameless, NULL, "", bind_turn, NULL, NULL, run_turn};
static const operation_t kNamed = {sizeof kNamed, "A name", "", bind_turn, NULL, NULL, run_turn};
static const operation_t kIdle = {sizeof kIdle, "idle", "", bind_turn, NULL, NULL, NULL};
static const operation_t kUnbound = {sizeof kUnbound, "unbound", "", NULL, NULL, NULL, run_turn};
static const operation_t kUnfreed = {sizeof kUnfreed, "unfreed", "", bind_add, make_add, NULL, run_add};

static const operation_t* operations[7] = {&kTurn, &kAdd, &kCount, &kRows, &kHalves, &kWrong, NULL};
static spdld_plugin_table table;
enum { kSound = 6 };

SPDLD_PLUGIN_EXPORT const spdld_plugin_table* spdld_plugin(uint32_t abi) {
  const char* const given = getenv("ODD_TABLE");
  const char* const wrong = given ? given : "";
  const spdld_plugin_table sound = {sizeof sound, SPDLD_PLUGIN_ABI, kSound, operations};
  table = sound;
  operations[kSound] = NULL;
  if (abi != SPDLD_PLUGIN_ABI || has(wrong, "refuses")) return NULL;
  if (has(wrong, "crash")) raise(SIGSEGV);
  if (has(wrong, "abi")) table.abi = 2;
  if (has(wrong, "short")) table.struct_size = sizeof table - 1;
  if (has(wrong, "shorter")) table.struct_size = 8;
  if (has(wrong, "many")) table.operation_count = 1025;
  if (has(wrong, "list")) table.operations = NULL;
  if (has(wrong, "empty")) table.operation_count = 0;
  table.operation_count += !!strchr(wrong, '+');
  if (has(wrong, "+short")) operations[kSound] = &kShort;
  if (has(wrong, "+nameless")) operations[kSound] = &kNameless;
  if (has(wrong, "+named")) operations[kSound] = &kNamed;
  if (has(wrong, "+idle")) operations[kSound] = &kIdle;
  if (has(wrong, "+unbound")) operations[kSound] = &kUnbound;
  if (has(wrong, "+unfreed")) operations[kSound] = &kUnfreed;
  if (has(wrong, "+twice")) operations[kSound] = &kTurn;
  return &table;
}
