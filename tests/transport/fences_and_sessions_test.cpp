// A device finishes fences on its own thread, while sessions look at the frames that wait for them.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "tests/base/eventually.hpp"
#include "tests/memory/untouchable_memory.hpp"
#include "tests/transport/slice_viewer.hpp"
#include "transport/stream.hpp"

namespace framewire::test {
namespace {

constexpr std::uint16_t copied_slices = 4;
constexpr std::uint64_t many_frames = 3000;
const StreamFormat copied_format{.layout = bytes_layout(copied_slices * 4096), .colour = {}};

/// Else a frame would wait for a slice that nobody tells of again.
TEST(FencesAndSessions, TheLastCopyOfAFrameMayEndWhileASessionLooks) {
  const UntouchableMemory memory;
  memory.hold();
  Stream stream({.name = "test", .delivery = Delivery::every, .memory = &memory, .slices = copied_slices});
  stream.begin_epoch(copied_format);
  SliceViewer viewer(stream, Delivery::every, true);
  std::atomic<std::uint64_t> published = 0;
  std::thread device([&] {
    for (std::uint64_t frame = 0; frame < many_frames; ++frame) {
      while (published <= frame) {
        std::this_thread::yield();
      }
      while (memory.held() > 0) {
        memory.end_held(0);
      }
    }
  });
  for (std::uint64_t sent = 0; sent < many_frames; ++sent) {
    auto slot = stream.claim();
    EXPECT_TRUE(slot && stream.publish(std::move(*slot), {.layout = {}, .is_on_device = true}));
    published = sent + 1;
    const std::int64_t deadline_ns = monotonic_ns() + timeout_ns;
    while (viewer.queue.counts.frames_sent == sent && monotonic_ns() < deadline_ns) {
      viewer.make_progress();
    }
    EXPECT_EQ(viewer.queue.counts.frames_sent, sent + 1);
    viewer.release_all();
    if (HasFailure()) {
      break;
    }
  }
  published = many_frames;
  device.join();
}

}  // namespace
}  // namespace framewire::test
