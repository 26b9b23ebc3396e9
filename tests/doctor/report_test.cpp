#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "doctor/report.hpp"
#include "tests/doctor/machines.hpp"

namespace framewire {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  return lines;
}

std::size_t columns_of(const std::string& line) {
  return static_cast<std::size_t>(
      std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }));
}

const Findings some = {
    {.area = "Links", .name = "local", .value = "works", .text = "a secret", .details = {"a detail"}},
    {.area = "RDMA",
     .name = "port",
     .level = Level::warning,
     .value = "down",
     .text = "It is down.",
     .remedy = {"up it"}}};

TEST(TextReport, GroupsByAreaAndNamesCommands) {
  EXPECT_EQ(text_report("doctor", some, {}),
            "doctor\n\nLinks\n  ✓ local  works\n\nRDMA\n  ! port   down\n    It is down.\n      $ up it\n\n"
            "Ready to send and view by local: 1 warning.\n");
}

TEST(TextReport, SaysMoreWhenAsked) {
  const std::string report = text_report("doctor", some, {.is_verbose = true});
  EXPECT_NE(report.find("a secret"), std::string::npos);
  EXPECT_NE(report.find("a detail"), std::string::npos);
}

TEST(TextReport, IsColouredOnlyWhenAsked) {
  EXPECT_EQ(text_report("doctor", some, {}).find('\x1b'), std::string::npos);
  EXPECT_NE(text_report("doctor", some, {.has_colour = true}).find("\x1b[33m!\x1b[0m"), std::string::npos);
}

TEST(TextReport, FitsIntoEightyColumnsButForCommands) {
  MachineFacts machine = test::rdma_machine();
  machine.memory.lock_soft_bytes = 65536;
  machine.rdma.adapters.front().pci->current.lanes = 4;
  machine.rdma.adapters.front().device->ports.front().active_mtu_bytes = 1024;
  machine.key.exists = false;
  machine.opengl.trouble = std::string(20, 'x') + " " + std::string(60, 'y') + " and more of that";
  machine.network.core_send_bytes = 212992;
  machine.network.core_receive_bytes = 212992;
  const std::string report = text_report("doctor", check_machine(machine, LinkKind::rdma), {.is_verbose = true});
  for (const std::string& line : lines_of(report)) {
    EXPECT_TRUE(columns_of(line) <= 80 || line.find("$ ") != std::string::npos) << line;
  }
  EXPECT_NE(report.find("Something is broken: "), std::string::npos);
}

TEST(TextReport, FitsWhateverIsInTheWayToAHost) {
  RemoteHostReport host = test::fast_big();
  host.links[1].latency = host.links[1].there = host.links[1].back = test::failed(std::string(30, 'x') + " 4791");
  host.links[2].there = test::measured(0.5);
  for (int fault = 0; fault <= static_cast<int>(HostFault::other); ++fault) {
    host.fault = static_cast<HostFault>(fault);
    host.trouble = "a long text about what was met there on the way " + std::string(40, 'y');
    const std::string report = text_report("doctor", check_host(host, test::rdma_machine(), {}), {.is_verbose = true});
    for (const std::string& line : lines_of(report)) {
      EXPECT_TRUE(columns_of(line) <= 80 || line.find("$ ") != std::string::npos) << line;
    }
  }
}

TEST(TextReport, EndsWithTheLinksThatWereAskedFor) {
  const RemoteHostReport host = test::fast_big();
  const std::string report = text_report("doctor", check_host(host, test::rdma_machine(), {}), {},
                                         {.ready = "Ready for big", .links_area = host_links_area(host)});
  EXPECT_TRUE(report.ends_with("\nReady for big by rdma, tcp.\n")) << report;
}

TEST(TextReport, FitsWithLongNamesOfDevicesAndHosts) {
  const Findings findings = {{.area = "Links", .name = "tcp", .value = "works"},
                             {.area = "RDMA",
                              .name = "rocep193s0f0v12 priorities",
                              .level = Level::warning,
                              .value = "not those of " + std::string(37, 'x')}};
  const ReportClosing closing{.ready = "Ready to send to render-17.studio.cluster.example.org and to view from there"};
  const std::string report = text_report("doctor", findings, {}, closing);
  for (const std::string& line : lines_of(report)) {
    EXPECT_LE(columns_of(line), 80U) << line;
  }
  EXPECT_NE(report.find("\n  ! rocep193s0f0v12 priorities\n" + std::string(30, ' ') + "not those of xxx"),
            std::string::npos)
      << report;
  const std::string first = "Ready to send to render-17.studio.cluster.example.org and to view from there by";
  EXPECT_TRUE(report.ends_with("\n\n" + first + "\ntcp: 1 warning.\n")) << report;
  const std::string coloured = text_report("doctor", findings, {.has_colour = true}, closing);
  EXPECT_TRUE(coloured.ends_with("\n\n\x1b[1;32m" + first + "\x1b[0m\n\x1b[1;32mtcp\x1b[0m: 1 warning.\n")) << coloured;
}

TEST(JsonReport, HasTheWayToAHost) {
  RemoteHostReport host = test::fast_big();
  host.links[1].back = test::failed("no way \xff");
  const MachineFacts machine = test::rdma_machine();
  const auto json = nlohmann::json::parse(json_report(machine, check_host(host, machine, {}), {}, &host));
  const auto& way = json.at("host");
  EXPECT_EQ(way.at("name"), "big");
  EXPECT_EQ(way.at("port"), 5290);
  EXPECT_EQ(way.at("round_trip_us"), 210);
  EXPECT_EQ(way.at("fault"), nullptr);
  EXPECT_EQ(way.at("auto"), "rdma");
  EXPECT_EQ(way.at("links").size(), 3U);
  EXPECT_NE(way.at("links").at(0).at("not_tried"), nullptr);
  EXPECT_EQ(way.at("links").at(1).at("works"), false);
  EXPECT_EQ(way.at("links").at(1).at("forward").at("gigabytes_per_second"), 11.5);
  EXPECT_EQ(way.at("links").at(1).at("reverse").at("gigabytes_per_second"), nullptr);
  EXPECT_EQ(way.at("links").at(2).at("latency").at("p50_us"), 12.3);
  EXPECT_EQ(json.at("is_ready"), true);
  EXPECT_FALSE(nlohmann::json::parse(json_report(machine, check_machine(machine, {}), {})).contains("host"));
}

TEST(TextReport, NothingFromOutsideMovesTheCursor) {
  const Findings findings = {
      {.area = "RDMA", .name = "a\x1b[2J", .value = "b\rc", .text = "d\x07", .remedy = {"e\nf"}}};
  const std::string report = text_report("g\x1b", findings, {.is_verbose = true});
  EXPECT_EQ(report.find_first_of("\x1b\r\x07"), std::string::npos) << report;
}

TEST(TextReport, WrapsByCharacters) {
  EXPECT_EQ(wrap("aa bb cc", 5), (std::vector<std::string>{"aa bb", "cc"}));
  EXPECT_EQ(wrap("ää öö üü", 5), (std::vector<std::string>{"ää öö", "üü"}));
  EXPECT_EQ(wrap("longer than that", 4), (std::vector<std::string>{"longer", "than", "that"}));
  EXPECT_TRUE(wrap("", 4).empty());
}

TEST(JsonReport, HasFindingsAndTheFactsBehindThem) {
  MachineFacts machine = test::rdma_machine();
  machine.memory.lock_soft_bytes = 65536;
  const auto json = nlohmann::json::parse(json_report(machine, check_machine(machine, LinkKind::rdma), LinkKind::rdma));
  EXPECT_EQ(json["rdma_devices"][0]["ports"][0]["max_message_bytes"], 1U << 30);
  EXPECT_EQ(json.at("transport"), "rdma");
  EXPECT_EQ(json.at("is_ready"), false);
  EXPECT_EQ(json.at("works").at("rdma"), false);
  EXPECT_EQ(json.at("works").at("local"), true);
  const auto& device = json.at("rdma_devices").at(0);
  EXPECT_EQ(device.at("name"), "mlx5_0");
  EXPECT_EQ(device.at("pci").at("current").at("lanes"), 16);
  EXPECT_EQ(device.at("ports").at(0).at("chosen_gid_index"), 3);
  EXPECT_EQ(device.at("ports").at(0).at("gids").size(), 4U);
  EXPECT_EQ(json.at("memory").at("lock_soft_bytes"), 65536);
  EXPECT_EQ(json.at("memory").at("lock_hard_bytes"), nullptr);
  for (const auto& finding : json.at("findings")) {
    for (const char* field : {"area", "name", "level", "value", "text", "details", "fix"}) {
      EXPECT_TRUE(finding.contains(field)) << finding;
    }
  }
}

TEST(JsonReport, SaysHowRdmaDevicesReachAGpu) {
  MachineFacts machine = test::rdma_machine();
  CudaDeviceInfo info{.name = "NVIDIA H200", .uuid = "GPU-1", .pci_address = "0000:65:00.0"};
  info.exports_dma_buf = true;
  machine.gpu.devices = {{.info = info}};
  const auto json = nlohmann::json::parse(json_report(machine, check_machine(machine, {}), {}));
  const auto& device = json.at("gpu").at("devices").at(0);
  EXPECT_EQ(device.at("rdma_devices").at("mlx5_0"), "unknown") << "what lies between them";
  EXPECT_EQ(device.at("rdma_access").at("mlx5_0"), "dma_buf");
  EXPECT_EQ(device.at("has_pcie_mapping"), false);
  EXPECT_EQ(device.at("shares_page_tables"), false);
}

TEST(JsonReport, SaysWhichDevicesHaveDataDirect) {
  MachineFacts machine = test::rdma_machine();
  CudaDeviceInfo info{.name = "NVIDIA H200", .uuid = "GPU-1", .pci_address = "0000:65:00.0"};
  info.exports_dma_buf = true;
  info.knows_pcie_mapping = true;
  info.shares_page_tables = true;
  machine.gpu.devices = {{.info = info}};
  const auto data_direct = [&] {
    const auto json = nlohmann::json::parse(json_report(machine, check_machine(machine, {}), {}));
    const auto& gpu = json.at("gpu").at("devices").at(0);
    EXPECT_EQ(gpu.at("has_pcie_mapping"), true);
    EXPECT_EQ(gpu.at("shares_page_tables"), true);
    return std::pair(json.at("rdma_devices").at(0).at("data_direct"), gpu.at("rdma_access").at("mlx5_0"));
  };
  EXPECT_EQ(data_direct().first.at("path"), nullptr);
  EXPECT_EQ(data_direct().first.at("why_not"), "the RDMA device has none");
  EXPECT_EQ(data_direct().second, "dma_buf");
  machine.rdma.adapters.front().device->data_direct = {.path = "/sys/devices/pci0000:3a/0000:3b:00.1", .why_not = {}};
  EXPECT_EQ(data_direct().first.at("path"), "/sys/devices/pci0000:3a/0000:3b:00.1");
  EXPECT_EQ(data_direct().first.at("why_not"), nullptr);
  EXPECT_EQ(data_direct().second, "data_direct");
}

TEST(JsonReport, TextThatIsNoUtf8IsReplaced) {
  MachineFacts machine = test::plain_machine();
  machine.system.kernel = "6.1\xff";
  EXPECT_NO_THROW(std::ignore = nlohmann::json::parse(json_report(machine, check_machine(machine, {}), {})));
}

}  // namespace
}  // namespace framewire
