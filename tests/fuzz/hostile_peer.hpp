// A peer that knows the protocol and does not keep to it: its input says which of a session's steps it takes, in which
// order, and with which bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "transport/control/authenticate.hpp"

namespace framewire::fuzz {

enum class PeerRole { viewer, sender };

/// From frame to frame of a source that a hostile viewer may ask for other times.
inline constexpr std::int64_t usual_cadence_ns = 16'666'667;

/// What one byte of the input means. The arguments follow it.
enum class Step : std::uint8_t {
  raw_control,   // 1 byte of length, bytes: sent on the control channel as they are
  message,       // a text up to a line break: sent as one message
  hello,         //
  offer,         // sender: 1 byte, see make_offer()
  choose,        // viewer: 1 byte, the link and the delivery
  connect,       // sender: connect; viewer: the token of a data connection that it asks the sender to dial
  open_data,     // 1 byte, the link: dials the data connection with the token that came last
  raw_data,      // 1 byte of length, bytes: sent on the data connection
  frame,         // sender: 6 bytes, see make_frame()
  read_data,     // takes in what waits on the data connection
  epoch,         // sender: 3 bytes; viewer: 2 bytes, ready
  clock,         // 1 byte
  bye,           //
  no_link,       //
  refuse,        //
  hang_up_data,  //
  end_control,   // sends nothing more on the control channel
  cadence,       // viewer: 2 bytes, see make_cadence(); sender: no_cadence
  count
};

/// One thread. Dials a listener of this machine, over its Unix socket. The destructor closes everything.
class HostilePeer {
 public:
  /// With `greets` it begins as a framewire does; else the first step begins.
  HostilePeer(std::uint16_t port, PeerRole role, bool greets);

  /// Takes the next step.
  void take_step(Input& input);

 private:
  void send_raw(int fd, std::span<const std::byte> bytes) const;
  void send_message(const std::string& text);
  void send_template(Step step, Input& input);
  void open_data(Input& input);
  void read_data();
  void hear(std::int64_t timeout_ns);
  void learn_from(const nlohmann::json& message);
  [[nodiscard]] std::string make_offer(std::uint8_t how) const;
  [[nodiscard]] std::string make_epoch(Input& input) const;
  [[nodiscard]] std::string make_cadence(Input& input) const;
  [[nodiscard]] std::string make_frame(Input& input) const;

  std::uint16_t port_;
  PeerRole role_;
  FileDescriptor control_;                 // to write to
  std::unique_ptr<MessageChannel> heard_;  // to read from
  FileDescriptor data_;
  std::string session_ = std::string(32, '0');
  std::string token_ = std::string(64, '0');
  std::uint64_t sequence_ = 0;
};

/// Runs a target of sessions: `check` gets the first byte of the input as settings, and the rest. This machine's own
/// key has no effect.
void run_session_target(const std::uint8_t* data, std::size_t size, void (*check)(std::uint8_t settings, Input& input));

/// The bytes of an input, for seeds.
std::string step(Step step, std::string_view arguments = {});

}  // namespace framewire::fuzz
