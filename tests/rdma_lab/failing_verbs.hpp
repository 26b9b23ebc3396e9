// Calls of libibverbs and librdmacm that fail when a test says so. The linker puts these in front of the real ones
// (--wrap, see CMakeLists.txt), so that everything else is real: the device, its kernel, the connection.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "transport/rdma/verbs.hpp"

namespace framewire::test {

/// Which call fails: the `nth` of that name, from 0, with an errno. None by default.
struct FailingCall {
  std::string name{};
  int nth = 0;
  int error_number = 0;
};

/// Counts anew, with one call that will fail. Not while others are calling.
void begin_calls(FailingCall failing);
/// Whether that one came.
bool has_failed();
/// How often each was called since then.
std::map<std::string, int> calls_so_far();
/// What was made and has not been destroyed yet, by kind, of this process; kinds of which there is nothing are left
/// out.
std::map<std::string, int> living_objects();

/// What a device says that it can do, before the program hears it; nothing: the truth. Not while others are calling.
void set_device_lie(std::function<void(ibv_device_attr&)> lie);
/// The same of a port.
void set_port_lie(std::function<void(ibv_port_attr&)> lie);
/// What memory windows come to, whatever the device says of them. Not while others are calling.
struct WindowFault {
  bool has_none = false;          // ibv_alloc_mw: EOPNOTSUPP, as of bnxt_re
  bool is_refused = false;        // the request to bind is not taken: EOPNOTSUPP, as of mlx5 above 2 GiB
  bool fails_late = false;        // the request completes with an error, and the queue pair is in error
  std::uint64_t above_bytes = 0;  // only of windows that are larger
};
void set_window_fault(const WindowFault& fault);
/// With what access (ibv_access_flags) memory was registered since begin_calls(), in order.
std::vector<unsigned> registered_access();
/// What was set by rdma_set_option since begin_calls(): option (RDMA_OPTION_ID_…) and value, of those with one byte.
std::vector<std::pair<int, int>> set_options();
/// The longest chain of requests that one ibv_post_send had since begin_calls().
std::size_t longest_post();
/// A device with so many completion vectors, and which of them were asked for since begin_calls(), in order. 0: the
/// truth.
void set_completion_vectors(int count);
std::vector<int> asked_vectors();
/// The device reports something: of the queue pair that was made as number `nth` since begin_calls() and lives, or,
/// without one, of itself. Whoever looks for such an event next finds it.
void report_event(ibv_event_type type, std::optional<std::size_t> nth = {});
/// Such events that nobody has taken yet.
std::size_t reported_events();
/// More inline data than this is refused when a queue pair is made, as some devices do, and none is granted.
void set_most_inline_bytes(std::uint32_t bytes);

}  // namespace framewire::test
