// rdpipe's view of a hop: its sender and receiver, on whatever hosts, and what they have reported.
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
  std::string name;                 // "host1 → host2"; with the stages' numbers if two hops would have the same name

  std::optional<std::uint16_t> port{};  // of the side that listens
  bool is_dialled = false;
  bool sender_is_connected = false;
  bool receiver_is_connected = false;
  std::string sender_file{};  // identities of the files, if they are files (bytes/file_identity.hpp)
  std::string receiver_file{};
  std::optional<HopTransfer> here{};  // the side that belongs to this process
  std::optional<HopReport> sent{};
  bool receiver_has_ended = false;
  std::uint64_t bytes = 0;  // as last reported
  std::uint64_t bytes_per_s = 0;

  /// Whether its bytes leave the pipeline: to rdpipe's standard output, or to a file.
  [[nodiscard]] bool is_last(const std::vector<Stage>& stages) const noexcept {
    return !to || stages[*to].work == StageWork::sink;
  }
  /// Whether the sides of this hop that belong to that stage, if any, have reported their end.
  [[nodiscard]] bool has_heard_of(std::size_t stage) const noexcept {
    return (from != stage || sent) && (to != stage || receiver_has_ended);
  }
  /// Handles the "connected" message of one side. Throws Error that names the field.
  void take_connected(const nlohmann::json& message);
  [[nodiscard]] bool is_connected() const noexcept { return sender_is_connected && receiver_is_connected; }
  [[nodiscard]] const std::optional<std::size_t>& listener() const noexcept { return sender.listens ? from : to; }
  [[nodiscard]] const std::optional<std::size_t>& dialler() const noexcept { return sender.listens ? to : from; }
  [[nodiscard]] const HopPlan& dialling_plan() const noexcept { return sender.listens ? receiver : sender; }
};

/// The host that a stage is on, or "here"; no stage: rdpipe itself.
std::string place(const std::vector<Stage>& stages, const std::optional<std::size_t>& stage);

/// All hops, each with a new key. rdpipe's own machine may be behind a NAT, so rdpipe's own sides and those of its
/// local stages dial. Throws Error.
std::vector<HopState> hops_of(const std::vector<Stage>& stages, const HopParameters& parameters);

/// Throws Error if the pipeline would write into the file that it reads. Call it before anything is read or truncated.
void require_other_file(const std::vector<HopState>& hops, const std::vector<Stage>& stages);

/// For -v: bytes and rate of every hop that has transferred any, while they run; and one line for each at the end.
std::string progress_text(const std::vector<HopState>& hops);
std::vector<std::string> bandwidths(const std::vector<HopState>& hops);

}  // namespace framewire
