// What is special about a framewire-send that ssh runs on another host.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "command/child_process.hpp"
#include "ssh/address_selection.hpp"
#include "ssh/json_lines.hpp"
#include "ssh/ssh_command.hpp"
#include "viewer/local_source.hpp"
#include "viewer/rendezvous.hpp"

namespace framewire {

/// Why ssh has ended.
struct SshFailure {
  std::string reason;
  bool is_final = false;  // trying again is of no use
};

/// One run of it: the messages that go through ssh (ssh/sender_plan.hpp). The thread of SenderProcess.
class SshSender {
 public:
  /// `ssh` has the user's options; the host's port is added.
  SshSender(LocalSource source, SshOptions ssh, std::shared_ptr<Rendezvous> rendezvous);

  /// Runs ssh, in the viewer's process group: ssh may ask for a password on the terminal. `error` becomes its standard
  /// error. Throws Error.
  ChildProcess start(int error);
  /// Reads what the sender has said, gives it its plan once it has said hello, and then tells it now and then that the
  /// viewer is alive. Never waits, and handles a few messages at most. Throws Error (failed) if what it says is not
  /// what this viewer understands; do not call it again then.
  void follow(std::int64_t now_ns);
  /// Asks the sender to end.
  void close() noexcept { channel_.close_out(); }
  /// The sender cannot be reached any more.
  void ended() { rendezvous_->close(); }

  /// framewire-send runs there.
  [[nodiscard]] bool has_answered() const noexcept { return host_.has_value(); }
  /// It has opened its source.
  [[nodiscard]] bool is_listening() const noexcept { return is_listening_; }

  /// Nothing if the sender itself ended with that status. `last_line` is the last one that ssh wrote.
  [[nodiscard]] std::optional<SshFailure> failure(const ChildExit& ending, std::string_view last_line) const;

 private:
  void take(const nlohmann::json& message, std::int64_t now_ns);
  void take_hello(const nlohmann::json& message, std::int64_t now_ns);
  [[nodiscard]] SshFailure failure_to_start(const ChildExit& ending, const std::string& last_line) const;

  const LocalSource source_;
  SshOptions ssh_;
  std::shared_ptr<Rendezvous> rendezvous_;
  JsonLines channel_;
  std::optional<HostAddresses> host_;
  std::int64_t next_sign_ns_ = INT64_MAX;
  bool is_listening_ = false;
};

}  // namespace framewire
