// A sender of marked frames for tests of whole sessions, and a program that takes and checks them.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "frame/test_pattern.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire::test {

/// A stream with its service and its source's thread, as a base of a fixture. Uses a configuration folder without a
/// key, so that this machine's own key has no effect. A fixture whose produce() uses its own members calls
/// stop_sender() in its destructor.
class PatternSender {
 protected:
  PatternSender() { ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1); }
  ~PatternSender() { stop_sender(); }

  /// `produce` runs on a thread of its own, until claim() gives nothing more. Port 0: any.
  void run_sender(const StreamOptions& options, EndpointOptions endpoint, std::uint16_t port,
                  std::function<void()> produce) {
    stream_ = std::make_unique<Stream>(options);
    endpoint.listen = HostPort{"127.0.0.1", port};
    service_ = std::make_unique<SenderService>(endpoint, std::vector<Stream*>{stream_.get()}, "test", log_);
    source_ = std::thread(std::move(produce));
  }

  /// False: the stream takes no more.
  bool publish_frame() {
    auto slot = stream_->claim();
    if (!slot) {
      return false;
    }
    write_test_lines(slot->bytes(), slot->next_sequence());
    stream_->publish(std::move(*slot), {.has_test_pattern = true, .layout = {}});
    return true;
  }

  void stop_sender(std::int64_t timeout_ns = 2 * ns_per_s) {
    if (!stream_) {
      return;
    }
    stream_->stop();
    source_.join();
    service_->drain(monotonic_ns() + timeout_ns);
    reports_ = service_->reports();
    service_.reset();
    stream_.reset();
  }

  SubscriberOptions dialling_sender(const EndpointOptions& endpoint) const {
    SubscriberOptions options{.endpoint = endpoint, .stream = {}, .delivery = {}};
    options.endpoint.dial = HostPort{"127.0.0.1", service_->port()};
    return options;
  }

  /// Receives and checks frames until the session is over or `enough` have arrived. Returns their number.
  static std::uint64_t take_all(Subscriber& subscriber, std::uint64_t enough = UINT64_MAX) {
    std::uint64_t count = 0;
    EXPECT_TRUE(eventually([&] {
      while (count < enough) {
        auto frame = subscriber.next();
        if (!frame) {
          break;
        }
        EXPECT_FALSE(find_torn_line(frame->payload(), frame->header().sequence));
        ++count;
      }
      const SubscriberState state = subscriber.status().state;
      if (count >= enough || state == SubscriberState::finished || state == SubscriberState::failed) {
        return true;
      }
      subscriber.wait(monotonic_ns() + 50 * ns_per_ms);
      return false;
    }));
    return count;
  }

  TemporaryFolder folder_;
  ShownLog log_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<SenderService> service_;
  std::thread source_;
  std::vector<SessionReport> reports_;
};

}  // namespace framewire::test
