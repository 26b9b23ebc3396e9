// The sending end of a benchmark.
#pragma once

#include <cstdint>

#include "base/error.hpp"
#include "base/log.hpp"
#include "bench/row.hpp"
#include "transport/endpoint_options.hpp"

namespace framewire {

/// A server makes a new listener for each row: so long it may be away.
inline constexpr std::int64_t server_patience_ns = 10'000'000'000;
Error no_server(const HostPort& at);

/// There is a server, but this transport cannot be had: no message went.
class CannotBegin : public Error {
 public:
  explicit CannotBegin(const Error& why) : Error(why) {}
};

/// Throws Error (failed) when the ends of a row have not counted the same.
void require_every_message(const RowResult& row);

/// Measures one row against the server that `endpoint` dials. Any thread. Throws Error.
RowResult measure_row(const RowPlan& plan, const EndpointOptions& endpoint, Log& log);

}  // namespace framewire
