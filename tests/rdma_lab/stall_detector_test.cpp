// When an end decides that its own device has lost a request.
#include "transport/rdma/work_requests.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"

namespace framewire {
namespace {

constexpr std::int64_t start_ns = 1000 * ns_per_s;
constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;

TEST(StallDetector, WaitsForWhatWillBeToldOnly) {
  StallDetector detector(ns_per_s);
  EXPECT_FALSE(detector.is_stalled(start_ns, 7, false, 0));
  EXPECT_FALSE(detector.is_stalled(start_ns + 3600 * ns_per_s, 7, false, 0));
  EXPECT_FALSE(detector.is_stalled(start_ns + 3604 * ns_per_s, 7, true, 64)) << "the hour before counts for nothing";
}

TEST(StallDetector, ARequestThatDoesNotComplete) {
  StallDetector detector(ns_per_s);
  EXPECT_FALSE(detector.is_stalled(start_ns, 7, true, 64));
  EXPECT_FALSE(detector.is_stalled(start_ns + 5 * ns_per_s, 7, true, 64)) << "not yet";
  EXPECT_TRUE(detector.is_stalled(start_ns + 5 * ns_per_s + ns_per_ms, 7, true, 64));
}

TEST(StallDetector, ThePeersTimeCountsThreefold) {
  StallDetector detector(10 * ns_per_s);
  EXPECT_FALSE(detector.is_stalled(start_ns, 7, true, 0));
  EXPECT_FALSE(detector.is_stalled(start_ns + 30 * ns_per_s, 7, true, 0));
  EXPECT_TRUE(detector.is_stalled(start_ns + 31 * ns_per_s, 7, true, 0));
}

TEST(StallDetector, OneCompletionBeginsAnew) {
  StallDetector detector(ns_per_s);
  EXPECT_FALSE(detector.is_stalled(start_ns, 7, true, 0));
  EXPECT_FALSE(detector.is_stalled(start_ns + 5 * ns_per_s, 8, true, 0));
  EXPECT_FALSE(detector.is_stalled(start_ns + 10 * ns_per_s, 8, true, 0));
  EXPECT_TRUE(detector.is_stalled(start_ns + 11 * ns_per_s, 8, true, 0));
}

TEST(StallDetector, MuchOverASlowWireTakesItsTime) {
  StallDetector detector(ns_per_s);
  EXPECT_FALSE(detector.is_stalled(start_ns, 0, true, 256 * mebibyte));
  EXPECT_FALSE(detector.is_stalled(start_ns + 270 * ns_per_s, 0, true, 256 * mebibyte)) << "256 MiB at 1 MB/s";
  EXPECT_TRUE(detector.is_stalled(start_ns + 275 * ns_per_s, 0, true, 256 * mebibyte));
}

}  // namespace
}  // namespace framewire
