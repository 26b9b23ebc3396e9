#include "rdpipe/hop_state.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "base/bandwidth.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "bytes/progress.hpp"
#include "ssh/message_fields.hpp"
#include "transport/control/token.hpp"

namespace framewire {

namespace {

bool is_here(const std::vector<Stage>& stages, const std::optional<std::size_t>& stage) {
  return !stage || stages[*stage].is_here();
}

/// "here → big", or "here → big (stage 1)" if hosts alone do not tell the hops apart.
void name_hops(std::vector<HopState>& hops, const std::vector<Stage>& stages) {
  std::set<std::string> names;
  for (HopState& hop : hops) {
    hop.name = place(stages, hop.from) + " → " + place(stages, hop.to);
    names.insert(hop.name);
  }
  if (names.size() == hops.size()) {
    return;
  }
  const auto numbered = [&](const std::optional<std::size_t>& stage) {
    return place(stages, stage) + (stage ? " (stage " + std::to_string(*stage + 1) + ")" : "");
  };
  for (HopState& hop : hops) {
    hop.name = numbered(hop.from) + " → " + numbered(hop.to);
  }
}

}  // namespace

std::string place(const std::vector<Stage>& stages, const std::optional<std::size_t>& stage) {
  return is_here(stages, stage) ? "here" : stages[*stage].host;
}

std::vector<HopState> hops_of(const std::vector<Stage>& stages, const HopParameters& parameters) {
  std::vector<HopState> hops;
  for (std::size_t i = 0; i <= stages.size(); ++i) {
    if ((i == 0 && stages.front().work == StageWork::source) ||
        (i == stages.size() && stages.back().work == StageWork::sink)) {
      continue;
    }
    HopState hop;
    hop.from = i == 0 ? std::nullopt : std::optional(i - 1);
    hop.to = i == stages.size() ? std::nullopt : std::optional(i);
    const bool is_from_here = is_here(stages, hop.from);
    const bool is_to_here = is_here(stages, hop.to);
    const bool sender_listens = is_to_here && !is_from_here;
    hop.sender = {.number = hops.size(),
                  .sends = true,
                  .listens = sender_listens,
                  .stays_here = is_from_here && is_to_here,
                  .key = Key(Token::random().bytes()),
                  .parameters = parameters};
    hop.receiver = hop.sender;
    hop.receiver.sends = false;
    hop.receiver.listens = !sender_listens;
    hop.receiver.parameters.tells_progress = false;  // the sender's progress is enough
    hops.push_back(std::move(hop));
  }
  name_hops(hops, stages);
  return hops;
}

void HopState::take_connected(const nlohmann::json& message) {
  const bool sends = flag_in(message, "sends");
  (sends ? sender_is_connected : receiver_is_connected) = true;
  if (message.contains("file")) {
    (sends ? sender_file : receiver_file) = text_in(message, "file");
  }
}

void require_other_file(const std::vector<HopState>& hops, const std::vector<Stage>& stages) {
  const HopState& first = hops.front();
  const HopState& last = hops.back();
  if (first.sender_file.empty() || first.sender_file != last.receiver_file) {
    return;
  }
  const std::string source = first.from ? describe(stages[*first.from], *first.from + 1) : "standard input";
  const std::string sink = last.to ? describe(stages[*last.to], *last.to + 1) : "standard output";
  throw Error::failed(source + " and " + sink + " are the same file; nothing is written, name another one to write");
}

std::string progress_text(const std::vector<HopState>& hops) {
  std::string text;
  for (const HopState& hop : hops) {
    if (hop.bytes > 0) {
      text += std::string(text.empty() ? "" : "   ") + hop.name + " " + format_bytes(hop.bytes) + " " +
              format_bandwidth(static_cast<double>(hop.bytes_per_s));
    }
  }
  return text;
}

std::vector<std::string> bandwidths(const std::vector<HopState>& hops) {
  std::vector<std::string> lines;
  for (const HopState& hop : hops) {
    if (hop.sent && hop.sent->summary) {
      const TransferSummary& sent = *hop.sent->summary;
      lines.push_back(hop.name + ": " +
                      bandwidth_text(sent.bytes, sent.seconds, sent.transport, bottleneck_of(sent.waits)));
    }
  }
  return lines;
}

}  // namespace framewire
