// A link that is added to the list needs no edit of a program: these programs have a list with two further links, and
// ask it what the options allow and what messages name.
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "bench/plan.hpp"
#include "bench/row.hpp"
#include "doctor/check.hpp"
#include "doctor/probe.hpp"
#include "rdpipe/plan.hpp"
#include "sender/options.hpp"
#include "transport/links.hpp"
#include "transport/local/local_provider.hpp"
#include "transport/rdma/rdma_provider.hpp"
#include "transport/tcp/tcp_provider.hpp"
#include "viewer/options.hpp"

namespace framewire {
namespace {

constexpr LinkKind fast{200};  // arrives at the control channel's port, and can be encrypted
constexpr LinkKind far{201};   // has a listener of its own, and can be pulled

/// A link that only says what it can do: these tests make no connection.
class Described final : public LinkProvider {
 public:
  explicit Described(const LinkTraits& its) noexcept : traits_(its) {}
  [[nodiscard]] const LinkTraits& traits() const noexcept override { return traits_; }
  [[nodiscard]] std::unique_ptr<SenderLink> make_sender(LinkConnection, const LinkParameters&) const override {
    throw Error::failed("no test connects");
  }
  [[nodiscard]] std::unique_ptr<ReceiverLink> make_receiver(LinkConnection, const LinkParameters&) const override {
    throw Error::failed("no test connects");
  }
  [[nodiscard]] bool is_available() const override { return is_there; }

  bool is_there = true;

 private:
  LinkTraits traits_;
};

Described& fast_link() {
  static Described link(
      {.kind = fast, .name = "fast", .wire_name = "fast1", .missing = "no fast card", .can_be_encrypted = true});
  return link;
}

Described& far_link() {
  static Described link({.kind = far,
                         .name = "far",
                         .wire_name = "far1",
                         .has_own_listener = true,
                         .missing = "no far card",
                         .shares_memory = true,
                         .can_be_pulled = true});
  return link;
}

}  // namespace

/// In place of transport/links.cpp.
std::span<const LinkProvider* const> link_providers() noexcept {
  static const std::array<const LinkProvider*, 5> links{&local_provider(), &fast_link(), &rdma_provider(), &far_link(),
                                                        &tcp_provider()};
  return links;
}

namespace {

class AddedLinkPrograms : public testing::Test {
 protected:
  AddedLinkPrograms() {
    fast_link().is_there = true;
    far_link().is_there = true;
  }
};

template <typename Parse>
auto parsed(Parse parse, std::vector<const char*> words) {
  words.insert(words.begin(), "framewire-test");
  return parse(static_cast<int>(words.size()), words.data()).value();
}

template <typename Parse>
std::string refusal(Parse parse, const std::vector<const char*>& words) {
  try {
    static_cast<void>(parsed(parse, words));
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::usage) << error.what();
    return error.what();
  }
  return "was taken";
}

const Finding& find(const Findings& findings, const std::string& name) {
  static const Finding none{.value = "missing"};
  const auto found = std::ranges::find(findings, name, &Finding::name);
  return found != findings.end() ? *found : none;
}

TEST_F(AddedLinkPrograms, EncryptNamesTheLinksThatCanDoIt) {
  const std::string why = "; with --encrypt, which works over fast and tcp only, it takes auto, fast or tcp";
  EXPECT_EQ(refusal(parse_options, {"--encrypt", "--transport", "far", "big"}), "--transport is 'far'" + why);
  EXPECT_EQ(refusal(parse_bench_options, {"--encrypt", "--transport", "verbs"}), "--transport is 'verbs'" + why);
  const ViewerOptions options = parsed(parse_options, {"--encrypt", "--transport", "fast", "big"});
  EXPECT_EQ(options.session.endpoint.allowed_links, std::vector{fast});
}

TEST_F(AddedLinkPrograms, PullTakesTheLinksThatCanDoIt) {
  EXPECT_EQ(parsed(parse_options, {"--pull", "big"}).session.endpoint.allowed_links,
            (std::vector{LinkKind::rdma, far}));
  EXPECT_EQ(parsed(parse_options, {"--pull", "--transport", "far", "big"}).session.endpoint.allowed_links,
            std::vector{far});
  EXPECT_EQ(refusal(parse_options, {"--pull", "--transport", "fast", "big"}),
            "--transport is 'fast'; with --pull, which reads over rdma and far, it takes auto, rdma or far");
  EXPECT_EQ(
      refusal(parse_options, {"--pull", "--encrypt", "big"}),
      "--pull reads frames over rdma and far, which is not encrypted, and --encrypt forbids that; leave out one of "
      "them");
}

TEST_F(AddedLinkPrograms, AllowPullTakesTheLinksThatCanDoIt) {
  const std::vector<const char*> far_words{"--allow-pull", "--transport", "far", "pattern"};
  EXPECT_EQ(parsed(parse_sender_options, far_words).endpoint.allowed_links, std::vector{far});
  EXPECT_EQ(refusal(parse_sender_options, {"--allow-pull", "--transport", "fast", "pattern"}),
            "--transport is 'fast'; with --allow-pull, which is for rdma and far, it takes auto, rdma or far");
}

/// Without the machine's RDMA device, if it has one.
std::vector<std::string> rows_here(const std::vector<const char*>& words) {
  std::vector<std::string> transports = transports_here(parsed(parse_bench_options, words));
  std::erase_if(transports, [](const std::string& one) { return one == "rdma" || one == verbs_transport; });
  return transports;
}

TEST_F(AddedLinkPrograms, BenchMeasuresEveryLinkOfTheList) {
  EXPECT_EQ(rows_here({}), (std::vector<std::string>{"socket", "local", "tcp", "fast", "far"}));
  EXPECT_EQ(rows_here({"big"}), (std::vector<std::string>{"socket", "tcp", "fast", "far"}));
  EXPECT_EQ(rows_here({"--reverse"}), (std::vector<std::string>{"local", "tcp", "fast", "far"}));
  EXPECT_EQ(rows_here({"--encrypt"}), (std::vector<std::string>{"tcp", "fast"}));
  fast_link().is_there = false;
  EXPECT_EQ(rows_here({}), (std::vector<std::string>{"socket", "local", "tcp", "far"}));
  EXPECT_EQ(refusal(parse_bench_options, {"--reverse", "--transport", "socket"}),
            "--reverse measures links, and --transport is 'socket'; take local, fast, rdma, far or tcp");
}

TEST_F(AddedLinkPrograms, ALinkThatSharesMemoryHasNoBandwidth) {
  EXPECT_EQ(speed_text({.count = 10, .seconds = 1, .latency_us = {}, .transport = "far"}, 1),
            "in 1.000 s, 10 messages/s");
  EXPECT_NE(speed_text({.count = 10, .seconds = 1, .latency_us = {}, .transport = "fast"}, 1).find("GB/s"),
            std::string::npos);
  RemoteHostReport host;
  host.links.push_back({.link = far, .not_tried = {}, .latency = {}, .there = {}, .back = {}});
  host.links.front().there.count = host.links.front().back.count = 1;
  EXPECT_EQ(find(check_host_links(host, {}, far), "far").value, "frames stay where they are");
}

TEST_F(AddedLinkPrograms, DoctorSaysWhatALinkSaysOfItself) {
  far_link().is_there = false;
  MachineFacts machine;
  machine.links = probe_links();
  const Findings findings = check_links(machine, std::nullopt, find_working_links(machine));
  EXPECT_EQ(find(findings, "fast").level, Level::ok);
  EXPECT_EQ(find(findings, "far").level, Level::note);
  EXPECT_EQ(find(findings, "far").value, "no far card");
  EXPECT_EQ(find(check_links(machine, far, find_working_links(machine)), "far").level, Level::problem);
}

TEST_F(AddedLinkPrograms, DoctorMeasuresEveryLinkToAnotherMachine) {
  far_link().is_there = false;
  MachineFacts machine;
  machine.links = probe_links();
  RemoteHostReport host;
  const auto run = [](const HostRow&) {
    Measurement done;
    done.count = 1;
    return done;
  };
  measure_links(host, machine, std::nullopt, run, [] { return std::string(); });
  const Findings findings = check_host_links(host, machine, std::nullopt);
  EXPECT_EQ(find(findings, "fast").level, Level::ok);
  EXPECT_EQ(find(findings, "far").value, "not tried: no far card here");
  const Finding wanted = find(check_host_links(host, machine, far), "far");
  EXPECT_EQ(wanted.level, Level::problem);
  ASSERT_FALSE(wanted.remedy.empty());
  EXPECT_EQ(wanted.remedy.front(), "framewire doctor --transport far");
}

TEST_F(AddedLinkPrograms, RdpipeListensWhereTheLinkCanBeReached) {
  const auto host_for = [](const char* transport) {
    HopPlan plan{.listens = true, .stays_here = true};
    plan.parameters.transport = transport;
    return endpoint_of(plan).listen->host;
  };
  EXPECT_EQ(host_for("fast"), "127.0.0.1");
  EXPECT_EQ(host_for("far"), "*");
  EXPECT_EQ(host_for("rdma"), "*");
  EXPECT_EQ(host_for("auto"), "127.0.0.1");
}

}  // namespace
}  // namespace framewire
