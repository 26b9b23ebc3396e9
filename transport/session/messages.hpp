// The messages of the control channel. docs/wire.md lists every field.
//
// Each message has a writer and a checked reader. Readers throw Error (failed) that names the message and the field.
// They ignore unknown fields, so a newer peer can add some.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frame/frame_layout.hpp"
#include "transport/link.hpp"
#include "transport/source_cadence.hpp"
#include "transport/subscriber_queue.hpp"

namespace framewire {

inline constexpr std::uint32_t session_version = 1;
/// Of OfferMessage::streams; a reader refuses more.
inline constexpr std::size_t max_offered_streams = 64;
/// Of ChooseMessage::memory; a reader refuses more.
inline constexpr std::size_t max_memory_kinds = 8;

/// Adds a link's own fields to a message: those of `fields`, each with the link's name before it ("port" becomes
/// NAME_port). Adds nothing for an empty description.
void add_link_fields(nlohmann::json& message, LinkKind link, const LinkDescription& fields);
/// The fields of a message that begin with the link's name, unchecked: the link itself checks them. Empty without any.
LinkDescription read_link_fields(const nlohmann::json& message, LinkKind link);

/// The "type" of a message.
std::string message_type(const nlohmann::json& message);

/// The first message of both sides.
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
  std::string description;  // describes its format; empty before the first epoch
  bool allows_pull = false;
  std::string source_file{};    // byte streams: identifies the source file (bytes/file_identity.hpp); or empty
  std::string memory = "host";  // the kind of memory that its frames lie in (MemoryKind::name())
  std::string memory_device{};  // MemoryKind::device_uuid(), in 32 hexadecimal digits; or empty
};

/// From the sender: its streams and links.
struct OfferMessage {
  std::string session;  // 32 hexadecimal digits
  std::vector<OfferedStream> streams;
  std::vector<LinkKind> links;
  // For each link that this end can neither accept nor make: why.
  std::map<LinkKind, std::string> unavailable_links{};
  // Whether the sender requires encrypted data. Nullopt: an older release that cannot encrypt.
  std::optional<bool> encrypt{};
};
nlohmann::json to_json(const OfferMessage& message);
OfferMessage read_offer(const nlohmann::json& message);

/// From the viewer: the stream and link it wants. If the sender dials the data connection: a token, and where the
/// link's own listener is found. Until it is ready it may choose again, since a link can prove unusable at the first
/// epoch.
struct ChooseMessage {
  std::uint32_t stream = 0;
  LinkKind link{};
  Delivery delivery = Delivery::latest;
  std::string token;
  LinkDescription listener{};  // the fields that begin with the link's name; empty: it has no listener of its own
  bool pulls = false;          // the viewer reads the frames from the pool
  bool encrypt = false;        // the data connection uses TLS, because one side requires it
  std::vector<std::string> memory{};  // kinds of memory, besides host memory, that it can import or receive into
  std::string why{};                  // why it gives up the link that it chose before, if that link was made
};
nlohmann::json to_json(const ChooseMessage& message);
ChooseMessage read_choose(const nlohmann::json& message);

/// From the sender: the choice of `link` is accepted. The rest as in ChooseMessage, if the viewer dials the data
/// connection.
struct ConnectMessage {
  LinkKind link{};  // not in the message: the viewer's choice
  std::string token;
  LinkDescription listener{};
};
nlohmann::json to_json(const ConnectMessage& message);
ConnectMessage read_connect(const nlohmann::json& message, LinkKind link);

/// From the sender: the chosen link is not available, and why. The viewer chooses another one or leaves. After the
/// viewer was ready, this is the last message of the session; the next session can avoid the link.
nlohmann::json no_link(const std::string& text);
std::string read_no_link(const nlohmann::json& message);
/// Throws Error (lost_peer) with the sender's text if `message` is a no_link.
void throw_if_no_link(const nlohmann::json& message);

/// From the sender: frames of this format follow once the viewer is ready. A viewer that pulls gets the pool's access
/// data; the previous pool stays accessible until it is ready.
struct EpochMessage {
  std::uint32_t number = 0;
  StreamFormat format;
  std::uint64_t slot_bytes = 0;
  std::uint32_t ring_slots = 0;
  LinkDescription pool{};       // of the sender's pool, where the viewer reads it
  std::string memory = "host";  // what the link hands over: where it shares memory, the viewer imports this kind
};
nlohmann::json to_json(const EpochMessage& message);
EpochMessage read_epoch(const nlohmann::json& message);

struct ReadyMessage {
  std::uint32_t number = 0;
  std::uint32_t ring_slots = 0;
  LinkDescription ring{};       // of the viewer's ring, where the sender writes into it
  std::string memory = "host";  // the kind of memory that frames arrive in
  bool takes_slices = false;    // frames may come in slices, in any order, and be aborted
};
nlohmann::json to_json(const ReadyMessage& message);
ReadyMessage read_ready(const nlohmann::json& message);

/// The viewer sends its time; the sender replies with the same value and its own time.
struct ClockMessage {
  std::int64_t viewer_ns = 0;
  std::int64_t sender_ns = 0;
};
nlohmann::json to_json(const ClockMessage& message);
ClockMessage read_clock(const nlohmann::json& message);

/// From the viewer: when the stream's source is to render its frames.
nlohmann::json to_json(const CadenceRequest& request);
CadenceRequest read_cadence(const nlohmann::json& message);
/// From the sender: why it does not follow.
nlohmann::json no_cadence(const std::string& text);
std::string read_no_cadence(const nlohmann::json& message);

/// The last message of each side.
struct ByeMessage {
  std::string reason;
  std::uint64_t frames_sent = 0;      // from the sender, of this session
  std::uint64_t frames_received = 0;  // from the viewer, of this session
  std::string statistics{};           // from the viewer: its counts as a JSON object
};
/// The reason of a viewer with nothing to explain: its user has closed it, or it has all that it was to receive.
inline constexpr std::string_view usual_viewer_reason = "the viewer's program ended";
nlohmann::json to_json(const ByeMessage& message);
ByeMessage read_bye(const nlohmann::json& message);

/// From either side, instead of its next message: refuses the session and says why. Closes the session.
nlohmann::json refusal(const std::string& text);
/// Throws Error (refused) with the peer's text if `message` is a refusal.
void throw_if_refused(const nlohmann::json& message);
/// Throws Error unless `message` has this type. For a refusal, throws as throw_if_refused() does.
void expect_type(const nlohmann::json& message, const std::string& type);

}  // namespace framewire
