// A hop as rdpipe sees it: its two ends, on whatever hosts, and what has been heard of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rdpipe/hop_transfer.hpp"
#include "rdpipe/plan.hpp"

namespace framewire {

struct HopState {
  HopPlan sender;
  HopPlan receiver;
  std::optional<std::size_t> from;  // the stage that sends; nothing: rdpipe's standard input
  std::optional<std::size_t> to;    // the stage that receives; nothing: rdpipe's standard output
  std::string name;                 // "host1 → host2"

  std::optional<std::uint16_t> port{};  // where the listening end listens
  bool is_dialled = false;
  bool sender_is_connected = false;
  bool receiver_is_connected = false;
  std::string sender_file{};  // what names the file at each end, where it is one (bytes/file_identity.hpp)
  std::string receiver_file{};
  std::optional<HopTransfer> here{};  // the end that is this process's own
  std::optional<HopReport> sent{};
  bool receiver_has_ended = false;
  std::uint64_t bytes = 0;  // as last heard
  std::uint64_t bytes_per_s = 0;

  /// Whether its ends on that stage's side, if it has any there, have said how they ended.
  [[nodiscard]] bool has_heard_of(std::size_t stage) const noexcept {
    return (from != stage || sent) && (to != stage || receiver_has_ended);
  }
  /// One end says that it is connected, and what file it has. Throws Error that names the field.
  void take_connected(const nlohmann::json& message);
  [[nodiscard]] bool is_connected() const noexcept { return sender_is_connected && receiver_is_connected; }
  [[nodiscard]] const std::optional<std::size_t>& listener() const noexcept { return sender.listens ? from : to; }
  [[nodiscard]] const std::optional<std::size_t>& dialler() const noexcept { return sender.listens ? to : from; }
  [[nodiscard]] const HopPlan& dialling_plan() const noexcept { return sender.listens ? receiver : sender; }
};

/// The host that a stage is on, or "here"; no stage: rdpipe itself.
std::string place(const std::vector<Stage>& stages, const std::optional<std::size_t>& stage);

/// Every hop there is, each with a new key. Whoever runs rdpipe may sit behind a NAT: its own ends dial, and so do
/// those of its stages here. Throws Error.
std::vector<HopState> hops_of(const std::vector<Stage>& stages, const HopParameters& parameters);

/// Throws Error where the pipeline would write into the file that it reads. Before anything is read or emptied.
void require_other_file(const std::vector<HopState>& hops, const std::vector<Stage>& stages);

/// What -v shows meanwhile: bytes and rate of every hop by which any have gone; and in the end, a line for each.
std::string progress_text(const std::vector<HopState>& hops);
std::vector<std::string> bandwidths(const std::vector<HopState>& hops);

}  // namespace framewire
