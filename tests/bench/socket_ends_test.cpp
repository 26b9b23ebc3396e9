// Both ends of a row over plain sockets, and how the receiver handles peers that break the protocol.
#include "bench/socket_ends.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file_descriptor.hpp"

namespace framewire {
namespace {

constexpr std::uint64_t message = 0;
constexpr std::uint64_t warm_up = 1;
constexpr std::uint64_t end = 2;

class SocketEnds : public testing::Test {
 protected:
  SocketEnds() {
    connect();
    plan_.transport = socket_transport;
    plan_.operation = "stream";
    plan_.message_bytes = 100;
    plan_.count = 5;
    plan_.is_remote = true;
  }

  /// Makes a new connection: each row ends with its connection.
  void connect() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    here_ = FileDescriptor(ends[0]);
    there_ = FileDescriptor(ends[1]);
    set_up_plain_socket(here_.get());
    set_up_plain_socket(there_.get());
  }

  /// Sends messages as a client does. Every kind has a payload except `end`.
  void send(const std::vector<std::uint64_t>& kinds, std::int64_t sent_ns = 0) const {
    for (const std::uint64_t kind : kinds) {
      std::array<std::byte, 116> bytes{};
      std::memcpy(bytes.data(), &kind, sizeof kind);
      std::memcpy(bytes.data() + sizeof kind, &sent_ns, sizeof sent_ns);
      const std::size_t size = kind == end ? 16 : bytes.size();
      ASSERT_EQ(::send(there_.get(), bytes.data(), size, MSG_NOSIGNAL), static_cast<ssize_t>(size));
    }
  }
  SocketReport receive(const PollControl& poll_control = [] {}) const {
    return SocketReceiver(plan_).receive(here_.get(), poll_control);
  }

  FileDescriptor here_, there_;
  RowPlan plan_;
};

TEST_F(SocketEnds, CountTheSame) {
  for (const char* operation : {"stream", "latency"}) {
    connect();
    plan_.operation = operation;
    SocketSent sent;
    std::thread sender([&] { sent = SocketSender(there_.get(), plan_, [] {}).send_all_messages(); });
    const SocketReport report = receive();
    sender.join();
    EXPECT_TRUE(report.is_whole);
    EXPECT_EQ(report.count, 5U);
    EXPECT_EQ(sent.count, 5U);
    EXPECT_GE(report.last_ns, report.ready_ns);
    EXPECT_EQ(sent.latency_us.max > 0, plan_.operation == "latency");
    EXPECT_EQ(report.latency_us.max, 0) << "by another machine's clock";
  }
}

TEST_F(SocketEnds, WhatIsBrokenOffIsNotWhole) {
  send({warm_up, message, message});
  ASSERT_EQ(::shutdown(there_.get(), SHUT_WR), 0);
  const SocketReport report = receive();
  EXPECT_FALSE(report.is_whole);
  EXPECT_EQ(report.count, 2U);
}

/// An older client does not close the connection after `end`.
TEST_F(SocketEnds, TheEndHasNoPayload) {
  send({warm_up, message, end});
  const SocketReport report = receive();
  EXPECT_TRUE(report.is_whole);
  EXPECT_EQ(report.count, 1U);
}

TEST_F(SocketEnds, TheFirstMessageWarmsUp) {
  send({message});
  EXPECT_THROW(receive(), Error);
}

TEST_F(SocketEnds, AnUnknownKindIsNoMessage) {
  send({warm_up, message, 3});
  EXPECT_THROW(receive(), Error);
}

TEST_F(SocketEnds, AClockOfWhateverTimeIsNoFault) {
  send({warm_up, message, end}, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(receive().count, 1U);
}

/// A peer that never pauses could otherwise block the receiver for ever.
TEST_F(SocketEnds, EvenABusyPeersControlChannelIsPolled) {
  std::atomic<bool> stop = false;
  send({warm_up});
  std::thread sender([&] {
    const std::array<std::byte, 116> bytes{};
    while (!stop && ::send(there_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  int polls = 0;
  EXPECT_THROW(receive([&] {
                 if (++polls == 3) {
                   throw Error::failed("enough");
                 }
               }),
               Error);
  stop = true;
  here_.reset();
  sender.join();
}

}  // namespace
}  // namespace framewire
