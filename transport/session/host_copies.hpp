// Frames that lie in the memory of a device, for users that read host memory.
#pragma once

#include <functional>
#include <memory>

#include "memory/host_block.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire {

/// Used on one thread.
class HostCopies {
 public:
  /// Has the device copy the frame to host memory, and waits for that. payload() and block() of the frame are the
  /// copy's then. Leaves a frame in host memory as it is. False: `is_cancelled` was true meanwhile, and the frame is
  /// released. Throws Error (failed) if the device fails or takes longer than 10 s, or there is no memory; then the
  /// frame is released once the device has finished.
  bool copy(ReceivedFrame& frame, const std::function<bool()>& is_cancelled);

 private:
  [[nodiscard]] std::shared_ptr<Fence> begin_copy(const ReceivedFrame& frame) const;

  std::weak_ptr<const Block> of_;
  std::shared_ptr<HostBlock> copy_;  // of the whole block, because the device copies to the same offset
};

}  // namespace framewire
