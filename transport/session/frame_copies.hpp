// Frames that lie in the memory of a device, for users that cannot read them there.
#pragma once

#include <functional>
#include <memory>

#include "memory/block.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire {

/// Used on one thread.
class FrameCopies {
 public:
  /// Has the device copy the frame into `memory`, and waits for that: into host memory, or into the frame's own kind,
  /// if the frame lies on another device than that of its kind. payload() and block() of the frame are the copy's then.
  /// Leaves a frame that lies in `memory` as it is. False: `is_cancelled` was true meanwhile, and nobody may use the
  /// frame. Throws Error (failed) if the device fails or takes longer than 10 s, or there is no memory; then the frame
  /// is released once the device has finished.
  ///
  /// A frame has the place in the copy that its slot has in its block. Nothing else is copied there before the frame is
  /// destroyed, so that a device may read the copy until then.
  bool copy(ReceivedFrame& frame, const MemoryKind& memory, const std::function<bool()>& is_cancelled);

 private:
  bool make_room(const std::shared_ptr<const Block>& block, const MemoryKind& memory,
                 const std::function<bool()>& is_cancelled);
  [[nodiscard]] std::shared_ptr<Fence> begin_copy(const ReceivedFrame& frame) const;

  std::weak_ptr<const Block> of_;
  std::shared_ptr<Block> copy_;  // of the whole block, because the device copies to the same offset
};

}  // namespace framewire
