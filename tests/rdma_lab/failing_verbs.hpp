// Makes calls of libibverbs and librdmacm fail on demand. The linker puts these functions in front of the real ones
// (--wrap, see CMakeLists.txt). Everything else is real: the device, its kernel driver, the connection.
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

/// Which call fails: the `nth` of that name, counted from 0, with an errno. None by default.
struct FailingCall {
  std::string name{};
  int nth = 0;
  int error_number = 0;
};

/// Resets all counters and arms one failing call. No other thread may be calling verbs.
void begin_calls(FailingCall failing);
/// Whether the armed call has failed.
bool has_failed();
/// The number of calls by name since begin_calls().
std::map<std::string, int> calls_so_far();
/// The objects that this process created and has not destroyed, counted by kind. Kinds with a count of 0 are left out.
std::map<std::string, int> living_objects();

/// Changes the reported device attributes; an empty function restores the real ones. No other thread may be calling
/// verbs.
void set_device_lie(std::function<void(ibv_device_attr&)> lie);
/// The same for port attributes.
void set_port_lie(std::function<void(ibv_port_attr&)> lie);
/// How memory windows fail, whatever the device reports. No other thread may be calling verbs.
struct WindowFault {
  bool has_none = false;          // ibv_alloc_mw fails with EOPNOTSUPP, as on bnxt_re
  bool is_refused = false;        // posting the bind fails with EOPNOTSUPP, as on mlx5 above 2 GiB
  bool fails_late = false;        // the bind completes with an error, and the queue pair enters the error state
  std::uint64_t above_bytes = 0;  // applies only to larger windows
};
void set_window_fault(const WindowFault& fault);
/// The access flags (ibv_access_flags) of the memory registered since begin_calls(), in order.
std::vector<unsigned> registered_access();
/// The one-byte options set by rdma_set_option since begin_calls(): option (RDMA_OPTION_ID_…) and value.
std::vector<std::pair<int, int>> set_options();
/// The longest chain of work requests in one ibv_post_send since begin_calls().
std::size_t longest_post();
/// Sets the device's number of completion vectors (0 restores the real one). asked_vectors() returns the vectors
/// requested since begin_calls(), in order.
void set_completion_vectors(int count);
std::vector<int> asked_vectors();
/// Makes the device report an event: for the living queue pair that was created as number `nth` since begin_calls(),
/// or, without `nth`, for the device itself. The next reader of events gets it.
void report_event(ibv_event_type type, std::optional<std::size_t> nth = {});
/// The number of such events that have not been read.
std::size_t reported_events();
/// Creating a queue pair with more inline data than this fails, as on some devices. The device never grants more.
void set_most_inline_bytes(std::uint32_t bytes);

}  // namespace framewire::test
