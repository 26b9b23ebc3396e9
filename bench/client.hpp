// The client of a benchmark: measures one row against a server. Also what the clients of all kinds of rows share: the
// log's last line, the row's context, its errors, and the connection to a bench server; and the client's results.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "bench/row.hpp"
#include "command/interruption.hpp"
#include "memory/host_block.hpp"
#include "transport/address.hpp"
#include "transport/control/authenticate.hpp"
#include "transport/control/no_peer.hpp"
#include "transport/endpoint_options.hpp"

namespace framewire {

// ---- The log's last line ----

/// A log that keeps the last line. While a row's connection is being made, errors go only to the log; if the connection
/// fails, the error message quotes the last line. Any thread.
class LastLogLine final : public Log {
 public:
  /// `to`: gets every message, too; or null, and details are ignored.
  explicit LastLogLine(Log* to) : to_(to) {}

  void line(LogLevel level, std::string_view text) override;
  /// Empty if there was no line since forget().
  [[nodiscard]] std::string last() const;
  void forget();

 private:
  Log* const to_;
  mutable std::mutex mutex_;
  std::string last_;
};

// ---- What the clients of all rows share ----

/// How long a server may be absent between rows: it makes a new listener for each row.
inline constexpr std::int64_t server_timeout_ns = 10'000'000'000;
/// `absence` and `why`: the last attempt; `why` may be empty.
Error no_server(const HostPort& at, PeerAbsence absence, const std::string& why);

/// What a row is measured with.
struct RowContext {
  EndpointOptions endpoint;  // `dial` is the server's address
  LastLogLine& log;
  Interruption& interruption;                 // Ctrl-C; ends the row
  const MemoryKind* memory = &host_memory();  // of the messages of links; outlives the row
};

/// The row was interrupted; its measurement is not valid.
class Interrupted : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};
/// Throws Interrupted.
void throw_if_interrupted(const Interruption& interruption);

/// The server is there, but cannot use this transport; no message was sent. Status refused or lost_peer: the server has
/// no such transport, or nothing answers there. Status failed: it should have worked.
class CannotBegin : public Error {
 public:
  explicit CannotBegin(const Error& why) : Error(why) {}
};

/// Throws Error (failed) when the two sides have counted different numbers of messages.
void require_every_message(const RowResult& row);

/// Measures one row against the server. Main thread. Throws Error, CannotBegin, Interrupted.
RowResult measure_row(const RowPlan& plan, const RowContext& context);

// ---- A row without a session (plain sockets, verbs): the connection to its server ----

/// A connection to a bench server after the client's hello. One thread.
struct ServerConnection {
  AuthenticatedChannel authenticated;
  HostPort data_address;      // the server's address for data connections
  const RowContext* context;  // outlives this

  [[nodiscard]] MessageChannel& channel() const noexcept { return *authenticated.channel; }
  /// The server's next message. The timeout is long, because the server may have gigabytes of memory to set up. Throws
  /// Error, and Interrupted.
  [[nodiscard]] nlohmann::json receive() const;
  /// The server's next message, if it is there. Throws when the row must end: the user interrupted it, the server's
  /// host is silent, or the server sent an error message, which the exception quotes.
  [[nodiscard]] std::optional<nlohmann::json> poll() const;
  /// The same where no message is due; throws for any.
  void poll_control() const;
  /// Runs `drive`, which moves a row's data. If it loses its connection, the server may have sent the reason on the
  /// control channel: then throws an Error with that reason.
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
  /// Shuts down, and waits for the server to close. The server is then ready for the next row.
  void finish() const;

  void throw_if_told_why() const;
};

/// Dials the context's server. It makes a new listener for each row of a link, so it may be absent for a moment. Throws
/// Error, and Interrupted.
ServerConnection connect_to_server(const RowContext& context);

// ---- The results of all rows ----

/// A client's results so far, and the rows that it left out. Main thread.
class Results {
 public:
  /// `may_leave_out`: the user named no transport, so rows may be left out whose transport this machine lacks.
  Results(std::vector<RowPlan> plans, bool may_leave_out);

  [[nodiscard]] const std::vector<RowPlan>& plans() const noexcept { return plans_; }
  /// False for a plan that was left out.
  [[nodiscard]] bool is_wanted(std::size_t plan) const noexcept { return !is_left_out_[plan]; }

  void add(std::size_t plan, RowResult result) { results_of_plans_[plan].push_back(std::move(result)); }
  /// Records a row that could not begin. If the server has no such transport, or nothing answers there, all rows of
  /// that transport are left out. Any other fault concerns this row only, and makes status() a failure. Throws `why`
  /// when the user asked for that transport, or when it should always be there.
  void leave_out(std::size_t plan, const CannotBegin& why);

  /// The median of every plan that was measured at least once.
  [[nodiscard]] std::vector<RowResult> rows() const;
  /// What was left out and why: one message each.
  [[nodiscard]] const std::vector<std::string>& omissions() const noexcept { return omissions_; }
  /// Failed when rows are missing that this server and this machine should support.
  [[nodiscard]] ExitStatus status() const noexcept { return status_; }

 private:
  std::vector<RowPlan> plans_;
  const bool may_leave_out_;
  std::vector<std::vector<RowResult>> results_of_plans_;
  std::vector<bool> is_left_out_;
  std::vector<std::string> omissions_;
  ExitStatus status_ = ExitStatus::ok;
};

}  // namespace framewire
