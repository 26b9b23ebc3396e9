// The doctor's report, as text and as JSON.
#include "doctor/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "command/json_text.hpp"
#include "doctor/gpu_access.hpp"

namespace framewire {

namespace {

constexpr std::size_t max_columns = 80;
constexpr std::size_t indent_columns = 4;  // for lines that belong to the line above

struct LevelStyle {
  std::string_view sign;
  std::string_view colour;  // SGR parameter: ECMA-48, 8.3.117
};

LevelStyle style_of(Level level) {
  switch (level) {
    case Level::ok:
      return {"✓", "32"};
    case Level::note:
      return {"•", "36"};
    case Level::warning:
      return {"!", "33"};
    case Level::problem:
      return {"✗", "31"};
  }
  return {"?", "0"};
}

/// The number of characters: does not count UTF-8 continuation bytes.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }));
}

/// "local, tcp": the names of the area's ok findings.
std::string working_links(const Findings& findings, const std::string& area) {
  std::string names;
  for (const Finding& finding : findings) {
    if (finding.area == area && finding.level == Level::ok) {
      names += (names.empty() ? "" : ", ") + printable(finding.name);
    }
  }
  return names;
}

std::string ready_text(const Findings& findings, const ReportClosing& closing) {
  return printable(closing.ready) + " by " + working_links(findings, closing.links_area);
}

class Report {
 public:
  Report(const Findings& findings, TextStyle style) : style_(style) {
    for (const Finding& finding : findings) {
      name_columns_ = std::max(name_columns_, columns_of(finding.name));
    }
    name_columns_ = std::min<std::size_t>(name_columns_, 24);
  }

  void heading(std::string_view text) { text_ += painted(printable(text), "1") + "\n"; }
  void area(std::string_view name) { text_ += "\n" + painted(printable(name), "1") + "\n"; }

  void finding(const Finding& finding) {
    const LevelStyle level_style = style_of(finding.level);
    const std::string name = printable(finding.name);
    const std::size_t padding = name_columns_ - std::min(name_columns_, columns_of(name));
    const std::size_t value_column = indent_columns + name_columns_ + 2;
    const auto lines = wrap(printable(finding.value), max_columns - value_column);
    const bool fits_beside = columns_of(name) <= name_columns_ && !lines.empty();
    text_ += fmt::format("  {} {}{}\n", painted(std::string(level_style.sign), level_style.colour), name,
                         fits_beside ? std::string(padding + 2, ' ') + lines.front() : "");
    for (std::size_t i = fits_beside ? 1 : 0; i < lines.size(); ++i) {
      text_ += std::string(value_column, ' ') + lines[i] + "\n";
    }
    if (style_.is_verbose) {
      for (const std::string& detail : finding.details) {
        const std::size_t columns = max_columns - indent_columns - 2;
        const bool fits = columns_of(detail) <= columns;  // do not wrap it: it may be a row of a table
        for (const std::string& line : fits ? std::vector{printable(detail)} : wrap(printable(detail), columns)) {
          text_ += std::string(indent_columns + 2, ' ') + painted(line, "2") + "\n";
        }
      }
    }
    if (finding.level != Level::ok || style_.is_verbose) {
      indented(finding.text);
    }
    for (const std::string& command : finding.remedy) {
      text_ += std::string(indent_columns + 2, ' ') + painted("$ " + printable(command), "1") + "\n";
    }
  }

  void last_line(const Findings& findings, const ReportClosing& titles) {
    std::string line;
    for (const Level level : {Level::problem, Level::warning, Level::note}) {
      const auto count = std::ranges::count(findings, level, &Finding::level);
      if (count > 0) {
        line += fmt::format("{}{} {}{}", line.empty() ? "" : ", ", count, name(level), count == 1 ? "" : "s");
      }
    }
    const bool is_broken = has_problem(findings);
    const std::string conclusion = is_broken ? "Something is broken" : ready_text(findings, titles);
    text_ += "\n";
    std::size_t to_paint = conclusion.size();
    line = conclusion + (line.empty() ? "." : ": " + line + ".");
    for (const std::string& part : wrap(line, max_columns)) {
      const std::size_t painted_bytes = std::min(to_paint, part.size());
      text_ += painted(part.substr(0, painted_bytes), is_broken ? "1;31" : "1;32");
      text_ += part.substr(painted_bytes) + "\n";
      to_paint -= std::min(to_paint, part.size() + 1);  // and the blank at which it was broken
    }
  }

  std::string take() { return std::move(text_); }

 private:
  [[nodiscard]] std::string painted(const std::string& text, std::string_view colour) const {
    return style_.has_colour && !text.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", colour, text) : text;
  }

  void indented(std::string_view text) {
    for (const std::string& line : wrap(printable(text), max_columns - indent_columns)) {
      text_ += std::string(indent_columns, ' ') + line + "\n";
    }
  }

  TextStyle style_;
  std::size_t name_columns_ = 0;
  std::string text_;
};

}  // namespace

std::vector<std::string> wrap(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && columns_of(line) + 1 + columns_of(word) > columns) {
      lines.push_back(std::move(line));
      line.clear();
    }
    line += line.empty() ? std::string(word) : " " + std::string(word);
  }
  if (!line.empty()) {
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string text_report(std::string_view heading, const Findings& findings, TextStyle style,
                        const ReportClosing& closing) {
  Report report(findings, style);
  report.heading(heading);
  std::string_view area;
  for (const Finding& finding : findings) {
    if (finding.area != area) {
      area = finding.area;
      report.area(area);
    }
    report.finding(finding);
  }
  report.last_line(findings, closing);
  return report.take();
}

namespace {

using Json = nlohmann::ordered_json;

template <typename Number>
Json number_or_null(const std::optional<Number>& number) {
  return number ? Json(*number) : Json(nullptr);
}

template <typename Values, typename Function>
Json list_of(const Values& values, Function to_json) {
  Json list = Json::array();
  for (const auto& value : values) {
    list.push_back(to_json(value));
  }
  return list;
}

Json finding_json(const Finding& finding) {
  return {{"area", finding.area},   {"name", finding.name}, {"level", name(finding.level)},
          {"value", finding.value}, {"text", finding.text}, {"details", finding.details},
          {"fix", finding.remedy}};
}

Json works_json(const LinkFacts& links, const WorkingLinks& works) {
  Json json = {{"local", works.local}, {"tcp", works.tcp}, {"rdma", works.rdma.is_usable()}};
  for (const OtherLink& other : links.others) {
    json[std::string(name(other.link))] = std::ranges::find(works.others, other.link) != works.others.end();
  }
  return json;
}

Json gid_json(const RdmaGid& gid) {
  return {{"index", gid.index},
          {"kind", name(gid.kind)},
          {"scope", name(gid.scope)},
          {"address", gid.address},
          {"interface_index", gid.interface_index}};
}

Json port_json(const RdmaAdapter& adapter, const RdmaPort& port, const NetworkFacts& network) {
  const RdmaPortView view = view_port(adapter, port, network);
  return {{"number", port.number},
          {"state", name(port.state)},
          {"link_layer", name(port.link_layer)},
          {"gigabits_per_second", view.gigabits_per_second > 0 ? Json(view.gigabits_per_second) : Json(nullptr)},
          {"active_mtu_bytes", port.active_mtu_bytes},
          {"max_mtu_bytes", port.max_mtu_bytes},
          {"max_message_bytes", port.max_message_bytes},
          {"interface", view.interface != nullptr ? Json(view.interface->name) : Json(nullptr)},
          {"is_usable", view.fault == PortFault::none},
          {"fault", text_or_null(describe(view.fault))},
          {"chosen_gid_index", view.gid != nullptr ? Json(view.gid->index) : Json(nullptr)},
          {"gids", list_of(port.gids, gid_json)}};
}

Json pci_link_json(const PciLink& link) {
  return {{"gigatransfers_per_second", link.gigatransfers},
          {"lanes", link.lanes},
          {"gigabits_per_second", link.gigabits_per_second()}};
}

Json adapter_json(const RdmaAdapter& adapter, const NetworkFacts& network) {
  Json json = {{"name", adapter.name},
               {"driver", text_or_null(adapter.driver)},
               {"board", text_or_null(adapter.board)},
               {"numa_node", number_or_null(adapter.numa_node)},
               {"pci", nullptr},
               {"trouble", nullptr},
               {"ports", Json::array()}};
  if (adapter.pci) {
    json["pci"] = {{"address", adapter.pci->address},
                   {"current", pci_link_json(adapter.pci->current)},
                   {"capability", pci_link_json(adapter.pci->most)}};
  }
  if (!adapter.device) {
    json["trouble"] = "not listed by libibverbs";
    return json;
  }
  const RdmaDevice& device = *adapter.device;
  json["trouble"] = text_or_null(device.trouble.empty() ? device.queue_pair_trouble : device.trouble);
  json["transport"] = name(device.transport);
  json["has_write_with_immediate"] = device.transport == RdmaTransport::infiniband;
  json["firmware"] = text_or_null(device.firmware);
  json["max_work_requests"] = device.max_work_requests;
  json["max_scatter_entries"] = device.max_scatter_entries;
  json["max_completions"] = device.max_completions;
  json["max_registration_bytes"] = device.max_registration_bytes;
  json["inline_bytes"] = number_or_null(device.inline_bytes);
  json["has_memory_windows"] = device.has_memory_windows;
  json["has_on_demand_paging"] = device.has_on_demand_paging;
  json["takes_dma_buf"] = number_or_null(device.takes_dma_buf);
  json["data_direct"] = {{"path", text_or_null(device.data_direct.path)},
                         {"why_not", text_or_null(device.data_direct.why_not)}};
  json["ports"] = list_of(device.ports, [&](const RdmaPort& port) { return port_json(adapter, port, network); });
  return json;
}

std::string_view name_of(ModuleState state) {
  switch (state) {
    case ModuleState::unknown:
      break;
    case ModuleState::absent:
      return "absent";
    case ModuleState::loadable:
      return "loadable";
    case ModuleState::loaded:
      return "loaded";
    case ModuleState::built_in:
      return "built in";
  }
  return "unknown";
}

Json modules_json(const RdmaFacts& rdma) {
  Json json = Json::object();
  for (const KernelModule& module : rdma.modules) {
    json[module.name] = name_of(module.state);
  }
  return json;
}

Json memory_json(const MemoryFacts& memory) {
  return {{"total_bytes", number_or_null(memory.total_bytes)},
          {"available_bytes", number_or_null(memory.available_bytes)},
          {"group_limit_bytes", number_or_null(memory.group_limit_bytes)},
          {"group_free_bytes", number_or_null(memory.group_free_bytes)},
          {"lock_soft_bytes", number_or_null(memory.lock_soft_bytes)},
          {"lock_hard_bytes", number_or_null(memory.lock_hard_bytes)},
          {"may_lock_all", memory.may_lock_all},
          {"lock_needed_to_send_bytes", memlock_requirement().sender_bytes},
          {"lock_needed_to_view_bytes", memlock_requirement().viewer_bytes},
          {"huge_pages", text_or_null(memory.huge_pages)},
          {"shared_huge_pages", text_or_null(memory.shared_huge_pages)},
          {"reserved_huge_pages", memory.reserved_huge_pages},
          {"free_huge_pages", memory.free_huge_pages},
          {"huge_page_bytes", memory.huge_page_bytes}};
}

Json interface_json(const NetworkInterface& interface) {
  return {{"name", interface.name},
          {"is_up", interface.is_up},
          {"has_carrier", interface.has_carrier},
          {"mtu_bytes", interface.mtu_bytes},
          {"megabits_per_second", number_or_null(interface.megabits_per_second)},
          {"addresses", interface.addresses},
          {"driver", text_or_null(interface.driver)},
          {"receive_queues", interface.receive_queues},
          {"has_native_xdp", interface.xdp ? Json(interface.xdp->has_native) : Json(nullptr)},
          {"has_zero_copy_xdp", interface.xdp ? Json(interface.xdp->has_zero_copy) : Json(nullptr)}};
}

Json network_json(const NetworkFacts& network) {
  return {{"interfaces", list_of(network.interfaces, interface_json)},
          {"tcp_send_bytes", number_or_null(network.tcp_send_bytes)},
          {"tcp_receive_bytes", number_or_null(network.tcp_receive_bytes)},
          {"core_send_bytes", number_or_null(network.core_send_bytes)},
          {"core_receive_bytes", number_or_null(network.core_receive_bytes)},
          {"pipe_bytes", number_or_null(network.pipe_bytes)}};
}

Json gpu_json(const GpuFacts& gpu, const RdmaFacts& rdma) {
  const auto ways_json = [&](const CudaDeviceFacts& device) {
    Json ways = Json::object();
    for (const RdmaAdapter& adapter : rdma.adapters) {
      if (adapter.pci) {
        ways[adapter.name] = name(distance_between(adapter.pci->route, device.route));
      }
    }
    return ways;
  };
  const auto access_json = [&](const CudaDeviceFacts& device) {
    Json access = Json::object();
    for (const RdmaAdapter& adapter : rdma.adapters) {
      access[adapter.name] = name(access_to(device.info, adapter, gpu.has_peermem));
    }
    return access;
  };
  const auto device_json = [&](const CudaDeviceFacts& device) {
    const CudaDeviceInfo& info = device.info;
    return Json{{"name", info.name},
                {"address", info.pci_address},
                {"uuid", info.uuid},
                {"memory_bytes", info.memory_bytes},
                {"shares_memory", info.shares_memory},
                {"reads_gpus", list_of(info.peers, [](const CudaPeer& peer) { return Json(peer.pci_address); })},
                {"has_gpu_direct", info.takes_gpu_direct_rdma},
                {"has_dma_buf", info.exports_dma_buf},
                {"has_pcie_mapping", info.knows_pcie_mapping},
                {"shares_page_tables", info.shares_page_tables},
                {"numa_node", number_or_null(device.route.numa_node)},
                {"rdma_devices", ways_json(device)},
                {"rdma_access", access_json(device)}};
  };
  return {{"kernel_driver", text_or_null(gpu.kernel_driver)},
          {"has_peermem", gpu.has_peermem},
          {"cuda_version", text_or_null(gpu.cuda_version)},
          {"cuda_trouble", text_or_null(gpu.cuda_trouble)},
          {"cards", list_of(gpu.cards,
                            [](const NvidiaCard& card) {
                              return Json{{"address", card.address}, {"model", card.model}};
                            })},
          {"devices", list_of(gpu.devices, device_json)}};
}

Json opengl_json(const OpenGlFacts& opengl) {
  return {{"is_asked", opengl.is_installed},
          {"trouble", text_or_null(opengl.trouble)},
          {"vendor", text_or_null(opengl.vendor)},
          {"renderer", text_or_null(opengl.renderer)},
          {"version", text_or_null(opengl.version)},
          {"is_software", opengl.is_software},
          {"has_pinned_memory", opengl.has_pinned_memory}};
}

Json system_json(const MachineFacts& machine) {
  return {
      {"kernel", machine.system.kernel},
      {"distribution", text_or_null(machine.system.distribution)},
      {"container", text_or_null(machine.system.container)},
      {"cores", machine.system.cores},
      {"governors", machine.system.governors},
      {"programs", machine.system.programs_beside},
      {"key", {{"path", machine.key.path}, {"exists", machine.key.exists}, {"mode", text_or_null(machine.key.mode)}}}};
}

}  // namespace

std::string json_report(const MachineFacts& machine, const Findings& findings, std::optional<LinkKind> wanted,
                        const RemoteHostReport* host) {
  const auto file_json = [](const DeviceFile& file) {
    return Json{{"path", file.path}, {"mode", file.mode}, {"is_usable", file.is_usable}};
  };
  Json json = {{"version", FRAMEWIRE_VERSION},
               {"transport", wanted ? name(*wanted) : "auto"},
               {"is_ready", !has_problem(findings)},
               {"works", works_json(machine.links, find_working_links(machine))},
               {"findings", list_of(findings, finding_json)},
               {"rdma_devices", list_of(machine.rdma.adapters,
                                        [&](const RdmaAdapter& one) { return adapter_json(one, machine.network); })},
               {"rdma_modules", modules_json(machine.rdma)},
               {"rdma_files", list_of(machine.rdma.files, file_json)},
               {"memory", memory_json(machine.memory)},
               {"network", network_json(machine.network)},
               {"gpu", gpu_json(machine.gpu, machine.rdma)},
               {"opengl", opengl_json(machine.opengl)},
               {"system", system_json(machine)}};
  if (host != nullptr) {
    json["host"] = host_json(*host);
  }
  // Text from outside may be invalid UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace framewire
