/*
 * tutti/plugin.h: the contract between the Tutti host and its model plugins, version 1.0.
 *
 * A plugin is a shared library that exports one function, tutti_get_plugin, which returns a constant table.
 * The table names the library and its model types; a model type describes itself and holds the functions that
 * make and run models. A plugin links nothing of the host: what it may ask of the host comes to it in a table.
 *
 *     cc -shared -fPIC -I plugin_api/include my_model.c -o my_model.so
 *
 * is a whole build. plugin_api/example/last_value.c is a whole plugin.
 *
 * RULES THAT HOLD EVERYWHERE
 *
 * Growth.    Every table and every struct that may grow begins with struct_size, set by whoever fills it in.
 *            Members are only ever appended. Before reading a member that is younger than 1.0, ask TUTTI_HAS.
 *            Host and plugin need the same major version; any two minor versions work together. What is new
 *            and optional comes as an extension, asked for by its string id, whose meaning never changes.
 * Ownership. A pointer handed over is borrowed for the one call unless its comment says otherwise. The side
 *            that allocates is the side that frees. Strings are UTF-8, end in a zero and are never null unless
 *            said. A descriptor's strings live as long as the library stays loaded.
 * Errors.    Functions that can fail return a tutti_status and write one sentence into the tutti_error that
 *            the caller owns: what is wrong, with what, and what would cure it. Its pointer may be null.
 *            No exception, signal or longjmp may cross this border.
 * Threads.   A function's tag says when it may be called:
 *              [any thread]  from any thread, also at once;
 *              [model]       one call at a time for one model; different models at once. The thread may change
 *                            from call to call.
 *            A call at a wrong time is answered with TUTTI_BAD_STATE, not with a crash.
 * Manners.   A plugin leaves the process as it found it: floating-point control word, locale, signal handlers,
 *            working directory, file descriptors, environment. It writes nothing to standard output or error.
 * Truth.     Same build, data, seed and configuration give the same bits, whatever number of threads the
 *            host lends, and a row's answer does not depend on the rows it is batched with; a model type that
 *            cannot promise this leaves the flags TUTTI_DETERMINISTIC and TUTTI_ROW_INDEPENDENT off.
 */
#ifndef TUTTI_PLUGIN_H
#define TUTTI_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TUTTI_ABI_MAJOR 1
#define TUTTI_ABI_MINOR 0

/* Interface id in the metadata of every plugin of this major version. */
#define TUTTI_IID "tutti.plugin/1"

#if defined(_WIN32)
#define TUTTI_EXPORT __declspec(dllexport)
#define TUTTI_CALL __cdecl
#elif defined(__GNUC__)
#define TUTTI_EXPORT __attribute__((visibility("default")))
#define TUTTI_CALL
#else
#define TUTTI_EXPORT
#define TUTTI_CALL
#endif

/* True where whoever filled in *table knew the member and set it. For pointers and integers. */
#define TUTTI_HAS(table, type, member)                                                                            \
  ((table) != NULL && (table)->struct_size >= offsetof(type, member) + sizeof((table)->member) && (table)->member)

/* ---- Status --------------------------------------------------------------------------------------------------
 * A status says what survives. An unknown positive value is read as TUTTI_MODEL_DEAD. */

typedef int32_t tutti_status;

#define TUTTI_OK 0
#define TUTTI_BAD_ARGUMENT 1  /* the caller broke the contract or gave a bad configuration; nothing changed   */
#define TUTTI_UNSUPPORTED 2   /* a lawful wish that this plugin can't grant; nothing changed                  */
#define TUTTI_BAD_STATE 3     /* the call came out of order; nothing changed                                  */
#define TUTTI_OUT_OF_MEMORY 4 /* nothing changed; a smaller batch may work                                    */
#define TUTTI_CANCELLED 5     /* stopped because cancelled() said so; the model is as after its last full step */
#define TUTTI_MODEL_DEAD 6    /* only destroy may be called on this model; others are unharmed                */
#define TUTTI_LIBRARY_DEAD 7  /* call nothing of this library again, not even destroy                         */

#define TUTTI_ERROR_LENGTH 512

/* Owned by the caller. A callee writes message only when it fails, and always ends it with a zero. */
typedef struct tutti_error {
  char message[TUTTI_ERROR_LENGTH];
} tutti_error;

/* ---- Tensors -------------------------------------------------------------------------------------------------
 * A borrowed view with the members, order and numbers of DLPack's DLTensor. Axes are named in the comments:
 * B rows of the batch, T past steps (lookback), F features, H future steps (horizon), K targets, Q quantile
 * levels, C classes, A actions, S static features, N transitions. A tensor that is absent has ndim 0 and null
 * data. A zero-length axis is lawful. The first element is at (char *)data + byte_offset. */

#define TUTTI_CPU 1      /* kDLCPU      */
#define TUTTI_CUDA 2     /* kDLCUDA     */
#define TUTTI_CPU_PINNED 3 /* kDLCUDAHost: CPU memory that a CUDA device can read directly */

#define TUTTI_INT 0
#define TUTTI_UINT 1
#define TUTTI_FLOAT 2

typedef struct tutti_device {
  int32_t type; /* TUTTI_CPU … */
  int32_t id;
} tutti_device;

typedef struct tutti_dtype {
  uint8_t code;   /* TUTTI_INT, TUTTI_UINT, TUTTI_FLOAT */
  uint8_t bits;   /* 8, 16, 32, 64 */
  uint16_t lanes; /* 1 */
} tutti_dtype;

typedef struct tutti_tensor {
  void *data;
  tutti_device device;
  int32_t ndim;
  tutti_dtype dtype;
  const int64_t *shape;   /* [ndim]                                    */
  const int64_t *strides; /* [ndim], in elements; null only where ndim is 0 */
  uint64_t byte_offset;
} tutti_tensor;

/* ---- The host's services -------------------------------------------------------------------------------------
 * Each model gets its own tutti_host, valid from before create until after destroy. */

#define TUTTI_LOG_DEBUG 0
#define TUTTI_LOG_INFO 1
#define TUTTI_LOG_WARNING 2
#define TUTTI_LOG_ERROR 3

/* Handles the items first … last-1 of a parallel_for. */
typedef void(TUTTI_CALL *tutti_range_fn)(void *argument, int64_t first, int64_t last);

typedef struct tutti_host {
  uint32_t struct_size;
  uint16_t abi_major, abi_minor;
  void *context; /* the host's own; not to be touched */
  const char *name;
  const char *version;

  /* One line of text for the user, without a line end. [any thread] */
  void(TUTTI_CALL *log)(const struct tutti_host *host, int32_t level, const char *text);

  /* Calls body for the blocks [0,grain), [grain,2*grain) … of 0 … count-1, on the host's threads and on this one,
   * and returns when all are done. The blocks depend on count and grain alone, never on the number of threads, so
   * that a sum made a block at a time, in the order of the blocks, has the same bits everywhere. A call from inside
   * a body runs its blocks in order on the calling thread. body may not throw. [any thread] */
  void(TUTTI_CALL *parallel_for)(const struct tutti_host *host, int64_t count, int64_t grain, tutti_range_fn body,
                                 void *argument);

  /* Threads that parallel_for may use at most, this one included; at least 1. [any thread] */
  int32_t(TUTTI_CALL *thread_count)(const struct tutti_host *host);

  /* Non-zero once the user has asked to stop. Long calls ask now and then and return TUTTI_CANCELLED. [any thread] */
  int32_t(TUTTI_CALL *cancelled)(const struct tutti_host *host);

  /* How much of the current call is done, 0 … 1. [any thread] */
  void(TUTTI_CALL *progress)(const struct tutti_host *host, double fraction);

  /* Memory for the length of the current call, aligned to 64 bytes, not cleared; null where there is none. Several
   * calls give several pieces. All become invalid when the plugin's function returns. [model] */
  void *(TUTTI_CALL *scratch)(const struct tutti_host *host, uint64_t bytes);

  /* A further table of the host, or null. [any thread] */
  const void *(TUTTI_CALL *get_extension)(const struct tutti_host *host, const char *id);
} tutti_host;

/* ---- The problem ---------------------------------------------------------------------------------------------
 * What a model is to solve; fixed for its life. Sizes that don't apply are 0, arrays of no elements null. */

typedef struct tutti_problem {
  uint32_t struct_size;
  uint32_t answers;      /* TUTTI_ANSWER_… wanted; a subset of what the type gives */
  int64_t features;      /* F */
  int64_t lookback;      /* T, the largest that will be seen */
  int64_t horizon;       /* H */
  int64_t targets;       /* K */
  int64_t known_features;  /* features known ahead, in future_known */
  int64_t static_features; /* S */
  int64_t agent_features;  /* in experience: position one-hot, unrealised profit, time held */
  int64_t classes;       /* C: of direction, in the order down, flat, up */
  int64_t actions;       /* A: of position, in the order short, flat, long */
  int64_t quantile_count;  /* Q */
  const double *quantiles; /* [Q], rising, each inside (0,1) */
  const int64_t *target_feature; /* [K]: the feature that target k is the future of, or -1 */
  int64_t season;        /* steps after which the series repeats itself; 0 where unknown */
  uint64_t seed;         /* the only source of randomness a model may use */
  tutti_dtype dtype;     /* of every real-valued tensor here: 32- or 64-bit float */
  tutti_device device;   /* where to compute; batches lie where their tensors say */
} tutti_problem;

/* ---- The batch -----------------------------------------------------------------------------------------------
 * The same bytes for every member of the ensemble, in pages that can only be read: a plugin that writes to them
 * faults. Real tensors have the problem's dtype; where a comment names another, that. */

typedef struct tutti_batch {
  uint32_t struct_size;
  uint32_t reserved;
  int64_t size;              /* B */
  tutti_tensor past;         /* [B,T,F] oldest step first; scaled by the host                                  */
  tutti_tensor past_time;    /* [B,T] int64: nanoseconds since 1970-01-01 UTC, or the row number where the data
                                has no time                                                                    */
  tutti_tensor elapsed;      /* [B,T] time since the step before, in the series' median step                   */
  tutti_tensor observed;     /* [B,T,F] uint8: 0 where past holds a filled-in value; absent: all are observed  */
  tutti_tensor length;       /* [B] int64: valid steps, at the end of the window (padding is on the left);
                                absent: all T                                                                  */
  tutti_tensor future_known; /* [B,H,known_features]                                                           */
  tutti_tensor statics;      /* [B,S]                                                                          */
  tutti_tensor row;          /* [B] int64: the last past step's row in the series                              */
  tutti_tensor target;       /* [B,H,K] training only                                                          */
  tutti_tensor target_class; /* [B] int32, training only: 0 down, 1 flat, 2 up                                 */
  tutti_tensor weight;       /* [B] training only: weight of the row in the loss; absent: 1                    */
} tutti_batch;

/* What happened when a policy acted: N transitions of the host's market environment. Rows point into the shared,
 * scaled series, of which only the rows before the fold's cut-off are mapped. Without a series, observation and
 * next_observation hold what the policy saw. Bootstrap the value of the next state unless terminated. */
typedef struct tutti_experience {
  uint32_t struct_size;
  uint32_t reserved;
  int64_t size;                  /* N */
  tutti_tensor series;           /* [rows,F] */
  tutti_tensor environment;      /* [N] int64 */
  tutti_tensor row, next_row;    /* [N] int64: last visible row before and after */
  tutti_tensor agent, next_agent; /* [N,agent_features] */
  tutti_tensor observation, next_observation; /* [N,O], used instead of rows */
  tutti_tensor action;           /* [N] int32 */
  tutti_tensor reward;           /* [N] */
  tutti_tensor terminated;       /* [N] uint8 */
  tutti_tensor truncated;        /* [N] uint8 */
  tutti_tensor ticket;           /* [N] uint64, as act gave them */
} tutti_experience;

/* ---- The answer ----------------------------------------------------------------------------------------------
 * The host allocates each tensor that the problem's answers name; the plugin fills every element. A value left
 * unwritten or not finite, or probabilities that don't sum to one, are the plugin's error. */

#define TUTTI_ANSWER_POINT 1u        /* forecast, scaled like the past          */
#define TUTTI_ANSWER_QUANTILES 2u    /* forecast, one a level, levels rising    */
#define TUTTI_ANSWER_CLASSES 4u      /* probabilities of down, flat, up         */
#define TUTTI_ANSWER_ACTION_VALUES 8u /* value of each action; any unit         */
#define TUTTI_ANSWER_POLICY 16u      /* probability of each action              */

typedef struct tutti_output {
  uint32_t struct_size;
  uint32_t reserved;
  tutti_tensor point;         /* [B,H,K]   */
  tutti_tensor quantiles;     /* [B,H,K,Q] */
  tutti_tensor classes;       /* [B,C]     */
  tutti_tensor action_values; /* [B,A]     */
  tutti_tensor policy;        /* [B,A]     */
} tutti_output;

/* ---- Model types ---------------------------------------------------------------------------------------------*/

/* Made by create, owned by the host, freed by destroy; what is in it is the plugin's own affair. */
typedef struct tutti_model tutti_model;

#define TUTTI_TRAINING_NONE 0u        /* nothing to learn                                                   */
#define TUTTI_TRAINING_SUPERVISED 1u  /* many epochs over batches with targets                              */
#define TUTTI_TRAINING_CLOSED_FORM 2u /* one epoch, then TUTTI_EVENT_EPOCH_END solves                       */
#define TUTTI_TRAINING_REPLAY 3u      /* experience, kept and re-used by the plugin                         */
#define TUTTI_TRAINING_ROLLOUT 4u     /* experience, used once in the order it was made                     */

#define TUTTI_INPUT_PAST 1u
#define TUTTI_INPUT_TIME 2u
#define TUTTI_INPUT_ELAPSED 4u
#define TUTTI_INPUT_OBSERVED 8u
#define TUTTI_INPUT_LENGTH 16u
#define TUTTI_INPUT_FUTURE_KNOWN 32u
#define TUTTI_INPUT_STATICS 64u
#define TUTTI_INPUT_EXPERIENCE 128u

#define TUTTI_DTYPE_F32 1u
#define TUTTI_DTYPE_F64 2u

#define TUTTI_DETERMINISTIC 1u     /* same seed, same bits, at any thread count           */
#define TUTTI_ROW_INDEPENDENT 2u   /* a row's answer doesn't depend on its batch          */
#define TUTTI_FREE_LOOKBACK 4u     /* also answers windows shorter than problem.lookback  */
#define TUTTI_STRIDED_INPUT 8u     /* takes any strides; else the host passes dense ones  */

typedef struct tutti_model_type {
  uint32_t struct_size;
  uint32_t training;         /* TUTTI_TRAINING_…                                                       */
  const char *id;            /* "vendor.name", lower case, the same for ever                           */
  const char *name;          /* for people                                                             */
  const char *summary;       /* one sentence                                                           */
  const char *config_schema; /* JSON Schema of the configuration object, each property with a default  */
  uint32_t inputs;           /* TUTTI_INPUT_… that it reads                                            */
  uint32_t answers;          /* TUTTI_ANSWER_… that it can give                                        */
  uint32_t dtypes;           /* TUTTI_DTYPE_…                                                          */
  uint32_t flags;            /* TUTTI_DETERMINISTIC …                                                  */
  const char *devices;       /* "cpu" or "cpu cuda"                                                    */
  const char *const *class_labels; /* [class_count] where it answers classes, else null                */
  int64_t class_count;

  /* Makes a model. config_json is an object that the host has checked against config_schema, with the defaults
   * filled in. host outlives the model; problem and config_json are borrowed for the call. On failure *model is
   * left alone. [any thread] */
  tutti_status(TUTTI_CALL *create)(const tutti_host *host, const tutti_problem *problem, const char *config_json,
                                   tutti_model **model, tutti_error *error);

  /* Frees a model; null is lawful. [model] */
  void(TUTTI_CALL *destroy)(tutti_model *model);

  /* Answers a batch. Leaves what the model has learned, and any stream, as it was. [model] */
  tutti_status(TUTTI_CALL *predict)(tutti_model *model, const tutti_batch *batch, const tutti_output *output,
                                    tutti_error *error);

  /* Back to what create gave: parameters as initialised from the seed, optimizer and memory empty. [model] */
  tutti_status(TUTTI_CALL *reset)(tutti_model *model, tutti_error *error);

  /* One of the extension tables below, or null. The table is constant and lives as long as the library. [any thread] */
  const void *(TUTTI_CALL *get_extension)(const char *id);
} tutti_model_type;

/* ---- The library ---------------------------------------------------------------------------------------------*/

typedef struct tutti_plugin {
  uint32_t struct_size;
  uint16_t abi_major, abi_minor; /* of the header it was compiled with */
  const char *id;                /* as in TUTTI_METADATA */
  const char *version;           /* as in TUTTI_METADATA */
  int32_t model_count;
  int32_t reserved;

  /* The index-th model type, 0 … model_count-1; null beyond. Constant. [any thread] */
  const tutti_model_type *(TUTTI_CALL *get_model)(int32_t index);
} tutti_plugin;

/* The one function that a plugin exports. Returns a constant table, or null where the plugin can't serve a host of
 * this version: it must serve every minor version of its own major one. Called before anything else. [any thread] */
#ifdef TUTTI_STATIC_PREFIX
#define TUTTI_PASTE2_(a, b) a##b
#define TUTTI_PASTE_(a, b) TUTTI_PASTE2_(a, b)
#define tutti_get_plugin TUTTI_PASTE_(TUTTI_STATIC_PREFIX, _tutti_get_plugin)
#endif
TUTTI_EXPORT const tutti_plugin *TUTTI_CALL tutti_get_plugin(uint32_t host_abi_major, uint32_t host_abi_minor);

/* ---- Extension tutti.train/1: learning -----------------------------------------------------------------------
 * The host owns epochs, order, early stopping, checkpoints and cancelling; the plugin owns parameters, optimizer
 * and memory of experience. */

#define TUTTI_TRAIN_ID "tutti.train/1"

#define TUTTI_TRAIN_DONE 0u            /* the step is done                                   */
#define TUTTI_TRAIN_NEEDS_DATA 1u      /* nothing done: give a batch with targets            */
#define TUTTI_TRAIN_NEEDS_EXPERIENCE 2u /* nothing more to do before experience comes        */
#define TUTTI_TRAIN_DIVERGED 3u        /* loss or parameters are not finite; restore or stop */

typedef struct tutti_scalar {
  const char *name; /* lives as long as the library */
  double value;
} tutti_scalar;

typedef struct tutti_train_in {
  uint32_t struct_size;
  uint32_t reserved;
  const tutti_batch *batch;           /* with targets, or null */
  const tutti_experience *experience; /* or null; both null: go on from memory */
  int64_t gradient_steps;             /* at most so many; 0: as many as the plugin thinks right */
  int64_t deadline_ns;                /* stop after so many nanoseconds; 0: none */
} tutti_train_in;

#define TUTTI_TRAIN_SCALARS 16

/* Filled in by step, but for struct_size. */
typedef struct tutti_train_out {
  uint32_t struct_size;
  uint32_t state;         /* TUTTI_TRAIN_… */
  int64_t gradient_steps; /* done in this call */
  double loss;            /* mean over the batch before the update, in the problem's dtype made double; NaN: none */
  int32_t scalar_count;
  int32_t reserved;
  tutti_scalar scalars[TUTTI_TRAIN_SCALARS]; /* further named values: gradient norm, learning rate, entropy … */
} tutti_train_out;

#define TUTTI_EVENT_TRAIN_BEGIN 1u /* value: training steps planned in all, so that schedules know their length */
#define TUTTI_EVENT_EPOCH_BEGIN 2u /* value: epoch, from 0 */
#define TUTTI_EVENT_EPOCH_END 3u   /* value: epoch; a closed-form model solves now */
#define TUTTI_EVENT_VALIDATION 4u  /* value: validation loss, lower is better */
#define TUTTI_EVENT_TRAIN_END 5u   /* value: 0; optimizer memory may be dropped */

typedef struct tutti_train {
  uint32_t struct_size;
  uint32_t reserved;
  /* One step of learning. [model] */
  tutti_status(TUTTI_CALL *step)(tutti_model *model, const tutti_train_in *in, tutti_train_out *out, tutti_error *error);
  /* Tells of an event. An event that the plugin doesn't know is answered with TUTTI_OK. [model] */
  tutti_status(TUTTI_CALL *notify)(tutti_model *model, uint32_t event, double value, tutti_error *error);
} tutti_train;

/* ---- Extension tutti.act/1: policies that the host lets act --------------------------------------------------*/

#define TUTTI_ACT_ID "tutti.act/1"

typedef struct tutti_act {
  uint32_t struct_size;
  uint32_t reserved;
  /* Chooses an action for each of N observations (series or observation, row, environment and agent are set).
   * explore: 0 the best action, 1 as in training. actions [N], tickets [N]: owned by the host, filled here; a ticket
   * is whatever lets step find what the policy remembered of this choice. [model] */
  tutti_status(TUTTI_CALL *act)(tutti_model *model, const tutti_experience *observations, int32_t explore,
                                int32_t *actions, uint64_t *tickets, tutti_error *error);
} tutti_act;

/* ---- Extension tutti.parameters/1: named tensors -------------------------------------------------------------
 * Whoever offers it gets saving, loading, resuming, counting and averaging from the host, which writes the
 * safetensors format. Set back to what they were, all parameters together give back the same bits in every later
 * answer and training step. */

#define TUTTI_PARAMETERS_ID "tutti.parameters/1"

#define TUTTI_ROLE_WEIGHT 0u    /* learned by gradient or in closed form */
#define TUTTI_ROLE_BUFFER 1u    /* belongs to the answer, isn't learned by gradient */
#define TUTTI_ROLE_OPTIMIZER 2u /* needed only to go on training */

typedef struct tutti_parameter {
  uint32_t struct_size;
  uint32_t role;
  const char *name;    /* unique in the model; lives as long as the model */
  tutti_tensor tensor; /* dense CPU memory of the model, valid until destroy. The host may write to it between calls */
} tutti_parameter;

typedef struct tutti_parameters {
  uint32_t struct_size;
  uint32_t reserved;
  /* How many; fixed for the model's life. [model] */
  int64_t(TUTTI_CALL *count)(tutti_model *model);
  /* Describes the index-th: the caller sets parameter->struct_size. [model] */
  tutti_status(TUTTI_CALL *get)(tutti_model *model, int64_t index, tutti_parameter *parameter, tutti_error *error);
  /* The host has written to the tensors: forget whatever was derived from them. [model] */
  tutti_status(TUTTI_CALL *changed)(tutti_model *model, tutti_error *error);
} tutti_parameters;

/* ---- Extension tutti.gradient/1: loss and gradients without an update ----------------------------------------*/

#define TUTTI_GRADIENT_ID "tutti.gradient/1"

typedef struct tutti_gradient {
  uint32_t struct_size;
  uint32_t reserved;
  /* The training loss of a batch (dropout off), and its gradient by each weight: gradients [count] in the order of
   * tutti.parameters/1, each of the parameter's shape and dtype, allocated by the host; ndim 0 for what isn't a
   * weight. Changes nothing in the model. [model] */
  tutti_status(TUTTI_CALL *evaluate)(tutti_model *model, const tutti_batch *batch, double *loss,
                                     const tutti_tensor *gradients, tutti_error *error);
} tutti_gradient;

/* ---- Extension tutti.stream/1: one step at a time in constant time -------------------------------------------*/

#define TUTTI_STREAM_ID "tutti.stream/1"

/* The memory of B parallel streams. Belongs to the model that made it and dies before it. */
typedef struct tutti_stream_state tutti_stream_state;

typedef struct tutti_stream {
  uint32_t struct_size;
  uint32_t reserved;
  /* An empty memory for streams streams. [model] */
  tutti_status(TUTTI_CALL *create)(tutti_model *model, int64_t streams, tutti_stream_state **state, tutti_error *error);
  /* A second memory with the same content. [model] */
  tutti_status(TUTTI_CALL *copy)(tutti_model *model, const tutti_stream_state *state, tutti_stream_state **copy,
                                 tutti_error *error);
  /* Writes the memory to bytes [*size]; with bytes null, or *size too small, only says how much is needed. [model] */
  tutti_status(TUTTI_CALL *save)(tutti_model *model, const tutti_stream_state *state, void *bytes, uint64_t *size,
                                 tutti_error *error);
  /* A memory from saved bytes, which may be from another process. [model] */
  tutti_status(TUTTI_CALL *load)(tutti_model *model, const void *bytes, uint64_t size, tutti_stream_state **state,
                                 tutti_error *error);
  /* Empties the streams whose mask byte [streams] is not 0; mask null: all. [model] */
  tutti_status(TUTTI_CALL *reset)(tutti_model *model, tutti_stream_state *state, const uint8_t *mask,
                                  tutti_error *error);
  /* Takes one frame [B,F] and answers as predict would on all frames since the last reset. elapsed [B] or absent.
   * [model] */
  tutti_status(TUTTI_CALL *step)(tutti_model *model, tutti_stream_state *state, const tutti_tensor *frame,
                                 const tutti_tensor *elapsed, const tutti_output *output, tutti_error *error);
  /* Frees a memory; null is lawful. [model] */
  void(TUTTI_CALL *destroy)(tutti_model *model, tutti_stream_state *state);
} tutti_stream;

/* ---- Extension tutti.trace/1: what lies between input and answer ---------------------------------------------*/

#define TUTTI_TRACE_ID "tutti.trace/1"

/* Gets one intermediate value; name and tensor are borrowed for the call. */
typedef void(TUTTI_CALL *tutti_trace_fn)(void *argument, const char *name, const tutti_tensor *tensor);

typedef struct tutti_trace {
  uint32_t struct_size;
  uint32_t reserved;
  /* predict, but every named intermediate goes to visit, in the order of computing, on the calling thread. [model] */
  tutti_status(TUTTI_CALL *run)(tutti_model *model, const tutti_batch *batch, tutti_trace_fn visit, void *argument,
                                tutti_error *error);
} tutti_trace;

/* ---- Metadata ------------------------------------------------------------------------------------------------
 *
 *     TUTTI_METADATA("org.example.mine", "1.0.0");
 *
 * once in a library, at file scope, lets the host read interface, id, version and ABI without running any of the
 * library's code. It writes the ELF note .note.qt.metadata that Qt's plugin loader looks for (metadata version 1,
 * stamped Qt 6.0, so that every Qt 6.3 and later takes it; a CBOR map: 2 the interface, 3 the class name, 4 our
 * own data) and exports qt_plugin_instance, which Qt wants to find and which answers null: no Qt object is ever
 * made. Both arguments are literals without quotes or backslashes, shorter than 65,536 bytes. */
#ifdef __cplusplus
#define TUTTI_EXTERN_C_ extern "C"
#else
#define TUTTI_EXTERN_C_
#endif
#define TUTTI_STRING_(x) #x
#define TUTTI_STRING(x) TUTTI_STRING_(x)
#if defined(__ELF__) && defined(__GNUC__) && !defined(TUTTI_STATIC_PREFIX)
/* A CBOR text with a 16-bit length that the assembler works out. */
#define TUTTI_CBOR_TEXT_(label, text)                                                                             \
  ".byte 0x79, ((" label "_end - " label ") >> 8) & 255, (" label "_end - " label ") & 255\n" label               \
  ": .ascii \"" text "\"\n" label "_end:\n"
#define TUTTI_METADATA(ID, VERSION)                                                                               \
  __asm__(".pushsection .note.qt.metadata, \"a\", %note\n"                                                        \
          ".balign 8\n"                                                                                           \
          ".long 12, .Ltutti_note_end - .Ltutti_note, 0x74510001\n"                                               \
          ".ascii \"qt-project!\\0\"\n"                                                                           \
          ".Ltutti_note: .byte 1, 6, 0, 0, 0xbf, 2\n"                                                             \
          TUTTI_CBOR_TEXT_(".Ltutti_iid", TUTTI_IID) ".byte 3\n" TUTTI_CBOR_TEXT_(".Ltutti_class", ID)            \
          ".byte 4, 0xbf\n"                                                                                       \
          TUTTI_CBOR_TEXT_(".Ltutti_k1", "id") TUTTI_CBOR_TEXT_(".Ltutti_v1", ID)                                 \
          TUTTI_CBOR_TEXT_(".Ltutti_k2", "version") TUTTI_CBOR_TEXT_(".Ltutti_v2", VERSION)                       \
          TUTTI_CBOR_TEXT_(".Ltutti_k3", "abi_major") ".byte 0x18, " TUTTI_STRING(TUTTI_ABI_MAJOR) "\n"           \
          TUTTI_CBOR_TEXT_(".Ltutti_k4", "abi_minor") ".byte 0x18, " TUTTI_STRING(TUTTI_ABI_MINOR) "\n"           \
          ".byte 0xff, 0xff\n"                                                                                    \
          ".Ltutti_note_end: .balign 8\n"                                                                         \
          ".popsection\n");                                                                                       \
  TUTTI_EXTERN_C_ TUTTI_EXPORT void *qt_plugin_instance(void);                                                    \
  TUTTI_EXTERN_C_ TUTTI_EXPORT void *qt_plugin_instance(void) { return NULL; }                                    \
  extern const char tutti_metadata_wants_a_semicolon_
#else
#define TUTTI_METADATA(ID, VERSION) extern const char tutti_metadata_wants_a_semicolon_
#endif

#ifdef __cplusplus
}
#endif

#endif
