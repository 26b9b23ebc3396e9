#include "transport/control/authenticate.hpp"

#include <fmt/core.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "transport/json_fields.hpp"
#include "transport/tls/tls_stream.hpp"

namespace framewire {

namespace {

using Preamble = std::array<std::byte, preamble_bytes>;
constexpr std::int64_t refusal_linger_ns = 200 * ns_per_ms;
constexpr std::size_t refusal_text_limit = 400;

bool wants_tls(bool is_unix, const AuthenticateOptions& options) {
  return options.key && (!is_unix || options.uses_key_on_unix);
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// Runs an action of a stream and adds the peer's address to its errors.
template <typename Action>
auto with_peer(const std::string& address, Action&& action) {
  try {
    return std::forward<Action>(action)();
  } catch (const Error& error) {
    throw error.with_context(address);
  }
}

Error not_framewire(const std::string& address) {
  return Error::failed(fmt::format("{} answered, but it is not framewire; check the address and the port", address));
}

Error other_version(const std::string& address, int version) {
  return Error::refused(
      fmt::format("{} speaks version {} of the control protocol, and this end version {}; update the older one",
                  address, version, control_version));
}

AuthenticatedChannel result_of(std::unique_ptr<MessageChannel> channel, bool is_unix, bool is_tls) {
  channel->set_limit_bytes(message_limit_bytes);
  return {.channel = std::move(channel),
          .auth = is_tls    ? "psk"
                  : is_unix ? "user"
                            : "none",
          .control = is_tls    ? "tls1.3"
                     : is_unix ? "unix"
                               : "plain",
          .is_unix = is_unix};
}

// ---- The dialler ----

/// Checks the eight bytes that a listener starts with.
void check_reply(std::span<const std::byte, preamble_bytes> reply, const std::string& address) {
  const auto version = preamble_version(reply, reply_preamble);
  if (!version) {
    throw not_framewire(address);
  }
  if (*version != control_version) {
    throw other_version(address, *version);
  }
}

/// Reads the answer to the greeting. A peer that closes without an answer is lost_peer: it may come back.
void read_reply(ByteStream& stream, const std::string& address, std::int64_t deadline_ns) {
  Preamble reply{};
  std::size_t filled = 0;
  while (filled < reply.size()) {
    const std::size_t got =
        with_peer(address, [&] { return stream.read_some(std::span(reply).subspan(filled), deadline_ns); });
    if (got == 0 && filled > 0) {
      throw not_framewire(address);
    }
    if (got == 0) {
      throw Error::lost_peer(fmt::format("{} hung up without an answer", address));
    }
    filled += got;
    const std::size_t letters = std::min(filled, std::string_view("FWREPL").size());
    if (!std::ranges::equal(std::span(reply).first(letters), bytes_of(reply_preamble.substr(0, letters)))) {
      throw not_framewire(address);
    }
  }
  check_reply(reply, address);
}

/// Waits until the listener accepts. Throws Error with its answer otherwise.
void read_response(MessageChannel& channel, std::int64_t deadline_ns) {
  const nlohmann::json response = channel.receive(deadline_ns);
  const std::string type = response.at("type").get<std::string>();
  if (type == "refused") {
    const std::string* text = find_text(response, "text");
    throw Error::refused(
        fmt::format("{} refused: {}", channel.peer(),
                    text != nullptr && !text->empty() ? printable(*text, refusal_text_limit) : "it does not say why"));
  }
  if (type != "accepted") {
    throw Error::failed(
        fmt::format("{} answered the greeting with {}, not with accepted or refused", channel.peer(), quote(type)));
  }
}

std::unique_ptr<MessageChannel> greet(std::unique_ptr<ByteStream> stream, const std::string& address,
                                      std::int64_t deadline_ns) {
  with_peer(address, [&] { stream->write_all(bytes_of(control_greeting), deadline_ns); });
  read_reply(*stream, address, deadline_ns);
  auto channel = std::make_unique<MessageChannel>(std::move(stream), address, message_limit_before_bytes);
  read_response(*channel, deadline_ns);
  return channel;
}

/// Classifies the first bytes of the answer to a ClientHello.
enum class TlsAnswer { tls, plain_reply, something_else, unclear };

TlsAnswer classify_answer(std::string_view first) {
  // RFC 8446, section 5.1: 22 handshake, 21 alert. Byte 5 of a handshake: 2 is a ServerHello; 1 is our own hello,
  // echoed.
  constexpr char handshake = 22;
  constexpr char alert = 21;
  constexpr char server_hello = 2;
  const std::string_view word = reply_preamble.substr(0, std::min<std::size_t>(first.size(), 6));
  if (first.starts_with(word)) {
    return first.size() == preamble_bytes ? TlsAnswer::plain_reply : TlsAnswer::unclear;
  }
  if ((first[0] != handshake && first[0] != alert) || (first.size() > 1 && first[1] != 3)) {
    return TlsAnswer::something_else;
  }
  if (first.size() < 6) {
    return TlsAnswer::unclear;
  }
  return first[0] == alert || first[5] == server_hello ? TlsAnswer::tls : TlsAnswer::something_else;
}

/// A listener that refuses TLS answers in plaintext. Reads its refusal and throws it.
[[noreturn]] void throw_plain_refusal(int fd, const std::string& address, std::int64_t deadline_ns) {
  FileDescriptor copy = duplicate(fd);
  if (!copy.valid()) {
    throw Error::from_errno("read the refusal of " + address, errno);
  }
  auto stream = std::make_unique<FdStream>(std::move(copy));
  read_reply(*stream, address, deadline_ns);
  MessageChannel channel(std::move(stream), address, message_limit_before_bytes);
  read_response(channel, deadline_ns);
  throw Error::failed(fmt::format("{} answered in plaintext to an encrypted greeting", address));
}

void check_tls_answer(int fd, const std::string& address, std::int64_t deadline_ns) {
  MoreBytes more(fd);
  for (bool has_ended = false;;) {
    std::array<char, preamble_bytes> first{};
    const ssize_t got = ::recv(fd, first.data(), first.size(), MSG_PEEK | MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
      throw Error::lost_peer(fmt::format("{} hung up without an answer", address));
    }
    const TlsAnswer answer =
        got > 0 ? classify_answer({first.data(), static_cast<std::size_t>(got)}) : TlsAnswer::unclear;
    if (answer == TlsAnswer::tls) {
      return;
    }
    if (answer == TlsAnswer::plain_reply) {
      throw_plain_refusal(fd, address, deadline_ns);
    }
    if (answer == TlsAnswer::something_else || has_ended) {
      throw not_framewire(address);
    }
    const MoreBytes::Outcome outcome = more.wait(deadline_ns);
    if (outcome == MoreBytes::Outcome::nothing) {
      throw Error::lost_peer(fmt::format("{} did not answer in time", address));
    }
    has_ended = outcome == MoreBytes::Outcome::end;
  }
}

// ---- The listener ----

/// Tells a dialler the reason in plaintext, even if it speaks TLS, and throws the same.
[[noreturn]] void refuse(AcceptedSocket accepted, const std::string& text) {
  const std::int64_t deadline_ns = monotonic_ns() + refusal_linger_ns;
  const Error error = Error::refused(fmt::format("refused {}: {}", accepted.address, text));
  try {
    auto stream = std::make_unique<FdStream>(std::move(accepted.fd));
    stream->write_all(bytes_of(reply_preamble), deadline_ns);
    MessageChannel channel(std::move(stream), accepted.address);
    channel.send({{"type", "refused"}, {"text", text}}, deadline_ns);
    channel.finish(deadline_ns);
  } catch (const Error&) {
    // The dialler has closed already; the owner still gets the error.
  }
  throw error;
}

std::unique_ptr<MessageChannel> welcome(std::unique_ptr<ByteStream> stream, const std::string& address,
                                        std::int64_t deadline_ns) {
  std::array<std::byte, control_greeting.size()> greeting{};
  with_peer(address, [&] { stream->read_all(greeting, deadline_ns); });
  if (!std::ranges::equal(greeting, bytes_of(control_greeting))) {
    throw Error::failed(fmt::format("{} did not greet as framewire does", address));
  }
  with_peer(address, [&] { stream->write_all(bytes_of(reply_preamble), deadline_ns); });
  auto channel = std::make_unique<MessageChannel>(std::move(stream), address, message_limit_before_bytes);
  channel->send({{"type", "accepted"}}, deadline_ns);
  return channel;
}

/// The reason why a plaintext or TLS connection is refused; empty when it is accepted.
std::string objection(const AcceptedSocket& accepted, bool is_tls, const AuthenticateOptions& options) {
  if (accepted.is_unix && !check_same_user(accepted.fd.get())) {
    return "the Unix socket is for the user who listens";
  }
  if (is_tls) {
    return options.key
               ? ""
               : "the listening end has no key; import the dialling one's there with 'framewire key --import -'";
  }
  if (wants_tls(accepted.is_unix, options)) {
    return "the listening end asks for the shared key; import it with 'framewire key --import -', or name it with "
           "--key FILE";
  }
  if (!accepted.is_unix && !options.insecure) {
    return "the listening end takes no TCP connection without a key; run 'framewire key' on one machine and import it "
           "on the other, or say --insecure on both";
  }
  return "";
}

Error unidentified(const AcceptedSocket& accepted, ConnectionKind kind) {
  if (kind == ConnectionKind::silent) {
    return Error::lost_peer(fmt::format("{} connected and did not say what it is", accepted.address));
  }
  return Error::failed(fmt::format("{} connected and is not framewire", accepted.address));
}

[[noreturn]] void refuse_version(AcceptedSocket accepted) {
  Preamble first{};
  const ssize_t got = ::recv(accepted.fd.get(), first.data(), first.size(), MSG_PEEK | MSG_DONTWAIT);
  const auto version =
      got == static_cast<ssize_t>(first.size()) ? preamble_version(first, control_preamble) : std::nullopt;
  const std::string theirs = version ? std::to_string(*version) : "unknown";
  refuse(std::move(accepted),
         fmt::format("this end speaks version {} of the control protocol, and the other end version {}; update the "
                     "older one",
                     control_version, theirs));
}

/// A dialler to this machine tries the same user's Unix socket first, so a TCP connection here reaches another program
/// or user.
const char* own_port_hint(int connected_fd) noexcept {
  const auto peer = peer_of(connected_fd);
  return peer && is_this_host(*peer) ? "; what listens at that port is no framewire of this user" : "";
}

}  // namespace

AuthenticatedChannel authenticate_dialler(DialledSocket dialled, const AuthenticateOptions& options) {
  const std::int64_t deadline_ns = monotonic_ns() + options.timeout_ns;
  const std::string address = std::move(dialled.address);
  const bool is_tls = wants_tls(dialled.is_unix, options);
  if (!is_tls && !dialled.is_unix && !options.insecure) {
    throw Error::refused(fmt::format(
        "{} is reached over TCP, and there is no key; run 'framewire key' and import it on the other machine, or say "
        "--insecure on both{}",
        address, own_port_hint(dialled.fd.get())));
  }
  if (dialled.is_unix && !check_same_user(dialled.fd.get())) {
    throw Error::refused(fmt::format("the program at {} belongs to another user", address));
  }
  std::unique_ptr<ByteStream> stream;
  if (is_tls) {
    const auto check_answer = [&](int fd, std::int64_t until_ns) { check_tls_answer(fd, address, until_ns); };
    stream = std::make_unique<TlsStream>(std::move(dialled.fd), TlsRole::dialler, *options.key, address, deadline_ns,
                                         check_answer);
  } else {
    stream = std::make_unique<FdStream>(std::move(dialled.fd));
  }
  return result_of(greet(std::move(stream), address, deadline_ns), dialled.is_unix, is_tls);
}

AuthenticatedChannel authenticate_listener(AcceptedSocket accepted, const AuthenticateOptions& options) {
  const std::int64_t deadline_ns = monotonic_ns() + options.timeout_ns;
  const ConnectionKind kind = identify(accepted.fd.get(), deadline_ns);
  if (kind == ConnectionKind::other_version) {
    refuse_version(std::move(accepted));
  }
  if (kind != ConnectionKind::plain_control && kind != ConnectionKind::tls) {
    throw unidentified(accepted, kind);
  }
  const bool is_tls = kind == ConnectionKind::tls;
  if (const std::string why = objection(accepted, is_tls, options); !why.empty()) {
    refuse(std::move(accepted), why);
  }
  std::unique_ptr<ByteStream> stream;
  if (is_tls) {
    const auto refuse_offer = [&](int fd, const std::string& reason) {
      refuse({.fd = duplicate(fd), .address = accepted.address}, reason);
    };
    stream = std::make_unique<TlsStream>(std::move(accepted.fd), TlsRole::listener, *options.key, accepted.address,
                                         deadline_ns, nullptr, refuse_offer);
  } else {
    stream = std::make_unique<FdStream>(std::move(accepted.fd));
  }
  return result_of(welcome(std::move(stream), accepted.address, deadline_ns), accepted.is_unix, is_tls);
}

}  // namespace framewire
