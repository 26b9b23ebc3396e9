/* framewire: uncompressed frames between programs, on one machine without a copy, and between machines.
 *
 * A program that makes frames creates a sender, adds streams to it, and starts it. Of each stream it claims slots,
 * fills them, and publishes them:
 *
 *     fw_sender* sender;  fw_stream* stream;  fw_format format;  fw_slot* slot;  fw_view view;
 *     fw_sender_create(NULL, &sender);
 *     fw_sender_add_stream(sender, "render", NULL, &stream);
 *     fw_sender_start(sender);
 *     fw_format_init(&format, sizeof format, FW_PIXEL_RGBA, 1920, 1080);
 *     fw_stream_begin(stream, &format, 0, NULL);
 *     while (fw_stream_claim(stream, FW_FOR_EVER, 0, &slot) == FW_OK) {
 *       fw_slot_view(slot, &view, sizeof view);
 *       ... fill view.plane[0].data ...
 *       fw_slot_publish(slot, NULL);
 *       fw_slot_unref(slot);
 *     }
 *     fw_sender_destroy(sender);
 *
 * A program that takes frames creates a receiver, and acquires them:
 *
 *     fw_receiver* receiver;  fw_frame* frame;
 *     fw_receiver_create("big/render", NULL, &receiver);
 *     while (fw_receiver_acquire(receiver, FW_FOR_EVER, &frame) == FW_OK) {
 *       fw_frame_view(frame, &view, sizeof view);
 *       ... read view.plane[0].data ...
 *       fw_frame_unref(frame);
 *     }
 *     fw_receiver_destroy(receiver);
 *
 * RESULTS. Functions return an fw_result: FW_OK, another result that is not an error (> 0), or an error (< 0). A later
 * version may return results that are not listed here: tell them by their sign. After an error fw_message() says what
 * was wrong, with which value, and what to do. Output arguments are written only with FW_OK, unless it is said
 * otherwise. But where a function makes a handle, that output becomes NULL first, also before an error.
 *
 * HANDLES. A handle is a number in the type of a pointer: it points at nothing. Each function that makes one names the
 * function that ends it. To end NULL does nothing. A handle that was ended, or never was one, is an error
 * (FW_ERROR_ARGUMENT) and never a crash; the message says which it was, where that can be known.
 *
 * THREADS. Any thread may call any function with any handle. Two threads at once in fw_receiver_acquire() with the same
 * receiver, in fw_stream_begin() with the same stream, or in the same next_event function with the same handle, are an
 * error of the second one (FW_ERROR_STATE). A function that ends a handle may be called while another thread waits with
 * it; that one returns FW_ERROR_STATE. Threads that wait here must not be cancelled (pthread_cancel). The library's own
 * threads, named "fw-...", begin with the first sender or receiver that starts, block all signals, and call nothing of
 * the program's but its log function.
 *
 * SIGNALS. A signal that the program handles does not end a wait, but its handler may: it may call fw_stream_wake() and
 * fw_receiver_wake(), with a handle that is not ended meanwhile. It must not call any other function here, which could
 * wait for a lock that the interrupted thread holds.
 *
 * TIME. Points in time are nanoseconds of CLOCK_MONOTONIC of this machine, unless it is said otherwise. A timeout is in
 * nanoseconds: 0 does not wait, and less than 0 (FW_FOR_EVER) waits without an end. Another thread ends a wait by
 * fw_stream_wake() or fw_receiver_wake().
 *
 * SIZES. Structures begin with struct_size, or are given with their size, and grow at their end in later versions: the
 * library writes no more than the caller has room for.
 *
 * PROCESSES. After fork() every handle of the child is dead: functions return FW_ERROR_FORKED, and to end one does
 * nothing. The child may make new ones. It may read frames that its parent held, which may change, and never writes to
 * memory that the parent shares.
 *
 * The library prints nothing, ends no process (but where an assertion of its own fails), and changes no signal handler,
 * locale or environment variable. It may be loaded by dlopen(), but not unloaded.
 */
#ifndef FRAMEWIRE_FRAMEWIRE_H
#define FRAMEWIRE_FRAMEWIRE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define FW_API __attribute__((visibility("default")))

/* ---- Results and messages --------------------------------------------------------------------------------------- */

typedef int32_t fw_result;

enum {
  FW_OK = 0,
  FW_NOTHING = 1, /* there is nothing now, and the timeout has passed */
  FW_NOBODY = 2,  /* no viewer watches the stream, and the timeout has passed */
  FW_CHANGED = 3, /* the slot is of an earlier format than the stream's: the frame was dropped, and counted */
  FW_WOKEN = 4,   /* a wake function ended the wait */
  FW_ENDED = 5,   /* the stream has ended, and no frame is left */

  FW_ERROR_ARGUMENT = -1,    /* an argument, an option or a handle is wrong */
  FW_ERROR_STATE = -2,       /* the call is out of order, or another thread is in such a call */
  FW_ERROR_ALL_HELD = -3,    /* this program holds every slot: unref frames first */
  FW_ERROR_MEMORY = -4,      /* there is not enough memory */
  FW_ERROR_REFUSED = -5,     /* the peer refuses: wrong key, no such stream, too many viewers; or it would be unsafe */
  FW_ERROR_LOST = -6,        /* the peer is gone, and the options forbid to wait for it longer */
  FW_ERROR_UNSUPPORTED = -7, /* this version, or this machine, cannot do it */
  FW_ERROR_FORKED = -8,      /* the handle belongs to the process that this one was forked from */
  FW_ERROR_FAILED = -9,      /* the system refused: port in use, no permission, no descriptors */
  FW_ERROR_INTERNAL = -10    /* a fault of this library; please report the message */
};

#define FW_FOR_EVER INT64_C(-1)

/* The version of the library that runs, "0.1.0". Static. */
FW_API const char* fw_version(void);

/* "FW_NOTHING". Static; "unknown result" for one that this version does not have. */
FW_API const char* fw_result_name(fw_result result);

/* Why the last call of this thread that returned an error did so: one sentence in English, in UTF-8. Valid until this
 * thread's next call that returns an error. Empty before the first one. Never NULL. */
FW_API const char* fw_message(void);

/* ---- Settings --------------------------------------------------------------------------------------------------- */

/* An option by its name on the programs' command lines, without dashes: {"key", "/etc/framewire.key"}. Flags take "yes"
 * or "no". docs/library.md lists them; unknown ones, and values that the programs would refuse, are FW_ERROR_ARGUMENT.
 * Strings are UTF-8, and are copied. */
typedef struct fw_option {
  const char* name;
  const char* value;
} fw_option;

enum { FW_LOG_ERROR = 0, FW_LOG_WARNING = 1, FW_LOG_INFO = 2, FW_LOG_DETAIL = 3 };

/* Receives lines about sessions, such as "session from 192.0.2.7 ended". `text` has no end of line; it may hold what a
 * peer said, so that it must be escaped before a terminal shows it. Threads of the library call it, several at once,
 * and so do functions of the library on the program's threads. It must not call the library, and must not throw. The
 * function that ends the handle waits for calls that run; when it has returned, there is none any more. */
typedef void (*fw_log_function)(void* user, int32_t level, const char* text);

typedef struct fw_settings {
  size_t struct_size; /* sizeof(fw_settings) */
  const fw_option* options;
  size_t option_count;
  fw_log_function log; /* or NULL; of senders and receivers, a stream uses its sender's */
  void* log_user;      /* for the log function */
} fw_settings;

/* ---- Formats ---------------------------------------------------------------------------------------------------- */

/* Pixel formats; the names are FFmpeg's. The numbers are those on the wire. */
enum {
  FW_PIXEL_BYTES = 1, /* no picture: up to `width` bytes, height 1 */
  FW_PIXEL_RGBA = 2,
  FW_PIXEL_BGRA = 3,
  FW_PIXEL_RGB0 = 4,
  FW_PIXEL_BGR0 = 5,
  FW_PIXEL_RGB24 = 6,
  FW_PIXEL_BGR24 = 7,
  FW_PIXEL_GRAY8 = 8,
  FW_PIXEL_NV12 = 9,
  FW_PIXEL_YUV420P = 10,
  FW_PIXEL_YUV422P = 11,
  FW_PIXEL_YUV444P = 12,
  FW_PIXEL_UYVY422 = 13,
  FW_PIXEL_YUYV422 = 14,
  FW_PIXEL_P010LE = 15,
  FW_PIXEL_YUV420P10LE = 16,
  FW_PIXEL_YUV422P10LE = 17,
  FW_PIXEL_RGBA_GRAYF32LE = 18 /* rgba, and a plane of distances from the eye: 32-bit floats, infinite: nothing there */
};

/* FFmpeg's name, "yuv420p"; "bytes"; "rgba+grayf32le". NULL for a number that is no format. Static. */
FW_API const char* fw_pixel_format_name(int32_t pixel_format);
/* Its inverse. FW_ERROR_ARGUMENT for a name that this version does not know. */
FW_API fw_result fw_pixel_format_from_name(const char* name, int32_t* pixel_format);

#define FW_MAX_PLANES 8

/* Where a plane's rows lie: `rows` rows of `row_bytes` bytes, `pitch_bytes` apart. This structure never grows. */
typedef struct fw_plane_layout {
  uint64_t offset_bytes; /* of the first row, from the start of the slot */
  uint32_t pitch_bytes;
  uint32_t row_bytes;
  uint32_t rows;
  uint32_t reserved; /* 0 */
} fw_plane_layout;

/* The format of a stream's frames. Colour codes are those of ITU-T H.273, as in FFmpeg's AVColorSpace, AVColorTransfer-
 * Characteristic and AVColorPrimaries; range, chroma location, alpha mode and field order have FFmpeg's numbers. */
typedef struct fw_format {
  size_t struct_size; /* set by fw_format_init() */
  int32_t pixel_format;
  uint32_t width;  /* pixels, 1 to 32768; bytes with FW_PIXEL_BYTES */
  uint32_t height; /* pixels */
  uint32_t plane_count;
  fw_plane_layout plane[FW_MAX_PLANES];
  uint64_t size_bytes;       /* of a frame, with all padding */
  int32_t colour_matrix;     /* 0: RGB; 2: unspecified */
  int32_t colour_range;      /* 1: limited (tv); 2: full (pc); 0: unspecified */
  int32_t colour_transfer;   /* 2: unspecified */
  int32_t colour_primaries;  /* 2: unspecified */
  int32_t chroma_location;   /* 0: unspecified */
  int32_t alpha_mode;        /* 0: unspecified; 1: premultiplied; 2: straight */
  int32_t field_order;       /* 0: unspecified; 1: progressive; others: interlaced */
  uint32_t sample_aspect[2]; /* width : height of one pixel; 1 : 1 */
  uint32_t frame_rate[2];    /* frames per second, as numerator and denominator; 0 / 1: unknown */
} fw_format;

/* Fills `format`, `struct_size` bytes long, for frames without padding: planes one after another, pitch = row. Colours
 * are unspecified, the aspect is 1 : 1, the rate unknown. A program may change the fields afterwards, also the planes':
 * fw_stream_begin() checks them. FW_ERROR_ARGUMENT: no such format, or a size out of range. */
FW_API fw_result fw_format_init(fw_format* format, size_t struct_size, int32_t pixel_format, uint32_t width,
                                uint32_t height);

/* ---- Views ------------------------------------------------------------------------------------------------------ */

/* Kinds of memory. This version has host memory alone. Option memory asks for another one of senders and receivers, as
 * "cuda", "dmabuf" or "gl", which is FW_ERROR_UNSUPPORTED. */
enum { FW_MEMORY_HOST = 0, FW_MEMORY_CUDA = 1, FW_MEMORY_DMABUF = 2, FW_MEMORY_GL_TEXTURE = 3 };

enum {
  FW_VIEW_READ_ONLY = 1 /* a write ends the process by SIGSEGV over local, and is a fault of the program elsewhere */
};

/* This structure never grows. */
typedef struct fw_plane {
  void* data; /* of the first row; NULL if the processor may not touch it. Do not write if the view is read-only. */
  uint64_t offset_bytes;
  uint32_t pitch_bytes;
  uint32_t row_bytes;
  uint32_t rows;
  uint32_t reserved;
} fw_plane;

/* What is in a slot or frame. Its pointers are valid until the last reference of the slot or frame is ended. */
typedef struct fw_view {
  size_t struct_size; /* as the function was given it */
  int32_t memory;     /* FW_MEMORY_HOST */
  uint32_t flags;     /* FW_VIEW_READ_ONLY */
  int32_t pixel_format;
  uint32_t width;
  uint32_t height;
  uint32_t plane_count;
  void* data;          /* of the whole slot or frame */
  uint64_t size_bytes; /* of it */
  uint64_t sequence;   /* the stream's frames count from 0; of a slot that is not published: not known, 0 */
  uint32_t epoch;      /* counts formats from 1: of a slot those of its stream, of a frame those that its receiver has
                          seen, over all sessions; while it stays, the format does */
  uint32_t reserved;
  uint64_t tag;         /* fw_frame_info::tag */
  int64_t pts_ns;       /* fw_frame_info::pts_ns */
  int64_t begun_ns;     /* when the source began the frame, of the sender's clock: see fw_receiver_clock_offset() */
  int64_t completed_ns; /* when the frame was published, of the sender's clock */
  int64_t received_ns;  /* when its last byte was here; 0 of a slot */
  fw_plane plane[FW_MAX_PLANES];
} fw_view;

/* ---- Senders ---------------------------------------------------------------------------------------------------- */

typedef struct fw_sender fw_sender;
typedef struct fw_stream fw_stream;
typedef struct fw_slot fw_slot;

/* Makes a sender: one port, or one dialled viewer, and the streams that it offers. `settings` may be NULL. Options:
 * listen, to, transport, memory, key, insecure, encrypt, timeout, tos, rdma-address. End it by fw_sender_destroy().
 * FW_ERROR_ARGUMENT: an option is wrong. FW_ERROR_UNSUPPORTED: option memory is "cuda", "dmabuf" or "gl".
 * FW_ERROR_MEMORY. It neither listens nor reads a key yet. */
FW_API fw_result fw_sender_create(const fw_settings* settings, fw_sender** sender);

/* Adds a stream, before fw_sender_start(). `name` is 1 to 64 letters, digits or any of "._-"; no two streams have the
 * same. Options: delivery, slots, viewers, frames, duration, spin. The stream ends with its sender. FW_ERROR_ARGUMENT:
 * the name or an option is wrong, or there are 64 streams. FW_ERROR_STATE: the sender was started or drained.
 * FW_ERROR_FAILED: no descriptors. FW_ERROR_MEMORY. */
FW_API fw_result fw_sender_add_stream(fw_sender* sender, const char* name, const fw_settings* settings,
                                      fw_stream** stream);

/* Listens, or dials. Viewers may come from now on. FW_ERROR_STATE: there is no stream, or it was called before, or the
 * sender was drained. FW_ERROR_FAILED: the port is in use, the key cannot be read, there is no RDMA device for
 * transport rdma, or no thread. FW_ERROR_REFUSED: other machines could connect and there is no key, or other users can
 * read it. */
FW_API fw_result fw_sender_start(fw_sender* sender);

/* The port that it listens on; 0 if it dials. FW_ERROR_STATE before fw_sender_start(). */
FW_API fw_result fw_sender_port(fw_sender* sender, uint16_t* port);

/* Finishes all streams, and waits until every viewer has got its last frame and has said so. FW_NOTHING: the timeout
 * has passed, and the viewers that were left were cut; to cut one takes up to a second, also with timeout 0. It is
 * FW_OK also without viewers, and before fw_sender_start(). The sender can then only be destroyed. Slots that are
 * claimed can no longer be published. */
FW_API fw_result fw_sender_drain(fw_sender* sender, int64_t timeout_ns);

/* Ends the sender. Viewers that are there are cut, as if the stream had ended with the frame that they got last: drain
 * before, so that they get all. That takes up to a second. Its streams end, too; slots that the program still holds
 * stay readable and writable until their fw_slot_unref(), and can no longer be published. */
FW_API void fw_sender_destroy(fw_sender* sender);

/* ---- Streams ---------------------------------------------------------------------------------------------------- */

/* Begins an epoch: frames have this format from now on. Allocates the slots: slots * viewers + 4, and `kept_slots`
 * (0 to 24) more, for a program that keeps so many beside the one that it fills. Slots that are claimed at this moment
 * can no longer be published. `epoch`, if not NULL, gets its number, from 1. FW_ERROR_ARGUMENT: the format is wrong.
 * FW_ERROR_MEMORY: there is not enough for the slots. FW_ERROR_STATE: the stream has ended, or another thread is in it.
 * FW_ERROR_FAILED: no descriptors. FW_ERROR_REFUSED: its sender dials, and was refused. */
FW_API fw_result fw_stream_begin(fw_stream* stream, const fw_format* format, uint32_t kept_slots, uint32_t* epoch);

enum {
  FW_CLAIM_UNWATCHED = 1 /* return a slot although no viewer watches */
};

/* A slot to fill. Several may be claimed at once. Waits until a viewer watches and, with delivery "every", until the
 * slowest viewer has room. End it by fw_slot_unref(). FW_NOBODY or FW_NOTHING (no room): the timeout has passed.
 * FW_WOKEN: by fw_stream_wake(). FW_ENDED: the stream has reached its limit of frames or duration, or its sender was
 * drained. FW_ERROR_REFUSED: its sender dials, and was refused. FW_ERROR_STATE before fw_stream_begin(), and without
 * FW_CLAIM_UNWATCHED before fw_sender_start(). FW_ERROR_ALL_HELD: this program holds every slot, so that it would wait
 * for itself. */
FW_API fw_result fw_stream_claim(fw_stream* stream, int64_t timeout_ns, uint32_t flags, fw_slot** slot);

/* Makes one fw_stream_claim() that waits return FW_WOKEN; if none does, the next that finds no slot. Signal
 * handlers may call it: see SIGNALS. */
FW_API fw_result fw_stream_wake(fw_stream* stream);

/* Counts a frame that the program had and did not send. */
FW_API fw_result fw_stream_drop(fw_stream* stream);

/* A descriptor for poll(), select() and epoll. It is readable while fw_stream_next_event() may return something. And
 * once fw_stream_claim() with timeout 0 has returned FW_NOTHING or FW_NOBODY, it becomes readable when another one may
 * return something else, until that is called: who wants no slot now is not woken for one. At the end of the stream it
 * is readable until fw_stream_claim() with timeout 0 has said so. It belongs to the stream: do not read or close it, or
 * pass it to another process. */
FW_API fw_result fw_stream_descriptor(fw_stream* stream, int* descriptor);

/* The slot's memory. A view of a published slot is read-only. `struct_size` is sizeof(fw_view). FW_ERROR_STATE: its
 * frame was dropped by fw_slot_publish(). */
FW_API fw_result fw_slot_view(fw_slot* slot, fw_view* view, size_t struct_size);

typedef struct fw_frame_info {
  size_t struct_size;  /* sizeof(fw_frame_info) */
  int64_t pts_ns;      /* presentation time, from the start of the stream */
  uint64_t tag;        /* handed on to the receiver */
  int64_t begun_ns;    /* when work on the frame began, of CLOCK_MONOTONIC; 0: when the slot was claimed */
  uint64_t size_bytes; /* FW_PIXEL_BYTES: the bytes of this frame; 0: all. Other formats: 0. */
} fw_frame_info;

/* Gives the frame to all viewers. `info` may be NULL. Never waits. The slot stays the caller's, read-only, until
 * fw_slot_unref(): it is not used again before. FW_CHANGED: a new format has begun since it was claimed, and the frame
 * was dropped. FW_ENDED: the stream has ended. FW_ERROR_STATE: it was published already. */
FW_API fw_result fw_slot_publish(fw_slot* slot, const fw_frame_info* info);

/* Adds a reference, which takes a fw_slot_unref() of its own. FW_ERROR_STATE: there are 262,143 already. */
FW_API fw_result fw_slot_ref(fw_slot* slot);
/* Ends a reference. The last one gives the slot back; one that was not published counts for nothing. */
FW_API void fw_slot_unref(fw_slot* slot);

typedef struct fw_stream_counts {
  size_t struct_size;
  uint64_t frames_published;
  uint64_t frames_dropped; /* fw_stream_drop(), and slots of an earlier format */
  uint32_t viewers;        /* that watch now */
  uint32_t slots_in_use;   /* claimed, kept, or held by viewers */
  /* Sums over the sessions that have ended: */
  uint64_t frames_sent;
  uint64_t frames_skipped; /* for newer ones */
  uint64_t frames_lost;    /* that the viewer has not reported as received */
  uint64_t sessions;       /* so many have ended */
  /* Of all sessions: */
  uint64_t messages_sent;
  uint64_t messages_dropped;
  uint64_t events_dropped;
} fw_stream_counts;

FW_API fw_result fw_stream_get_counts(fw_stream* stream, fw_stream_counts* counts, size_t struct_size);

/* ---- Receivers -------------------------------------------------------------------------------------------------- */

typedef struct fw_receiver fw_receiver;
typedef struct fw_frame fw_frame;

/* Makes a receiver of one stream, and starts to dial. `source` is HOST[:PORT][/STREAM] of a sender that listens; NULL:
 * the receiver listens for one that dials, with option listen. Options: listen, transport, memory, key, insecure,
 * encrypt, timeout, tos, rdma-address, no-relaxed-ordering, delivery, retry (default: it waits for ever), spin, and
 *   reconnect  "no": the first session is the only one (default "yes")
 *   read       "caller": only fw_receiver_acquire() reads frames from the network, which is faster for small ones, but
 *              a program that does not call it takes nothing in; "thread": a thread of the library does (the default)
 * `settings` may be NULL. End it by fw_receiver_destroy(). FW_ERROR_ARGUMENT: the source or an option is wrong.
 * FW_ERROR_UNSUPPORTED, FW_ERROR_FAILED, FW_ERROR_REFUSED: as fw_sender_create() and fw_sender_start().
 * FW_ERROR_MEMORY. Whether a sender is there shows later: fw_receiver_acquire(), fw_receiver_state(). */
FW_API fw_result fw_receiver_create(const char* source, const fw_settings* settings, fw_receiver** receiver);

/* The next frame, in the order in which they were published. End it by fw_frame_unref(). With delivery "latest", the
 * default, a program that is slower than the sender misses frames. FW_NOTHING: the timeout has passed. FW_WOKEN: by
 * fw_receiver_wake(). FW_ENDED: the sender has said so, and all frames are taken. FW_ERROR_ALL_HELD, only instead of
 * waiting: this program holds every slot. FW_ERROR_REFUSED, FW_ERROR_LOST, FW_ERROR_MEMORY, FW_ERROR_FAILED: it has
 * given up, and so does every later call. */
FW_API fw_result fw_receiver_acquire(fw_receiver* receiver, int64_t timeout_ns, fw_frame** frame);

/* The port that it listens on, from fw_receiver_create() on; 0 if it dials. */
FW_API fw_result fw_receiver_port(fw_receiver* receiver, uint16_t* port);

/* As fw_stream_wake(), for fw_receiver_acquire(). */
FW_API fw_result fw_receiver_wake(fw_receiver* receiver);

/* As fw_stream_descriptor(), for fw_receiver_acquire() and fw_receiver_next_event(). But it is readable before the
 * first fw_receiver_acquire(), and after each one that returned a frame, since there may be another one. So a program
 * that takes events alone asks for them by a timer. */
FW_API fw_result fw_receiver_descriptor(fw_receiver* receiver, int* descriptor);

/* Ends the session and the receiver, which takes up to a second if the sender does not answer. Frames that the program
 * still holds stay valid and unchanged: those that lie in the sender's memory are copied, which takes a few
 * milliseconds each. */
FW_API void fw_receiver_destroy(fw_receiver* receiver);

/* The frame's memory, read-only. `struct_size` is sizeof(fw_view). */
FW_API fw_result fw_frame_view(fw_frame* frame, fw_view* view, size_t struct_size);
/* The frame's format. */
FW_API fw_result fw_frame_format(fw_frame* frame, fw_format* format, size_t struct_size);
/* Whether the frame is still whole: FW_OK. FW_CHANGED: its session was cut while the program held it, and it lay in
 * the sender's memory (transport local), which the sender may use again. */
FW_API fw_result fw_frame_check(fw_frame* frame);
/* Adds a reference, which takes a fw_frame_unref() of its own. FW_ERROR_STATE: there are 262,143 already. */
FW_API fw_result fw_frame_ref(fw_frame* frame);
/* Ends a reference. After the last one the sender may write the next frame there. */
FW_API void fw_frame_unref(fw_frame* frame);

enum {
  FW_STATE_WAITING = 0,   /* there is no sender yet */
  FW_STATE_CONNECTED = 1, /* there is a session */
  FW_STATE_LOST = 2,      /* the session was lost; it dials again */
  FW_STATE_ENDED = 3,     /* the stream has ended */
  FW_STATE_FAILED = 4     /* refused, or given up */
};

/* The state. `text`, if not NULL, gets the line about it, "transport=local memory=host ..." or why there is no session:
 * at most `text_bytes` bytes with the ending zero, cut if it is longer. */
FW_API fw_result fw_receiver_state(fw_receiver* receiver, int32_t* state, char* text, size_t text_bytes);

/* Subtract `offset_ns` from a time of the sender's clock to get one of this machine; it may be wrong by
 * `uncertainty_ns`. Both are 0 on one machine, and before the first session. */
FW_API fw_result fw_receiver_clock_offset(fw_receiver* receiver, int64_t* offset_ns, int64_t* uncertainty_ns);

typedef struct fw_receiver_counts {
  size_t struct_size;
  uint64_t frames_received;
  uint64_t bytes_received;
  uint64_t frames_lost;    /* that the sender has sent, and that did not arrive */
  uint64_t frames_skipped; /* that the sender dropped for newer ones */
  uint64_t sessions;
  uint64_t messages_dropped; /* of the sender's, because nobody took them */
  uint32_t frames_held;      /* by this program, now */
  uint32_t slots;            /* so many it may hold; 0 before the first session */
} fw_receiver_counts;

FW_API fw_result fw_receiver_get_counts(fw_receiver* receiver, fw_receiver_counts* counts, size_t struct_size);

/* ---- Events and messages ---------------------------------------------------------------------------------------- */

enum {
  FW_EVENT_MESSAGE = 1,  /* JSON of the other end's program: text, and at a stream viewer_number */
  FW_EVENT_STATE = 2,    /* of a receiver: state, and text as fw_receiver_state() */
  FW_EVENT_KEY = 16,     /* usage, keysym, pressed, repeated, modifiers */
  FW_EVENT_TEXT = 17,    /* text: characters that were written */
  FW_EVENT_POINTER = 18, /* x, y, dx, dy, locked: then x and y mean nothing */
  FW_EVENT_BUTTON = 19,  /* button, pressed, x, y, modifiers */
  FW_EVENT_WHEEL = 20,   /* dx, dy, x, y, modifiers: notches to the right and away from the user */
  FW_EVENT_GAMEPAD = 21, /* number, pressed (it is connected), axes, buttons */
  FW_EVENT_SIZE = 22,    /* width, height: so many pixels of the viewer's screen the frame fills */
  FW_EVENT_FOCUS = 23    /* pressed: input begins, or ends */
};

/* Bits of fw_event::modifiers. */
enum {
  FW_MODIFIER_CONTROL = 1,
  FW_MODIFIER_SHIFT = 2,
  FW_MODIFIER_ALT = 4,
  FW_MODIFIER_SUPER = 8,
  FW_MODIFIER_CAPS_LOCK = 16,
  FW_MODIFIER_NUM_LOCK = 32
};

enum { FW_BUTTON_LEFT = 0, FW_BUTTON_MIDDLE = 1, FW_BUTTON_RIGHT = 2, FW_BUTTON_BACK = 3, FW_BUTTON_FORWARD = 4 };

/* One event. Fields that its type does not name are 0. Positions are pixels of the frame as it was sent, from its top
 * left, and may lie outside. docs/input.md has more about each. */
typedef struct fw_event {
  size_t struct_size; /* sizeof(fw_event); functions that fill it set it */
  int32_t type;
  int32_t state;          /* FW_STATE_... */
  uint64_t viewer_number; /* of the session, from 1 */
  const char* text;       /* "" without one; valid until the next event is taken from this handle, or its end */
  char viewer[17];        /* of input: the viewer's id, 16 hexadecimal digits */
  uint8_t pressed;
  uint8_t repeated; /* by the keyboard */
  uint8_t locked;   /* the pointer is hidden */
  uint32_t epoch;   /* of input: the format in whose pixels positions count */
  int64_t time_ns;  /* of input: of the viewer's clock */
  uint32_t usage;   /* USB HID usage of page 7: the key's place; 0: unknown */
  uint32_t keysym;  /* X11 keysym of what is printed on the key; 0: unknown */
  uint32_t modifiers;
  uint32_t button;
  double x, y, dx, dy;
  uint32_t width, height;
  uint32_t number;  /* of the gamepad, from 0 */
  uint32_t buttons; /* bit i: GLFW_GAMEPAD_BUTTON_i */
  float axes[6];    /* left x, left y, right x, right y, left trigger, right trigger; -1 to 1 */
} fw_event;

/* The next event, or FW_NOTHING; never waits: use the descriptor. Of a stream: the first call tells viewers that the
 * program takes input and messages; before it, they are told that it does not. Input comes from one viewer at a time.
 * Queues are bounded, and drops are counted; releases of what is pressed are never dropped. `struct_size` is
 * sizeof(fw_event). */
FW_API fw_result fw_stream_next_event(fw_stream* stream, fw_event* event, size_t struct_size);
FW_API fw_result fw_receiver_next_event(fw_receiver* receiver, fw_event* event, size_t struct_size);

/* Sends a JSON object, at most 64 KiB, to the program at the other end: of a stream to all viewers, of a receiver to
 * the sender. Never waits. FW_NOBODY: there is nobody. FW_NOTHING: too many wait already: of a stream the oldest
 * one was dropped for this one, of a receiver this one was dropped. FW_ERROR_ARGUMENT: it is no JSON object, or too
 * long. FW_ERROR_REFUSED: the source takes no messages. It says so only after a first one has come, which is FW_OK
 * here, and lost: fw_stream_counts::messages_dropped. */
FW_API fw_result fw_stream_send(fw_stream* stream, const char* json);
FW_API fw_result fw_receiver_send(fw_receiver* receiver, const char* json);

/* Sends input to the stream's source, as a viewer does. Only one type of events FW_EVENT_KEY and above; its viewer,
 * epoch and time_ns are filled in. FW_NOBODY: there is no session. FW_NOTHING: it was dropped. FW_ERROR_ARGUMENT: a
 * field is wrong, also without a session. FW_ERROR_REFUSED: the source takes no input, or another viewer has it; the
 * message says why. As with fw_receiver_send(), the first event may be FW_OK and lost. */
FW_API fw_result fw_receiver_send_event(fw_receiver* receiver, const fw_event* event);

#if defined(__cplusplus)
}
#endif

#endif
