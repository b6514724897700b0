/* libspdld: the client of spdld, the data-loading daemon, for trainer processes. C ABI, version 0.
 *
 * A loader is one rank's attachment to a pipeline. Its batches lie in memory that the daemon filled and this process maps:
 * nothing is copied. A batch is a lease: it stays valid, and its slot is not filled anew, until spdld_batch_release.
 *
 * Threads: one thread at a time may call into one loader (next, seek, push, detach); spdld_batch_release,
 * spdld_batch_retain and spdld_batch_use may be called from any thread at any time, also after the loader is gone.
 * Different loaders are independent. The library starts no thread.
 *
 * Several loaders: a process may attach as often as it likes. When it attaches a fifth loader without a group, the idle
 * loader without a group that was used longest ago gives its memory back to the daemon, and takes it again, at its place,
 * when it is used next. A loader that is given a group, or whose spdld_poll_fd was called, keeps its memory.
 *
 * Forks: in a forked child every call returns SPDLD_FORKED, and releasing does nothing: the batches are its parent's.
 *
 * GPUs: a batch may lie in GPU memory; the tensors' addresses are then device addresses, valid in this process's primary
 * context of that device (the one of the CUDA runtime, torch and jax). The driver, libcuda.so.1, is loaded at run time and
 * only where a pipeline may be handed over on a GPU. A stream is a CUstream or cudaStream_t; NULL is the legacy default
 * stream. Releasing follows the GPU's work: the slot goes back to the daemon when everything that was put on the streams
 * which the batch was used on (spdld_batch_use) before the release has completed; the calling thread does not wait. No
 * call changes the thread's current context.
 *
 * Private daemons: where no daemon answers, spdld_attach starts one for this user. Its program is the file that
 * $SPDLD_DAEMON names. Where that variable is not set, the program is the first of these files that exists:
 *   1. spdld or bin/spdld in the folder of this library (the Python wheel has it there);
 *   2. <prefix>/<bindir>/spdld, where this library lies in <prefix>/<libdir>; the prefix may have moved since the build;
 *   3. spdld in a folder of $PATH.
 * Where none exists, the call returns SPDLD_NO_DAEMON, and the sentence names all these places.
 *
 * Errors: every call that can fail returns an spdld_result; spdld_last_error() gives one sentence for people, of the
 * calling thread's last failed call, valid until that thread's next call.
 */
#ifndef SPDLD_H_
#define SPDLD_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SPDLD_API __attribute__((visibility("default")))

typedef enum spdld_result {
  SPDLD_OK = 0,
  SPDLD_END_OF_EPOCH = 1, /* next: the epoch's last batch was handed out; the following call gives the next epoch's first */
  SPDLD_END = 2,          /* next: the last epoch has ended (after its own SPDLD_END_OF_EPOCH) */
  SPDLD_TIMEOUT = 3,      /* nothing within the time given; may be called again */
  SPDLD_INTERRUPTED = 4,  /* a signal arrived while waiting; may be called again */
  SPDLD_INVALID = -1,     /* an argument or a spec is wrong */
  SPDLD_NO_DAEMON = -2,   /* none runs and none could be started, or it went away and did not come back in time */
  SPDLD_DENIED = -3,
  SPDLD_NOT_FOUND = -4,
  SPDLD_CONFLICT = -5,    /* another process, or another loader of this one, holds the rank */
  SPDLD_LIMIT = -6,       /* a quota of the daemon; or this process holds all batches that it may hold (held_wait_ms) */
  SPDLD_VERSION = -7,
  SPDLD_FAILED = -8,      /* the pipeline failed */
  SPDLD_UNSUPPORTED = -9,
  SPDLD_FORKED = -10,
  SPDLD_INTERNAL = -11,
  SPDLD_CHANGED = -12     /* the position or state belongs to another data set, spec or global batch */
} spdld_result;

typedef enum spdld_dtype {
  SPDLD_UINT8 = 0,
  SPDLD_INT32 = 1,
  SPDLD_INT64 = 2,
  SPDLD_FLOAT16 = 3,
  SPDLD_BFLOAT16 = 4,
  SPDLD_FLOAT32 = 5,
  SPDLD_FLOAT64 = 6
} spdld_dtype;

/* Where batches lie. */
typedef enum spdld_memory {
  SPDLD_HOST = 0,
  SPDLD_PINNED = 1,      /* host memory that is registered with this process's GPU: it can be copied from asynchronously */
  SPDLD_CUDA_HANDLE = 2, /* GPU memory, opened by a CUDA IPC memory handle: the daemon's end makes it invalid */
  SPDLD_CUDA_FD = 3      /* GPU memory, mapped by a file descriptor: it outlives the daemon */
} spdld_memory;

typedef struct spdld_loader spdld_loader;
typedef struct spdld_batch spdld_batch;

/* Called while waiting in attach, some times a second, on the thread that called it. what: "listing pictures" or "listing
 * bytes of archives", and then done and total count these (total 0: unknown; of pictures an estimate); or "connecting to the
 * daemon", "waiting for the daemon", and then both are 0. It is valid during the call. A non-zero return value gives up
 * the wait with SPDLD_INTERRUPTED. */
typedef int (*spdld_progress)(void* user, const char* what, uint64_t done, uint64_t total);

/* Told one sentence for people. The same warning comes once in a process. */
typedef void (*spdld_warn)(void* user, const char* sentence);

typedef struct spdld_attach_options {
  size_t struct_size;         /* sizeof(spdld_attach_options): fields beyond it are taken as zero */
  const char* socket;         /* NULL: $SPDLD_SOCKET, else the system's daemon, else this user's private one (started), to
                                 which a spec also goes that the system's daemon does not take from this user */
  const char* pipeline;       /* a named pipeline, or a path ending in .toml; exactly one of pipeline and spec */
  const char* spec;           /* the text of a spec */
  int spec_is_json;           /* else TOML */
  const char* spec_folder;    /* relative uris in spec are taken from here; NULL: the current directory */
  const char* group;          /* one training job; NULL: from the launcher's variables (torchrun, Slurm, MPI); without a
                                 launcher, and with world_size 1, each loader is a job of its own */
  uint32_t rank, world_size;  /* world_size 0: both from RANK and WORLD_SIZE, SLURM_PROCID and SLURM_NTASKS, else 0 of 1.
                                 Where only a part of the ranks divides the data: place in, and size of, the data-parallel
                                 group */
  uint32_t local_rank;
  uint32_t reader, readers;   /* of the processes on this node that attach as this rank, and all see the same batches
                                 (replicas), this is the reader-th, from 0; readers 0: 1. All begin at the same place,
                                 and seek the same places */
  uint64_t epoch, step;       /* where to begin; state does it better */
  const char* fingerprint;    /* of the run that (epoch, step) belongs to; NULL: not compared */
  uint32_t held_max;          /* batches to hold at once; 0: as the pipeline says */
  int64_t timeout_ms;         /* of attach as a whole; 0: 30 minutes (a listing may take long); negative: none */
  int64_t reconnect_ms;       /* how long next waits for a daemon that went away, and attach for the daemon of a named
                                 socket where none listens; 0: 30 s; negative: not at all */
  int no_private_daemon;      /* 1: never start one, also where the system's daemon does not take the spec */
  spdld_progress progress;
  void* progress_user;
  const char* client_name;    /* for people: "python"; NULL: "c" */
  const char* device;         /* in place of the pipeline's: "cpu" (no driver is loaded), "pinned", "cuda" (local_rank's
                                 GPU), "cuda:N" (the N-th that this process sees), "auto" (local_rank's GPU where this
                                 process sees one, else "cpu"); NULL: as the pipeline says */
  const char* transport;      /* of GPU batches: "fd", "handle" or "auto" (fd where both sides can); NULL: "auto" */
  int ready_early;            /* 1: a GPU batch is handed out while it is still being copied: only streams named with
                                 spdld_batch_use, and what follows spdld_batch_wait, may read it */
  const char* state;          /* of spdld_state: where to begin, in place of epoch, step and fingerprint. SPDLD_CHANGED: it
                                 belongs to another run, and the sentence says what differs */
  const char* join;           /* of a pipeline whose jobs share a stream (share = "stream"), where the place asked for has
                                 passed already: "now": at the first batch that is still there; "epoch": with the next
                                 epoch; "exact": at its place, on a stream of its own; "alone": on one of its own in any
                                 case. NULL: "exact" where a state, an epoch or a step is given, else "now" */
  uint64_t batch_size;        /* this rank's samples a step, in place of the pipeline's size or global_size; 0: as the
                                 pipeline says. The same for all ranks of a job; jobs that share a stream may differ */
  spdld_warn warn;            /* told what the caller should know of an attach that succeeds; called on the calling thread,
                                 during attach alone. NULL: warnings are lines on stderr */
  void* warn_user;
  int64_t held_wait_ms;       /* how long next waits, where all batches that may be held are held, for one to come back;
                                 0: not at all in a process of one thread; 30 s where the main thread calls next and no
                                 other thread has released any; else 10 minutes. Negative: not at all */
} spdld_attach_options;

typedef struct spdld_info {
  size_t struct_size;
  const char* pipeline; /* valid while the loader lives */
  const char* fingerprint;
  const char* daemon;   /* its version */
  const char* group;
  uint32_t rank, world_size;
  uint64_t batch_size, global_size, samples, steps_per_epoch, epochs, seed;
  uint64_t slot_bytes;
  uint32_t slot_count;
  int writable; /* 1: the slots are this process's alone to change; 0: pages are copied when written */
  spdld_memory memory;
  int device;        /* of SPDLD_PINNED and SPDLD_CUDA_*: the CUDA ordinal in this process; else -1 */
  const char* gpu;   /* its UUID ("GPU-..."); "" for host memory */
  int ready_early;
  int shared;        /* 1: other jobs get the same batches (share = "stream"); it may turn 0 when this one is cut loose */
  int pushed;        /* 1: its order is the caller's, by spdld_push; steps_per_epoch is 0 then: nobody knows it before */
  uint32_t sources;                 /* of a pipeline with several ([[sources]]); 0: it has a single one */
  const char* const* source_names;  /* so many, in the pipeline's order; valid while the loader lives */
  uint64_t classes;                 /* of an image folder: how many there are; of other data, and of an older daemon: 0 */
  const char* const* class_names;   /* so many: class_names[i] is the name of the class that the labels call i, as the file
                                       system has it (not always UTF-8); valid while the loader lives. NULL: there are
                                       none, or they are too long to be sent, more than 16 MiB in all */
  uint32_t held, held_max;          /* batches of it that this process holds now, and as many as it may hold; 0 of 0 while
                                       the loader has no memory: the daemon is away, or others of the process were used */
} spdld_info;

typedef struct spdld_tensor {
  const char* name;        /* valid while the batch is held */
  spdld_dtype dtype;
  uint32_t rank;           /* number of dimensions, at most 8 */
  const int64_t* shape;    /* the first is the batch: valid samples (a short batch is short here as well) */
  const int64_t* strides;  /* in elements */
  void* address;           /* aligned to 128 bytes; for SPDLD_CUDA_* a device address */
} spdld_tensor;

typedef struct spdld_batch_info {
  size_t struct_size;
  uint64_t epoch, step;
  uint64_t valid;        /* samples in it; 0 for a rank that a short last step leaves without */
  uint64_t first;        /* position in the epoch of its first sample; of a pushed one step * batch_size */
  uint32_t tensors;
  uint32_t substituted;  /* samples whose content was bad and replaced */
  uint32_t masked;       /* ... or zeroed: see the tensor "mask" */
  spdld_memory memory;
  int device;            /* as in spdld_info */
  uint32_t padded;       /* with last = "pad": the last so many are the epoch's first ones once more, to fill the batch */
  uint32_t sources;      /* as in spdld_info; the following two are valid while the batch is held */
  const char* const* source_names;
  const uint32_t* source_counts;  /* how many of `valid` are of each source; they sum to it */
} spdld_batch_info;

/* What next has handed out since attach, and how much of it was bad. */
typedef struct spdld_stats {
  size_t struct_size;
  uint64_t batches, samples;
  uint64_t substituted;    /* of these samples: whose content was bad and replaced by another sample */
  uint64_t masked;         /* ... or zeroed */
  uint64_t unsupported;    /* of the substituted and masked ones: pictures of a format that this daemon does not decode;
                              the others are damaged */
  uint32_t bad_reasons;    /* different reasons: spdld_get_bad_reason tells each. At most 64 are kept */
  uint32_t missing;        /* sentences of what the data set misses: spdld_get_missing tells each. At most 16 are kept */
  uint64_t missing_count;  /* how many such faults it has: on_missing = "warn" in [source] goes on with the rest */
} spdld_stats;

typedef struct spdld_bad_reason {
  size_t struct_size;
  const char* reason; /* one sentence. This and name: valid until the loader's next call of spdld_next */
  int unsupported;    /* 1: a picture of a format that this daemon does not decode; 0: damaged */
  uint64_t count;     /* samples that were handed out */
  uint64_t sample;    /* the id of the first of them, and its name */
  const char* name;
} spdld_bad_reason;

SPDLD_API const char* spdld_version(void);
SPDLD_API const char* spdld_last_error(void);
SPDLD_API const char* spdld_result_name(spdld_result result);

SPDLD_API spdld_result spdld_attach(const spdld_attach_options* options, spdld_loader** loader);
/* Gives everything back; batches still held stay valid until they are released. Of GPU and pinned batches it waits, at most
 * 10 s, for the work on those released before, as does the last release of one after it. NULL is allowed. */
SPDLD_API void spdld_detach(spdld_loader* loader);
SPDLD_API spdld_result spdld_get_info(const spdld_loader* loader, spdld_info* info);

SPDLD_API spdld_result spdld_get_stats(const spdld_loader* loader, spdld_stats* stats);
/* index: below bad_reasons; in the order in which they came first. SPDLD_INVALID: there is no such one. */
SPDLD_API spdld_result spdld_get_bad_reason(const spdld_loader* loader, uint32_t index, spdld_bad_reason* reason);
/* index: below missing. *what is valid until the loader's next call of spdld_next. SPDLD_INVALID: there is no such one. */
SPDLD_API spdld_result spdld_get_missing(const spdld_loader* loader, uint32_t index, const char** what);

/* The next batch. timeout_ms: 0: only what is ready now; negative: wait without end. */
SPDLD_API spdld_result spdld_next(spdld_loader* loader, int64_t timeout_ms, spdld_batch** batch);
/* Goes on at another place; batches held stay valid. To where the loader is already, it costs nothing. A loader with
 * several readers (replicas) goes there when all of them have sought the same place, and taken as many batches before
 * as they like: each makes the same seeks in the same order, also one that is there already, and its next `next` waits
 * for the others. It gives SPDLD_INVALID where all of them wait at different places; any of them may then seek anew. One
 * that shares a stream leaves it for a place that is not there. */
SPDLD_API spdld_result spdld_seek(spdld_loader* loader, uint64_t epoch, uint64_t step);
/* The place of the next batch. */
SPDLD_API spdld_result spdld_tell(const spdld_loader* loader, uint64_t* epoch, uint64_t* step);

/* Of a pipeline with order.shuffle = "client": the samples of the step (epoch, step), by their ids in the data set's
 * listing (0 to samples - 1; any of them, also several times). Steps are pushed in order and without a gap, from the
 * loader's place on; push prefetch_depth + held_max (info's slot_count) of them ahead of next, which takes them in turn
 * and never waits for one that was not pushed (SPDLD_INVALID). count: 1 to info's batch_size; steps may differ.
 * last_of_epoch = 1: the epoch ends with this step, or, with count 0, with the one before it: then next gives
 * SPDLD_END_OF_EPOCH behind it, and (epoch + 1, 0) is pushed next. Every rank pushes its own. SPDLD_INVALID: wrong, and
 * the sentence says where; SPDLD_LIMIT: at most 256 steps of 262,144 samples in all may be pushed ahead. Neither
 * changes anything. ids is read during the call alone.
 *
 * Copies of a sample look different: random operations are keyed by the seed, the sample, and its epoch, step and index
 * in the batch, and give the same there again. After a restart of the daemon the library pushes what was not handed out
 * once more. A seek, also to where the loader is, and a loaded state void what was pushed: the caller pushes on from
 * the new place, so that of a resumed epoch it skips as many steps as the place says. */
SPDLD_API spdld_result spdld_push(spdld_loader* loader, uint64_t epoch, uint64_t step, const uint64_t* ids,
                                  size_t count, int last_of_epoch);
/* The loader's place, to be kept with a checkpoint: a line of JSON, freed with spdld_free. What next has handed out counts
 * as consumed: taken while a batch is in hand it goes on with the batch after it, and taken after an epoch's last batch
 * with the next epoch's first. The same batches follow, bit for bit, with any number of threads, after any restart, and
 * with another world_size where the global batch stays the same (batch.global_size); each rank may load any rank's.
 *
 *   {"format":1,"pipeline":"train","fingerprint":"1-...","seed":17,"epoch":3,"step":1200,"samples":57600,
 *    "global_size":48,"world_size":8}
 *
 * One flat object of texts and whole numbers. step: those of the epoch that were consumed; samples: those of the epoch that
 * the whole job consumed with them, step * global_size; fingerprint: of what decides which bytes come at a place, wherever
 * the data lie (its parts: proto/PROTOCOL.md). pipeline and world_size are for people, and are not compared. */
SPDLD_API spdld_result spdld_state(const spdld_loader* loader, char** json);
/* Goes on at a state's place, as spdld_seek. SPDLD_INVALID: it is damaged, or of a newer format. SPDLD_CHANGED: it belongs
 * to another run, and the sentence says what differs; the loader stays where it is. anyway = 1 goes to its place
 * nevertheless: to the same epoch and step, or with another global batch to as many samples of that epoch, rounded down
 * to a step; what lies beyond the epoch's last step is the next one's beginning. In another order these are other
 * samples: of the rest of that epoch some come again and some never. */
SPDLD_API spdld_result spdld_load_state(spdld_loader* loader, const char* json, int anyway);
/* A descriptor that becomes readable when next would find a batch or bad news; it changes when the daemon was restarted.
 * -1 while the daemon is away: call next. The end of an epoch does not show here: after its last batch, call next. */
SPDLD_API int spdld_poll_fd(const spdld_loader* loader);

SPDLD_API spdld_result spdld_batch_get_info(const spdld_batch* batch, spdld_batch_info* info);
SPDLD_API spdld_result spdld_batch_tensor(const spdld_batch* batch, uint32_t index, spdld_tensor* tensor);
/* SPDLD_NOT_FOUND where there is none of this name. */
SPDLD_API spdld_result spdld_batch_find(const spdld_batch* batch, const char* name, spdld_tensor* tensor);
/* A batch is counted: attach's next gives it with a count of one; it goes back to the daemon when the count is zero. */
SPDLD_API void spdld_batch_retain(spdld_batch* batch);
/* Of pinned and GPU batches: at the last release the slot goes back once the work that was put on its streams so far is
 * done; where no stream was named, on the legacy default stream (which other streams' work may not wait for: name
 * non-blocking ones). A stream that is being captured into a graph is asked again at the next call, when it no longer is:
 * a graph that reads a slot must be replayed before the batch's last release. */
SPDLD_API void spdld_batch_release(spdld_batch* batch);
/* Says that `stream` works on this batch's memory, from now until the batch's last release; so long it must live. With
 * ready_early the stream waits for the copy from here on; one that is being captured cannot (SPDLD_UNSUPPORTED: call
 * spdld_batch_wait before the capture). At most 64 streams a batch (SPDLD_LIMIT). Of host batches: does nothing. */
SPDLD_API spdld_result spdld_batch_use(spdld_batch* batch, void* stream);
/* Blocks until the batch's copy is done: at once, unless ready_early. SPDLD_TIMEOUT: not within 10 s. */
SPDLD_API spdld_result spdld_batch_wait(spdld_batch* batch);

/* Asks a daemon for a JSON document: topic is "ping", "status", "list", "describe", "errors" or "samples". Never starts a
 * daemon. *json is freed with spdld_free. socket NULL: as in attach. */
SPDLD_API spdld_result spdld_query(const char* socket, const char* topic, const char* argument, int64_t timeout_ms,
                                   char** json);
SPDLD_API void spdld_free(void* memory);

#ifdef __cplusplus
}
#endif
#endif /* SPDLD_H_ */
