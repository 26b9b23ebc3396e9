// Once it runs, read mode allocates nothing either: neither the source that publishes nor the viewer that reads.
#include <gtest/gtest.h>

#include "tests/data_path/heap_watch.hpp"
#include "tests/data_path/streaming.hpp"
#include "tests/rdma_lab/pulling.hpp"

namespace framewire::test {
namespace {

class PullAllocatesNothing : public PullingAStream, public testing::WithParamInterface<LinkKind> {
 protected:
  /// Publishes `frames` frames and pulls each before it publishes the next. False if one does not arrive.
  bool pull(int frames) {
    for (int i = 0; i < frames; ++i) {
      publish();
      const auto frame = next_frame();
      if (!frame) {
        return false;
      }
      puller_->return_credit(frame->header);
    }
    return true;
  }
};

TEST_P(PullAllocatesNothing, OnceItRuns) {
  begin_epoch(100'000);
  ASSERT_TRUE(pull(20)) << puller_->fault();
  begin_heap_watch();
  const bool is_through = pull(200);
  const HeapUse use = end_heap_watch();
  EXPECT_TRUE(is_through) << puller_->fault();
  EXPECT_EQ(use.allocations, 0U) << use.description;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PullAllocatesNothing);
INSTANTIATE_TEST_SUITE_P(Pulled, PullAllocatesNothing, testing::ValuesIn(rdma_if_here()),
                         [](const auto& link) { return std::string(name(link.param)); });

}  // namespace
}  // namespace framewire::test
