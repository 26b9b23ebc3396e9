#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "doctor/check.hpp"
#include "tests/doctor/machines.hpp"

namespace framewire {
namespace {

using test::big;
using test::failed;
using test::fast_big;
using test::find;
using test::has;
using test::measured;

bool mends(const Finding& finding, const std::string& command) {
  return std::ranges::any_of(finding.remedy, [&](const std::string& one) { return has(one, command); });
}

LinkMeasurements& link(RemoteHostReport& host, LinkKind kind) {
  return *std::ranges::find(host.links, kind, &LinkMeasurements::link);
}

/// The finding about the connection to "big".
Finding obstacle(HostFault fault, const MachineFacts& machine = test::plain_machine(),
                 const std::string& trouble = "it was so") {
  RemoteHostReport host = big();
  host.fault = fault;
  host.trouble = trouble;
  const Findings findings = check_host(host, machine, {});
  const auto found = std::ranges::find(findings, Level::problem, &Finding::level);
  EXPECT_NE(found, findings.end()) << static_cast<int>(fault);
  return found == findings.end() ? Finding{} : *found;
}

TEST(CheckHost, AllIsWell) {
  const Findings findings = check_host(fast_big(), test::rdma_machine(), {});
  EXPECT_FALSE(has_problem(findings));
  EXPECT_EQ(find(findings, "host").value, "big is 192.168.7.2, round trip 210 µs");
  EXPECT_EQ(find(findings, "authentication").value, "the shared key, tls1.3");
  EXPECT_EQ(find(findings, "server").value, "framewire-bench 0.1.0");
  EXPECT_EQ(find(findings, "rdma").value, "11.5 GB/s there, 11.6 GB/s back, 64 bytes in 12.3 µs");
  EXPECT_EQ(find(findings, "tcp").level, Level::ok);
  EXPECT_EQ(find(findings, "auto").value, "rdma; local: it needs the same user on the same machine");
  EXPECT_EQ(find(findings, "tcp speed").value, "missing");
  EXPECT_EQ(find(findings, "tcp directions").value, "missing");
}

TEST(CheckHost, NobodyIsThere) {
  const Finding finding = obstacle(HostFault::nothing_listens);
  EXPECT_EQ(finding.value, "nothing listens at port 5290");
  EXPECT_EQ(finding.remedy, std::vector<std::string>{R"(ssh -t big "framewire bench --listen '*:5290'")"});
  MachineFacts keyless = test::plain_machine();
  keyless.key.exists = false;
  const Finding without_key = obstacle(HostFault::nothing_listens, keyless);
  ASSERT_EQ(without_key.remedy.size(), 3U);
  EXPECT_EQ(without_key.remedy[0], "framewire key");
  EXPECT_EQ(without_key.remedy[1], "framewire key --export | ssh big framewire key --import -");
}

TEST(CheckHost, ASilentHostMayHaveAFirewall) {
  const Finding finding = obstacle(HostFault::silent);
  EXPECT_TRUE(mends(finding, "nft insert rule inet filter input tcp dport 5290 accept"));
  EXPECT_TRUE(mends(finding, "firewall-cmd --permanent --add-port=5290/tcp"));
  EXPECT_TRUE(mends(finding, "ufw allow 5290/tcp"));
}

TEST(CheckHost, EveryObstacleHasItsCommand) {
  EXPECT_TRUE(mends(obstacle(HostFault::unknown_name), "/etc/hosts"));
  EXPECT_TRUE(mends(obstacle(HostFault::no_route), "ip address add"));
  EXPECT_TRUE(mends(obstacle(HostFault::bad_key_here, test::plain_machine(), "it can be read by others"),
                    "chmod 600 /home/u/.config/framewire/key"));
  const Finding missing = obstacle(HostFault::bad_key_here, test::plain_machine(), "No such file or directory");
  EXPECT_TRUE(mends(missing, "framewire key"));
  EXPECT_FALSE(mends(missing, "chmod"));
  EXPECT_TRUE(obstacle(HostFault::bad_key_here).remedy.empty());
  EXPECT_TRUE(mends(obstacle(HostFault::no_key_here), "framewire key"));
  EXPECT_TRUE(mends(obstacle(HostFault::key_refused), "framewire key --export | ssh big framewire key --import -"));
  EXPECT_TRUE(mends(obstacle(HostFault::not_framewire), "framewire doctor big:5292"));
  EXPECT_TRUE(mends(obstacle(HostFault::sender), "--listen '*:5292'"));
  EXPECT_TRUE(mends(obstacle(HostFault::viewer), "framewire doctor big:5292"));
  EXPECT_TRUE(mends(obstacle(HostFault::version), "ssh big framewire --version"));
  EXPECT_TRUE(mends(obstacle(HostFault::busy), "framewire doctor big:5290"));
  EXPECT_TRUE(mends(obstacle(HostFault::other), "framewire bench --listen"));
  EXPECT_EQ(obstacle(HostFault::no_bench_here).value, "framewire-bench is missing");
}

TEST(CheckHost, WhatWasReachedBeforeIsSaid) {
  RemoteHostReport host = big();
  host.fault = HostFault::sender;
  host.program = "framewire-send 0.1.0";
  const Findings findings = check_host(host, test::plain_machine(), {});
  EXPECT_EQ(find(findings, "host").level, Level::ok);
  EXPECT_EQ(find(findings, "authentication").level, Level::ok);
  EXPECT_TRUE(has(find(findings, "server").text, "framewire send answers there"));
}

TEST(CheckHost, NoKeyIsWorthANote) {
  RemoteHostReport host = fast_big();
  host.auth = "none";
  const Findings findings = check_host(host, test::rdma_machine(), {});
  EXPECT_EQ(find(findings, "authentication").level, Level::note);
  EXPECT_FALSE(has_problem(findings));
}

TEST(CheckHost, AClosedUdpPortLeavesTcp) {
  RemoteHostReport host = fast_big();
  link(host, LinkKind::rdma) = {.link = LinkKind::rdma, .not_tried = "", .latency = {}, .there = {}, .back = {}};
  link(host, LinkKind::rdma).latency =
      failed("big does not answer over RDMA; does a firewall let UDP port 4791 (RoCE v2) through?");
  const Findings findings = check_host(host, test::rdma_machine(), {});
  EXPECT_FALSE(has_problem(findings));
  EXPECT_EQ(find(findings, "rdma").level, Level::warning);
  EXPECT_TRUE(mends(find(findings, "rdma"), "udp dport 4791 accept   # nftables, on both machines"));
  EXPECT_TRUE(has(find(findings, "auto").value, "tcp; local: "));
  EXPECT_TRUE(has(find(findings, "auto").value, "; rdma: big does not answer over RDMA"));
  host.links.erase(host.links.begin());
  host.links.pop_back();
  const Findings wanted = check_host(host, test::rdma_machine(), LinkKind::rdma);
  EXPECT_TRUE(has_problem(wanted));
  EXPECT_EQ(find(wanted, "rdma").level, Level::problem);
  EXPECT_EQ(find(wanted, "auto").value, "missing") << "only one link was measured";
}

TEST(CheckHost, OtherRdmaTroubleHasItsCommands) {
  RemoteHostReport host = fast_big();
  LinkMeasurements& rdma = link(host, LinkKind::rdma);
  rdma.latency = rdma.there = rdma.back = {};
  rdma.latency = failed("cannot register 64 MB; raise that by 'ulimit -l unlimited'");
  EXPECT_TRUE(mends(find(check_host(host, test::rdma_machine(), {}), "rdma"), "ulimit -l unlimited"));
  rdma.latency = failed("rdma: the sender has none, it has no RDMA device");
  EXPECT_TRUE(
      mends(find(check_host(host, test::rdma_machine(), {}), "rdma"), "ssh big framewire doctor --transport rdma"));
  rdma.latency = {};
  rdma.not_tried = "no RDMA device here";
  EXPECT_EQ(find(check_host(host, test::rdma_machine(), {}), "rdma").level, Level::note);
  host.links = {rdma};
  EXPECT_EQ(find(check_host(host, test::rdma_machine(), LinkKind::rdma), "rdma").level, Level::problem);
}

TEST(CheckHost, OneLinkBothWaysIsEnough) {
  RemoteHostReport host = fast_big();
  link(host, LinkKind::tcp).back = failed("lost");
  const Findings one = check_host(host, test::rdma_machine(), {});
  EXPECT_FALSE(has_problem(one));
  EXPECT_EQ(find(one, "tcp").level, Level::warning);
  EXPECT_TRUE(has(find(one, "tcp").value, "not both ways: only 9.00 GB/s there"));
  EXPECT_TRUE(has(find(one, "tcp").text, "A burst back: lost."));
  link(host, LinkKind::rdma).there = failed("lost");
  EXPECT_TRUE(has_problem(check_host(host, test::rdma_machine(), {}))) << "each works one way only";
}

TEST(CheckHost, AutoFollowsTheSessionsRule) {
  RemoteHostReport host = fast_big();
  EXPECT_EQ(auto_choice(host), LinkKind::rdma);
  host.links[0] = {
      .link = LinkKind::local, .not_tried = "", .latency = measured(0), .there = measured(1), .back = measured(1)};
  EXPECT_EQ(auto_choice(host), LinkKind::local);
  host.links[0].not_tried = "no";
  host.links[0].latency = host.links[0].there = host.links[0].back = {};
  host.links[1].latency = host.links[1].there = host.links[1].back = {};
  EXPECT_EQ(auto_choice(host), LinkKind::tcp);
  host.links[2].latency = host.links[2].there = host.links[2].back = {};
  EXPECT_EQ(auto_choice(host), std::nullopt);
  EXPECT_EQ(find(check_host(host, test::plain_machine(), {}), "auto").level, Level::problem);
}

TEST(CheckHost, ASlowLinkNamesWhatMayHoldIt) {
  RemoteHostReport host = fast_big();
  MachineFacts machine = test::rdma_machine();
  link(host, LinkKind::tcp).there = link(host, LinkKind::tcp).back = measured(2);
  EXPECT_TRUE(
      has(find(check_host(host, machine, {}), "tcp speed").value, "16 % of what ens3f0np0 can move (12.5 GB/s)"));
  EXPECT_TRUE(find(check_host(host, machine, {}), "tcp speed").remedy.empty()) << "buffers and packets are large";
  machine.network.interfaces.front().mtu_bytes = 1500;
  EXPECT_TRUE(mends(find(check_host(host, machine, {}), "tcp speed"), "ip link set dev ens3f0np0 mtu 9000"));
  machine.network.tcp_send_bytes = 212992;
  EXPECT_TRUE(mends(find(check_host(host, machine, {}), "tcp speed"), "sysctl"));
  machine.network.interfaces.front().megabits_per_second.reset();
  EXPECT_EQ(find(check_host(host, machine, {}), "tcp speed").value, "missing") << "the interface does not tell";
}

TEST(CheckHost, OneWayMuchSlowerThanTheOther) {
  RemoteHostReport host = fast_big();
  link(host, LinkKind::tcp).back = measured(3);
  link(host, LinkKind::rdma).there = measured(2);
  const Findings findings = check_host(host, test::rdma_machine(), {});
  EXPECT_EQ(find(findings, "tcp directions").value, "there is 3 times as fast as back");
  EXPECT_TRUE(mends(find(findings, "tcp directions"), "ethtool -r ens3f0np0"));
  EXPECT_EQ(find(findings, "rdma directions").value, "back is 5.8 times as fast as there");
  EXPECT_TRUE(mends(find(findings, "rdma directions"), "ethtool -A ens3f0np0 rx on tx on"));
  host.is_own_address = true;
  EXPECT_EQ(find(check_host(host, test::rdma_machine(), {}), "tcp directions").value, "missing");
}

TEST(CheckHost, ASpeedThatIsNotKnownIsNotChecked) {
  RemoteHostReport host = fast_big();
  link(host, LinkKind::tcp).there = measured(0);
  const Findings findings = check_host(host, test::rdma_machine(), {});
  EXPECT_EQ(find(findings, "tcp").value, "works there, 8.50 GB/s back, 64 bytes in 12.3 µs");
  EXPECT_EQ(find(findings, "tcp directions").value, "missing");
}

TEST(CheckHost, LargePacketsThatDoNotPass) {
  RemoteHostReport host = fast_big();
  link(host, LinkKind::tcp).there = failed("it did not end within 20000 ms");
  link(host, LinkKind::tcp).there.is_late = true;
  link(host, LinkKind::tcp).back = {};
  const Finding packets = find(check_host(host, test::rdma_machine(), {}), "tcp packets");
  EXPECT_TRUE(mends(packets, "ping -c 3 -M do -s 8972 192.168.7.2"));
  EXPECT_TRUE(mends(packets, "ip link set dev ens3f0np0 mtu 1500"));
  host.left = "nothing listens there";
  const Findings left = check_host(host, test::rdma_machine(), {});
  EXPECT_EQ(find(left, "tcp packets").value, "missing") << "the server went away, which is another matter";
}

TEST(CheckHost, AServerThatGoesAway) {
  RemoteHostReport host = big();
  host.left = "nothing listens at big:5290; start the other end";
  host.links = {{.link = LinkKind::tcp,
                 .not_tried = "",
                 .latency = measured(0),
                 .there = failed("big closed the connection"),
                 .back = {}}};
  const Findings findings = check_host(host, test::plain_machine(), {});
  EXPECT_TRUE(has_problem(findings));
  const auto server = std::ranges::find(findings, "went away while it was measured", &Finding::value);
  ASSERT_NE(server, findings.end());
  EXPECT_TRUE(mends(*server, "framewire bench --listen"));
}

TEST(CheckHost, TheMachineItselfIsOnlyBackground) {
  MachineFacts machine = test::plain_machine();
  machine.key.trouble = "the key is readable by others";
  ASSERT_TRUE(has_problem(check_machine(machine, {})));
  EXPECT_FALSE(has_problem(as_background(check_machine(machine, {}))));
}

}  // namespace
}  // namespace framewire
