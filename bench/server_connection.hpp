// The server of a row that no session measures, as its client meets it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "bench/client.hpp"
#include "transport/address.hpp"
#include "transport/control/authenticate.hpp"

namespace framewire {

/// A bench server that has heard the hello of its client. One thread.
struct ServerConnection {
  AuthenticatedChannel authenticated;
  HostPort data_address;      // where its data connections go
  const RowContext* context;  // which outlives it

  [[nodiscard]] MessageChannel& channel() const noexcept { return *authenticated.channel; }
  /// Its next message; it may have gigabytes to set up. Throws Error, and Interrupted.
  [[nodiscard]] nlohmann::json receive() const;
  /// Throws where the row is to end: interrupted, the server's host silent, or with what it said, which
  /// nothing is due of: the words of a fault of its.
  void poll_control() const;
  /// Runs what moves a row's data. Where it loses the connection for that and the server ended it, the server has said
  /// why: then throws Error with that.
  template <typename Drive>
  auto drive(Drive drive) const {
    try {
      return drive();
    } catch (const Error& error) {
      if (error.status() == ExitStatus::lost_peer) {
        throw_if_told_why();
      }
      throw;
    }
  }
  /// Hangs up, when the server has: then it is free for the next row.
  void finish() const;

  void throw_if_told_why() const;
};

/// Dials the context's server, which makes a new listener for each row of a link and is not there for a moment then.
/// Throws Error, and Interrupted.
ServerConnection connect_to_server(const RowContext& context);

}  // namespace framewire
