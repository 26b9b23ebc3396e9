#include "transport/session/handshake.hpp"

#include <poll.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "base/wait.hpp"
#include "transport/control/preamble.hpp"
#include "transport/session/messages.hpp"

namespace framewire {

namespace {

/// "rdsend needs rdrecv"
std::string need_of(std::string_view role, std::string_view program) {
  if (program.starts_with("rdsend")) {
    return "rdsend needs rdrecv";
  }
  if (program.starts_with("rdrecv")) {
    return "rdrecv needs rdsend";
  }
  return role == "sender" ? "a sender needs a viewer" : role == "viewer" ? "a viewer needs a sender" : "";
}

/// Both have the same role.
std::string no_counterpart(std::string_view role, const std::string& program, const std::string& peer_program) {
  const std::string here = need_of(role, program);
  const std::string there = need_of(role, peer_program);
  return "both ends are a " + std::string(role) + " (" + program + ", " + quote(peer_program) + ")" +
         (here.empty() ? "" : "; " + here) + (there == here || there.empty() ? "" : ", " + there);
}

}  // namespace

HelloMessage exchange_hellos(MessageChannel& channel, const std::string& role, const std::string& program,
                             const std::vector<std::string_view>& welcome) {
  channel.send(to_json(HelloMessage{.role = role, .program = program}));
  HelloMessage peer = read_hello(channel.receive(monotonic_ns() + handshake_timeout_ns));
  if (std::ranges::find(peer.versions, session_version) == peer.versions.end()) {
    std::string versions;
    for (const std::uint32_t version : peer.versions) {
      versions += (versions.empty() ? "" : ", ") + std::to_string(version);
    }
    refuse(channel, "no session version in common: " + program + " speaks " + std::to_string(session_version) + ", " +
                        peer.program + " speaks " + versions + "; bring both to the same release");
  }
  if (peer.role == role) {
    refuse(channel, no_counterpart(role, program, peer.program));
  }
  if (std::ranges::find(welcome, peer.role) == welcome.end()) {
    refuse(channel, "a " + role + " (" + program + ") and a " + quote(peer.role) + " (" + quote(peer.program) +
                        ") have nothing for each other");
  }
  return peer;
}

nlohmann::json receive_in_step(MessageChannel& channel, std::int64_t deadline_ns) {
  const bool is_late = monotonic_ns() >= deadline_ns;
  auto message = is_late ? std::nullopt : channel.receive_before(deadline_ns);
  if (!message) {
    throw Error::lost_peer(channel.peer() + " answered, but did not finish the handshake in time");
  }
  return std::move(*message);
}

void throw_if_told_why(MessageChannel& channel) {
  try {
    if (wait_for(channel.fd(), POLLRDHUP, 0)) {
      channel.receive_arrived([](const nlohmann::json& message) {
        throw_if_refused(message);
        return true;
      });
    }
  } catch (const Error& error) {
    if (error.status() == ExitStatus::refused) {
      throw;
    }
  }
}

void refuse(MessageChannel& channel, const std::string& message) {
  constexpr std::int64_t linger_ns = ns_per_s / 2;
  channel.send(refusal(message));
  // Unread messages of the peer must not reset the connection before the peer has read this one.
  channel.finish(monotonic_ns() + linger_ns);
  throw Error::refused(message);
}

}  // namespace framewire
