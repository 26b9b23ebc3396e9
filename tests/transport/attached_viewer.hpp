// A viewer of a stream without a session.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "tests/transport/holding_link.hpp"
#include "transport/stream.hpp"

namespace framewire::test {

/// A viewer's place in a stream, over a link without a wire. Its session is the thread that uses it.
class AttachedViewer {
 public:
  AttachedViewer(Stream& stream, Delivery delivery, bool takes_any_memory = false)
      : stream_(stream), queue(link, delivery, event) {
    link.takes_any_memory = takes_any_memory;
    EXPECT_TRUE(stream_.attach(queue));
  }
  ~AttachedViewer() { leave(); }
  AttachedViewer(const AttachedViewer&) = delete;
  AttachedViewer& operator=(const AttachedViewer&) = delete;

  /// For the epoch of its next frame. False: it has been told of none that is new, or was ready for it before.
  bool get_ready(bool takes_slices = false) {
    const auto epoch = stream_.epoch_to_announce(queue);
    return epoch && stream_.epoch_ready(queue, epoch->number, 64, {}, takes_slices);
  }
  std::int64_t make_progress() { return stream_.make_progress(queue); }
  void leave() {
    if (std::exchange(is_attached_, false)) {
      stream_.detach(queue);
      stream_.release_held(queue);
    }
  }

 private:
  Stream& stream_;
  bool is_attached_ = true;

 public:
  const SharedEvent event = make_shared_event();
  HoldingLink link;
  SubscriberQueue queue;
};

/// All free slots that a source may have now.
inline std::vector<ClaimedSlot> claim_all(Stream& stream) {
  std::vector<ClaimedSlot> all;
  while (auto slot = stream.claim_now()) {
    all.push_back(std::move(*slot));
  }
  return all;
}

}  // namespace framewire::test
