// The sending end of a benchmark.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "base/error.hpp"
#include "base/log.hpp"
#include "bench/last_log_line.hpp"
#include "bench/row.hpp"
#include "command/interruption.hpp"
#include "transport/endpoint_options.hpp"

namespace framewire {

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

}  // namespace framewire
