/* libspdld: the client of spdld, the data-loading daemon, for trainer processes. C ABI, version 0.
 *
 * A loader attaches one rank of a training job to a pipeline. Its batches lie in slots: memory that the daemon fills
 * and this process maps. Nothing is copied. A batch is a lease: it stays valid, and the daemon does not fill its slot
 * again, until spdld_batch_release.
 *
 * Threads: at most one thread at a time may call a loader's functions (next, seek, push, detach). Any thread may call
 * spdld_batch_release, spdld_batch_retain and spdld_batch_use at any time, even after the loader is detached. Different
 * loaders are independent. The library starts no thread.
 *
 * Several loaders: a process may attach as often as it likes. When it attaches a fifth loader without a group, the idle
 * loader without a group that was used longest ago gives its memory back to the daemon, and takes it again, at its
 * place, when it is used next. A loader that is given a group, or whose spdld_poll_fd was called, keeps its memory.
 *
 * Forks: in a forked child every call returns SPDLD_FORKED, and a release does nothing, because the batches belong to
 * the parent.
 *
 * GPUs: a batch may lie in GPU memory. Its tensors' addresses are then device addresses, valid in this process's
 * primary context of that device, which the CUDA runtime, torch and jax use as well. The library loads the driver,
 * libcuda.so.1, at run time, and only if a pipeline may deliver its batches on a GPU. A stream is a CUstream or
 * cudaStream_t; NULL is the legacy default stream. A release follows the GPU's work: the slot returns to the daemon
 * after all work has completed that was put, before the release, on the streams named by spdld_batch_use. The calling
 * thread does not wait for it. No call changes the thread's current context.
 *
 * Private daemons: if no daemon answers, spdld_attach starts a daemon for this user. Its program is the file that
 * $SPDLD_DAEMON names. If that variable is not set, the program is the first of these files that exists:
 *
 *   1. spdld or bin/spdld in the folder of this library, where the Python wheel puts it.
 *   2. <prefix>/<bindir>/spdld, if this library lies in <prefix>/<libdir>. The prefix may have moved since the build.
 *   3. spdld in a folder of $PATH.
 *
 * If none of them exists, the call returns SPDLD_NO_DAEMON, and the error sentence names all these places.
 *
 * Replays: with $SPDLD_REPLAY or the option `replay` a loader takes its first batches from the daemon, keeps them, and
 * hands them out again and again, in the same memory and without a wait, until its epochs have ended. Steps, epochs and
 * seeks count as in a real run, so that a training loop runs as ever, at the speed that the trainer itself allows.
 * spdld_stats tells that speed; where $SPDLD_REPLAY asked for the replay, a line on stderr does too when the loader is
 * detached. A program that writes into a batch finds its values there when the batch comes again. A replay never joins
 * a stream that other jobs share. A warning is given once in a process, and no loader takes a state that a replay gave.
 *
 * Errors: every call that can fail returns an spdld_result. spdld_last_error() then gives one sentence for people about
 * the calling thread's last failed call. The sentence is valid until that thread's next call.
 */
#ifndef SPDLD_H_
#define SPDLD_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SPDLD_API __attribute__((visibility("default")))
/* A caller may hand over a number that is none of the names: C++ defines what that means where the type is fixed. */
#ifdef __cplusplus
#define SPDLD_ENUM(name) enum name : int
#else
#define SPDLD_ENUM(name) enum name
#endif

typedef SPDLD_ENUM(spdld_result){
    SPDLD_OK = 0,
    SPDLD_END_OF_EPOCH = 1, /* the epoch has no further batch; the next call of spdld_next begins the next epoch */
    SPDLD_END = 2,          /* the last epoch has ended, after its own SPDLD_END_OF_EPOCH */
    SPDLD_TIMEOUT = 3,      /* the time given has passed; the call may be repeated */
    SPDLD_INTERRUPTED = 4,  /* a signal arrived during the wait; the call may be repeated */
    SPDLD_INVALID = -1,     /* an argument or a spec is wrong */
    SPDLD_NO_DAEMON = -2,   /* no daemon runs or could be started, or the daemon did not come back in time */
    SPDLD_DENIED = -3,
    SPDLD_NOT_FOUND = -4,
    SPDLD_CONFLICT = -5, /* another process, or another loader of this one, holds the rank */
    SPDLD_LIMIT = -6,    /* a quota of the daemon is used up, or this process holds as many batches as it may */
    SPDLD_VERSION = -7,
    SPDLD_FAILED = -8, /* the pipeline failed */
    SPDLD_UNSUPPORTED = -9,
    SPDLD_FORKED = -10,
    SPDLD_INTERNAL = -11,
    SPDLD_CHANGED = -12 /* the position or state belongs to another data set, spec or global batch */
} spdld_result;

typedef SPDLD_ENUM(spdld_dtype){
    SPDLD_UINT8 = 0,      SPDLD_INT32 = 1,      SPDLD_INT64 = 2,   SPDLD_FLOAT16 = 3,
    SPDLD_BFLOAT16 = 4,   SPDLD_FLOAT32 = 5,    SPDLD_FLOAT64 = 6, SPDLD_BOOL = 7, /* a byte that is 0 or 1 */
    SPDLD_INT8 = 8,       SPDLD_INT16 = 9,      SPDLD_UINT16 = 10, SPDLD_UINT32 = 11,
    SPDLD_UINT64 = 12,    SPDLD_COMPLEX64 = 13, /* two float32: the real part, then the imaginary part */
    SPDLD_COMPLEX128 = 14                       /* two float64 */
} spdld_dtype;

/* The role of a tensor: the meaning of its elements.
 *
 * An output of a fixed shape is one tensor of SPDLD_ROWS. A padded output is a tensor of SPDLD_ROWS whose shape differs
 * from batch to batch, with a tensor of SPDLD_LENGTHS, SPDLD_MASK or both beside it. A ragged output is a tensor of
 * SPDLD_VALUES with a tensor of SPDLD_OFFSETS beside it: sample i has the values from offsets[i] to offsets[i + 1]. */
typedef SPDLD_ENUM(spdld_role){
    SPDLD_ROWS = 0,    /* one row for each valid sample */
    SPDLD_VALUES = 1,  /* the values of all valid samples, one sample's after the other's; shape[0] counts values */
    SPDLD_OFFSETS = 2, /* int64, valid + 1 numbers: where each sample's values begin, then where the last values end.
                          They begin with 0 and never fall. In host memory the library has checked them. */
    SPDLD_LENGTHS =
        3,         /* how much of each sample's row counts, along its first dimension; the rest of the row is padding */
    SPDLD_MASK = 4 /* which elements count: not 0 for these, and 0 for padding */
} spdld_role;

/* Where batches lie. */
typedef SPDLD_ENUM(spdld_memory){
    SPDLD_HOST = 0,
    SPDLD_PINNED = 1,      /* host memory, registered with this process's GPU so that asynchronous copies can read it */
    SPDLD_CUDA_HANDLE = 2, /* GPU memory, opened by a CUDA IPC memory handle; it becomes invalid when the daemon ends */
    SPDLD_CUDA_FD = 3      /* GPU memory, mapped by a file descriptor; it stays valid after the daemon has ended */
} spdld_memory;

typedef struct spdld_loader spdld_loader;
typedef struct spdld_batch spdld_batch;

/* The library calls it some times a second while spdld_attach waits, on the thread that called spdld_attach. `what`
 * is "listing pictures" or "listing bytes of archives"; `done` and `total` then count pictures or bytes. A total of
 * 0 is unknown, and a total of pictures is an estimate. Or `what` is "connecting to the daemon" or "waiting for the
 * daemon", and both counts are 0. `what` is valid during the call. A return value other than 0 ends the wait with
 * SPDLD_INTERRUPTED. */
typedef int (*spdld_progress)(void* user, const char* what, uint64_t done, uint64_t total);

/* The library calls it with one sentence for people, and with each sentence once in a process. */
typedef void (*spdld_warn)(void* user, const char* sentence);

/* A field that is zero or NULL has the default that its comment gives. */
typedef struct spdld_attach_options {
  size_t struct_size;        /* sizeof(spdld_attach_options). The library takes the fields beyond it as zero. */
  const char* socket;        /* The daemon's socket. NULL: $SPDLD_SOCKET, else the system's daemon, else this user's
                                private daemon, which the call starts. If the system's daemon does not take a spec
                                from this user, the spec goes to the private daemon. */
  const char* pipeline;      /* A named pipeline, or a path that ends in .toml. Give either pipeline or spec. */
  const char* spec;          /* The text of a spec. */
  int spec_is_json;          /* 1: the spec is JSON; 0: it is TOML. */
  const char* spec_folder;   /* Relative uris in spec start from this folder. NULL: the current directory. */
  const char* group;         /* The name of the training job. NULL: the launcher's variables (torchrun, Slurm, MPI)
                                tell it; without a launcher, and with world_size 1, each loader is a job of its own. */
  uint32_t rank, world_size; /* With world_size 0, both come from RANK and WORLD_SIZE or from SLURM_PROCID and
                                SLURM_NTASKS, else they are 0 of 1. If only some ranks divide the data, give the
                                place in the data-parallel group, and that group's size. */
  uint32_t local_rank;       /* This process's number on its node; "cuda" takes the GPU of this number. */
  uint32_t reader, readers;  /* Replicas: so many processes on this node (`readers`; 0 means 1) attach as this rank,
                                and all get the same batches. This process is number `reader`, from 0. All readers
                                begin at the same place, and seek the same places. */
  uint64_t epoch, step;      /* The place to begin at. A state says it better. */
  const char* fingerprint;   /* The fingerprint of the run that (epoch, step) belongs to. NULL: the daemon compares
                                none. */
  uint32_t held_max;         /* How many batches this process may hold at once. 0: as the pipeline says. */
  int64_t timeout_ms;        /* The limit of the whole call. 0: 30 minutes, because a listing may take long.
                                Negative: no limit. */
  int64_t reconnect_ms;      /* How long spdld_next waits for a daemon that went away, and spdld_attach for a daemon
                                at a named socket that does not listen. 0: 30 s. Negative: not at all. */
  int no_private_daemon;     /* 1: the call never starts a private daemon. */
  spdld_progress progress;
  void* progress_user;
  const char* client_name;      /* A name for people, such as "python". NULL: "c". */
  const char* device;           /* Where batches lie, in place of the pipeline's device. "cpu": host memory; the
                                   library loads no driver. "pinned": see SPDLD_PINNED. "cuda": the GPU of local_rank.
                                   "cuda:N": the GPU that this process sees as number N. "auto": the GPU of local_rank
                                   if this process sees one, else "cpu". NULL: as the pipeline says. */
  const char* transport;        /* How batches in GPU memory reach this process: "fd", "handle", or "auto", which takes
                                   fd if both sides can. NULL: "auto". */
  int experimental_ready_early; /* 1, with transport "handle": spdld_next hands out a GPU batch while it is still being
                                 copied. Then only streams that spdld_batch_use named, and work that follows
                                 spdld_batch_wait, may read it. With any other transport it has no effect. It has not
                                 been tried on a GPU yet. */
  const char* state;            /* The place to begin at, as spdld_state gave it, in place of epoch, step and
                                   fingerprint. If it belongs to another run, the call returns SPDLD_CHANGED, and the
                                   sentence says what differs. */
  const char* join;             /* Where a job begins that shares a stream (share = "stream") and asks for a place that
                                   has passed already. "now": at the oldest batch still in memory. "epoch": at the
                                   start of the next epoch. "exact": at its place, on a stream of its own. "alone": on
                                   a stream of its own in any case. NULL: "exact" if a state, an epoch or a step is
                                   given, else "now". */
  uint64_t batch_size;          /* This rank's samples in a step, in place of the pipeline's batch size or global size.
                                   0: as the pipeline says. All ranks of a job give the same size; jobs that share a
                                   stream may differ. */
  spdld_warn warn;              /* Gets what the caller should know of an attach that succeeds. The library calls it
                                   only during spdld_attach, on the calling thread. NULL: warnings are lines on stderr. */
  void* warn_user;
  int64_t held_wait_ms;    /* How long spdld_next waits for a batch to be released, if the process holds as many
                              as it may. 0: not at all in a process of one thread; 30 s if the main thread calls
                              spdld_next and no other thread has released a batch before; else 10 minutes.
                              Negative: not at all. */
  uint32_t replay;         /* A replay tells the trainer's own speed: see below. The loader hands out its first so
                              many batches (at most 32, or as many as may be held) again and again. 0: as many as
                              $SPDLD_REPLAY says; no replay where that is not set. */
  int looks;               /* 1: the caller looks at samples and trains nothing. The daemon's work for this loader
                              counts in no statistic, and nothing is kept in the cache. */
  const char* const* crew; /* The program that runs the pipeline's Python operations beside the daemon, and its
                              arguments; NULL ends them. The library starts it when the daemon asks for it, as no
                              child of this process. It reads a token, the daemon's socket (a line each) and then
                              crew_input from its stdin; its output goes to this process's stderr. NULL: the daemon
                              refuses a pipeline with such operations, unless another client starts the program. */
  const void* crew_input;  /* crew_input_bytes bytes, of any values. They are copied, as crew is. */
  size_t crew_input_bytes;
} spdld_attach_options;

typedef struct spdld_info {
  size_t struct_size;
  const char* pipeline; /* this and the other texts are valid while the loader lives */
  const char* fingerprint;
  const char* daemon; /* the daemon's version */
  const char* group;
  uint32_t rank, world_size;
  uint64_t batch_size, global_size, samples, steps_per_epoch, epochs, seed;
  uint64_t slot_bytes;
  uint32_t slot_count;
  int writable; /* 1: only this process writes to the slots; 0: a page that it writes becomes a private copy */
  spdld_memory memory;
  int device;      /* the CUDA ordinal in this process, for SPDLD_PINNED and SPDLD_CUDA_*; else -1 */
  const char* gpu; /* the GPU's UUID ("GPU-..."); "" for host memory */
  int ready_early;
  int shared;       /* 1: other jobs get the same batches (share = "stream"). It may become 0 later: the daemon
                       gives a job that falls behind a stream of its own */
  int pushed;       /* 1: the caller sets the order, by spdld_push. steps_per_epoch is then 0: it cannot be known
                       before */
  uint32_t sources; /* how many sources a pipeline with [[sources]] has; 0: it has a single source */
  const char* const* source_names; /* an array of `sources` names, in the pipeline's order */
  uint64_t classes;                /* how many classes an image folder has; 0 for other data */
  const char* const* class_names;  /* an array of `classes` names: class_names[i] is the folder's name, in the file
                                      system's bytes, of the class with label i. NULL: the data has no classes, or
                                      their names are longer than 16 MiB in all */
  uint32_t held, held_max;         /* how many of the loader's batches this process holds now, and how many it may
                                      hold. Both are 0 while the loader has no memory, because the daemon is away or
                                      the process used other loaders */
  uint32_t replay;                 /* how many batches are replayed; 0: the loader does not replay */
  const char* socket;              /* the path of the daemon's socket, for spdld_query */
  uint64_t last_samples;           /* how many samples all ranks together have in an epoch's last step, without
                                      padding; 0: this is not known, or differs from epoch to epoch */
  uint64_t empty_steps;            /* in how many steps of an epoch some ranks get a batch without samples, because
                                      there are fewer samples than ranks */
} spdld_info;

typedef struct spdld_tensor {
  size_t struct_size; /* sizeof(spdld_tensor). The library fills in no field beyond it. */
  const char* name;   /* this, `of`, shape and strides are valid while the batch is held */
  spdld_dtype dtype;
  uint32_t rank;          /* number of dimensions, 1 to 8 */
  const int64_t* shape;   /* shape[0] counts the valid samples, which are fewer in a short batch; for the roles
                             SPDLD_VALUES and SPDLD_OFFSETS it counts what these say */
  const int64_t* strides; /* in elements, at least 0. Not every tensor is dense. */
  void* address;          /* aligned to 128 bytes; for SPDLD_CUDA_* a device address */
  spdld_role role;
  const char* of; /* for offsets, lengths and a mask: the name of the tensor that they describe; else "" */
} spdld_tensor;

typedef struct spdld_batch_info {
  size_t struct_size;
  uint64_t epoch, step;
  uint64_t valid; /* how many samples the batch has; 0 if a short last step has fewer samples than ranks, or if all of
                     its samples were left out (on_drop = "shorter") */
  uint64_t first; /* the position in the epoch of the first sample; in a pushed order step * batch_size */
  uint32_t tensors;
  uint32_t substituted; /* how many samples had bad content or were left out, and were replaced by another sample */
  uint32_t masked;      /* how many samples had bad content or were left out, and were zeroed; the tensor "mask" marks
                           them */
  spdld_memory memory;
  int device;       /* as in spdld_info */
  uint32_t padded;  /* how many samples at the end repeat the epoch's first samples, to fill the batch (last =
                       "pad") */
  uint32_t sources; /* as in spdld_info; the next two fields are valid while the batch is held */
  const char* const* source_names;
  const uint32_t* source_counts; /* how many of the `valid` samples each source gave */
  uint32_t absent;  /* how many samples of the step the batch lacks, because they were left out (on_drop = "shorter") */
  uint32_t dropped; /* how many samples of the step user code dropped: they are substituted, masked or absent */
} spdld_batch_info;

/* Counts of the batches and samples that spdld_next has handed out since attach, and of the bad samples among them. */
typedef struct spdld_stats {
  size_t struct_size;
  uint64_t batches, samples;
  uint64_t substituted;   /* samples whose content was bad, or that were left out, and that another sample replaced */
  uint64_t masked;        /* samples whose content was bad, or that were left out, and that were zeroed */
  uint64_t unsupported;   /* substituted and masked pictures in a format that this daemon does not decode; of the other
                             samples, all that are neither too long nor dropped are damaged */
  uint32_t bad_reasons;   /* how many different reasons spdld_get_bad_reason tells, at most 64 */
  uint32_t missing;       /* how many sentences about missing data spdld_get_missing tells, at most 16 */
  uint64_t missing_count; /* how many files or members the data set misses; on_missing = "warn" goes on with the
                             rest */
  uint64_t too_long;      /* substituted and masked samples that are longer than an output takes, and that it leaves
                             out (too_long = "leave-out"); absent ones as well */
  uint64_t replayed;      /* over how many batches of a replay replay_step_ms is measured: all but the first ten; 0 of
                             other loaders */
  double replay_step_ms;  /* the time from one replayed batch to the next, on average: the trainer's own time for a
                             step */
  uint64_t absent;        /* samples that batches lack, because they were left out (on_drop = "shorter") */
  uint64_t dropped;       /* substituted, masked and absent samples that user code dropped; they are no bad samples */
} spdld_stats;

typedef struct spdld_bad_reason {
  size_t struct_size;
  const char* reason; /* one sentence; this and `name` are valid until the loader's next call of spdld_next */
  int unsupported;    /* 1: pictures in a format that this daemon does not decode; 0: damaged samples */
  uint64_t count;     /* how many samples had this reason, among the samples that were handed out */
  uint64_t sample;    /* the first such sample's id */
  const char* name;   /* the first such sample's name */
  int too_long;       /* 1: samples that are longer than an output takes, and that it leaves out: not damaged */
  int dropped;        /* 1: samples that user code dropped: not damaged */
} spdld_bad_reason;

SPDLD_API const char* spdld_version(void);
SPDLD_API const char* spdld_last_error(void);
SPDLD_API const char* spdld_result_name(spdld_result result);
/* "float16"; "unknown" for a number that is no type. The text is valid for ever. */
SPDLD_API const char* spdld_dtype_name(spdld_dtype dtype);
/* The bytes of one element; 0 for a number that is no type. */
SPDLD_API size_t spdld_dtype_bytes(spdld_dtype dtype);

SPDLD_API spdld_result spdld_attach(const spdld_attach_options* options, spdld_loader** loader);
/* Gives the loader's resources back. Batches that are still held stay valid until they are released. If GPU or
 * pinned batches were released before, the call waits at most 10 s for the GPU's work on them; so does the last
 * release after it. NULL is allowed. */
SPDLD_API void spdld_detach(spdld_loader* loader);
SPDLD_API spdld_result spdld_get_info(const spdld_loader* loader, spdld_info* info);

SPDLD_API spdld_result spdld_get_stats(const spdld_loader* loader, spdld_stats* stats);
/* index: from 0 to bad_reasons - 1, in the order in which the reasons came up. SPDLD_INVALID: there is no such
 * reason. */
SPDLD_API spdld_result spdld_get_bad_reason(const spdld_loader* loader, uint32_t index, spdld_bad_reason* reason);
/* index: from 0 to missing - 1. *what is one sentence, valid until the loader's next call of spdld_next.
 * SPDLD_INVALID: there is no such sentence. */
SPDLD_API spdld_result spdld_get_missing(const spdld_loader* loader, uint32_t index, const char** what);

/* Gives the next batch. timeout_ms 0: the call takes a batch only if it is ready now. Negative: the wait has no
 * limit. */
SPDLD_API spdld_result spdld_next(spdld_loader* loader, int64_t timeout_ms, spdld_batch** batch);
/* Moves the loader to another place. Batches that are held stay valid. A seek to the loader's own place costs nothing.
 *
 * All readers of a rank (replicas) make the same seeks in the same order, even a seek to the place where a reader
 * stands already; they may have taken different numbers of batches before. A reader's next spdld_next waits until all
 * readers have sought. If they wait at different places, spdld_next returns SPDLD_INVALID, and any of them may seek
 * again.
 *
 * A job that shares a stream leaves the stream if it seeks a place that is no longer in memory. */
SPDLD_API spdld_result spdld_seek(spdld_loader* loader, uint64_t epoch, uint64_t step);
/* Gives the epoch and the step of the next batch. */
SPDLD_API spdld_result spdld_tell(const spdld_loader* loader, uint64_t* epoch, uint64_t* step);

/* Sets the samples of one step in a pipeline with order.shuffle = "client". `ids` are numbers of samples in the data
 * set's listing, from 0 to samples - 1; a sample may come several times. The library reads `ids` only during the call.
 * `count` is from 1 to info's batch_size, and may differ between steps. Every rank pushes its own samples.
 *
 * The caller pushes steps in order and without a gap, from the loader's place on, and stays slot_count (in spdld_info)
 * steps ahead of spdld_next. spdld_next never waits for a step that was not pushed: it returns SPDLD_INVALID.
 *
 * last_of_epoch = 1: the epoch ends with this step or, if count is 0, with the step before. spdld_next then returns
 * SPDLD_END_OF_EPOCH, and (epoch + 1, 0) is the next step to push.
 *
 * SPDLD_INVALID: an argument is wrong, and the sentence says which. SPDLD_LIMIT: more than 256 steps, or 262,144
 * samples in all, would be pushed ahead. Neither error changes anything.
 *
 * Copies of a sample differ: a random operation depends on the seed, the sample, its epoch, its step and its index
 * in the batch, and gives the same result there again. After a restart of the daemon, the library itself pushes
 * again all steps that were not handed out. A seek (even to the loader's own place) and a loaded state discard the
 * steps that were pushed: the caller pushes on from the new place, and so skips the steps before it. */
SPDLD_API spdld_result spdld_push(spdld_loader* loader, uint64_t epoch, uint64_t step, const uint64_t* ids,
                                  size_t count, int last_of_epoch);
/* Gives the loader's place, to be kept with a checkpoint, as one line of JSON. The caller frees it with spdld_free.
 * Every batch that spdld_next has handed out counts as consumed: the place is the batch after it, and after an epoch's
 * last batch the first batch of the next epoch. The same batches follow, bit for bit, with any number of threads, after
 * any restart, and with another world_size if the global batch stays the same (batch.global_size). Each rank may load
 * any rank's state.
 *
 *   {"format":1,"pipeline":"train","fingerprint":"1-...","seed":17,"epoch":3,"step":1200,"samples":57600,
 *    "global_size":48,"world_size":8,"keys":"batch/last=..."}
 *
 * The state is one flat object of texts and whole numbers. `step` counts the steps that were consumed in this epoch,
 * and `samples` the samples that the whole job consumed with them: step * global_size. `fingerprint` covers
 * everything that decides which bytes come at a place, but not where the data lies (see proto/PROTOCOL.md).
 * `keys` has a digest of each key of the pipeline, so that the sentence of SPDLD_CHANGED can name the keys that differ.
 * A state of a pipeline with very many keys may lack it.
 * `pipeline` and `world_size` are there for people; nothing compares them. A loader that replays adds "replay":1, and
 * no loader takes that state.
 *
 * A caller may add "skip_steps": a number of steps. A loader that takes the state then begins so many steps after the
 * state's place, across the ends of epochs; SPDLD_INVALID: the run ends before. */
SPDLD_API spdld_result spdld_state(const spdld_loader* loader, char** json);
/* Moves the loader to a state's place, as spdld_seek does. SPDLD_INVALID: the state is damaged, or of another format.
 * SPDLD_CHANGED: the state belongs to another run; the sentence says what differs, and the loader stays where it is.
 *
 * anyway = 1 loads another run's state as well. The loader moves to the same epoch and step. With another global
 * batch it moves to as many samples of that epoch, rounded down to a whole step; a place beyond the epoch's last
 * step becomes the start of the next epoch. The other run's samples come in another order: some samples of the rest
 * of that epoch come again, and some never come. */
SPDLD_API spdld_result spdld_load_state(spdld_loader* loader, const char* json, int anyway);
/* Gives a descriptor that becomes readable when spdld_next would find a batch or an error. It is another descriptor
 * after a restart of the daemon, and -1 while the daemon is away: then call spdld_next. The descriptor does not show
 * the end of an epoch: after an epoch's last batch, call spdld_next. The library owns the descriptor. */
SPDLD_API int spdld_poll_fd(const spdld_loader* loader);

SPDLD_API spdld_result spdld_batch_get_info(const spdld_batch* batch, spdld_batch_info* info);
SPDLD_API spdld_result spdld_batch_tensor(const spdld_batch* batch, uint32_t index, spdld_tensor* tensor);
/* SPDLD_NOT_FOUND: the batch has no tensor of this name. */
SPDLD_API spdld_result spdld_batch_find(const spdld_batch* batch, const char* name, spdld_tensor* tensor);
/* Gives the tensor of a role (SPDLD_OFFSETS, SPDLD_LENGTHS or SPDLD_MASK) that describes the tensor `of`.
 * SPDLD_NOT_FOUND: the batch has none. */
SPDLD_API spdld_result spdld_batch_find_part(const spdld_batch* batch, const char* of, spdld_role role,
                                             spdld_tensor* tensor);
/* A batch counts its references. spdld_next gives it with one reference; the batch returns to the daemon with its
 * last. */
SPDLD_API void spdld_batch_retain(spdld_batch* batch);
/* Drops one reference. After the last one, the slot of a pinned or GPU batch returns to the daemon once all work is
 * done that was put on its streams so far. If no stream was named, this is the work on the legacy default stream;
 * work on other streams may not be ordered with that stream, so name non-blocking streams with spdld_batch_use. If a
 * stream is being captured into a graph, the library looks at it again at a later call, after the capture. A graph
 * that reads a slot must be replayed before the batch's last release. */
SPDLD_API void spdld_batch_release(spdld_batch* batch);
/* Says that `stream` works on this batch's memory from now until the batch's last release. The stream must live that
 * long. Where a per-thread default stream (CU_STREAM_PER_THREAD) is named, the release follows the legacy default
 * stream, which waits for the default streams of all threads. With experimental_ready_early, later work on the stream
 * waits for the copy; a stream that is being captured cannot wait (SPDLD_UNSUPPORTED: call spdld_batch_wait before the
 * capture), and if the daemon is killed before the copy is done, the stream may wait for ever. SPDLD_FAILED: the daemon
 * has ended, and the copy was not done. SPDLD_LIMIT: the batch has 64 streams already. For a host batch the call does
 * nothing. */
SPDLD_API spdld_result spdld_batch_use(spdld_batch* batch, void* stream);
/* As spdld_batch_use, for a stream whose owner may let go of it before the batch is released. The library calls
 * drop(kept) once, on a thread that calls the library, when it needs the stream no more; if the call fails, during the
 * call. */
SPDLD_API spdld_result spdld_batch_use_kept(spdld_batch* batch, void* stream, void* kept, void (*drop)(void* kept));
/* Blocks until the batch's copy is done. Without experimental_ready_early it is done already. SPDLD_FAILED: the daemon
 * has ended, and the copy was not done 1 s later. SPDLD_TIMEOUT: it took more than 10 s. */
SPDLD_API spdld_result spdld_batch_wait(spdld_batch* batch);

/* Asks a running daemon for a JSON document; the call never starts a daemon. `topic` is "ping", "status", "list",
 * "describe", "errors", "samples", "metrics", "trace" or "page". `argument` is a pipeline's name for "describe",
 * "errors" and "metrics" (NULL: all pipelines, but for "describe"), and begins with one for "samples" and "trace"
 * (proto/PROTOCOL.md, "JSON documents"). socket NULL: as in spdld_attach. The caller frees *json with spdld_free. */
SPDLD_API spdld_result spdld_query(const char* socket, const char* topic, const char* argument, int64_t timeout_ms,
                                   char** json);
SPDLD_API void spdld_free(void* memory);

#ifdef __cplusplus
}
#endif
#endif /* SPDLD_H_ */
