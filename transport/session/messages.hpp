// What the two ends say to each other on the control channel. docs/wire.md lists every field.
//
// Each message has a writer and a checked reader. Readers throw Error (failed) that names the message and the field;
// unknown fields are passed over, so that a newer peer can say more.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "frame/frame_layout.hpp"
#include "transport/link.hpp"
#include "transport/subscriber_queue.hpp"

namespace framewire {

inline constexpr std::uint32_t session_version = 1;

/// The "type" of a message.
std::string message_type(const nlohmann::json& message);

/// First, from both ends.
struct HelloMessage {
  std::string role;     // "sender", "viewer" or "bench"
  std::string program;  // name and version, for people
  std::vector<std::uint32_t> versions{session_version};
};
nlohmann::json to_json(const HelloMessage& message);
HelloMessage read_hello(const nlohmann::json& message);

struct OfferedStream {
  std::string name;
  std::uint32_t number = 0;
  Delivery delivery = Delivery::latest;
  std::string description;  // of its format, once it has one: then a session begins with an epoch
  bool allows_pull = false;
  std::string
      source_file{};  // of bytes: names the file that they come from, as bytes/file_identity.hpp has it; or empty
};

/// The sender: what there is.
struct OfferMessage {
  std::string session;  // 32 hexadecimal digits
  std::vector<OfferedStream> streams;
  std::vector<LinkKind> links;
  std::string why_no_rdma{};  // where that is none of them
  // Whether the sender asks that the data be encrypted. Nothing: it is of a release that cannot do that.
  std::optional<bool> encrypt{};
};
nlohmann::json to_json(const OfferMessage& message);
OfferMessage read_offer(const nlohmann::json& message);

/// The viewer: what it takes. With a token, and its RDMA port, when the sender is to dial the data connection. It may
/// choose anew until it is ready: the link can turn out to be of no use at the first epoch.
struct ChooseMessage {
  std::uint32_t stream = 0;
  LinkKind link = LinkKind::tcp;
  Delivery delivery = Delivery::latest;
  std::string token;
  std::uint16_t rdma_port = 0;
  bool pulls = false;    // the frames shall not come, but stand open for being read
  bool encrypt = false;  // the data connection goes inside TLS, because one of both ends asks for it
  std::vector<std::string> rdma_addresses{};  // as with rdma_port, in figures: for a dialler that has reached another
  std::string why{};  // why it does not take the link that it chose before, where that stood already
};
nlohmann::json to_json(const ChooseMessage& message);
ChooseMessage read_choose(const nlohmann::json& message);

/// The sender: go on. With a token, and its RDMA port, when the viewer is to dial the data connection.
struct ConnectMessage {
  std::string token;
  std::uint16_t rdma_port = 0;
  std::vector<std::string> rdma_addresses{};  // as in ChooseMessage
};
nlohmann::json to_json(const ConnectMessage& message);
ConnectMessage read_connect(const nlohmann::json& message);

/// The sender: the link that was chosen cannot be had, and why. The viewer chooses another one, or leaves. Once it has
/// been ready this is the last word of the session: the next one can do without this link.
nlohmann::json no_link(const std::string& text);
std::string read_no_link(const nlohmann::json& message);
/// Throws Error (lost_peer) with the sender's sentence if `message` says so.
void throw_if_no_link(const nlohmann::json& message);

/// The sender: frames of this format follow once the viewer is ready. To one that pulls: they stand here. The pool that
/// was told of before stays open until it is ready.
struct EpochMessage {
  std::uint32_t number = 0;
  StreamFormat format;
  std::uint64_t slot_bytes = 0;
  std::uint32_t ring_slots = 0;
  std::optional<PoolAccess> pool{};
};
nlohmann::json to_json(const EpochMessage& message);
EpochMessage read_epoch(const nlohmann::json& message);

struct ReadyMessage {
  std::uint32_t number = 0;
  std::uint32_t ring_slots = 0;
  std::optional<RingAccess> access{};
};
nlohmann::json to_json(const ReadyMessage& message);
ReadyMessage read_ready(const nlohmann::json& message);

/// The viewer asks with its time; the sender answers with the same and its own.
struct ClockMessage {
  std::int64_t viewer_ns = 0;
  std::int64_t sender_ns = 0;
};
nlohmann::json to_json(const ClockMessage& message);
ClockMessage read_clock(const nlohmann::json& message);

/// The last message of each end.
struct ByeMessage {
  std::string reason;
  std::uint64_t frames_sent = 0;      // sender's: in this session
  std::uint64_t frames_received = 0;  // viewer's: in this session
  std::string statistics{};           // viewer's: its own counts as a JSON object
};
nlohmann::json to_json(const ByeMessage& message);
ByeMessage read_bye(const nlohmann::json& message);

/// Either end, instead of its next message: no, and why. Closes the session.
nlohmann::json refusal(const std::string& text);
/// Throws Error (refused) with the peer's sentence if `message` is a refusal.
void throw_if_refused(const nlohmann::json& message);
/// Throws Error unless `message` has this type; a refusal throws as above.
void expect_type(const nlohmann::json& message, const std::string& type);

}  // namespace framewire
