// Rows of plain sockets that run under any stack: socket(), connect(), poll(), send() and recv() with flags 0, and at
// the server bind(), listen() and accept(). A stack that LD_PRELOAD puts in place of the kernel's (VPP's VCL and
// others) knows little more. So there is no control channel: the plan, the clock and the results go through the stream
// itself.
#pragma once

#include <string>

#include "bench/row.hpp"
#include "transport/address.hpp"

namespace framewire {

/// Serves one client after another, without an end but by a signal: every connection is one row. Prints a line for
/// each. `at` has a numeric IPv4 or IPv6 address. Main thread. Throws Error when it cannot listen.
[[noreturn]] void serve_plain_rows(const HostPort& at);

/// Sends the plan's messages to such a server. Main thread. Throws Error.
RowResult measure_plain_row(const RowPlan& plan, const HostPort& server);

}  // namespace framewire
