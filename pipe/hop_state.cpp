#include "pipe/hop_state.hpp"

#include <openssl/rand.h>

#include "base/error.hpp"

namespace framewire {

namespace {

Key random_key() {
  Key key;
  if (::RAND_bytes(reinterpret_cast<unsigned char*>(key.bytes().data()), static_cast<int>(Key::size_bytes)) != 1) {
    throw Error::failed("the system gives no random numbers for a key");
  }
  return key;
}

}  // namespace

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
    hop.name = from + " → " + to;
    hop.sender = {.number = hops.size(), .sends = true, .listens = sender_listens, .key = random_key(), .terms = terms};
    hop.receiver = hop.sender;
    hop.receiver.sends = false;
    hop.receiver.listens = !sender_listens;
    hop.receiver.terms.tells_progress = false;  // one end's word is enough
    hops.push_back(std::move(hop));
  }
  return hops;
}

}  // namespace framewire
