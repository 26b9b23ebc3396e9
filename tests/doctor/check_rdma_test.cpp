// Findings about RDMA on fake machines.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "doctor/check.hpp"
#include "tests/doctor/machines.hpp"

namespace framewire {
namespace {

using test::find;
using test::has;
using test::rdma_machine;
using test::the_device;

/// The working device, with a second port that is down.
MachineFacts machine_with_a_port_down() {
  MachineFacts machine = rdma_machine();
  RdmaPort second = the_device(machine).ports.front();
  second.number = 2;
  second.state = RdmaPortState::down;
  the_device(machine).ports.push_back(second);
  return machine;
}

TEST(CheckRdma, SaysWhetherACardHasDataDirect) {
  MachineFacts machine = rdma_machine();
  const auto says = [&](const std::string& line) {
    return std::ranges::any_of(check_machine(machine, {}), [&](const Finding& finding) {
      return finding.area == "RDMA" && std::ranges::find(finding.details, line) != finding.details.end();
    });
  };
  EXPECT_TRUE(says("no data-direct: the RDMA device has none"));
  the_device(machine).data_direct = {.path = "/sys/devices/pci0000:3a/0000:3b:00.1", .why_not = {}};
  EXPECT_TRUE(says("data-direct at /sys/devices/pci0000:3a/0000:3b:00.1"));
}

TEST(CheckRdma, AllIsWellWithAGoodCard) {
  const MachineFacts machine = rdma_machine();
  const Findings findings = check_machine(machine, LinkKind::rdma);
  EXPECT_FALSE(has_problem(findings));
  for (const Finding& finding : findings) {
    EXPECT_TRUE(finding.level == Level::ok || finding.area != "RDMA") << finding.name << ": " << finding.text;
  }
  EXPECT_EQ(find(findings, "rdma").value, "by mlx5_0 port 1, 192.168.7.1, 100 Gb/s");
  EXPECT_TRUE(has(find(findings, "mlx5_0 GID").value, "192.168.7.1, RoCE v2, index 3 of 4"));
  EXPECT_EQ(find(findings, "mlx5_0 GID").details.size(), 4U);
  EXPECT_TRUE(has(find(findings, "mlx5_0").value, "firmware 16.35.4030"));
}

TEST(CheckRdma, NoDeviceIsANoteUnlessRdmaWasAskedFor) {
  const MachineFacts machine = test::plain_machine();
  const Findings any = check_machine(machine, std::nullopt);
  EXPECT_EQ(find(any, "rdma").level, Level::note);
  EXPECT_FALSE(has_problem(any));
  const Findings wanted = check_machine(machine, LinkKind::rdma);
  EXPECT_EQ(find(wanted, "rdma").level, Level::problem);
  EXPECT_EQ(find(wanted, "devices").level, Level::problem);
  EXPECT_FALSE(has_problem(check_machine(machine, LinkKind::tcp)));
}

TEST(CheckRdma, SoftRoceIsOfferedWhereTheKernelHasIt) {
  MachineFacts machine = test::plain_machine();
  const std::vector<std::string> commands = {"sudo modprobe rdma_rxe", "sudo rdma link add rxe0 type rxe netdev eth0"};
  EXPECT_EQ(find(check_machine(machine, std::nullopt), "devices").remedy, commands);
  machine.network.interfaces.front().addresses.clear();
  EXPECT_TRUE(find(check_machine(machine, std::nullopt), "devices").remedy.empty());
  machine.rdma.modules.back().state = ModuleState::absent;
  EXPECT_TRUE(has(find(check_machine(machine, std::nullopt), "devices").text, "no Soft-RoCE"));
  machine.rdma.modules.back().state = ModuleState::unknown;
  EXPECT_TRUE(has(find(check_machine(machine, std::nullopt), "devices").text, "does not show"));
  EXPECT_EQ(find(check_machine(machine, std::nullopt), "devices").remedy,
            std::vector<std::string>{"sudo modprobe rdma_rxe"});
}

TEST(CheckRdma, SoftRoceIsOfferedOnTheInterfaceThatLeadsToOthers) {
  MachineFacts machine = test::plain_machine();
  NetworkInterface bridge = machine.network.interfaces.front();
  bridge.name = "br-0a1b2c";
  const NetworkInterface wire = machine.network.interfaces.front();
  const auto offered = [&](const NetworkInterface& best) {
    machine.network.interfaces = {bridge, best, bridge};
    return find(check_machine(machine, std::nullopt), "devices").remedy.back();
  };
  NetworkInterface better = wire;
  better.has_default_route = true;
  EXPECT_TRUE(has(offered(better), "netdev eth0"));
  bridge.has_default_route = true;  // a bridge with the default route: an interface of a card still comes first
  better.has_card = true;
  EXPECT_TRUE(has(offered(better), "netdev eth0"));
  bridge.has_carrier = false;
  bridge.has_card = true;
  EXPECT_TRUE(has(offered(wire), "netdev eth0"));
}

TEST(CheckRdma, ACardInANarrowSlotIsSlowerThanItsWire) {
  MachineFacts machine = rdma_machine();
  machine.rdma.adapters.front().pci->current.lanes = 8;
  const Finding finding = find(check_machine(machine, std::nullopt), "mlx5_0 PCIe");
  EXPECT_EQ(finding.level, Level::warning);
  EXPECT_TRUE(has(finding.value, "8 GT/s x8 at 0000:3b:00.0, 63 Gb/s")) << finding.value;
  EXPECT_TRUE(has(finding.text, "63 of 100 Gb/s")) << finding.text;
  EXPECT_TRUE(has(finding.text, "x16")) << finding.text;
}

TEST(CheckRdma, TheFunctionsOfOneCardShareItsSlot) {
  MachineFacts machine = rdma_machine();
  RdmaAdapter second = machine.rdma.adapters.front();
  second.name = "mlx5_1";
  second.device->name = "mlx5_1";
  second.pci->address = "0000:3b:00.1";
  machine.rdma.adapters.push_back(second);
  const auto level = [&] { return find(check_machine(machine, std::nullopt), "mlx5_0 PCIe").level; };
  EXPECT_EQ(level(), Level::warning);  // the slot has 126 Gb/s for two ports of 100 Gb/s
  EXPECT_TRUE(has(find(check_machine(machine, std::nullopt), "mlx5_0 PCIe").text, "126 of 200 Gb/s"));
  EXPECT_EQ(find(check_machine(machine, std::nullopt), "mlx5_1 PCIe").value, "missing");  // reported once
  machine.rdma.adapters.back().pci->is_virtual = true;  // a virtual function of the same port
  EXPECT_EQ(level(), Level::ok);
  machine.rdma.adapters.back().pci = PciPlace{"0000:af:00.0", second.pci->current, second.pci->most};
  EXPECT_EQ(level(), Level::ok);
  EXPECT_EQ(find(check_machine(machine, std::nullopt), "mlx5_1 PCIe").level, Level::ok);
}

TEST(CheckRdma, ANarrowSlotThatIsFastEnoughIsWell) {
  MachineFacts machine = rdma_machine();
  machine.rdma.adapters.front().pci->current = {16, 8};
  EXPECT_EQ(find(check_machine(machine, std::nullopt), "mlx5_0 PCIe").level, Level::ok);
}

TEST(CheckRdma, APortThatIsDownSaysWhatIsMissing) {
  MachineFacts machine = rdma_machine();
  the_device(machine).ports.front().state = RdmaPortState::down;
  EXPECT_TRUE(has(find(check_machine(machine, std::nullopt), "mlx5_0 port 1").text, "cable"));
  machine.network.interfaces.front().is_up = false;
  const Findings findings = check_machine(machine, std::nullopt);
  EXPECT_EQ(find(findings, "rdma").value, "mlx5_0 port 1: it is down");
  EXPECT_EQ(find(findings, "mlx5_0 port 1").level, Level::warning);
  EXPECT_EQ(find(findings, "mlx5_0 port 1").remedy, std::vector<std::string>{"sudo ip link set dev ens3f0np0 up"});
  EXPECT_FALSE(has_problem(findings));
  EXPECT_TRUE(has_problem(check_machine(machine, LinkKind::rdma)));
}

TEST(CheckRdma, ASecondPortThatIsDownHarmsNobody) {
  const MachineFacts machine = machine_with_a_port_down();
  const Findings findings = check_machine(machine, LinkKind::rdma);
  EXPECT_FALSE(has_problem(findings));
  EXPECT_EQ(find(findings, "mlx5_0 port 2").level, Level::note);
}

TEST(CheckRdma, ABadPortBesideAGoodOneIsNotWhatStopsRdma) {
  MachineFacts machine = machine_with_a_port_down();
  machine.memory.lock_soft_bytes = 65536;
  const Findings findings = check_machine(machine, LinkKind::rdma);
  EXPECT_EQ(find(findings, "memlock").level, Level::problem);
  EXPECT_EQ(find(findings, "mlx5_0 port 2").level, Level::note);
}

TEST(CheckRdma, SmallPacketsAreNoted) {
  MachineFacts machine = rdma_machine();
  the_device(machine).ports.front().active_mtu_bytes = 1024;
  const Findings findings = check_machine(machine, LinkKind::rdma);
  EXPECT_EQ(find(findings, "mlx5_0 port 1").level, Level::note);
  EXPECT_EQ(find(findings, "mlx5_0 port 1").remedy,
            std::vector<std::string>{"sudo ip link set dev ens3f0np0 mtu 9000"});
}

TEST(CheckRdma, ModulesThatAreMissingAreNamed) {
  MachineFacts machine = rdma_machine();
  machine.rdma.adapters.front().device.reset();
  machine.rdma.modules = {{"ib_uverbs", ModuleState::built_in}, {"rdma_ucm", ModuleState::loadable}};
  const Findings findings = check_machine(machine, std::nullopt);
  EXPECT_EQ(find(findings, "module rdma_ucm").level, Level::warning);
  EXPECT_EQ(find(findings, "module rdma_ucm").remedy.front(), "sudo modprobe rdma_ucm");
  EXPECT_EQ(find(findings, "module ib_uverbs").value, "missing");
}

TEST(CheckRdma, AModuleThatThisKernelDoesNotHaveCannotBeLoaded) {
  MachineFacts machine = rdma_machine();
  machine.rdma.adapters.front().device.reset();
  machine.rdma.files.clear();
  machine.rdma.manager_trouble = "No such device";
  machine.rdma.modules = {{"ib_uverbs", ModuleState::absent}, {"rdma_ucm", ModuleState::absent}};
  const Findings findings = check_machine(machine, LinkKind::rdma);
  EXPECT_EQ(find(findings, "module ib_uverbs").value, "not in this kernel");
  for (const char* name : {"module ib_uverbs", "module rdma_ucm", "device files", "rdma_cm"}) {
    EXPECT_TRUE(find(findings, name).remedy.empty()) << name;
  }
}

TEST(CheckRdma, DevicesThatAreListedProveTheirModules) {
  MachineFacts machine = rdma_machine();
  // Also a built-in module, seen from a container.
  for (const ModuleState state : {ModuleState::absent, ModuleState::unknown}) {
    machine.rdma.modules = {{"ib_uverbs", state}, {"rdma_ucm", state}};
    EXPECT_EQ(find(check_machine(machine, LinkKind::rdma), "modules").level, Level::ok);
    EXPECT_EQ(find(check_machine(machine, LinkKind::rdma), "module ib_uverbs").value, "missing");
  }
}

TEST(CheckRdma, ACardWithoutADeviceIsToldWhatItsDriverIs) {
  MachineFacts machine = test::plain_machine();
  machine.rdma.dormant_cards = {{"0000:3b:00.0", "mlx5_core", "mlx5_ib", ModuleState::loadable}};
  const Finding loadable = find(check_machine(machine, std::nullopt), "card");
  EXPECT_EQ(loadable.level, Level::warning);
  EXPECT_EQ(loadable.remedy, std::vector<std::string>{"sudo modprobe mlx5_ib"});
  for (const ModuleState state :
       {ModuleState::absent, ModuleState::unknown, ModuleState::loaded, ModuleState::built_in}) {
    machine.rdma.dormant_cards.front().state = state;
    const Finding other = find(check_machine(machine, std::nullopt), "card");
    EXPECT_EQ(other.level, Level::note);
    EXPECT_TRUE(other.remedy.empty());
    EXPECT_FALSE(has(other.text, "is not loaded")) << other.text;
  }
}

TEST(CheckRdma, AContainerHasToBeGivenTheDevices) {
  MachineFacts machine = rdma_machine();
  machine.rdma.files.clear();
  machine.rdma.adapters.front().device.reset();
  EXPECT_TRUE(find(check_machine(machine, std::nullopt), "device files").remedy.empty());  // both modules are present
  machine.rdma.modules = {{"ib_uverbs", ModuleState::loadable}, {"rdma_ucm", ModuleState::loadable}};
  EXPECT_EQ(find(check_machine(machine, std::nullopt), "device files").remedy,
            (std::vector<std::string>{"sudo modprobe ib_uverbs", "sudo modprobe rdma_ucm"}));
  machine.system.container = "docker";
  const Findings findings = check_machine(machine, std::nullopt);
  EXPECT_TRUE(has(find(findings, "device files").remedy.front(), "docker run --device=/dev/infiniband"));
  EXPECT_EQ(find(findings, "mlx5_0").value, "not listed by libibverbs");
  EXPECT_EQ(find(findings, "rdma").value, "mlx5_0 is not listed by libibverbs");
}

TEST(CheckRdma, FilesThatThisUserMayNotOpenAreNamed) {
  MachineFacts machine = rdma_machine();
  machine.rdma.files = {{"/dev/infiniband/rdma_cm", "0666", true}, {"/dev/infiniband/uverbs0", "0600", false}};
  the_device(machine).trouble = "cannot be opened: Permission denied";
  const Findings findings = check_machine(machine, LinkKind::rdma);
  EXPECT_TRUE(has(find(findings, "device files").remedy.front(), "sudo chmod 666 /dev/infiniband/uverbs0 "));
  EXPECT_EQ(find(findings, "rdma").value, "mlx5_0 cannot be opened: Permission denied");
}

TEST(CheckRdma, ALowLimitOfLockedMemoryStopsRdma) {
  MachineFacts machine = rdma_machine();
  machine.memory.lock_soft_bytes = 65536;
  machine.memory.lock_hard_bytes = 65536;
  const Findings findings = check_machine(machine, LinkKind::rdma);
  const Finding& lock = find(findings, "memlock");
  EXPECT_EQ(lock.level, Level::problem);
  EXPECT_TRUE(has(lock.text, "1.3 GB at a sender (--viewers 4 x --slots 3 + 4 frames, and 24 for a decoder)"))
      << lock.text;
  EXPECT_TRUE(has(lock.text, "101.6 MB at a viewer"));
  EXPECT_TRUE(has(lock.remedy.at(0), "sudo prlimit --memlock=unlimited --pid $$"));
  EXPECT_TRUE(has(lock.remedy.at(1), "/etc/security/limits.d/"));
  EXPECT_TRUE(has(lock.remedy.at(2), "LimitMEMLOCK=infinity"));
  EXPECT_TRUE(has(lock.remedy.at(2), "/user@.service.d/"));  // this drop-in limits all services of a user
  EXPECT_EQ(find(findings, "rdma").value, "the limit of locked memory is too low");
  EXPECT_EQ(find(check_machine(machine, std::nullopt), "memlock").level, Level::warning);
}

TEST(CheckRdma, ALimitThatTheUserMayRaiseIsRaisedByTheShell) {
  MachineFacts machine = rdma_machine();
  machine.memory.lock_soft_bytes = 65536;
  EXPECT_TRUE(has(find(check_machine(machine, std::nullopt), "memlock").remedy.at(0), "ulimit -l unlimited "));
}

TEST(CheckRdma, EnoughToViewIsNotEnoughToSend) {
  MachineFacts machine = rdma_machine();
  machine.memory.lock_soft_bytes = memlock_requirement().viewer_bytes;
  const Findings findings = check_machine(machine, LinkKind::rdma);
  EXPECT_EQ(find(findings, "memlock").level, Level::warning);
  EXPECT_TRUE(has(find(findings, "memlock").text, "too low to send:"));
  EXPECT_FALSE(has_problem(findings));
}

TEST(CheckRdma, WhoMayLockAllIsNotAskedForALimit) {
  MachineFacts machine = rdma_machine();
  machine.memory.lock_soft_bytes = 65536;
  machine.memory.may_lock_all = true;
  EXPECT_EQ(find(check_machine(machine, LinkKind::rdma), "memlock").level, Level::ok);
}

}  // namespace
}  // namespace framewire
