// Sequences of calls of the C interface: any function, in any order, with handles that live, are ended or never were.
//
// Input: two bytes a call, the function and an argument, which also chooses among the handles. Some calls run on a
// second thread, beside those that follow.
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <thread>

#include "library/include/framewire/framewire.h"
#include "tests/fuzz/fuzz.hpp"

namespace framewire::fuzz {
namespace {

constexpr std::size_t most_calls = 200;
constexpr std::size_t most_senders = 2;  // alive, as the next one: each has threads
constexpr std::int64_t soon_ns = 200'000;

/// Handles of one kind, those that were ended included. The newest stay.
template <typename Handle>
class Handles {
 public:
  void add(Handle* handle) {
    require(handle != nullptr, "a call that succeeds makes a handle");
    all_.push_back(handle);
    if (all_.size() > most) {
      all_.erase(all_.begin());
    }
  }
  /// One of them; sometimes none, or a number that never was a handle.
  [[nodiscard]] Handle* choose(std::uint8_t argument) const {
    if (argument == 255) {
      return nullptr;
    }
    if (argument == 254 || all_.empty()) {
      return reinterpret_cast<Handle*>(std::uintptr_t{0xF310000000000000} + argument);
    }
    return all_[all_.size() - 1 - argument % all_.size()];
  }

 private:
  static constexpr std::size_t most = 8;
  std::vector<Handle*> all_;
};

/// The program that makes the calls.
class Program {
 public:
  void call(std::uint8_t function, std::uint8_t argument) {
    constexpr std::array calls{
        &Program::create_sender,  &Program::add_stream,    &Program::start,           &Program::drain,
        &Program::destroy_sender, &Program::begin,         &Program::claim,           &Program::view_slot,
        &Program::publish,        &Program::ref_slot,      &Program::unref_slot,      &Program::wake,
        &Program::use_stream,     &Program::receive,       &Program::acquire,         &Program::view_frame,
        &Program::ref_frame,      &Program::unref_frame,   &Program::use_receiver,    &Program::destroy_receiver,
        &Program::stream_events,  &Program::send_messages, &Program::receiver_events, &Program::run_beside};
    (this->*calls.at(function % calls.size()))(argument);
  }

  ~Program() {
    stop_beside();
    for (fw_slot* const slot : live_slots_) {
      fw_slot_unref(slot);
    }
    for (fw_frame* const frame : live_frames_) {
      fw_frame_unref(frame);
    }
    for (fw_receiver* const receiver : live_receivers_) {
      fw_receiver_destroy(receiver);
    }
    for (fw_sender* const sender : live_senders_) {
      fw_sender_destroy(sender);
    }
  }

 private:
  /// Every error has a message on one line; a result that this version does not list is none.
  static fw_result check(fw_result result) {
    require(std::strcmp(fw_result_name(result), "unknown result") != 0, "every result has a name");
    require(result != FW_ERROR_INTERNAL, "no call ends by a fault of the library");
    if (result < 0) {
      require(fw_message()[0] != '\0', "an error has a message");
      require_printable(fw_message());
    }
    return result;
  }

  void create_sender(std::uint8_t argument) {
    if (live_senders_.size() >= most_senders) {
      return;
    }
    const bool dials = argument % 7 == 5;
    const std::string to = "127.0.0.1:" + std::to_string(receiver_port_);
    const std::array options{fw_option{dials ? "to" : "listen", dials ? to.c_str() : "127.0.0.1:0"},
                             fw_option{"transport", argument % 2 == 0 ? "tcp" : "local"},
                             fw_option{argument % 5 == 4 ? "listen" : "timeout", "2s"}};
    const fw_settings settings{sizeof settings, options.data(), options.size(), nullptr, nullptr};
    fw_sender* sender = nullptr;
    if (check(fw_sender_create(&settings, &sender)) == FW_OK) {
      senders_.add(sender);
      live_senders_.insert(sender);
    }
  }

  void add_stream(std::uint8_t argument) {
    const fw_option option{"slots", argument % 7 == 6 ? "0" : "1"};
    const fw_settings settings{sizeof settings, &option, 1, nullptr, nullptr};
    fw_stream* stream = nullptr;
    if (check(fw_sender_add_stream(senders_.choose(argument), argument % 2 == 0 ? "a" : "b", &settings, &stream)) ==
        FW_OK) {
      streams_.add(stream);
    }
  }

  void start(std::uint8_t argument) {
    fw_sender* const sender = senders_.choose(argument);
    check(fw_sender_start(sender));
    std::uint16_t port = 0;
    if (check(fw_sender_port(sender, &port)) == FW_OK && port != 0) {
      port_ = port;
    }
  }

  void drain(std::uint8_t argument) { check(fw_sender_drain(senders_.choose(argument), soon_ns)); }

  void destroy_sender(std::uint8_t argument) {
    fw_sender* const sender = senders_.choose(argument);
    fw_sender_destroy(sender);
    live_senders_.erase(sender);
  }

  void begin(std::uint8_t argument) {
    fw_format format{};
    check(fw_format_init(&format, sizeof format, argument % 20, argument % 64, 1U + argument / 64));
    if (argument % 3 == 2) {
      format.plane[0].offset_bytes = argument;
    }
    check(fw_stream_begin(streams_.choose(argument), &format, argument % 30, nullptr));
  }

  void claim(std::uint8_t argument) {
    fw_slot* slot = nullptr;
    const std::int64_t timeout_ns = argument % 2 == 0 ? 0 : soon_ns;
    if (check(fw_stream_claim(streams_.choose(argument), timeout_ns, argument / 32 % 3, &slot)) == FW_OK) {
      slots_.add(slot);
      live_slots_.insert(slot);
    }
  }

  void view_slot(std::uint8_t argument) {
    fw_view view{};
    if (check(fw_slot_view(slots_.choose(argument), &view, sizeof view)) == FW_OK &&
        (view.flags & FW_VIEW_READ_ONLY) == 0) {
      std::memset(view.data, argument, view.size_bytes);
    }
  }

  void publish(std::uint8_t argument) {
    const fw_frame_info info{argument % 16 == 15 ? 3 : sizeof info, argument, argument, 0,
                             argument % 4 == 3 ? std::uint64_t{argument} : 0};
    check(fw_slot_publish(slots_.choose(argument), &info));
  }

  void ref_slot(std::uint8_t argument) {
    fw_slot* const slot = slots_.choose(argument);
    if (check(fw_slot_ref(slot)) == FW_OK) {
      live_slots_.insert(slot);
    }
  }

  void unref_slot(std::uint8_t argument) {
    fw_slot* const slot = slots_.choose(argument);
    fw_slot_unref(slot);
    if (const auto one = live_slots_.find(slot); one != live_slots_.end()) {
      live_slots_.erase(one);
    }
  }

  void wake(std::uint8_t argument) {
    check(fw_stream_wake(streams_.choose(argument)));
    check(fw_receiver_wake(receivers_.choose(argument)));
  }

  void use_stream(std::uint8_t argument) {
    fw_stream* const stream = streams_.choose(argument);
    fw_stream_counts counts{};
    int descriptor = -1;
    check(fw_stream_get_counts(stream, &counts, argument % 8 == 7 ? 5 : sizeof counts));
    if (check(fw_stream_descriptor(stream, &descriptor)) == FW_OK) {
      look_at(descriptor);
    }
    check(fw_stream_drop(stream));
  }

  void receive(std::uint8_t argument) {
    if (live_receivers_.size() >= most_senders) {
      return;
    }
    const std::string source =
        "127.0.0.1:" + std::to_string(argument % 9 == 8 ? 1 : port_) + (argument % 2 == 0 ? "/a" : "");
    const bool listens = argument % 7 == 5;
    const std::array options{fw_option{"retry", "1ms"}, fw_option{"read", argument % 4 < 2 ? "thread" : "caller"},
                             fw_option{listens ? "listen" : "spin", listens ? "127.0.0.1:0" : "no"}};
    const fw_settings settings{sizeof settings, options.data(), options.size(), nullptr, nullptr};
    fw_receiver* receiver = nullptr;
    if (check(fw_receiver_create(listens ? nullptr : source.c_str(), &settings, &receiver)) == FW_OK) {
      receivers_.add(receiver);
      live_receivers_.insert(receiver);
    }
  }

  void acquire(std::uint8_t argument) {
    fw_frame* frame = nullptr;
    if (check(fw_receiver_acquire(receivers_.choose(argument), argument % 2 == 0 ? 0 : soon_ns, &frame)) == FW_OK) {
      frames_.add(frame);
      live_frames_.insert(frame);
    }
  }

  void view_frame(std::uint8_t argument) {
    fw_frame* const frame = frames_.choose(argument);
    fw_view view{};
    fw_format format{};
    check(fw_frame_format(frame, &format, sizeof format));
    check(fw_frame_check(frame));
    if (check(fw_frame_view(frame, &view, sizeof view)) == FW_OK) {
      const auto* const bytes = static_cast<const std::uint8_t*>(view.data);
      static volatile std::uint64_t sum;  // a read is what finds memory that has gone
      for (std::uint64_t i = 0; i < view.size_bytes; ++i) {
        sum = sum + bytes[i];
      }
    }
  }

  void ref_frame(std::uint8_t argument) {
    fw_frame* const frame = frames_.choose(argument);
    if (check(fw_frame_ref(frame)) == FW_OK) {
      live_frames_.insert(frame);
    }
  }

  void unref_frame(std::uint8_t argument) {
    fw_frame* const frame = frames_.choose(argument);
    fw_frame_unref(frame);
    if (const auto one = live_frames_.find(frame); one != live_frames_.end()) {
      live_frames_.erase(one);
    }
  }

  void use_receiver(std::uint8_t argument) {
    fw_receiver* const receiver = receivers_.choose(argument);
    fw_receiver_counts counts{};
    std::array<char, 8> text{};
    std::int32_t state = 0;
    std::int64_t time_ns = 0;
    int descriptor = -1;
    check(fw_receiver_get_counts(receiver, &counts, sizeof counts));
    check(fw_receiver_state(receiver, &state, text.data(), argument % 9));
    check(fw_receiver_clock_offset(receiver, &time_ns, &time_ns));
    if (check(fw_receiver_descriptor(receiver, &descriptor)) == FW_OK) {
      look_at(descriptor);
    }
    std::uint16_t port = 0;
    if (check(fw_receiver_port(receiver, &port)) == FW_OK && port != 0) {
      receiver_port_ = port;
    }
  }

  /// It belongs to the object, and only tells.
  static void look_at(int descriptor) {
    pollfd poller{.fd = descriptor, .events = POLLIN, .revents = 0};
    require(::poll(&poller, 1, 0) >= 0 && (poller.revents & (POLLERR | POLLNVAL)) == 0, "a descriptor can be polled");
  }

  /// Calls that any thread may make, with objects that may end meanwhile.
  void run_beside(std::uint8_t argument) {
    stop_beside();
    beside_ = std::thread([stream = streams_.choose(argument), receiver = receivers_.choose(argument),
                           held = slots_.choose(argument), seen = frames_.choose(argument)] {
      fw_slot* slot = nullptr;
      fw_frame* frame = nullptr;
      fw_view view{};
      fw_stream_counts counts{};
      if (check(fw_stream_claim(stream, soon_ns, FW_CLAIM_UNWATCHED, &slot)) == FW_OK) {
        check(fw_slot_publish(slot, nullptr));
        fw_slot_unref(slot);
      }
      if (check(fw_receiver_acquire(receiver, soon_ns, &frame)) == FW_OK) {
        check(fw_frame_check(frame));
        fw_frame_unref(frame);
      }
      check(fw_slot_view(held, &view, sizeof view));
      check(fw_slot_publish(held, nullptr));
      check(fw_frame_view(seen, &view, sizeof view));
      check(fw_stream_get_counts(stream, &counts, sizeof counts));
      check(fw_stream_wake(stream));
      check(fw_receiver_wake(receiver));
    });
  }

  void stop_beside() {
    if (beside_.joinable()) {
      beside_.join();
    }
  }

  void destroy_receiver(std::uint8_t argument) {
    fw_receiver* const receiver = receivers_.choose(argument);
    fw_receiver_destroy(receiver);
    live_receivers_.erase(receiver);
  }

  void stream_events(std::uint8_t argument) {
    fw_event event{};
    check(fw_stream_next_event(streams_.choose(argument), &event, argument % 8 == 7 ? 9 : sizeof event));
  }

  void send_messages(std::uint8_t argument) {
    constexpr std::array messages{"{}", "{\"a\": [1]}", "", "[", "\xff"};
    check(fw_stream_send(streams_.choose(argument), messages.at(argument % messages.size())));
    check(fw_receiver_send(receivers_.choose(argument), messages.at(argument % messages.size())));
  }

  void receiver_events(std::uint8_t argument) {
    fw_receiver* const receiver = receivers_.choose(argument);
    fw_event event{};
    check(fw_receiver_next_event(receiver, &event, sizeof event));
    event = {};
    event.struct_size = sizeof event;
    event.type = FW_EVENT_KEY - 1 + argument % 10;
    event.text = "x";
    event.x = argument;
    event.modifiers = argument;
    check(fw_receiver_send_event(receiver, &event));
  }

  Handles<fw_sender> senders_;
  Handles<fw_stream> streams_;
  Handles<fw_slot> slots_;
  Handles<fw_receiver> receivers_;
  Handles<fw_frame> frames_;
  std::set<fw_sender*> live_senders_;
  std::set<fw_receiver*> live_receivers_;
  std::multiset<fw_slot*> live_slots_;  // as often as there are references
  std::multiset<fw_frame*> live_frames_;
  std::uint16_t port_ = 1;           // of the newest sender
  std::uint16_t receiver_port_ = 1;  // of the newest receiver that listens
  std::thread beside_;
};

}  // namespace

std::vector<std::string> seeds() {
  // Sender, stream, start, format, receiver; then frames, events and the ends, over either link.
  const std::string begin("\x00\x01\x01\x00\x02\x00\x05\x22\x0d\x00", 10);
  const std::string frame("\x06\x01\x07\x00\x08\x00\x0a\x00\x0e\x01\x0f\x00\x11\x00", 14);
  const std::string events("\x14\x00\x15\x01\x16\x03\x14\x00\x16\x05\x0c\x00\x12\x00", 14);
  const std::string end("\x03\x00\x0e\x01\x04\x00\x0e\x00\x0f\x00\x13\x00", 12);
  std::string over_tcp = begin;
  over_tcp[1] = '\0';
  // A receiver that listens, one that is asked for its port, and a sender that dials it.
  const std::string dialled("\x0d\x05\x12\x00\x00\x05\x01\x00\x02\x00\x05\x22\x17\x00", 14);
  return {dialled + frame + frame + end,
          begin + "\x17\x01" + frame + "\x17\x01" + end,
          begin + frame + frame + end,
          over_tcp + frame + events + end,
          begin + events + frame + events + frame,
          begin + frame + std::string("\x13\x00\x0f\x00\x04\x00", 6)};
}

}  // namespace framewire::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  framewire::fuzz::Program program;
  for (std::size_t i = 0; i + 1 < std::min(size, 2 * framewire::fuzz::most_calls); i += 2) {
    program.call(data[i], data[i + 1]);
  }
  return 0;
}
