#include "pipe/hop_state.hpp"

#include "transport/control/token.hpp"

namespace framewire {

std::string place(const std::vector<Stage>& stages, const std::optional<std::size_t>& stage) {
  return !stage || stages[*stage].is_here() ? "here" : stages[*stage].host;
}

std::vector<HopState> hops_of(const std::vector<Stage>& stages, const HopTerms& terms) {
  std::vector<HopState> hops;
  for (std::size_t i = 0; i <= stages.size(); ++i) {
    if ((i == 0 && stages.front().work == StageWork::source) ||
        (i == stages.size() && stages.back().work == StageWork::sink)) {
      continue;
    }
    HopState hop;
    hop.from = i == 0 ? std::nullopt : std::optional(i - 1);
    hop.to = i == stages.size() ? std::nullopt : std::optional(i);
    const std::string from = place(stages, hop.from);
    const std::string to = place(stages, hop.to);
    const bool sender_listens = to == "here" && from != "here";
    hop.name = from;
    hop.name.append(" → ").append(to);
    hop.sender = {.number = hops.size(),
                  .sends = true,
                  .listens = sender_listens,
                  .key = Key(Token::random().bytes()),
                  .terms = terms};
    hop.receiver = hop.sender;
    hop.receiver.sends = false;
    hop.receiver.listens = !sender_listens;
    hop.receiver.terms.tells_progress = false;  // one end's word is enough
    hops.push_back(std::move(hop));
  }
  return hops;
}

}  // namespace framewire
