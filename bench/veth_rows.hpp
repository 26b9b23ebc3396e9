// Rows over a virtual Ethernet cable on this machine: AF_XDP, and beside it UDP and plain TCP sockets.
#pragma once

#include <memory>

#include "bench/client.hpp"
#include "bench/row.hpp"

namespace framewire {

/// Two network namespaces that have nothing but the two ends of a cable, so no other frame comes, and a process at the
/// far end. It is made for the first row. Nothing remains of it, however either side ends. Main thread.
class VethCable {
 public:
  VethCable();
  VethCable(const VethCable&) = delete;
  VethCable& operator=(const VethCable&) = delete;
  ~VethCable();

  /// Sends the plan's messages to the process. No other thread may run but that of the signals, because this forks. The
  /// context outlives this. Throws Error, CannotBegin (a capability is missing, the kernel has no veth or XDP),
  /// Interrupted.
  RowResult measure_row(const RowPlan& plan, const RowContext& context);

 private:
  struct Server;
  void connect(const RowContext& context);

  std::unique_ptr<Server> server_;
};

}  // namespace framewire
