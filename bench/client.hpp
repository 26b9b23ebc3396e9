// The sending end of a benchmark.
#pragma once

#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/error.hpp"
#include "base/log.hpp"
#include "bench/row.hpp"
#include "command/interruption.hpp"
#include "transport/address.hpp"
#include "transport/control/authenticate.hpp"
#include "transport/endpoint_options.hpp"

namespace framewire {

// What a log was last told.

/// A stream for a Log that keeps the last line: what goes wrong while a row's connection is made is only said to a log,
/// and wanted when nothing comes of it. Outlives the log. Any thread.
class LastLogLine {
 public:
  /// `passes_on`: every line goes to standard error, too.
  explicit LastLogLine(bool passes_on);
  LastLogLine(const LastLogLine&) = delete;
  LastLogLine& operator=(const LastLogLine&) = delete;

  [[nodiscard]] std::FILE* stream() const noexcept { return stream_.get(); }
  /// Empty where there was none since forget().
  [[nodiscard]] std::string last() const;
  void forget();

 private:
  void take(const char* text, std::size_t size);

  const bool passes_on_;
  mutable std::mutex mutex_;
  std::string last_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream_;
};

/// A server makes a new listener for each row: so long it may be away.
inline constexpr std::int64_t server_timeout_ns = 10'000'000'000;
/// `why`: what the last try said, or empty.
Error no_server(const HostPort& at, const std::string& why = {});

/// What a row is measured with.
struct RowContext {
  EndpointOptions endpoint;  // dial: the server
  Log& log;
  LastLogLine& last_log_line;  // the log's
  Interruption& interruption;  // ends the row
};

/// The row was ended before its time; it is worth nothing.
class Interrupted : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};
/// Throws Interrupted.
void throw_if_interrupted(const Interruption& interruption);

/// There is a server, but this transport cannot be had: no message went. Refused or lost_peer: the server has none, or
/// nothing answers there; failed: it should be there.
class CannotBegin : public Error {
 public:
  explicit CannotBegin(const Error& why) : Error(why) {}
};

/// Throws Error (failed) when the ends of a row have not counted the same.
void require_every_message(const RowResult& row);

/// Measures one row against the server. Main thread. Throws Error, CannotBegin, Interrupted.
RowResult measure_row(const RowPlan& plan, const RowContext& context);

// The server of a row that no session measures, as its client meets it.

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
