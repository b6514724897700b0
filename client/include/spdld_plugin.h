/* Plug-ins of spdld: operations of your own in C, or in any language that gives C functions. ABI version 1.
 *
 * A plug-in is a shared library. It has operations, which turn a sample's bytes or tensor into other bytes or another
 * tensor. A decoder is an operation that takes bytes. A pipeline calls one by
 *
 *   { op = "plugin", library = "libblur.so", call = "blur", settings = "radius=3",
 *     gives = { dtype = "uint8", shape = [224, 224, 3] } }
 *
 * The processes of the trainer's user load the library, as they do with the user's functions in Python. The daemon
 * never does. This header needs no library of spdld's, and a plug-in is linked with none.
 *
 * The entry: the library exports spdld_plugin(), by SPDLD_PLUGIN_EXPORT. It is given the version of the ABI that the
 * process speaks, and gives its table, or NULL where it does not speak that version. All that the table points to must
 * stay as it is for as long as the process lives.
 *
 * Sizes of structs: each struct begins with its size, as the side that made it knows it. That side's later fields are
 * not there for a reader of an older header, and a reader takes fields beyond a struct's end as zero. So a plug-in that
 * was compiled with one header works with processes of later ones. A change that this rule does not cover raises
 * SPDLD_PLUGIN_ABI.
 *
 * Processes and threads: the library is loaded, and bind() is called, in one process, which then forks the processes
 * that run samples. So neither the library's constructors nor spdld_plugin() nor bind() may start threads, open
 * devices, or hold locks. make() is called in the process that runs the samples. A state has one thread at a time, and
 * calls of different states may come from different threads at once: what a state does not hold must be safe for that.
 * Each process has a state of its own for each operation of a pipeline, made when its first sample comes.
 *
 * Samples: what run() gives must depend on its input, the settings and the key alone, and not on what came before in
 * the same state. The state is for tables and memory that are kept.
 *
 * Errors: a function returns SPDLD_PLUGIN_OK (or run() SPDLD_PLUGIN_DROP) or says what is wrong in one sentence, in
 * UTF-8 and without a line break. It writes the sentence, ended by a NUL, into `error`, which has room for `error_size`
 * bytes with the NUL: snprintf() does so. A longer sentence is cut, and bytes that are no UTF-8 are replaced. C++
 * exceptions, longjmp() and signals must not leave a function. A crash ends the process: the sample is tried once more
 * in another process, and is bad content after that. So does a call that takes longer than the pipeline's call_limit_s.
 *
 * Versions: the digest of the library's file belongs to the run. Another build is another run, since it may give other
 * values.
 */
#ifndef SPDLD_PLUGIN_H_
#define SPDLD_PLUGIN_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SPDLD_PLUGIN_ABI 1
#define SPDLD_PLUGIN_EXPORT __attribute__((visibility("default")))

/* The results of functions. */
enum {
  SPDLD_PLUGIN_OK = 0,
  SPDLD_PLUGIN_BAD = 1, /* The content of this sample is bad, and the sentence says how. Of bind(): the operation can't
                           do what the pipeline asks for. Of make(): its settings name something that is not there. */
  SPDLD_PLUGIN_FAULT = 2, /* Something else failed, such as an allocation: the state is freed, and the sample is tried
                             once more with a new state. After a second fault it counts as bad content. Any other number
                             means the same. */
  SPDLD_PLUGIN_DROP = 3   /* Of run(): this sample is to be left out. It is no bad content, needs no sentence, and the
                             pipeline's on_drop says what comes in its place. Of the others: a fault. */
};

/* The types of a tensor's elements. spdld_dtype in spdld.h has the same numbers. */
enum {
  SPDLD_PLUGIN_UINT8 = 0,
  SPDLD_PLUGIN_INT32 = 1,
  SPDLD_PLUGIN_INT64 = 2,
  SPDLD_PLUGIN_FLOAT16 = 3,
  SPDLD_PLUGIN_BFLOAT16 = 4,
  SPDLD_PLUGIN_FLOAT32 = 5,
  SPDLD_PLUGIN_FLOAT64 = 6,
  SPDLD_PLUGIN_BOOL = 7, /* a byte that is 0 or 1 */
  SPDLD_PLUGIN_INT8 = 8,
  SPDLD_PLUGIN_INT16 = 9,
  SPDLD_PLUGIN_UINT16 = 10,
  SPDLD_PLUGIN_UINT32 = 11,
  SPDLD_PLUGIN_UINT64 = 12,
  SPDLD_PLUGIN_COMPLEX64 = 13, /* two float32: the real part, then the imaginary part */
  SPDLD_PLUGIN_COMPLEX128 = 14 /* two float64 */
};

/* The kinds of values. */
enum {
  SPDLD_PLUGIN_BYTES = 0, /* any number of bytes, such as a file's */
  SPDLD_PLUGIN_TENSOR = 1 /* numbers of one type; dense, row-major, in the machine's order of bytes */
};

#define SPDLD_PLUGIN_DIMENSIONS_MAX 8

/* A signature says which values an operation takes or gives. A picture is a tensor [height, width, channels]. A sound
 * is [samples] of one channel, and [channels, samples] of several ones. Operations of the pipeline may change that
 * order. */
typedef struct spdld_plugin_signature {
  size_t struct_size;
  uint32_t kind;
  uint32_t dtype;                             /* of a tensor */
  uint32_t dimensions;                        /* of a tensor: 0 to SPDLD_PLUGIN_DIMENSIONS_MAX; 0: a single number */
  uint32_t reserved;                          /* 0 */
  int64_t sizes[SPDLD_PLUGIN_DIMENSIONS_MAX]; /* of a tensor; -1: this size differs from sample to sample */
} spdld_plugin_signature;

/* One sample. The process makes it, and it is valid during run(). */
typedef struct spdld_plugin_call {
  size_t struct_size;

  /* The value that the operation takes: not to be written to, and aligned as its type needs. A tensor has as many sizes
   * as the signature has dimensions, and none of them is -1. */
  const void* input;
  uint64_t input_bytes;
  const int64_t* input_sizes;

  /* Of the sample's random draws. It follows from the seed, the epoch, the sample and the operation's place, and from
   * nothing else. See spdld_plugin_bits(). */
  uint64_t key;

  /* The room where the result goes, and its size. It is there already, and all zero, where bind() gave a tensor without
   * a size of -1; else they are NULL and 0 until reserve() sets them. Of bytes, run() may lower the size: so many bytes
   * count. */
  void* result;
  uint64_t result_bytes;

  /* Gives a room for a result of these sizes, all zero, and sets `result` and `result_bytes`. Of bytes, `dimensions` is
   * 1, and the size is the most that the result may have. A second call forgets the first room. NULL: the sizes do not
   * fit what the operation gives, or there is not so much memory. run() then returns SPDLD_PLUGIN_FAULT, and needs no
   * sentence. */
  void* (*reserve)(struct spdld_plugin_call* call, const int64_t* sizes, uint32_t dimensions);

  /* For a sentence. */
  char* error;
  size_t error_size;

  /* The process's own. */
  void* host;
} spdld_plugin_call;

/* An operation. */
typedef struct spdld_plugin_operation {
  size_t struct_size;
  const char* name; /* what `call` says: 1 to 64 letters a to z, digits, "-" and "_" */
  const char* help; /* one line, for people */

  /* Says in `gives` which values the operation gives for values such as `takes` with these settings. `settings` is the
   * text of the pipeline, "" where it has none. `gives` comes as bytes, all zero but for its struct_size.
   * SPDLD_PLUGIN_BAD: the operation does not take such values, or the settings make no sense. A size that `takes`
   * leaves open and that the result has too is -1 in `gives` as well. May be called several times. */
  int (*bind)(const struct spdld_plugin_operation* operation, const char* settings, const spdld_plugin_signature* takes,
              spdld_plugin_signature* gives, char* error, size_t error_size);

  /* Makes a state for such values; bind() has allowed them, and gave `gives`. NULL: the operation needs no state, and
   * run() is given NULL. */
  int (*make)(const struct spdld_plugin_operation* operation, const char* settings, const spdld_plugin_signature* takes,
              const spdld_plugin_signature* gives, void** state, char* error, size_t error_size);

  /* Frees what make() has made. NULL where make() is. A process that ends does not call it. */
  void (*free)(void* state);

  /* Runs on one sample. */
  int (*run)(void* state, spdld_plugin_call* call);
} spdld_plugin_operation;

/* A plug-in's operations. */
typedef struct spdld_plugin_table {
  size_t struct_size;
  uint32_t abi;                                    /* SPDLD_PLUGIN_ABI */
  uint32_t operation_count;                        /* at most 1024 */
  const spdld_plugin_operation* const* operations; /* pointers, since a later header may have larger structs */
} spdld_plugin_table;

/* The plug-in defines it, with SPDLD_PLUGIN_EXPORT. `abi`: the version that the process speaks. */
SPDLD_PLUGIN_EXPORT const spdld_plugin_table* spdld_plugin(uint32_t abi);

/* The next 64 random bits of a sample: take a copy of the call's key, and give its address (splitmix64). */
static inline uint64_t spdld_plugin_bits(uint64_t* key) {
  uint64_t bits = (*key += UINT64_C(0x9E3779B97F4A7C15));
  bits = (bits ^ (bits >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  bits = (bits ^ (bits >> 27)) * UINT64_C(0x94D049BB133111EB);
  return bits ^ (bits >> 31);
}

#ifdef __cplusplus
}
#endif

#endif /* SPDLD_PLUGIN_H_ */
