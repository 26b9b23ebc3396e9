// That there is no peer yet, as an error: nothing is wrong at this end, and the other one may still come.
#pragma once

#include <string>

#include "base/error.hpp"

namespace framewire {

/// What is known of a peer that is not there.
enum class PeerAbsence {
  none,             // it is there, or something else is wrong
  to_come,          // it has not announced itself, or nobody has looked for it
  nothing_listens,  // at its address (ECONNREFUSED)
};

class NoPeer : public Error {
 public:
  NoPeer(PeerAbsence absence, const std::string& message) : Error(ExitStatus::lost_peer, message), absence_(absence) {}

  [[nodiscard]] PeerAbsence absence() const noexcept { return absence_; }

 private:
  PeerAbsence absence_;
};

/// `none` of any other error.
inline PeerAbsence absence_in(const Error& error) noexcept {
  const auto* const no_peer = dynamic_cast<const NoPeer*>(&error);
  return no_peer != nullptr ? no_peer->absence() : PeerAbsence::none;
}

}  // namespace framewire
