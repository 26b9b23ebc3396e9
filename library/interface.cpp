// The functions of framewire.h, but for those of results and formats. Each looks its handles up, and asks their
// objects.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "library/events.hpp"
#include "library/failure.hpp"
#include "library/formats.hpp"
#include "library/handles.hpp"
#include "library/receiver.hpp"
#include "library/sender.hpp"
#include "library/settings.hpp"
#include "library/struct_size.hpp"

using namespace framewire;

namespace {

/// For functions that signal handlers may call: the interrupted thread may be about to look at errno.
class KeptErrno {
 public:
  KeptErrno() noexcept : before_(errno) {}
  ~KeptErrno() { errno = before_; }
  KeptErrno(const KeptErrno&) = delete;
  KeptErrno& operator=(const KeptErrno&) = delete;

 private:
  const int before_;
};

/// Looks the handle up, and runs `call` with its object.
template <typename Object, typename Call>
fw_result with(const typename HandleOf<Object>::type* handle, const char* function, Call&& call) {
  return guarded([&]() -> fw_result { return call(*find_object<Object>(handle, function)); });
}

/// Where a function puts what it makes: null until it has succeeded.
template <typename Pointer>
void clear_output(Pointer** output, const char* function, const char* argument) {
  require(output, function, argument);
  *output = nullptr;
}

/// The same, for a function that makes something: `output` is null until it has succeeded.
template <typename Object, typename Pointer, typename Call>
fw_result with_output(const typename HandleOf<Object>::type* handle, const char* function, Pointer** output,
                      const char* argument, Call&& call) {
  return guarded([&]() -> fw_result {
    clear_output(output, function, argument);
    return call(*find_object<Object>(handle, function));
  });
}

}  // namespace

extern "C" {

// ---- Senders ----

fw_result fw_sender_create(const fw_settings* settings, fw_sender** sender) {
  return guarded([&]() -> fw_result {
    clear_output(sender, "fw_sender_create", "sender");
    auto made = std::make_unique<Sender>(sender_endpoint(settings), make_log(settings));
    *sender = make_handle(made.get());
    static_cast<void>(made.release());  // to its handle
    return FW_OK;
  });
}

fw_result fw_sender_add_stream(fw_sender* sender, const char* name, const fw_settings* settings, fw_stream** stream) {
  return with_output<Sender>(sender, "fw_sender_add_stream", stream, "stream", [&](Sender& object) -> fw_result {
    require(name, "fw_sender_add_stream", "name");
    object.add_stream(stream_options(name, settings), *stream);
    return FW_OK;
  });
}

fw_result fw_sender_start(fw_sender* sender) {
  return with<Sender>(sender, "fw_sender_start", [](Sender& object) -> fw_result {
    object.start();
    return FW_OK;
  });
}

fw_result fw_sender_port(fw_sender* sender, uint16_t* port) {
  return with<Sender>(sender, "fw_sender_port", [&](const Sender& object) -> fw_result {
    require(port, "fw_sender_port", "port");
    *port = object.port();
    return FW_OK;
  });
}

fw_result fw_sender_drain(fw_sender* sender, int64_t timeout_ns) {
  return with<Sender>(sender, "fw_sender_drain", [&](Sender& object) { return object.drain(timeout_ns); });
}

void fw_sender_destroy(fw_sender* sender) {
  guarded([&]() -> fw_result {
    if (const auto object = end_handle<Sender>(sender)) {
      object->end();
    }
    return FW_OK;
  });
}

// ---- Streams ----

fw_result fw_stream_begin(fw_stream* stream, const fw_format* format, uint32_t kept_slots, uint32_t* epoch) {
  return with<SourceStream>(stream, "fw_stream_begin", [&](SourceStream& object) -> fw_result {
    const std::uint32_t begun = object.begin(checked_format(format, "fw_stream_begin"), kept_slots);
    if (epoch != nullptr) {
      *epoch = begun;
    }
    return FW_OK;
  });
}

fw_result fw_stream_claim(fw_stream* stream, int64_t timeout_ns, uint32_t flags, fw_slot** slot) {
  return with_output<SourceStream>(stream, "fw_stream_claim", slot, "slot",
                                   [&](SourceStream& object) { return object.claim(timeout_ns, flags, *slot); });
}

fw_result fw_stream_wake(fw_stream* stream) {
  const KeptErrno kept;
  return with<SourceStream>(stream, "fw_stream_wake", [](SourceStream& object) -> fw_result {
    object.wake();
    return FW_OK;
  });
}

fw_result fw_stream_drop(fw_stream* stream) {
  return with<SourceStream>(stream, "fw_stream_drop", [](SourceStream& object) -> fw_result {
    object.drop();
    return FW_OK;
  });
}

fw_result fw_stream_descriptor(fw_stream* stream, int* descriptor) {
  return with<SourceStream>(stream, "fw_stream_descriptor", [&](const SourceStream& object) -> fw_result {
    require(descriptor, "fw_stream_descriptor", "descriptor");
    *descriptor = object.descriptor();
    return FW_OK;
  });
}

fw_result fw_stream_get_counts(fw_stream* stream, fw_stream_counts* counts, size_t struct_size) {
  return with<SourceStream>(stream, "fw_stream_get_counts", [&](const SourceStream& object) -> fw_result {
    hand_out(object.counts(), counts, struct_size, "fw_stream_get_counts", "fw_stream_counts");
    return FW_OK;
  });
}

// ---- Slots ----

fw_result fw_slot_view(fw_slot* slot, fw_view* view, size_t struct_size) {
  return with<Slot>(slot, "fw_slot_view", [&](const Slot& object) -> fw_result {
    fill_out([&](fw_view& filled) { object.fill(filled); }, view, struct_size, "fw_slot_view", "fw_view");
    return FW_OK;
  });
}

fw_result fw_slot_publish(fw_slot* slot, const fw_frame_info* info) {
  return guarded([&]() -> fw_result {
    auto object = find_object<Slot>(slot, "fw_slot_publish", handles::is_taken);
    return object->publish(object, info == nullptr
                                       ? fw_frame_info{}
                                       : taken_in(info, sizeof(fw_frame_info), "fw_slot_publish", "fw_frame_info"));
  });
}

fw_result fw_slot_ref(fw_slot* slot) {
  return guarded([&]() -> fw_result {
    handles::add_reference(slot, HandleKind::slot, "fw_slot_ref");
    return FW_OK;
  });
}

void fw_slot_unref(fw_slot* slot) {
  end_handle<Slot>(slot);
}

// ---- Receivers ----

fw_result fw_receiver_create(const char* source, const fw_settings* settings, fw_receiver** receiver) {
  return guarded([&]() -> fw_result {
    clear_output(receiver, "fw_receiver_create", "receiver");
    auto made = std::make_unique<Receiver>(receiver_options(source, settings), make_log(settings));
    *receiver = make_handle(made.get());
    static_cast<void>(made.release());  // to its handle
    return FW_OK;
  });
}

fw_result fw_receiver_acquire(fw_receiver* receiver, int64_t timeout_ns, fw_frame** frame) {
  return with_output<Receiver>(receiver, "fw_receiver_acquire", frame, "frame",
                               [&](Receiver& object) { return object.acquire(timeout_ns, *frame); });
}

fw_result fw_receiver_port(fw_receiver* receiver, uint16_t* port) {
  return with<Receiver>(receiver, "fw_receiver_port", [&](const Receiver& object) -> fw_result {
    require(port, "fw_receiver_port", "port");
    *port = object.port();
    return FW_OK;
  });
}

fw_result fw_receiver_wake(fw_receiver* receiver) {
  const KeptErrno kept;
  return with<Receiver>(receiver, "fw_receiver_wake", [](Receiver& object) -> fw_result {
    object.wake();
    return FW_OK;
  });
}

fw_result fw_receiver_descriptor(fw_receiver* receiver, int* descriptor) {
  return with<Receiver>(receiver, "fw_receiver_descriptor", [&](const Receiver& object) -> fw_result {
    require(descriptor, "fw_receiver_descriptor", "descriptor");
    *descriptor = object.descriptor();
    return FW_OK;
  });
}

void fw_receiver_destroy(fw_receiver* receiver) {
  guarded([&]() -> fw_result {
    std::shared_ptr<ProgramLog> log;
    if (const auto object = end_handle<Receiver>(receiver)) {
      log = object->log();
      object->end();
    }  // it goes here, or where another thread waits for a frame
    if (log) {
      log->silence();
    }
    return FW_OK;
  });
}

fw_result fw_receiver_state(fw_receiver* receiver, int32_t* state, char* text, size_t text_bytes) {
  return with<Receiver>(receiver, "fw_receiver_state", [&](const Receiver& object) -> fw_result {
    require(state, "fw_receiver_state", "state");
    std::string line;
    *state = object.state(line);
    if (text != nullptr && text_bytes > 0) {
      const std::size_t size = whole_characters(line, text_bytes - 1);
      std::memcpy(text, line.data(), size);
      text[size] = '\0';
    }
    return FW_OK;
  });
}

fw_result fw_receiver_clock_offset(fw_receiver* receiver, int64_t* offset_ns, int64_t* uncertainty_ns) {
  return with<Receiver>(receiver, "fw_receiver_clock_offset", [&](const Receiver& object) -> fw_result {
    require(offset_ns, "fw_receiver_clock_offset", "offset_ns");
    require(uncertainty_ns, "fw_receiver_clock_offset", "uncertainty_ns");
    const Subscriber::ClockOffset offset = object.clock_offset();
    *offset_ns = offset.offset_ns;
    *uncertainty_ns = offset.uncertainty_ns;
    return FW_OK;
  });
}

fw_result fw_receiver_get_counts(fw_receiver* receiver, fw_receiver_counts* counts, size_t struct_size) {
  return with<Receiver>(receiver, "fw_receiver_get_counts", [&](const Receiver& object) -> fw_result {
    hand_out(object.counts(), counts, struct_size, "fw_receiver_get_counts", "fw_receiver_counts");
    return FW_OK;
  });
}

// ---- Frames ----

fw_result fw_frame_view(fw_frame* frame, fw_view* view, size_t struct_size) {
  return with<Frame>(frame, "fw_frame_view", [&](const Frame& object) -> fw_result {
    fill_out([&](fw_view& filled) { object.fill(filled); }, view, struct_size, "fw_frame_view", "fw_view");
    return FW_OK;
  });
}

fw_result fw_frame_format(fw_frame* frame, fw_format* format, size_t struct_size) {
  return with<Frame>(frame, "fw_frame_format", [&](const Frame& object) -> fw_result {
    hand_out(c_format(object.format()), format, struct_size, "fw_frame_format", "fw_format");
    return FW_OK;
  });
}

fw_result fw_frame_check(fw_frame* frame) {
  return with<Frame>(frame, "fw_frame_check",
                     [](const Frame& object) -> fw_result { return object.is_whole() ? FW_OK : FW_CHANGED; });
}

fw_result fw_frame_ref(fw_frame* frame) {
  return guarded([&]() -> fw_result {
    handles::add_reference(frame, HandleKind::frame, "fw_frame_ref");
    return FW_OK;
  });
}

void fw_frame_unref(fw_frame* frame) {
  end_handle<Frame>(frame);
}

// ---- Events and messages ----

fw_result fw_stream_next_event(fw_stream* stream, fw_event* event, size_t struct_size) {
  return with<SourceStream>(stream, "fw_stream_next_event", [&](SourceStream& object) -> fw_result {
    fw_event next{};
    check_struct_size(struct_size, sizeof next, "fw_stream_next_event", "fw_event");
    require(event, "fw_stream_next_event", "event");
    const fw_result result = object.next_event(next);
    if (result == FW_OK) {
      next.text = next.text != nullptr ? next.text : "";
      hand_out(next, event, struct_size, "fw_stream_next_event", "fw_event");
    }
    return result;
  });
}

fw_result fw_receiver_next_event(fw_receiver* receiver, fw_event* event, size_t struct_size) {
  return with<Receiver>(receiver, "fw_receiver_next_event", [&](Receiver& object) -> fw_result {
    fw_event next{};
    check_struct_size(struct_size, sizeof next, "fw_receiver_next_event", "fw_event");
    require(event, "fw_receiver_next_event", "event");
    const fw_result result = object.next_event(next);
    if (result == FW_OK) {
      hand_out(next, event, struct_size, "fw_receiver_next_event", "fw_event");
    }
    return result;
  });
}

fw_result fw_stream_send(fw_stream* stream, const char* json) {
  return with<SourceStream>(stream, "fw_stream_send",
                            [&](SourceStream& object) { return object.send(checked_message(json, "fw_stream_send")); });
}

fw_result fw_receiver_send(fw_receiver* receiver, const char* json) {
  return with<Receiver>(receiver, "fw_receiver_send",
                        [&](Receiver& object) { return object.send(checked_message(json, "fw_receiver_send")); });
}

fw_result fw_receiver_send_event(fw_receiver* receiver, const fw_event* event) {
  return with<Receiver>(receiver, "fw_receiver_send_event", [&](Receiver& object) {
    return object.send_event(taken_in(event, sizeof(fw_event), "fw_receiver_send_event", "event"));
  });
}

}  // extern "C"
