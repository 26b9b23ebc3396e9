// A sender that a test starts and follows.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "viewer/sender_process.hpp"

namespace framewire {

/// What the tests of senders share. A shell script takes the place of a program.
class FollowedSender : public testing::Test {
 protected:
  void write_program(const std::string& name, const std::string& script) const {
    std::ofstream(folder_.file(name)) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(folder_.file(name), std::filesystem::perms::owner_all);
  }
  /// Follows the sender until `is_so`; a test's time limit ends a wait in vain.
  void follow_until(const std::function<bool()>& is_so) {
    while (!is_so()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      sender_->follow();
    }
  }
  void follow_to_its_end() {
    follow_until([&] { return sender_->state() != SenderProcess::State::running; });
  }
  [[nodiscard]] bool has_said(const std::string& text) const { return log_.text().find(text) != std::string::npos; }

  test::TemporaryFolder folder_;
  test::KeptLog log_{true};
  VirtualClock clock_;
  std::optional<SenderProcess> sender_;
};

}  // namespace framewire
