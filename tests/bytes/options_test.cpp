#include "bytes/options.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace framewire {
namespace {

TEST(BytesOptions, NameTheFileAsItWasTyped) {
  for (const char* file : {"report", "[report]", "[a,b]", "[]", "["}) {
    const std::vector<const char*> dialling = {"rdsend", "box", file};
    const auto sent = parse_rdsend_options(static_cast<int>(dialling.size()), dialling.data());
    ASSERT_TRUE(sent.has_value());
    EXPECT_EQ(sent->input, file);
    const std::vector<const char*> listening = {"rdsend", file, "--listen", "[::1]:5291"};
    const auto offered = parse_rdsend_options(static_cast<int>(listening.size()), listening.data());
    ASSERT_TRUE(offered.has_value());
    EXPECT_EQ(offered->input, file);
    const std::vector<const char*> receiving = {"rdrecv", file};
    const auto received = parse_rdrecv_options(static_cast<int>(receiving.size()), receiving.data());
    ASSERT_TRUE(received.has_value());
    EXPECT_EQ(received->output, file);
  }
}

}  // namespace
}  // namespace framewire
