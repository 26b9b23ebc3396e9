#include "tests/fuzz/hostile_peer.hpp"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <array>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/wait.hpp"
#include "frame/frame_header.hpp"
#include "tests/base/temporary_folder.hpp"
#include "transport/control/dial.hpp"
#include "transport/json_fields.hpp"
#include "transport/session/data_link.hpp"
#include "transport/session/messages.hpp"

namespace framewire::fuzz {

namespace {

constexpr std::int64_t soon_ns = 15 * ns_per_s;
/// How long to wait for an answer that is due, and for one that need not come. No promise depends on it: what comes
/// later is heard after a later step.
constexpr std::int64_t answer_timeout_ns = 20 * ns_per_ms;
constexpr std::int64_t pause_ns = ns_per_ms;

/// Whether a well-behaved peer answers this step at once.
bool has_answer(Step step) {
  return step == Step::hello || step == Step::offer || step == Step::choose;
}

HostPort here(std::uint16_t port) {
  return {.host = "127.0.0.1", .port = port};
}

LinkKind link_of(std::uint8_t byte) {
  constexpr std::array kinds = {LinkKind::tcp, LinkKind::local, LinkKind::rdma};
  return kinds.at(byte % kinds.size());
}

Delivery delivery_of(std::uint8_t byte) {
  return (byte & 0x80) != 0 ? Delivery::every : Delivery::latest;
}

/// Bytes, or a small picture.
FrameLayout layout_of(std::uint8_t byte) {
  constexpr std::array formats = {PixelFormat::rgba, PixelFormat::yuv420p, PixelFormat::p010le, PixelFormat::gray8};
  return byte < 0x80 ? bytes_layout(std::uint64_t{byte} * 64)
                     : packed_layout(formats.at(byte >> 4 & 3), (byte & 15U) + 1, 9);
}

}  // namespace

HostilePeer::HostilePeer(std::uint16_t port, PeerRole role, bool greets) : port_(port), role_(role) {
  DialledSocket dialled = dial(here(port), monotonic_ns() + soon_ns);
  control_ = FileDescriptor(::fcntl(dialled.fd.get(), F_DUPFD_CLOEXEC, 0));
  heard_ = greets
               ? authenticate_dialler(std::move(dialled), {}).channel
               : std::make_unique<MessageChannel>(std::make_unique<FdStream>(std::move(dialled.fd)), "the other end");
  hear(greets ? answer_timeout_ns : 0);
}

/// Sends without waiting; what does not fit is left away.
void HostilePeer::send_raw(int fd, std::span<const std::byte> bytes) const {
  if (fd >= 0) {
    static_cast<void>(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  }
}

void HostilePeer::send_message(const std::string& text) {
  const std::string framed = bytes_of(static_cast<std::uint32_t>(text.size())) + text;
  send_raw(control_.get(), std::as_bytes(std::span(framed)));
}

void HostilePeer::learn_from(const nlohmann::json& message) {
  if (const std::string* session = find_text(message, "session")) {
    session_ = *session;
  }
  if (const std::string* token = find_text(message, "token"); token != nullptr && !token->empty()) {
    token_ = *token;
  }
}

void HostilePeer::hear(std::int64_t timeout_ns) {
  pollfd end{.fd = heard_->fd(), .events = POLLIN, .revents = 0};
  if (wait_until({&end, 1}, monotonic_ns() + timeout_ns) <= 0) {
    return;
  }
  succeeds([&] {
    while (const auto message = heard_->try_receive()) {
      learn_from(*message);
    }
  });
}

void HostilePeer::open_data(Input& input) {
  const LinkKind link = link_of(input.take<std::uint8_t>());
  succeeds([&] {
    LinkConnection path = dial_data(here(port_), {}, Token::from_hex(token_), {session_id_from_hex(session_), link, 0},
                                    {.cancel_fd = heard_->fd()});
    if (FileDescriptor* socket = std::get_if<FileDescriptor>(&path)) {
      data_ = std::move(*socket);
      set_non_blocking(data_.get(), true);
    }
  });
}

void HostilePeer::read_data() {
  std::array<char, 65536> into{};
  if (role_ == PeerRole::viewer) {  // a frame may be on its way
    wait_for(data_.get(), POLLIN, monotonic_ns() + answer_timeout_ns);
  }
  while (data_.valid() && ::recv(data_.get(), into.data(), into.size(), MSG_DONTWAIT) > 0) {
  }
}

std::string HostilePeer::make_offer(std::uint8_t how) const {
  return to_json(OfferMessage{.session = session_,
                              .streams = {{"test", 0, delivery_of(how), (how & 1) != 0 ? "bytes" : "", (how & 2) != 0}},
                              .links = {link_of(how)},
                              .encrypt = (how & 4) != 0 ? std::optional(false) : std::nullopt})
      .dump();
}

std::string HostilePeer::make_epoch(Input& input) const {
  const std::uint32_t number = input.take<std::uint8_t>();
  const std::uint32_t slots = input.take<std::uint8_t>();
  if (role_ == PeerRole::viewer) {
    return to_json(ReadyMessage{.number = number, .ring_slots = slots, .takes_slices = (slots & 1) != 0}).dump();
  }
  const FrameLayout layout = layout_of(input.take<std::uint8_t>());
  return to_json(EpochMessage{number, {.layout = layout, .colour = {}}, layout.size_bytes, slots}).dump();
}

/// A period and a shift: usual ones, or the limits of numbers.
std::string HostilePeer::make_cadence(Input& input) const {
  if (role_ == PeerRole::sender) {
    return no_cadence("no\x1b[2J").dump();
  }
  constexpr std::array limits = {std::int64_t{0}, std::int64_t{-1}, INT64_MIN, INT64_MAX};
  const auto value = [&](std::int64_t usual_ns) {
    const auto how = input.take<std::uint8_t>();
    return how < 0xe0 ? usual_ns + (how - 0x70) * std::int64_t{10'000} : limits.at(how % limits.size());
  };
  const std::int64_t period_ns = value(usual_cadence_ns);
  return to_json(CadenceRequest{.period_ns = period_ns, .shift_ns = value(0)}).dump();
}

/// Of an epoch, for a slot, with a payload of some length, perhaps less than it says, and a slice.
std::string HostilePeer::make_frame(Input& input) const {
  FrameHeader header;
  header.sequence = sequence_ + (input.take<std::uint8_t>() & 7);
  header.epoch = input.take<std::uint8_t>();
  header.slot = input.take<std::uint8_t>();
  header.layout = layout_of(input.take<std::uint8_t>());
  const std::uint8_t slices = input.take<std::uint8_t>();
  header.slice = slices & 3;
  header.slice_count = static_cast<std::uint16_t>(1 + (slices >> 2 & 3));
  const ByteRange range = header.slice < header.slice_count ? slice_range(header) : ByteRange{};
  header.slice_bytes = range.size_bytes;
  header.slice_offset_bytes = range.offset_bytes + (slices >> 4 == 15 ? 1 : 0);
  header.is_aborted = slices >> 4 == 14;
  std::array<std::byte, max_frame_header_bytes> bytes{};
  const std::size_t encoded = encode(header, bytes);
  const std::uint64_t missing = std::min<std::uint64_t>(input.take<std::uint8_t>() & 1, header.slice_bytes);
  return text_of(std::span(bytes).first(encoded)) + std::string(header.slice_bytes - missing, 'x');
}

void HostilePeer::send_template(Step step, Input& input) {
  switch (step) {
    case Step::hello:
      send_message(
          to_json(HelloMessage{.role = role_ == PeerRole::viewer ? "viewer" : "sender", .program = "fuzz"}).dump());
      break;
    case Step::offer:
      send_message(make_offer(input.take<std::uint8_t>()));
      break;
    case Step::choose: {
      const auto how = input.take<std::uint8_t>();
      send_message(to_json(ChooseMessage{.link = link_of(how),
                                         .delivery = delivery_of(how),
                                         .token = {},
                                         .pulls = (how & 0x40) != 0,
                                         .encrypt = (how & 0x20) != 0})
                       .dump());
      break;
    }
    case Step::connect:
      send_message(to_json(ConnectMessage{.token = token_}).dump());
      break;
    case Step::epoch:
      send_message(make_epoch(input));
      break;
    case Step::clock:
      send_message(to_json(ClockMessage{.viewer_ns = input.take<std::uint8_t>(), .sender_ns = 5}).dump());
      break;
    case Step::cadence:
      send_message(make_cadence(input));
      break;
    case Step::bye:
      send_message(
          to_json(ByeMessage{.reason = "done", .frames_sent = 3, .frames_received = 2, .statistics = R"({"a":1})"})
              .dump());
      break;
    case Step::no_link:
      send_message(framewire::no_link("there is none").dump());
      break;
    default:
      send_message(refusal("no").dump());
  }
  hear(has_answer(step) ? answer_timeout_ns : pause_ns);
}

void HostilePeer::take_step(Input& input) {
  const auto step = static_cast<Step>(input.take<std::uint8_t>() % static_cast<unsigned>(Step::count));
  switch (step) {
    case Step::raw_control:
      send_raw(control_.get(), input.take_bytes(input.take<std::uint8_t>()));
      hear(0);
      break;
    case Step::message:
      send_message(std::string(input.take_until('\n')));
      hear(pause_ns);
      break;
    case Step::open_data:
      open_data(input);
      break;
    case Step::raw_data:
      send_raw(data_.get(), input.take_bytes(input.take<std::uint8_t>()));
      break;
    case Step::frame: {
      const std::string frame = make_frame(input);
      send_raw(data_.get(), std::as_bytes(std::span(frame)));
      ++sequence_;
      break;
    }
    case Step::read_data:
      read_data();
      break;
    case Step::hang_up_data:
      data_.reset();
      break;
    case Step::end_control:
      ::shutdown(control_.get(), SHUT_WR);
      break;
    default:
      send_template(step, input);
  }
}

void run_session_target(const std::uint8_t* data, std::size_t size,
                        void (*check)(std::uint8_t settings, Input& input)) {
  static const test::TemporaryFolder without_key;
  ::setenv("XDG_CONFIG_HOME", without_key.path().c_str(), 1);
  Input input(data, size);
  const auto settings = input.take<std::uint8_t>();
  check(settings, input);
}

std::string step(Step step, std::string_view arguments) {
  return std::string(1, static_cast<char>(step)) + std::string(arguments);
}

}  // namespace framewire::fuzz
