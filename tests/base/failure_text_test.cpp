#include "base/failure_text.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <new>
#include <string>
#include <system_error>

#include "base/error.hpp"

namespace framewire {
namespace {

TEST(FailureText, SaysWhatLacksAndWhatToDo) {
  EXPECT_EQ(std::string(failure_text(std::bad_alloc())),
            "there is no memory left; end other programs, or raise 'ulimit -v'");
  EXPECT_EQ(std::string(failure_text(std::bad_array_new_length())), failure_text(std::bad_alloc()));
  EXPECT_EQ(
      std::string(failure_text(std::system_error(EAGAIN, std::generic_category()))),
      "cannot start a thread: Resource temporarily unavailable; raise 'ulimit -u' or 'ulimit -v', or free memory");
}

TEST(FailureText, IsWhatOtherErrorsSay) {
  EXPECT_EQ(std::string(failure_text(Error::failed("the film is torn"))), "the film is torn");
  const std::system_error other(ENOENT, std::generic_category(), "open");
  EXPECT_EQ(std::string(failure_text(other)), other.what());
}

}  // namespace
}  // namespace framewire
